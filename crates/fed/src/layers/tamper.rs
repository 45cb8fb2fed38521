//! A change of one client's next message, for tests of the server.

use super::{Crossing, Outbound, update_of_mut};
use crate::transport::Arrival;
use boostfgl_nn::Real;
use boostfgl_protocol::Message;

/// Changes a message on its way to the server.
type Change<T> = Box<dyn FnOnce(&mut Message<T>) + Send + Sync>;

/// Changes the next message of one client.
pub(crate) struct Tamper<T> {
    client: usize,
    change: Option<Change<T>>,
}

impl<T> Tamper<T> {
    /// A change of the next message of `client`.
    pub(crate) fn new(
        client: usize,
        change: impl FnOnce(&mut Message<T>) + Send + Sync + 'static,
    ) -> Self {
        Self { client, change: Some(Box::new(change)) }
    }
}

impl<T: Real> Outbound<T> for Tamper<T> {
    fn outbound(&mut self, _: &Crossing<'_, T>, arrivals: &mut Vec<Arrival<T>>) {
        let client = self.client;
        let mut sent = arrivals.iter_mut().filter(|arrival| arrival.client == client);
        if let Some(update) = sent.find_map(update_of_mut)
            && let Some(change) = self.change.take()
        {
            change(&mut update.message);
        }
    }
}
