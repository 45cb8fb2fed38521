//! Where unfairness arises inside a run: in gradients, in messages, in the aggregation.
//!
//! Each diagnostic is one file with what it finds ([`gsd::Gsd`], [`epr::Epr`] …), the arithmetic
//! behind it, and a [`Diagnostic`] that watches a run for it. [`Diagnostician`] is the observer
//! that runs any of them beside training. They look at models and data and change nothing: a run
//! has the same digits with and without them.
//!
//! | name | question | equation |
//! |---|---|---|
//! | `gsd` | do minority nodes get their share of the gradient? | (G_min / N_min) / (G_maj / N_maj), G = Σ‖∇ℓᵥ‖₂ |
//! | `epr` | which messages harm the node that receives them? | Rᵤᵥ = ℓᵥ without u→v − ℓᵥ with it |
//! | `khop` | does error spread from disadvantaged nodes? | error rate at k hops from them |
//! | `dilution` | does averaging cancel what helps the minority? | DR = Σ wₖ aₖ / (mean max(aₖ, 0) + ε), aₖ = ⟨Δθₖ, g_min⟩ |
//! | `attribution` | whose loss did training reduce? | share of the decrease of Σ ℓᵥ that is the minority's |
//! | `hardness` | is the skew on clients with many disadvantaged nodes? | GSDₖ against Hₖ |
//! | `trust` | would trust per layer differ from trust in the whole? | τ of ‖Δθₖ,ₗ‖ against τ of ‖Δθₖ‖ |
//!
//! What they have in common:
//!
//! * Everything is computed without dropout and without message noise, and under the messages of
//!   the round's training: plain, or with the β of topology boosting.
//! * Where a method computes with other parameters than it trains (FedPUB's masks, FairFGL's
//!   mixture), gradients and losses are taken at those that compute, and updates are of those that
//!   are trained.
//! * Where only some clients take part in a round, GSD and g_min run over all clients with training
//!   nodes; those that sat out have αᵥ = 1 and plain messages. Updates are those of the
//!   participants.
//! * Rounds that a method adds after those asked for (AdaFGL's personal step) are not looked into:
//!   they train modules of their own while the network stands still. "The last round" is the last
//!   that was asked for; only `khop` counts the errors of the predictions that really come last.
//! * What overflows in a huge model is left out, as if it had not been measured.

pub mod attribution;
pub mod dilution;
mod effort;
pub mod epr;
pub mod gsd;
pub mod hardness;
pub mod khop;
mod layers;
mod network;
pub mod trust;
mod which;

pub use network::Network;
pub use which::Which;

use boostfgl_fed::{Inspection, Observer, ObserverResult, RoundRecord};
use boostfgl_graph::{Labels, Role};
use boostfgl_nn::{Real, StateVisitor};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use std::time::Instant;

/// What is known of the nodes of the graph that was divided: facts that judge, and that training
/// never sees.
#[derive(Clone, Copy, Debug)]
pub struct Subject<'a> {
    /// The true classes.
    pub labels: &'a Labels,
    /// Training nodes of each class, of all clients together: they define the minority for any
    /// ratio q.
    pub training_counts: &'a [usize],
    /// Per class, whether it is a minority class of the run; `None` for a class without a training
    /// node.
    pub minority_classes: &'a [Option<bool>],
    /// Per node, whether its class is a minority class; `None` if it is in neither group.
    pub minority: &'a [Option<bool>],
    /// Per node, whether it is heterophilous.
    pub heterophilous: &'a [bool],
    /// Per node, what it is used for.
    pub roles: &'a [Role],
    /// The seed of the run: samples are drawn from it.
    pub seed: u64,
}

/// Strengths that the trust diagnostic applies, whether or not the run boosts its server: λₛ and γ.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Settings {
    /// How much work a diagnostic may do, as a multiple of what the rounds it watches take; beyond
    /// it, it samples. `None`: always exact.
    pub effort: Option<f64>,
    /// λₛ of the trust that is reported per layer.
    pub lambda_s: f64,
    /// γ of the trust that is reported per layer.
    pub gamma: f64,
}

impl Default for Settings {
    fn default() -> Self {
        Self { effort: Some(1.0), lambda_s: 0.5, gamma: 0.5 }
    }
}

/// Everything that was found in one run of one seed.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Diagnosis {
    /// Gradient share disparity.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub gsd: Option<gsd::Gsd>,
    /// Edge-wise propagation reliability.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub epr: Option<epr::Epr>,
    /// Error by distance from disadvantaged nodes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub khop: Option<khop::Khop>,
    /// Dilution ratio and alignment of updates.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub dilution: Option<dilution::Dilution>,
    /// Attribution of the decrease of the loss.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub attribution: Option<attribution::Attribution>,
    /// Hardness of clients.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hardness: Option<hardness::Hardness>,
    /// Trust per layer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub trust: Option<trust::Trust>,
    /// What each diagnostic took.
    pub cost: Vec<Cost>,
}

impl Diagnosis {
    /// What these diagnostics found and took, without the others.
    #[must_use]
    pub fn only(&self, wanted: &[Which]) -> Self {
        let is = |which: Which| wanted.contains(&which);
        Self {
            gsd: self.gsd.clone().filter(|_| is(Which::Gsd)),
            epr: self.epr.clone().filter(|_| is(Which::Epr)),
            khop: self.khop.clone().filter(|_| is(Which::Khop)),
            dilution: self.dilution.clone().filter(|_| is(Which::Dilution)),
            attribution: self.attribution.filter(|_| is(Which::Attribution)),
            hardness: self.hardness.clone().filter(|_| is(Which::Hardness)),
            trust: self.trust.clone().filter(|_| is(Which::Trust)),
            cost: self
                .cost
                .iter()
                .filter(|cost| wanted.iter().any(|w| w.name() == cost.name))
                .cloned()
                .collect(),
        }
    }
}

/// What a diagnostic took.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Cost {
    /// Its name.
    pub name: String,
    /// Seconds on the clock.
    pub seconds: f64,
}

/// One diagnostic at work beside a run.
pub trait Diagnostic<T: Real>: Send {
    /// Looks inside a round, before it is evaluated.
    fn inspect(&mut self, _inspection: &Inspection<'_, T>, _subject: &Subject<'_>) {}

    /// Sees the predictions of an evaluated round, one per node of the graph that was divided.
    fn predictions(&mut self, _round: usize, _predictions: &[u32], _subject: &Subject<'_>) {}

    /// Takes down what it has found so far, or puts it back into one that was just started. What
    /// can be seen again, such as who is trained on, is no state.
    ///
    /// # Errors
    /// As [`Stateful::visit`](boostfgl_nn::Stateful::visit).
    fn visit(&mut self, visitor: &mut StateVisitor<'_>) -> boostfgl_nn::Result<()>;

    /// Writes down what it found; diagnostics that build on others come after them.
    fn conclude(self: Box<Self>, subject: &Subject<'_>, diagnosis: &mut Diagnosis);
}

/// Takes down what a diagnostic found, or puts it back, as the JSON that its findings are published
/// in.
fn findings<F: Serialize + DeserializeOwned>(
    visitor: &mut StateVisitor<'_>,
    found: &mut F,
) -> boostfgl_nn::Result<()> {
    let mut text = String::new();
    if !visitor.restores() {
        text = serde_json::to_string(found)
            .map_err(|error| visitor.mismatch("findings", error.to_string()))?;
    }
    visitor.visit("findings", &mut text)?;
    if visitor.restores() {
        *found = serde_json::from_str(&text)
            .map_err(|error| visitor.mismatch("findings", error.to_string()))?;
    }
    Ok(())
}

/// The observer that runs diagnostics beside training.
pub struct Diagnostician<'a, T: Real> {
    subject: Subject<'a>,
    at_work: Vec<(Which, Box<dyn Diagnostic<T>>, f64)>,
}

impl<'a, T: Real> Diagnostician<'a, T> {
    /// Starts the diagnostics `wanted`, and those they build on.
    pub fn new(wanted: &[Which], subject: Subject<'a>, settings: Settings) -> Self {
        let needed =
            |which: &Which| wanted.iter().any(|w| w == which || w.builds_on().contains(which));
        let start = |which: Which| (which, which.start::<T>(settings), 0.0);
        Self { subject, at_work: Which::ALL.into_iter().filter(needed).map(start).collect() }
    }

    /// Takes down what was found so far, or puts it back.
    ///
    /// # Errors
    /// As [`Stateful::visit`](boostfgl_nn::Stateful::visit).
    pub fn visit(&mut self, visitor: &mut StateVisitor<'_>) -> boostfgl_nn::Result<()> {
        self.at_work.iter_mut().try_for_each(|(which, diagnostic, seconds)| {
            visitor.within(which.name(), |visitor| {
                visitor.visit("seconds", seconds)?;
                diagnostic.visit(visitor)
            })
        })
    }

    /// What was found.
    pub fn conclude(self) -> Diagnosis {
        let mut diagnosis = Diagnosis::default();
        for (which, diagnostic, mut seconds) in self.at_work {
            let started = Instant::now();
            diagnostic.conclude(&self.subject, &mut diagnosis);
            seconds += started.elapsed().as_secs_f64();
            diagnosis.cost.push(Cost { name: which.name().to_owned(), seconds });
        }
        diagnosis
    }
}

impl<T: Real> Observer<T> for Diagnostician<'_, T> {
    fn inspects(&self) -> bool {
        !self.at_work.is_empty()
    }

    fn inspect(&mut self, inspection: &Inspection<'_, T>) {
        for (_, diagnostic, seconds) in &mut self.at_work {
            let started = Instant::now();
            diagnostic.inspect(inspection, &self.subject);
            *seconds += started.elapsed().as_secs_f64();
        }
    }

    fn round(&mut self, record: &RoundRecord<'_>) -> ObserverResult {
        let Some(predictions) = record.predictions else { return Ok(()) };
        for (_, diagnostic, seconds) in &mut self.at_work {
            let started = Instant::now();
            diagnostic.predictions(record.round, predictions, &self.subject);
            *seconds += started.elapsed().as_secs_f64();
        }
        Ok(())
    }
}
