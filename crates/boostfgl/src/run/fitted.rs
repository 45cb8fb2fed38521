//! How the features of a run were prepared, for its files of models.

use boostfgl_fed::config::MomentsOf;
use boostfgl_graph::{FittedColumn, FittedPreparation, Graph, Moments};
use boostfgl_nn::{Matrix, Params, TensorShape};
use boostfgl_partition::ClientGraph;

/// The names of the tensors of a fitted preparation.
pub(crate) const TENSORS: [&str; 3] = ["features.fill", "features.shift", "features.scale"];

/// How each client prepared its features, by its number; one without a number where all clients
/// prepared them in the same way. Empty if nothing was prepared.
pub(crate) fn fitted(
    clients: &[ClientGraph],
    moments: MomentsOf,
) -> Vec<(Option<usize>, FittedPreparation)> {
    let [first, ..] = clients else { return Vec::new() };
    if first.graph.preparation().is_none() {
        return Vec::new();
    }
    if moments == MomentsOf::AllClients {
        return together(clients).map(|fitted| (None, fitted)).into_iter().collect();
    }
    let own = clients.iter().enumerate().filter_map(|(k, client)| Some((Some(k), alone(client)?)));
    own.collect()
}

/// The preparation of one client by itself.
pub(crate) fn alone(client: &ClientGraph) -> Option<FittedPreparation> {
    let preparation = client.graph.preparation()?;
    Some(preparation.fit(client.graph.features(), &client.training_nodes()))
}

/// The preparation with the moments of all clients, combined in client order as the server does.
fn together(clients: &[ClientGraph]) -> Option<FittedPreparation> {
    let mut all: Vec<Moments> = Vec::new();
    for client in clients {
        let preparation = client.graph.preparation()?;
        let own = preparation.moments(client.graph.features(), client.training_nodes());
        all.resize(own.len(), Moments::default());
        all.iter_mut().zip(own).for_each(|(sum, own)| *sum = sum.with(own));
    }
    Some(FittedPreparation::new(clients[0].graph.preparation()?, &all))
}

/// The number of columns that are only there to say that a value is missing, by the graph.
pub(crate) fn indicators(graph: &Graph) -> Vec<u32> {
    let Some(preparation) = graph.preparation() else { return Vec::new() };
    FittedPreparation::new(preparation, &[]).indicators
}

/// The numbers of a preparation as tensors.
pub(crate) fn tensors(fitted: &FittedPreparation) -> Params<f32> {
    let width = fitted.columns.len();
    let of = |part: fn(&FittedColumn) -> f32| {
        Matrix::from_rows(1, width, &fitted.columns.iter().map(part).collect::<Vec<_>>())
    };
    let shapes = TENSORS.map(|name| TensorShape::bias(name, width));
    let numbers =
        vec![of(|column| column.fill), of(|column| column.shift), of(|column| column.scale)];
    Params::from_tensors(&shapes, numbers)
}
