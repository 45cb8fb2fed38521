//! What a client does to its own update before it leaves: clipping, noise, masks.

use crate::Result;
use boostfgl_nn::{Real, StateVisitor};
use boostfgl_protocol::{Broadcast, Update};

/// A layer between a client and the network. It sees what this client received and sends, nothing
/// of other clients. Layers are stacked with [`Client::with_layer`](crate::Client::with_layer) and
/// act in that order.
pub trait ClientLayer<T: Real>: Send {
    /// Changes an update that answers `broadcast`.
    ///
    /// # Errors
    /// If the update must not leave the client. The client then returns to where it started.
    fn outgoing(&mut self, broadcast: &Broadcast<T>, update: &mut Update<T>) -> Result<()>;

    /// Saves or restores the state that it keeps between rounds.
    ///
    /// # Errors
    /// As [`Stateful::visit`](boostfgl_nn::Stateful::visit).
    fn visit(&mut self, _visitor: &mut StateVisitor<'_>) -> boostfgl_nn::Result<()> {
        Ok(())
    }
}
