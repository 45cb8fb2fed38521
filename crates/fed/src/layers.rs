//! Layers on the way of an update.
//!
//! ```text
//!  client: ClientLayer ─► Outbound: attack, tamper ─► transport ─► server: measure, screen ─► method
//!  everywhere             simulations only                         `server/inbound.rs`
//! ```
//!
//! A [`ClientLayer`] sees one client and works wherever that client is. `Outbound` sees all clients
//! at once, as only a simulation can: colluding attackers read what honest clients send. Each layer
//! is one file; those of a simulation have a line in [`outbound`].

mod attack;
mod client_layer;
mod tamper;

pub use client_layer::ClientLayer;
pub(crate) use tamper::Tamper;

use crate::client::Client;
use crate::server::Running;
use crate::transport::Arrival;
use boostfgl_nn::{Params, Real, StateVisitor};
use boostfgl_protocol::{Reply, Update};

/// A layer on the client's side.
pub(crate) trait Outbound<T: Real>: Send {
    /// Changes what leaves the clients.
    fn outbound(&mut self, crossing: &Crossing<'_, T>, arrivals: &mut Vec<Arrival<T>>);

    /// Saves or restores its state; models have the shapes of `model`.
    fn visit(
        &mut self,
        _model: &Params<T>,
        _visitor: &mut StateVisitor<'_>,
    ) -> boostfgl_nn::Result<()> {
        Ok(())
    }
}

/// What layers of a simulation may look at.
pub(crate) struct Crossing<'a, T: Real> {
    pub(crate) server: &'a Running<T>,
    pub(crate) clients: &'a [Client<T>],
}

/// The configured layers of a federation, in the order in which they act.
pub(crate) fn outbound<T: Real>(
    server: &Running<T>,
    attackers: Vec<usize>,
) -> Vec<Box<dyn Outbound<T>>> {
    let clients = server.enrolled.len();
    let attack = crate::attack::Attack::new(&server.run.setup.attack, attackers, clients);
    attack.into_iter().map(|attack| Box::new(attack) as Box<dyn Outbound<T>>).collect()
}

/// The update of an arrival, if it has one.
pub(crate) fn update_of<T: Real>(arrival: &Arrival<T>) -> Option<&Update<T>> {
    arrival.frame.as_ref().ok()?.items.iter().find_map(|reply| match reply {
        Reply::Update(update) => Some(update),
        _ => None,
    })
}

/// The same, to be changed.
pub(crate) fn update_of_mut<T: Real>(arrival: &mut Arrival<T>) -> Option<&mut Update<T>> {
    arrival.frame.as_mut().ok()?.items.iter_mut().find_map(|reply| match reply {
        Reply::Update(update) => Some(update),
        _ => None,
    })
}
