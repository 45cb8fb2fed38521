//! From what participants trained to what the server receives.

use crate::aggregate::Update;
use crate::attack::{Forged, HonestUpdate};
use crate::boost::Summary;
use crate::client::{Client, Trained};
use crate::config::ClientWeight;
use crate::screen::{Envelope, Form, Given};
use crate::wire::Message;
use boostfgl_nn::Real;

/// What one participant did in a round.
pub(crate) struct Submission<T> {
    pub(crate) client: usize,
    pub(crate) trained: Trained<T>,
    /// How many numbers it received.
    pub(crate) received: usize,
    pub(crate) seconds: f64,
    /// What it sends in place of what it trained, if it attacks.
    pub(crate) forged: Option<Forged<T>>,
}

impl<T: Real> Submission<T> {
    /// What the client would honestly send.
    pub(crate) fn honest_update<'a>(
        &'a self,
        client: &'a Client<T>,
        (given, received): Given<'a, T>,
        form: Form,
        shows_distance: bool,
        weight: ClientWeight,
    ) -> HonestUpdate<'a, T> {
        HonestUpdate {
            client: self.client,
            start: client.started_from(given),
            received,
            form,
            model: self.trained.upload.model.then(|| client.local()),
            message: &self.trained.upload.message,
            tensor_norms: &self.trained.tensor_norms,
            shows_distance,
            labelled: client.data().training_nodes() as f64,
            size: client.size(weight),
            summary: self.trained.summary,
        }
    }

    /// Takes over what an attacker sends instead.
    pub(crate) fn replace(&mut self, forged: Forged<T>) {
        if let Some(norms) = &forged.tensor_norms {
            self.trained.tensor_norms.clone_from(norms);
            self.trained.norm = self.trained.tensor_norms.iter().map(|d| d * d).sum::<f64>().sqrt();
        }
        self.forged = Some(forged);
    }

    /// What arrives at the server, as a client's word: once, or twice if it is sent twice.
    pub(crate) fn envelopes<'a>(
        &'a self,
        client: &'a Client<T>,
        round: usize,
        weight: ClientWeight,
    ) -> Vec<Envelope<'a, T>> {
        let Update { model, message, norm, tensor_norms, size, summary, .. } =
            self.update(client, weight);
        let upload = &self.trained.upload;
        let forged = self.forged.as_ref();
        let envelope = Envelope {
            from: self.client,
            round: forged.map_or(round, |forged| forged.round),
            model,
            message,
            norm,
            tensor_norms,
            combined: upload.model || upload.moved.is_some(),
            size,
            summary,
            seconds: self.seconds,
        };
        vec![envelope; 1 + usize::from(forged.is_some_and(|forged| forged.twice))]
    }

    /// Whom it says that its model serves.
    pub(crate) fn summary(&self) -> Option<Summary> {
        self.forged.as_ref().and_then(|forged| forged.summary).or(self.trained.summary)
    }

    /// What it says beside its model.
    pub(crate) fn message(&self) -> &Message<T> {
        self.forged
            .as_ref()
            .and_then(|forged| forged.message.as_ref())
            .unwrap_or(&self.trained.upload.message)
    }

    /// What a server rule works with.
    pub(crate) fn update<'a>(
        &'a self,
        client: &'a Client<T>,
        weight: ClientWeight,
    ) -> Update<'a, T> {
        let (trained, forged) = (&self.trained, self.forged.as_ref());
        let local = trained.upload.model.then(|| client.local());
        Update {
            client: self.client,
            model: forged
                .and_then(|forged| forged.model.as_ref())
                .filter(|_| local.is_some())
                .or(local),
            message: self.message(),
            norm: trained.norm,
            tensor_norms: &trained.tensor_norms,
            size: forged.and_then(|forged| forged.size).unwrap_or_else(|| client.size(weight)),
            summary: self.summary(),
        }
    }
}
