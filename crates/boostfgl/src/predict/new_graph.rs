//! A plain forward pass of one model over a whole graph: new nodes, or a new graph.

use super::about::About;
use super::model::Chosen;
use super::model_file::{ModelFile, ModelName};
use super::prediction::NodePredictions;
use crate::{Error, Result};
use boostfgl_fed::Beyond;
use boostfgl_graph::{Graph, Preparation};
use boostfgl_nn::backbones::logits;
use boostfgl_nn::{Inputs, Pool, View, softmax_rows};

/// Predicts for every node of a graph as it was read, before any scaling.
///
/// # Errors
/// If the graph has other features or classes than the model, or the run predicts with modules that
/// belong to the graphs of its clients.
pub fn on_graph(chosen: &Chosen, graph: Graph) -> Result<NodePredictions> {
    let Chosen { file, name, client, .. } = chosen;
    check_method(file)?;
    let graph = prepared(file, (name.seed, *client), graph)?;
    Ok(NodePredictions { notes: notes(file.about()), ..forward(file, *name, &graph)? })
}

/// A forward pass over a graph whose features are those that the model reads.
pub(super) fn forward(
    file: &ModelFile,
    model: ModelName,
    graph: &Graph,
) -> Result<NodePredictions> {
    let (network, params) = (file.about().network()?, file.params(model)?);
    let plan = network.plan();
    let mut inputs = Inputs::<f32>::new(graph);
    inputs.set_operator(graph.adjacency(), plan.operator);
    let logits = logits(&*network, &params, &View::whole(&inputs, plan), &Pool::default());
    let mut probabilities = logits.clone();
    softmax_rows(&mut probabilities);
    Ok(NodePredictions {
        nodes: (0..graph.len()).map(|v| graph.id(v)).collect(),
        classes: file.about().classes.clone(),
        predicted: (0..graph.len()).map(|v| argmax(logits.row(v))).collect(),
        probabilities,
        logits: Some(logits),
        notes: Vec::new(),
    })
}

/// The first of the largest.
pub(super) fn argmax(row: &[f32]) -> u32 {
    let later = |best: usize, at: usize| if row[at] > row[best] { at } else { best };
    (0..row.len()).fold(0, later) as u32
}

/// Refuses models that are only a part of what predicts.
fn check_method(file: &ModelFile) -> Result<()> {
    let about = file.about();
    if !about.beyond.contains(&Beyond::Modules) {
        return Ok(());
    }
    let reason = format!(
        "expected a model that predicts by itself, found one of `{}`, which predicts with {}",
        about.method,
        Beyond::Modules.meaning()
    );
    let advice = "`boostfgl predict RUN` without data gives the predictions for the run's own \
        nodes; train a method with a plain model for new ones.";
    Err(Error::usage(file.path().display().to_string(), reason, advice))
}

/// What differs from the evaluation of the run.
fn notes(about: &About) -> Vec<String> {
    let mut notes = vec![
        "one model over the whole graph: edges between clients are used, which the run did not \
         have"
            .to_owned(),
    ];
    for beyond in [Beyond::Generated, Beyond::Boosted, Beyond::Noise] {
        if about.beyond.contains(&beyond) {
            let meaning = beyond.meaning();
            notes.push(format!("the run predicts with {meaning}; here the plain network predicts"));
        }
    }
    notes
}

/// The graph with the features that the models of a seed read.
fn prepared(file: &ModelFile, of: (u64, Option<usize>), graph: Graph) -> Result<Graph> {
    fitted(file, of, arranged(file, graph)?.scaled(file.about().scaling))
}

/// A scaled graph with its features prepared as for the models of a seed, where it belongs to this
/// client.
pub(super) fn fitted(
    file: &ModelFile,
    (seed, client): (u64, Option<usize>),
    graph: Graph,
) -> Result<Graph> {
    let Some(fitted) = file.preparation(seed, client)? else { return Ok(graph) };
    let none = Preparation::plain(graph.features().columns());
    let preparation = graph.preparation().unwrap_or(&none);
    let features = fitted.apply(graph.features(), preparation);
    Ok(graph.with_features(features)?)
}

/// Checks features and classes, and puts the columns in the order of the model.
fn arranged(file: &ModelFile, graph: Graph) -> Result<Graph> {
    let about = file.about();
    let mut problems = Vec::new();
    let (expected, found) = (about.columns(), graph.features().columns());
    let order = column_order(&about.feature_names, graph.feature_names(), &mut problems);
    if expected != found && problems.is_empty() {
        problems.push(format!("features: expected {expected} columns, found {found}"));
    }
    let names = graph.labels().names();
    let others: Vec<&String> = names.iter().filter(|name| !about.classes.contains(name)).collect();
    if !others.is_empty() {
        problems.push(format!(
            "classes: expected some of {}, found {}",
            some(&about.classes),
            some(&others)
        ));
    }
    if !problems.is_empty() {
        let advice = format!(
            "{} was trained on `{}`: the data need the same feature columns, and no other classes.",
            file.path().display(),
            about.dataset
        );
        return Err(Error::usage(graph.name(), problems.join("; "), advice));
    }
    match order {
        Some(order) => Ok(graph.arranged(&order)),
        None => Ok(graph),
    }
}

/// Where each column of the model is in the data, if both have names and the order differs.
fn column_order(
    model: &[String],
    data: &[String],
    problems: &mut Vec<String>,
) -> Option<Vec<usize>> {
    if model.is_empty() || data.is_empty() || model == data {
        return None;
    }
    let missing: Vec<&String> = model.iter().filter(|name| !data.contains(name)).collect();
    let further: Vec<&String> = data.iter().filter(|name| !model.contains(name)).collect();
    if !missing.is_empty() {
        problems.push(format!("features: expected the columns {}, found none", some(&missing)));
    }
    if !further.is_empty() {
        problems.push(format!(
            "features: expected no other columns than the model's, found {}",
            some(&further)
        ));
    }
    let place = |name: &String| data.iter().position(|other| other == name);
    problems.is_empty().then(|| model.iter().filter_map(place).collect())
}

/// The first names of a list.
fn some(names: &[impl AsRef<str>]) -> String {
    const SHOWN: usize = 8;
    let mut first: Vec<String> =
        names.iter().take(SHOWN).map(|name| format!("`{}`", name.as_ref())).collect();
    if names.len() > SHOWN {
        first.push(format!("and {} more", names.len() - SHOWN));
    }
    first.join(", ")
}
