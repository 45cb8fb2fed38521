//! What is known of the run of one seed besides its metrics, and what is wrong with it.

use crate::run::evaluator::Evaluator;
use crate::{Experiment, Result};
use boostfgl_fairness::warnings::{self, ClientGuess};
use boostfgl_fairness::{Confusion, Percent, Warning, WarningKind};
use boostfgl_fed::{Outcome, Snapshot};
use boostfgl_graph::{Graph, Role};
use boostfgl_partition::{Partition, SplitRule};
use boostfgl_report::{
    Budget, MinorityUsed, RoundScores, SeedDetails, SplitOrigin, SplitUsed, StoredSplit,
};

/// The details of a seed that is trained.
pub(crate) fn details(
    experiment: &Experiment,
    judge: &Evaluator<'_>,
    partition: &Partition,
    outcome: &Outcome<f32>,
    seed: u64,
) -> Result<SeedDetails> {
    let scores = |snapshot: &Option<Snapshot>| {
        snapshot.as_ref().map(|it| round_scores(judge, it)).transpose()
    };
    let protocol = &experiment.config().fed;
    Ok(SeedDetails {
        last: scores(&outcome.trace.last)?,
        best_val: scores(&outcome.trace.best_val)?,
        budget: Some(Budget {
            rounds: protocol.rounds,
            epochs: protocol.epochs,
            added_rounds: outcome.trace.losses.len().saturating_sub(protocol.rounds),
        }),
        split: Some(split(experiment, partition, seed)?),
        minority: Some(minority(experiment.graph(), judge)),
        warnings: find_warnings(experiment, judge, partition, outcome, seed)?,
    })
}

fn round_scores(judge: &Evaluator<'_>, snapshot: &Snapshot) -> Result<RoundScores> {
    let scores = judge.evaluate(&snapshot.predictions)?.scores.percent();
    let val_accuracy = snapshot.val_accuracy.map(|accuracy| 100.0 * accuracy);
    Ok(RoundScores { round: snapshot.round, val_accuracy, scores: Percent(scores.0) })
}

fn split(experiment: &Experiment, partition: &Partition, seed: u64) -> Result<SplitUsed> {
    let source = match experiment.split_rule()? {
        _ if experiment.splits_by_file() => SplitOrigin::PartitionFile,
        SplitRule::Published => SplitOrigin::Data,
        SplitRule::Ratios(_) => SplitOrigin::Shares,
    };
    let [train, val, test] =
        [Role::Train, Role::Val, Role::Test].map(|role| partition.split().count(role));
    let of = experiment.graph().splits().len();
    let stored = (source == SplitOrigin::Data && of > 0)
        .then(|| StoredSplit { number: (seed % of as u64) as usize, of });
    Ok(SplitUsed { source, stored, train, val, test })
}

fn minority(graph: &Graph, judge: &Evaluator<'_>) -> MinorityUsed {
    let classes: Vec<usize> =
        (0..graph.classes()).filter(|&class| judge.minority[class] == Some(true)).collect();
    let test =
        judge.test.iter().filter(|&&v| judge.groups.minority[v as usize] == Some(true)).count();
    MinorityUsed {
        train: classes.iter().map(|&class| judge.training_counts[class]).sum(),
        classes: classes.into_iter().map(|class| graph.labels().names()[class].clone()).collect(),
        test,
    }
}

/// Everything that must not look like a success.
fn find_warnings(
    experiment: &Experiment,
    judge: &Evaluator<'_>,
    partition: &Partition,
    outcome: &Outcome<f32>,
    seed: u64,
) -> Result<Vec<Warning>> {
    let graph = experiment.graph();
    let (labels, names) = (graph.labels(), graph.labels().names());
    let judged = judge
        .test
        .iter()
        .filter_map(|&v| Some((labels.get(v as usize)?, outcome.predictions[v as usize])));
    let confusion = Confusion::from_pairs(graph.classes(), judged)?;
    let mut found = warnings::unpredicted(&confusion, names, seed);
    // Rounds that a method adds train modules of their own, under another loss.
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
    found.extend(missing_group(&judge.minority, seed));
    found.extend(warnings::feature_scales(graph.features(), seed));
    Ok(found)
}

/// A minority or a majority that no training label is in.
fn missing_group(minority: &[Option<bool>], seed: u64) -> Option<Warning> {
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

/// What each client would get right by always answering its most common training class (of equals
/// the first); `None` for a client without a training node.
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
    let most_common = |counts: &Vec<usize>| {
        let most = counts.iter().max().copied().filter(|&most| most > 0)?;
        counts.iter().position(|&count| count == most)
    };
    let answers: Vec<Option<usize>> = training.iter().map(most_common).collect();
    let mut guesses: Vec<Option<ClientGuess<'a>>> = answers
        .iter()
        .enumerate()
        .map(|(client, answer)| {
            let class = labels.names()[(*answer)?].as_str();
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
