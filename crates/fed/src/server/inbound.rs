//! The way of an update from its arrival to the method.
//!
//! ```text
//!  header and kind of the reply (replies) ─► distance, measured ─► screen ─► method
//! ```
//!
//! A layer that opens masked updates belongs before the distance is measured.

use super::running::Running;
use crate::screen::{Envelope, Expected, Refusal};
use crate::submission::Submission;
use boostfgl_nn::Real;
use boostfgl_protocol::Model;
use rayon::prelude::*;
use std::sync::Arc;

impl<T: Real> Running<T> {
    /// Removes the submissions that the screen refuses.
    pub(super) fn screen(
        &mut self,
        round: usize,
        submissions: &mut Vec<Submission<T>>,
    ) -> Vec<Refusal> {
        let Self { run, rule, .. } = self;
        submissions.par_iter_mut().for_each(|submission| {
            submission.measure(rule.start(submission.client).map(Model::params));
        });
        // Taken out while the closures below look at the rest of the server.
        let mut screen = std::mem::take(&mut self.screen);
        let arrived: Vec<Envelope<'_, T>> = submissions
            .iter()
            .map(|sent| sent.envelope(&*self.rule, self.sizes[sent.client]))
            .collect();
        let clients = 0..self.sizes.len();
        let given = clients.map(|k| (self.rule.start(k).map(Model::params), self.rule.tell(k)));
        let shapes = run.backbone.shapes();
        let expected = Expected {
            round,
            shapes: &shapes,
            enrolled: &self.sizes,
            given: given.map(|(model, message)| (model, message.map(Arc::as_ref))).collect(),
            form: &|envelope| self.update_form(envelope.from, envelope.message),
            moved: &|envelope| self.rule.moved(envelope.message),
            summaries: self.summaries,
        };
        let verdicts = screen.examine(&arrived, &expected);
        drop((arrived, expected));
        self.screen = screen;
        let mut refused = Vec::new();
        let mut verdicts = verdicts.into_iter();
        submissions.retain(|sent| match verdicts.next().flatten() {
            Some(reason) => {
                refused.push(Refusal::new(sent.client, round, reason));
                false
            }
            None => true,
        });
        refused
    }
}
