//! Clients in the same process, in parallel.

use super::{Arrival, Ask, Outbound, Transport};
use crate::client::Client;
use boostfgl_nn::{Real, TensorShape};
use boostfgl_protocol::TaskFrame;
use rayon::prelude::*;
use std::time::Instant;

/// Hands frames over as they are.
pub struct InProcess<'a, T: Real> {
    pub(crate) clients: &'a mut [Client<T>],
    pub(crate) outbound: Outbound<'a, T>,
}

impl<T: Real> InProcess<'_, T> {
    /// The shapes of the run's models.
    pub(super) fn shapes(&self) -> Vec<TensorShape> {
        self.clients.first().map_or_else(Vec::new, Client::shapes)
    }

    /// Whether models for clients must be finite.
    pub(super) fn requires_finite(&self) -> bool {
        self.clients.first().is_none_or(Client::requires_finite)
    }
}

impl<T: Real> Transport<T> for InProcess<'_, T> {
    fn exchange(&mut self, ask: Ask<T>) -> Vec<Arrival<T>> {
        let in_order = ask.deadline.is_some();
        let mut frames: Vec<Option<TaskFrame<T>>> = self.clients.iter().map(|_| None).collect();
        for frame in ask.frames {
            let client = frame.header.client as usize;
            frames[client] = Some(frame);
        }
        let work = |(k, (client, frame)): (usize, (&mut Client<T>, Option<TaskFrame<T>>))| {
            frame.map(|frame| receive(k, client, frame))
        };
        let mut arrivals: Vec<Arrival<T>> = if in_order {
            // A thread that waits for a part of its own work may take up another client's work,
            // whose time would count as its own.
            self.clients.iter_mut().zip(frames).enumerate().filter_map(work).collect()
        } else {
            self.clients.par_iter_mut().zip(frames).enumerate().filter_map(work).collect()
        };
        (self.outbound)(self.clients, &mut arrivals);
        arrivals
    }
}

/// Lets a client work, and measures how long it takes.
fn receive<T: Real>(k: usize, client: &mut Client<T>, frame: TaskFrame<T>) -> Arrival<T> {
    let started = Instant::now();
    let frame = Ok(client.receive(frame));
    Arrival { client: k, frame, seconds: started.elapsed().as_secs_f64() }
}
