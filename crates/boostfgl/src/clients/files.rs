//! The files of a run on clients with graphs of their own. Predictions, and models that only one
//! client has, are in the folder of that client.

use super::client_data::ClientData;
use super::experiment::{ClientsExperiment, ClientsSeed};
use crate::Result;
use crate::predict::Owner;
use crate::run::fitted;
use crate::run::models::Trained;
use crate::run::prediction_columns::FurtherColumns;
use boostfgl_disk as disk;
use boostfgl_fed::Beyond;
use boostfgl_fed::methods::EvaluatedModel;
use boostfgl_graph::{Role, Split};
use boostfgl_nn::Params;
use boostfgl_partition::ClientGraph;
use boostfgl_report::{Fingerprint, Prediction, PredictionsWriter, RunFolder};

/// `clients/NAME/predictions.csv` of every client.
pub(crate) struct ClientPredictions(Vec<PredictionsWriter>);

impl ClientPredictions {
    pub(super) fn start(experiment: &ClientsExperiment, folder: &RunFolder) -> Result<Self> {
        let mut files = Vec::with_capacity(experiment.clients().len());
        for client in experiment.clients() {
            let place = folder.client(client.name());
            disk::create_dir_all(&place)?;
            let path = place.join(RunFolder::PREDICTIONS);
            let columns = FurtherColumns::of(experiment.config(), experiment.classes());
            files.push(PredictionsWriter::with_columns(path, &columns.headings(client.graph()))?);
        }
        Ok(Self(files))
    }

    /// Appends the predictions of a seed.
    pub(super) fn write(
        &mut self,
        experiment: &ClientsExperiment,
        seed: &ClientsSeed,
    ) -> Result<()> {
        let (config, classes) = (experiment.config(), experiment.classes());
        let splits = splits(experiment, seed.seed)?;
        let minority = minority(experiment, &splits)?;
        let mut predicted = seed.outcome.predictions.iter().enumerate();
        for (k, client) in experiment.clients().iter().enumerate() {
            let graph = client.graph();
            let names = graph.labels().names();
            let minority: Vec<Option<bool>> = names
                .iter()
                .map(|name| place(classes, name).and_then(|class| minority[class]))
                .collect();
            for (v, (at, prediction)) in (0..graph.len()).zip(predicted.by_ref()) {
                let label = graph.labels().get(v);
                let name = label.map(|class| names[class as usize].as_str());
                let threshold = config.groups.homophily_threshold;
                let row = Prediction {
                    seed: seed.seed,
                    node: &graph.id(v),
                    client: k as u32,
                    split: splits[k].role(v),
                    label: name,
                    prediction: &classes[*prediction as usize],
                    minority: label.and_then(|class| minority[class as usize]),
                    heterophilous: client.heterophilous(v, threshold),
                };
                let probabilities = seed.outcome.probabilities.as_ref().map(|all| all.row(at));
                let columns = FurtherColumns::of(config, classes);
                self.0[k].write_with(&row, &columns.fields(graph, v, probabilities))?;
            }
        }
        Ok(())
    }

    pub(super) fn finish(self) -> Result<()> {
        self.0.into_iter().try_for_each(|file| Ok(file.finish()?))
    }
}

/// The number of a class.
fn place(classes: &[String], name: &str) -> Option<usize> {
    classes.iter().position(|class| class == name)
}

/// The roles of every client's nodes under a seed.
fn splits(experiment: &ClientsExperiment, seed: u64) -> Result<Vec<Split>> {
    let clients = experiment.clients().iter().enumerate();
    clients.map(|(k, client)| client.split(k, experiment.config(), seed)).collect()
}

/// Per class, whether it is a minority class among the training nodes of all clients.
fn minority(experiment: &ClientsExperiment, splits: &[Split]) -> Result<Vec<Option<bool>>> {
    let classes = experiment.classes();
    let mut counts = vec![0; classes.len()];
    for (client, split) in experiment.clients().iter().zip(splits) {
        let labels = client.graph().labels();
        let own = labels.counts(split.nodes(Role::Train));
        for (name, count) in labels.names().iter().zip(own) {
            if let Some(class) = place(classes, name) {
                counts[class] += count;
            }
        }
    }
    Ok(experiment.config().groups.minority.classes(&counts, classes)?)
}

/// Writes the server's models into the run folder, and models that clients have into theirs.
pub(super) fn write_models(
    experiment: &ClientsExperiment,
    folder: &RunFolder,
    seeds: &[ClientsSeed],
) -> Result<()> {
    let clients = experiment.clients();
    write_preparations(experiment, folder, seeds)?;
    if experiment.config().method()?.evaluated_model == EvaluatedModel::Global {
        let models = seeds.iter().flat_map(|seed| {
            seed.outcome.models.iter().map(|model| (format!("seed{}", seed.seed), model))
        });
        let global: Vec<(String, &Params<f32>)> = models.collect();
        let about = trained(experiment, seeds, Owner::Global);
        folder.write_atomic(RunFolder::MODEL, &about.safetensors(&global)?)?;
        return Ok(());
    }
    for (k, client) in clients.iter().enumerate() {
        let own = seeds.iter().filter_map(|seed| Some((seed.seed, seed.outcome.models.get(k)?)));
        let own: Vec<(String, &Params<f32>)> =
            own.map(|(seed, model)| (format!("seed{seed}"), model)).collect();
        let about = trained(experiment, seeds, Owner::Client(client.name().to_owned()));
        let path = folder.client(client.name()).join(RunFolder::MODEL);
        disk::write_atomic(path, &about.safetensors(&own)?)?;
    }
    Ok(())
}

/// Writes how each client prepared its features into its own folder: means and deviations of its
/// columns stay with it.
fn write_preparations(
    experiment: &ClientsExperiment,
    folder: &RunFolder,
    seeds: &[ClientsSeed],
) -> Result<()> {
    let clients = experiment.clients();
    if clients.iter().all(|client| client.graph().preparation().is_none()) {
        return Ok(());
    }
    let mut files = vec![Vec::new(); clients.len()];
    for seed in seeds {
        let graphs = client_graphs(experiment, seed.seed)?;
        let fitted = fitted::fitted(&graphs, experiment.config().data.moments);
        for (k, file) in files.iter_mut().enumerate() {
            let own = fitted.iter().find(|(client, _)| client.is_none_or(|client| client == k));
            file.extend(
                own.map(|(_, fitted)| (format!("seed{}", seed.seed), fitted::tensors(fitted))),
            );
        }
    }
    for (client, file) in clients.iter().zip(&files) {
        let numbers: Vec<(String, &Params<f32>)> =
            file.iter().map(|(name, numbers)| (name.clone(), numbers)).collect();
        let about = trained(experiment, seeds, Owner::Client(client.name().to_owned()));
        let path = folder.client(client.name()).join(RunFolder::PREPARATION);
        disk::write_atomic(path, &about.safetensors(&numbers)?)?;
    }
    Ok(())
}

/// The graphs of the clients with their split under a seed.
fn client_graphs(experiment: &ClientsExperiment, seed: u64) -> Result<Vec<ClientGraph>> {
    let splits = splits(experiment, seed)?;
    let clients = experiment.clients().iter().zip(splits).enumerate();
    let graphs = clients.map(|(id, (client, split))| {
        let nodes = (0..client.graph().len() as u32).collect();
        ClientGraph { id, nodes, graph: client.graph().clone(), split, lost_edges: 0 }
    });
    Ok(graphs.collect())
}

/// What the files of models say about them.
fn trained<'a>(
    experiment: &'a ClientsExperiment,
    seeds: &[ClientsSeed],
    owner: Owner,
) -> Trained<'a> {
    let beyond = seeds.iter().flat_map(|seed| seed.outcome.predictors.beyond.iter().copied());
    let (config, first) = (experiment.config(), experiment.clients().first());
    Trained {
        config,
        dataset: &config.dataset,
        inputs: first.map_or(0, |client| client.graph().width()),
        feature_names: first.map_or(&[], |client| client.graph().feature_names()),
        indicators: first.map_or_else(Vec::new, |client| fitted::indicators(client.graph())),
        classes: experiment.classes(),
        owner,
        beyond: Beyond::distinct(beyond),
    }
}

/// The fingerprint of the data of all clients, in order.
pub(super) fn fingerprint_of(clients: &[ClientData]) -> Fingerprint {
    let joined = |part: fn(&Fingerprint) -> &String| {
        let mut hasher = blake3::Hasher::new();
        clients.iter().for_each(|client| {
            hasher.update(part(client.fingerprint()).as_bytes());
        });
        hasher.finalize().to_hex().to_string()
    };
    Fingerprint {
        whole: joined(|client| &client.whole),
        structure: joined(|client| &client.structure),
        features: joined(|client| &client.features),
        labels: joined(|client| &client.labels),
        split: joined(|client| &client.split),
        ..Fingerprint::default()
    }
}
