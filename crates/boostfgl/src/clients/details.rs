//! Details of one seed in the summary, from what the server knows.

use super::group_tally::group_tally;
use super::trace::{CountedRound, Scoring, SeedTrace};
use crate::Result;
use crate::config::Config;
use crate::details::{missing_group, most_common};
use boostfgl_fairness::protected::{FairnessScores, positive_class};
use boostfgl_fairness::warnings::{self, ClientGuess};
use boostfgl_fairness::{Confusion, Evaluation, Percent, Warning, WarningKind};
use boostfgl_report::{
    Budget, ClientSummary, MinorityUsed, Neighbours, RoundScores, SeedDetails, SplitOrigin,
    SplitUsed,
};

/// The details of a trained seed; `split` is where the roles of nodes come from.
pub(super) fn details(
    config: &Config,
    scoring: &Scoring,
    trace: &SeedTrace,
    (seed, split): (u64, SplitOrigin),
) -> Result<SeedDetails> {
    let reported = trace.reported.clone().unwrap_or_default();
    let evaluation = scoring.evaluate(&reported)?;
    let details = SeedDetails {
        last: round_scores(scoring, trace.last.as_ref())?,
        best_val: round_scores(scoring, trace.best_val.as_ref())?,
        budget: Some(Budget {
            rounds: config.fed.rounds,
            epochs: config.fed.epochs,
            added_rounds: trace.losses.len().saturating_sub(config.fed.rounds),
        }),
        split: Some(split_used(scoring, split)),
        minority: Some(minority(scoring, &evaluation)),
        homophily: Neighbours::Local,
        clients: clients(scoring, &evaluation),
        fairness: fairness(config, &reported)?,
        warnings: find_warnings(config, scoring, trace, (&reported, seed))?,
        ..SeedDetails::default()
    };
    Ok(details.with_validation_of(reported.round))
}

fn round_scores(scoring: &Scoring, round: Option<&CountedRound>) -> Result<Option<RoundScores>> {
    let Some(counted) = round else { return Ok(None) };
    let scores = scoring.evaluate(counted)?.scores.percent();
    let val_accuracy = counted.val_accuracy.map(|accuracy| 100.0 * accuracy);
    Ok(Some(RoundScores { round: counted.round, val_accuracy, val_macro_f1: None, scores }))
}

fn split_used(scoring: &Scoring, source: SplitOrigin) -> SplitUsed {
    let clients = scoring.enrolled.iter();
    let [mut train, mut val, mut test] = [0; 3];
    for client in clients {
        train += client.training as usize;
        val += client.validation as usize;
        test += client.test as usize;
    }
    SplitUsed { source, stored: None, train, val, test }
}

fn minority(scoring: &Scoring, evaluation: &Evaluation) -> MinorityUsed {
    let classes = (0..scoring.classes.len()).filter(|&c| scoring.minority[c] == Some(true));
    MinorityUsed {
        train: classes.clone().map(|class| scoring.training_counts[class]).sum(),
        classes: classes.map(|class| scoring.classes[class].clone()).collect(),
        test: evaluation.groups.sizes().minority,
    }
}

fn clients(scoring: &Scoring, evaluation: &Evaluation) -> Vec<ClientSummary> {
    let scored = |client: usize| {
        let found = evaluation.clients.iter().find(|found| found.client as usize == client);
        found.map(|found| found.scores).unwrap_or_default()
    };
    let clients = scoring.enrolled.iter().enumerate().map(|(k, enrolled)| ClientSummary {
        name: enrolled.name.clone(),
        nodes: enrolled.nodes as usize,
        arcs: enrolled.arcs as usize,
        train: enrolled.training as usize,
        val: enrolled.validation as usize,
        test: enrolled.test as usize,
        scores: Percent(scored(k).percent().0),
    });
    clients.collect()
}

/// Rates of the positive class by protected attribute, if it is configured.
fn fairness(config: &Config, reported: &CountedRound) -> Result<Option<FairnessScores>> {
    let Some(positive) = &config.evaluation.positive else { return Ok(None) };
    let groups = reported.counts.iter().flat_map(|found| &found.groups);
    let tallies = groups.map(group_tally).collect::<Result<Vec<_>>>()?;
    Ok(Some(FairnessScores::of_tallies(positive, tallies)))
}

/// Reasons why good scores may be misleading.
fn find_warnings(
    config: &Config,
    scoring: &Scoring,
    trace: &SeedTrace,
    (reported, seed): (&CountedRound, u64),
) -> Result<Vec<Warning>> {
    let mut all = Confusion::new(scoring.classes.len());
    let mut clients = Vec::new();
    for found in &reported.counts {
        let own = scoring.confusion(&found.counts)?;
        all.merge(&own)?;
        clients.push((found.client, own));
    }
    let mut found = warnings::unpredicted(&all, &scoring.classes, seed);
    if let Some(name) = &config.evaluation.positive {
        let class = positive_class(name, &scoring.classes)? as usize;
        warnings::positive_unpredicted(&all, class, name, seed, &mut found);
    }
    // Rounds that a method adds train other modules with another loss, so they are left out.
    let rounds = config.fed.rounds.min(trace.losses.len());
    found.extend(warnings::training_loss(&trace.losses[..rounds], seed));
    for (client, own) in &clients {
        found.extend(of_client(scoring, *client, own, seed));
    }
    found.extend(missing_group(&scoring.minority, seed));
    Ok(found)
}

/// A warning about a client that has nothing to train on, or for which the model is worse than its
/// most common training class.
fn of_client(scoring: &Scoring, client: usize, own: &Confusion, seed: u64) -> Option<Warning> {
    let enrolled = &scoring.enrolled[client];
    let counts: Vec<usize> = enrolled.group_counts.iter().map(|&count| count as usize).collect();
    let name = &enrolled.name;
    let Some(class) = most_common(&counts) else {
        let text = format!("client {name} has no training node: it takes no part in training");
        return Some(Warning::new(WarningKind::NoTrainingNode, name.clone(), text, seed));
    };
    let guess = ClientGuess {
        client: name.clone(),
        nodes: own.total() as usize,
        right: own.hits() as usize,
        class: &scoring.classes[class],
        guessed: own.per_class()[class].truth as usize,
    };
    warnings::worse_than_guessing(&guess, seed)
}
