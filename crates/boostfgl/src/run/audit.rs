//! Rates of the positive class by protected attribute, of the reported round of a seed.

use super::evaluator::Evaluator;
use crate::config::EvaluationSection;
use crate::{Error, Experiment, Result};
use boostfgl_fairness::protected::thresholds::ThresholdRule;
use boostfgl_fairness::protected::{Audit, FairnessScores, positive_class};
use boostfgl_fed::Outcome;
use boostfgl_graph::{Graph, Role};
use boostfgl_partition::Partition;

/// The rates of a trained seed; `None` where the data have no group column and no positive class is
/// configured.
pub(crate) fn scores(
    experiment: &Experiment,
    evaluator: &Evaluator<'_>,
    partition: &Partition,
    outcome: &Outcome<f32>,
) -> Result<Option<FairnessScores>> {
    let (graph, section) = (experiment.graph(), &experiment.config().evaluation);
    if graph.group_columns().is_empty() && section.positive.is_none() {
        return Ok(None);
    }
    let names = graph.labels().names();
    let positive = section.positive.as_deref().map(|name| positive_class(name, names));
    let probabilities = outcome.probabilities.as_ref().map(boostfgl_nn::Matrix::to_vec);
    let validation: Vec<u32> = partition.split().nodes(Role::Val).map(|v| v as u32).collect();
    // No attribute is a degree.
    let degree = vec![0; graph.len()];
    let audit = Audit {
        probabilities: probabilities.as_deref(),
        positive: positive.transpose()?,
        rule: section.thresholds,
        validation: &validation,
        ..Audit::new(evaluator.facts(&outcome.predictions, &degree))
    };
    Ok(Some(audit.answer()?))
}

/// Checks before training that the data have what the section asks for.
///
/// # Errors
/// Names the key, and what the data have.
pub(crate) fn check(section: &EvaluationSection, graph: &Graph) -> Result<()> {
    let names = graph.labels().names();
    section.positive.as_deref().map(|name| positive_class(name, names)).transpose()?;
    if section.thresholds == ThresholdRule::None {
        return Ok(());
    }
    let place = "evaluation.thresholds";
    if graph.group_columns().is_empty() {
        let reason = format!("expected data with group columns, found none in {}", graph.name());
        let advice = "Give nodes.csv a column group:NAME, or leave the key out.";
        return Err(Error::usage(place, reason, advice));
    }
    if section.positive.is_none() && names.len() != 2 {
        let reason = format!(
            "expected one positive class, found {} classes, each against all others",
            names.len()
        );
        return Err(Error::usage(place, reason, "Set evaluation.positive to a class."));
    }
    Ok(())
}
