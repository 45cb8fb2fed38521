//! Where unfairness arises inside a run: in gradients, in messages, in the aggregation.
//!
//! Each diagnostic is one file with what it finds ([`gsd::Gsd`], [`epr::Epr`] …), the arithmetic
//! behind it, and a [`Diagnostic`] that watches a run for it. [`Diagnostician`] is the observer
//! that runs any of them during training. They look at models and data and change nothing: a run
//! has the same digits with and without them. A new one is one file and one line in the table of
//! `table.rs`; a program that uses this library adds its own to a [`DiagnosticRegistry`].
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
mod registry;
mod table;
pub mod trust;

pub use network::Network;
pub use registry::{DiagnosticEntry, DiagnosticRegistry};
pub use table::{Diagnosis, DiagnosticKind};

use crate::Result;
use boostfgl_fed::{Inspection, Observer, ObserverResult, RoundRecord};
use boostfgl_graph::{Labels, Role};
use boostfgl_nn::{Real, StateVisitor};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use std::time::Instant;

/// Facts about the nodes of the partitioned graph, for evaluation; training never sees them.
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

impl Subject<'_> {
    /// Whether a node is of a minority class.
    fn is_minority(&self, node: u32) -> bool {
        self.minority[node as usize] == Some(true)
    }
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

/// What a diagnostic took.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Cost {
    /// Its name.
    pub name: String,
    /// Wall-clock seconds.
    pub seconds: f64,
}

/// One diagnostic that watches a run.
pub trait Diagnostic<T: Real>: Send {
    /// Looks inside a round, before it is evaluated.
    fn inspect(&mut self, _inspection: &Inspection<'_, T>, _subject: &Subject<'_>) {}

    /// Gets the predictions of an evaluated round, one per node of the partitioned graph.
    fn predictions(&mut self, _round: usize, _predictions: &[u32], _subject: &Subject<'_>) {}

    /// Saves what was found so far, or restores it into a diagnostic that was just started. What
    /// every inspection contains, such as the training nodes, is not state.
    ///
    /// # Errors
    /// As [`Stateful::visit`](boostfgl_nn::Stateful::visit).
    fn visit(&mut self, visitor: &mut StateVisitor<'_>) -> boostfgl_nn::Result<()>;

    /// Adds its findings to `diagnosis`; diagnostics that build on others conclude after them.
    fn conclude(self: Box<Self>, subject: &Subject<'_>, diagnosis: &mut Diagnosis);
}

/// Saves or restores the findings of a diagnostic, as the JSON in which they are published.
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

/// The observer that runs diagnostics during training.
pub struct Diagnostician<'a, T: Real> {
    subject: Subject<'a>,
    running: Vec<Running<T>>,
}

/// A diagnostic that watches a run.
struct Running<T: Real> {
    name: &'static str,
    diagnostic: Box<dyn Diagnostic<T>>,
    /// Wall-clock time so far.
    seconds: f64,
}

impl<T: Real> Running<T> {
    fn start(entry: &DiagnosticEntry<T>, settings: Settings) -> Self {
        Self { name: entry.name, diagnostic: (entry.start)(settings), seconds: 0.0 }
    }

    /// Lets the diagnostic work, and counts the time it takes.
    fn timed(&mut self, work: impl FnOnce(&mut dyn Diagnostic<T>)) {
        let started = Instant::now();
        work(&mut *self.diagnostic);
        self.seconds += started.elapsed().as_secs_f64();
    }
}

impl<'a, T: Real> Diagnostician<'a, T> {
    /// Starts the diagnostics `wanted`, and those they build on.
    pub fn new(wanted: &[DiagnosticKind], subject: Subject<'a>, settings: Settings) -> Self {
        let mut needed = wanted.to_vec();
        needed.extend(wanted.iter().flat_map(|which| which.builds_on()));
        let registry = DiagnosticRegistry::builtin();
        let running = registry
            .iter()
            .filter(|entry| needed.iter().any(|which| which.name() == entry.name))
            .map(|entry| Running::start(entry, settings));
        Self { subject, running: running.collect() }
    }

    /// Starts the diagnostics of `registry` that are named, and those they build on.
    ///
    /// # Errors
    /// If a name is unknown; the nearest is suggested.
    pub fn from_registry(
        registry: &DiagnosticRegistry<T>,
        names: &[&str],
        subject: Subject<'a>,
        settings: Settings,
    ) -> Result<Self> {
        let running = registry.select(names)?.into_iter();
        let running = running.map(|entry| Running::start(entry, settings)).collect();
        Ok(Self { subject, running })
    }

    /// Saves or restores what was found so far.
    ///
    /// # Errors
    /// As [`Stateful::visit`](boostfgl_nn::Stateful::visit).
    pub fn visit(&mut self, visitor: &mut StateVisitor<'_>) -> boostfgl_nn::Result<()> {
        self.running.iter_mut().try_for_each(|running| {
            visitor.within(running.name, |visitor| {
                visitor.visit("seconds", &mut running.seconds)?;
                running.diagnostic.visit(visitor)
            })
        })
    }

    /// What was found.
    pub fn conclude(self) -> Diagnosis {
        let mut diagnosis = Diagnosis::default();
        for Running { name, diagnostic, mut seconds } in self.running {
            let started = Instant::now();
            diagnostic.conclude(&self.subject, &mut diagnosis);
            seconds += started.elapsed().as_secs_f64();
            diagnosis.cost.push(Cost { name: name.to_owned(), seconds });
        }
        diagnosis
    }
}

impl<T: Real> Observer<T> for Diagnostician<'_, T> {
    fn inspects(&self) -> bool {
        !self.running.is_empty()
    }

    fn inspect(&mut self, inspection: &Inspection<'_, T>) {
        for running in &mut self.running {
            running.timed(|diagnostic| diagnostic.inspect(inspection, &self.subject));
        }
    }

    fn round(&mut self, record: &RoundRecord<'_>) -> ObserverResult {
        let Some(predictions) = record.predictions else { return Ok(()) };
        for running in &mut self.running {
            running.timed(|diagnostic| {
                diagnostic.predictions(record.round, predictions, &self.subject);
            });
        }
        Ok(())
    }
}
