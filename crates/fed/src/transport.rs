//! How frames reach clients and replies come back.
//!
//! * [`InProcess`] hands values over as they are: no copies, clients in parallel.
//! * [`Loopback`] encodes and decodes every frame in both directions, as between two machines.
//!
//! Both give the same digits and the same byte counts. A transport over a network is a third file
//! with the same trait.

mod in_process;
mod loopback;

pub use in_process::InProcess;
pub use loopback::Loopback;

use crate::client::Client;
use crate::config;
use boostfgl_nn::Real;
use boostfgl_protocol::{Error, ReplyFrame, TaskFrame};
use std::time::Duration;

/// What the server wants done: frames for some of the clients, in client order.
#[derive(Debug)]
pub struct Ask<T: Real> {
    /// One frame for each client that has something to do.
    pub frames: Vec<TaskFrame<T>>,
    /// How many usable replies the server needs to continue.
    pub quorum: usize,
    /// How long it waits, if not for ever.
    pub deadline: Option<Duration>,
}

/// What became of one frame.
#[derive(Debug)]
pub struct Arrival<T: Real> {
    /// The client at the other end of the connection, whatever its reply says.
    pub client: usize,
    /// Its reply, or why there is none.
    pub frame: Result<ReplyFrame<T>, Undelivered>,
    /// Seconds until it arrived.
    pub seconds: f64,
}

/// Why there is no reply.
#[derive(Debug)]
pub enum Undelivered {
    /// No bytes arrived: the client is gone, or too slow.
    Missing(String),
    /// The bytes that arrived are not a frame.
    Unreadable(Error),
}

/// A way to the clients and back.
pub trait Transport<T: Real> {
    /// Sends the frames, and returns the replies in client order once all have arrived or the
    /// deadline has passed.
    fn exchange(&mut self, ask: Ask<T>) -> Vec<Arrival<T>>;
}

/// Changes replies before they leave the clients. Only simulations have one.
pub(crate) type Outbound<'a, T> = &'a mut dyn FnMut(&[Client<T>], &mut Vec<Arrival<T>>);

/// Hands frames to clients in this process that share nothing else with the server, by the
/// configured transport: what drives a run over folders of clients.
pub fn exchange_in_process<T: Real>(
    transport: config::Transport,
    clients: &mut [Client<T>],
    ask: Ask<T>,
) -> Vec<Arrival<T>> {
    exchange(transport, clients, &mut |_, _| {}, ask)
}

/// The exchange of a simulation, by its configured transport.
pub(crate) fn exchange<T: Real>(
    transport: config::Transport,
    clients: &mut [Client<T>],
    outbound: Outbound<'_, T>,
    ask: Ask<T>,
) -> Vec<Arrival<T>> {
    let mut in_process = InProcess { clients, outbound };
    match transport {
        config::Transport::InProcess => in_process.exchange(ask),
        config::Transport::Loopback => Loopback { inner: in_process }.exchange(ask),
    }
}
