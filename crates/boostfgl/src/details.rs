//! Details of one seed in the summary, in addition to its metrics, and warnings about it.

use crate::config::HomophilyGraph;
use crate::run::audit;
use crate::run::evaluator::Evaluator;
use crate::{Experiment, Result};
use boostfgl_fairness::protected::positive_class;
use boostfgl_fairness::warnings::{self, ClientGuess};
use boostfgl_fairness::{Confusion, Percent, Warning, WarningKind};
use boostfgl_fed::{Outcome, Snapshot};
use boostfgl_graph::{Graph, Role};
use boostfgl_partition::{Partition, SplitRule};
use boostfgl_report::{
    Budget, MinorityUsed, Neighbours, RoundScores, SeedDetails, SplitOrigin, SplitUsed, StoredSplit,
};

/// The details of a trained seed.
pub(crate) fn details(
    experiment: &Experiment,
    evaluator: &Evaluator<'_>,
    partition: &Partition,
    outcome: &Outcome<f32>,
    seed: u64,
) -> Result<SeedDetails> {
    let protocol = &experiment.config().fed;
    let details = SeedDetails {
        last: round_scores(evaluator, outcome.trace.last.as_ref())?,
        best_val: round_scores(evaluator, outcome.trace.best_val.as_ref())?,
        budget: Some(Budget {
            rounds: protocol.rounds,
            epochs: protocol.epochs,
            added_rounds: outcome.trace.losses.len().saturating_sub(protocol.rounds),
        }),
        split: Some(split(experiment, partition, seed)?),
        minority: Some(minority(experiment.graph(), evaluator)),
        homophily: match experiment.config().groups.homophily_graph {
            HomophilyGraph::Global => Neighbours::Global,
            HomophilyGraph::Local => Neighbours::Local,
        },
        clients: Vec::new(),
        fairness: audit::scores(experiment, evaluator, partition, outcome)?,
        warnings: find_warnings(experiment, evaluator, partition, outcome, seed)?,
        ..SeedDetails::default()
    };
    Ok(details.with_validation_of(outcome.round))
}

/// The scores of a recorded round; `None` if there is none.
fn round_scores(
    evaluator: &Evaluator<'_>,
    snapshot: Option<&Snapshot>,
) -> Result<Option<RoundScores>> {
    let Some(snapshot) = snapshot else { return Ok(None) };
    let scores = evaluator.evaluate(&snapshot.predictions)?.scores.percent();
    let val_accuracy = snapshot.val_accuracy.map(|accuracy| 100.0 * accuracy);
    let val_macro_f1 = evaluator.val_macro_f1(&snapshot.predictions)?.map(|f1| 100.0 * f1);
    let round = snapshot.round;
    Ok(Some(RoundScores { round, val_accuracy, val_macro_f1, scores: Percent(scores.0) }))
}

fn split(experiment: &Experiment, partition: &Partition, seed: u64) -> Result<SplitUsed> {
    let source = match experiment.split_rule()? {
        _ if experiment.splits_by_file() => SplitOrigin::PartitionStats,
        SplitRule::Published => SplitOrigin::Data,
        SplitRule::Ratios(_) => SplitOrigin::Shares,
    };
    let [train, val, test] =
        [Role::Train, Role::Val, Role::Test].map(|role| partition.split().count(role));
    let count = experiment.graph().splits().len();
    let stored = (source == SplitOrigin::Data && count > 0)
        .then(|| StoredSplit { number: (seed % count as u64) as usize, of: count });
    Ok(SplitUsed { source, stored, train, val, test })
}

fn minority(graph: &Graph, evaluator: &Evaluator<'_>) -> MinorityUsed {
    let classes: Vec<usize> =
        (0..graph.classes()).filter(|&class| evaluator.minority[class] == Some(true)).collect();
    let test = evaluator
        .test
        .iter()
        .filter(|&&v| evaluator.groups.minority[v as usize] == Some(true))
        .count();
    MinorityUsed {
        train: classes.iter().map(|&class| evaluator.training_counts[class]).sum(),
        classes: classes.into_iter().map(|class| graph.labels().names()[class].clone()).collect(),
        test,
    }
}

/// Reasons why good scores may be misleading.
fn find_warnings(
    experiment: &Experiment,
    evaluator: &Evaluator<'_>,
    partition: &Partition,
    outcome: &Outcome<f32>,
    seed: u64,
) -> Result<Vec<Warning>> {
    let graph = experiment.graph();
    let (labels, names) = (graph.labels(), graph.labels().names());
    let test_pairs = evaluator
        .test
        .iter()
        .filter_map(|&v| Some((labels.get(v as usize)?, outcome.predictions[v as usize])));
    let confusion = Confusion::from_pairs(graph.classes(), test_pairs)?;
    let mut found = warnings::unpredicted(&confusion, names, seed);
    if let Some(name) = &experiment.config().evaluation.positive {
        let class = positive_class(name, names)? as usize;
        warnings::positive_unpredicted(&confusion, class, name, seed, &mut found);
    }
    // Rounds that a method adds train other modules with another loss, so they are left out.
    let rounds = experiment.config().fed.rounds.min(outcome.trace.losses.len());
    found.extend(warnings::training_loss(&outcome.trace.losses[..rounds], seed));
    let clients = client_guesses(graph, partition, &outcome.predictions);
    for (client, guess) in clients.iter().enumerate() {
        match guess {
            Some(guess) => found.extend(warnings::worse_than_guessing(guess, seed)),
            None => {
                let text =
                    format!("client {client} has no training node: it takes no part in training");
                found.push(Warning::new(
                    WarningKind::NoTrainingNode,
                    client.to_string(),
                    text,
                    seed,
                ));
            }
        }
    }
    found.extend(missing_group(&evaluator.minority, seed));
    found.extend(warnings::feature_scales(graph.features(), seed));
    Ok(found)
}

/// A warning if no training label belongs to the minority, or none to the majority.
pub(crate) fn missing_group(minority: &[Option<bool>], seed: u64) -> Option<Warning> {
    let counted = minority.iter().flatten().count();
    let text = match (minority.contains(&Some(true)), minority.contains(&Some(false))) {
        (true, true) => return None,
        (false, _) if counted < 2 => {
            "training labels are of one class only: there is no minority, and every gap is 0"
        }
        (false, _) => {
            "no training node is of a minority class: there is no minority, and every gap is 0"
        }
        (true, false) => {
            "all classes with training nodes are minority classes: there is no majority to \
             compare with"
        }
    };
    Some(Warning::new(WarningKind::NoMinority, "", text, seed))
}

/// The number of test nodes that each client would predict correctly with its most common
/// training class (the first of equals); `None` for a client without a training node.
fn client_guesses<'a>(
    graph: &'a Graph,
    partition: &Partition,
    predictions: &[u32],
) -> Vec<Option<ClientGuess<'a>>> {
    let labels = graph.labels();
    let mut training = vec![vec![0usize; graph.classes()]; partition.clients()];
    for v in partition.split().nodes(Role::Train) {
        if let Some(class) = labels.get(v) {
            training[partition.client_of(v)][class as usize] += 1;
        }
    }
    let answers: Vec<Option<usize>> = training.iter().map(|counts| most_common(counts)).collect();
    let mut guesses: Vec<Option<ClientGuess<'a>>> = answers
        .iter()
        .enumerate()
        .map(|(client, answer)| {
            let class = labels.names()[(*answer)?].as_str();
            let client = client.to_string();
            Some(ClientGuess { client, nodes: 0, right: 0, class, guessed: 0 })
        })
        .collect();
    for v in partition.split().nodes(Role::Test) {
        let client = partition.client_of(v);
        let (Some(class), Some(guess)) = (labels.get(v), &mut guesses[client]) else { continue };
        guess.nodes += 1;
        guess.right += usize::from(predictions[v] == class);
        guess.guessed += usize::from(answers[client] == Some(class as usize));
    }
    guesses
}

/// The class with the largest count, the first of equals; `None` if all are 0.
pub(crate) fn most_common(counts: &[usize]) -> Option<usize> {
    let most = counts.iter().max().copied().filter(|&most| most > 0)?;
    counts.iter().position(|&count| count == most)
}
