//! Malicious clients replace what they would honestly have sent.

use super::{Crossing, Outbound, update_of, update_of_mut};
use crate::attack::{Attack, Forged, HonestUpdate};
use crate::transport::Arrival;
use boostfgl_nn::{Params, Real, StateVisitor};
use boostfgl_protocol::{Model, Update};
use std::sync::Arc;

impl<T: Real> Outbound<T> for Attack<T> {
    fn outbound(&mut self, crossing: &Crossing<'_, T>, arrivals: &mut Vec<Arrival<T>>) {
        let updates: Vec<(usize, &Update<T>)> = arrivals
            .iter()
            .filter_map(|arrival| Some((arrival.client, update_of(arrival)?)))
            .collect();
        if updates.is_empty() {
            return;
        }
        let clients: Vec<usize> = updates.iter().map(|(client, _)| *client).collect();
        let honest: Vec<HonestUpdate<'_, T>> =
            updates.into_iter().map(|(k, update)| honest_update(crossing, k, update)).collect();
        let forged = self.forge(crossing.server.done() + 1, &honest);
        drop(honest);
        for (client, forged) in clients.into_iter().zip(forged) {
            let at = arrivals.iter().position(|arrival| arrival.client == client);
            if let (Some(at), Some(forged)) = (at, forged) {
                replace(arrivals, at, forged);
            }
        }
    }

    fn visit(
        &mut self,
        model: &Params<T>,
        visitor: &mut StateVisitor<'_>,
    ) -> boostfgl_nn::Result<()> {
        Attack::visit(self, model, visitor)
    }
}

/// What client `k` would honestly send.
fn honest_update<'a, T: Real>(
    crossing: &Crossing<'a, T>,
    k: usize,
    update: &'a Update<T>,
) -> HonestUpdate<'a, T> {
    let server = crossing.server;
    let Update { claims, model, message } = update;
    let start = server.rule.start(k).map(Model::params);
    HonestUpdate {
        client: k,
        start: crossing.clients[k].trainer().started_from(start),
        received: server.rule.tell(k).map(Arc::as_ref),
        form: server.update_form(k, message),
        model: model.as_deref(),
        message,
        norms: claims.norms.as_deref(),
        shows_distance: server.rule.moved(message).is_some(),
        labelled: server.enrolled[k].training as f64,
        size: claims.size.unwrap_or(server.sizes[k]),
        summary: claims.summary,
    }
}

/// Replaces parts of an arrival by forged ones, and repeats it if it is sent twice.
fn replace<T: Real>(arrivals: &mut Vec<Arrival<T>>, at: usize, forged: Forged<T>) {
    let Forged { round, model, message, size, summary, norms, twice } = forged;
    let arrival = &mut arrivals[at];
    if let Ok(frame) = &mut arrival.frame {
        frame.header.round = round as u32;
    }
    let Some(update) = update_of_mut(arrival) else { return };
    if let Some(model) = model.filter(|_| update.model.is_some()) {
        update.model = Some(Arc::new(model));
    }
    if let Some(message) = message {
        update.message = message;
    }
    let claims = &mut update.claims;
    claims.size = size.or(claims.size);
    claims.summary = summary.or(claims.summary);
    // Where the server measures the distance, a claim would have no effect.
    if claims.norms.is_some() {
        claims.norms = norms.or(claims.norms.take());
    }
    if let (true, Ok(frame)) = (twice, &arrival.frame) {
        let (client, frame, seconds) = (arrival.client, Ok(frame.clone()), arrival.seconds);
        arrivals.insert(at + 1, Arrival { client, frame, seconds });
    }
}
