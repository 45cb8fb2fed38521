//! How much memory a run will take, before it takes it.

use crate::Config;
use boostfgl_graph::{Features, Graph};
use boostfgl_nn::backbones::Architecture;

/// An estimate of the peak, in bytes.
///
/// Counts the graph, each client's copy of features and edges (with the transposes that gradients need), the models
/// and optimiser states, and the activations of as many clients as there are threads. It does not count what the
/// allocator wastes; it is meant to be within a factor of two.
pub fn estimate(graph: &Graph, config: &Config, threads: usize) -> u64 {
    let (n, arcs) = (graph.len() as u64, graph.adjacency().arcs() as u64);
    let clients = config.partition.clients.max(1) as u64;
    let model = &config.model;
    let features = match graph.features() {
        Features::Sparse(x) => x.values().len() as u64 * 8,
        Features::Dense { values, .. } => values.len() as u64 * 4,
    };
    let architecture = Architecture {
        inputs: graph.features().columns(),
        hidden: model.hidden,
        classes: graph.classes(),
        layers: model.layers,
    };
    let parameters = parameters(&architecture) * 4;
    let edges = (arcs + n) * 8;
    // Clients hold features twice (rows and, for the gradient, columns), the operator, and a restricted operator
    // per layer with its transpose and index maps; boosting adds one more operator.
    let data = 2 * features + arcs * 4 + 3 * features + 2 * edges + model.layers as u64 * 3 * edges;
    let models = parameters * (3 * clients + 3 + 2 * threads as u64);
    let at_work = (threads as u64).min(clients);
    let activations = at_work * n.div_ceil(clients) * (4 * model.hidden as u64 + 4 * graph.classes() as u64) * 4;
    data + models + activations
}

fn parameters(a: &Architecture) -> u64 {
    let width = |l: usize| match l {
        0 => a.inputs,
        l if l == a.layers => a.classes,
        _ => a.hidden,
    } as u64;
    (0..a.layers).map(|l| width(l) * width(l + 1) + width(l + 1)).sum()
}

/// Reads a size such as `800M`, `2G`, `1.5GiB` or a number of bytes.
///
/// ```
/// assert_eq!(boostfgl::memory::parse_size("2G"), Some(2 << 30));
/// assert_eq!(boostfgl::memory::parse_size("lots"), None);
/// ```
pub fn parse_size(text: &str) -> Option<u64> {
    let text = text.trim();
    let digits = text.find(|c: char| !(c.is_ascii_digit() || c == '.')).unwrap_or(text.len());
    let number: f64 = text[..digits].parse().ok()?;
    let unit = match text[digits..].trim().to_ascii_lowercase().as_str() {
        "" | "b" => 1u64,
        "k" | "kb" | "kib" => 1 << 10,
        "m" | "mb" | "mib" => 1 << 20,
        "g" | "gb" | "gib" => 1 << 30,
        "t" | "tb" | "tib" => 1 << 40,
        _ => return None,
    };
    (number.is_finite() && number >= 0.0).then_some((number * unit as f64) as u64)
}
