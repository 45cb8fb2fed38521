//! The toy federation of `tests/golden/graph.json`: 12 nodes, 3 classes, 2 clients, 3 models.

use crate::{golden, indices, numbers};
use boostfgl_graph::{Adjacency, Features, Graph, Labels, Role, Split};
use boostfgl_nn::backbones::{Architecture, Backbone, Gcn};
use boostfgl_nn::{Inputs, Matrix, Params};
use boostfgl_partition::{ClientGraph, Partition};
use serde_json::Value;

/// The number of nodes.
pub const NODES: usize = 12;
/// The number of feature columns.
pub const WIDTH: usize = 4;
/// The number of classes.
pub const CLASSES: usize = 3;
/// The names of the parameter tensors of [`gcn`] in golden files.
pub const TENSORS: [&str; 4] = ["W1", "b1", "W2", "b2"];

/// The whole graph.
///
/// # Panics
/// If the golden file is damaged; this holds for every function here.
pub fn graph() -> Graph {
    let file = golden("graph");
    let edges = indices(&file["undirected_edges"]);
    let edges: Vec<(u32, u32)> = edges.chunks(2).map(|edge| (edge[0], edge[1])).collect();
    let features = numbers(&file["features"]).into_iter().map(|x| x as f32).collect();
    let labels: Vec<i64> = numbers(&file["labels"]).into_iter().map(|x| x as i64).collect();
    let adjacency = Adjacency::from_edges(NODES, &edges, None, false);
    Graph::new(
        "toy",
        adjacency.expect("edges lie within the graph").0,
        Features::dense(NODES, WIDTH, features).expect("every node has a row"),
        Labels::from_integers(&labels, CLASSES).expect("labels are in range"),
    )
    .expect("all parts have twelve nodes")
}

/// The role of every node.
pub fn roles() -> Vec<Role> {
    let roles = indices(&golden("graph")["split"]);
    roles.into_iter().map(|role| [Role::Train, Role::Val, Role::Test][role as usize]).collect()
}

/// The client of every node.
pub fn owners() -> Vec<u32> {
    indices(&golden("graph")["client"])
}

/// The partition into the two clients.
pub fn partition() -> Partition {
    divided(2, owners())
}

/// The nodes with other owners.
///
/// # Panics
/// If an owner is not below `clients`.
pub fn divided(clients: usize, owners: Vec<u32>) -> Partition {
    Partition::new(clients, owners, Split::new(roles())).expect("every node has an owner")
}

/// The clients of the partition.
pub fn clients() -> Vec<ClientGraph> {
    partition().client_graphs(&graph())
}

/// A client's inputs with features as the file prints them, which f32 cannot represent.
pub fn exact_inputs(client: &ClientGraph) -> Inputs<f64> {
    let all = numbers(&golden("graph")["features"]);
    let rows: Vec<f64> = client
        .nodes
        .iter()
        .flat_map(|node| &all[*node as usize * WIDTH..][..WIDTH])
        .copied()
        .collect();
    let features = Matrix::from_rows(client.nodes.len(), WIDTH, &rows);
    Inputs::with_dense_features(&client.graph, &features)
}

/// The network of the golden files.
pub fn gcn() -> Gcn {
    Gcn::new(Architecture { inputs: WIDTH, hidden: 5, classes: CLASSES, layers: 2 })
}

/// Parameters in the form of the golden files, such as `graph.json: params.theta0`.
pub fn params(theta: &Value) -> Params<f64> {
    let shapes = Backbone::<f64>::shapes(&gcn());
    let tensors = TENSORS.iter().zip(&shapes);
    let tensors = tensors
        .map(|(name, shape)| Matrix::from_rows(shape.rows, shape.columns, &numbers(&theta[*name])));
    Params::from_tensors(&shapes, tensors.collect())
}
