//! How much memory a run will take, before it takes it.

use crate::Config;
use boostfgl_fed::boost::Boost;
use boostfgl_fed::methods::{Layout, Sizes};
use boostfgl_graph::{Features, Graph};
use boostfgl_nn::backbones::{self, Architecture};

/// An estimate of the peak, in bytes.
///
/// Counts the graph, each client's copy of features and edges (with the transposes that gradients need), the models
/// and optimiser states, the activations of as many clients as there are threads, and what the method and its boosts
/// hold beside that. It does not count what the allocator wastes; it is meant to be within a factor of two.
pub fn estimate(graph: &Graph, config: &Config, threads: usize) -> u64 {
    let size = Size::of(graph, config, threads);
    // Clients hold features twice (rows and, for the gradient, columns), the operator, and a restricted operator
    // per layer with its transpose and index maps.
    let data = 2 * size.features + size.arcs * 4 + 3 * size.features + size.edges + size.layers * 3 * size.edges;
    let models = size.parameters * (3 * size.clients + 3 + 2 * size.threads);
    let at_work = size.threads.min(size.clients);
    let activations = at_work * size.nodes.div_ceil(size.clients) * (4 * size.hidden + 4 * size.classes) * 4;
    data + models + activations + beside(&size, config)
}

/// What the method and its boosts hold beside what every method does; a method's own need is its `extra_bytes`.
fn beside(size: &Size, config: &Config) -> u64 {
    // Topology boosting keeps its reweighted operator beside the plain one.
    let reweighted = config.active_boosts().is_ok_and(|boosts| boosts.contains(&Boost::Topology));
    // Clients are taken to be of equal size: the partition is not drawn yet.
    let share = |total: u64| vec![total.div_ceil(size.clients) as usize; size.clients as usize];
    let sizes = Sizes {
        nodes: share(size.nodes),
        arcs: share(size.arcs),
        features: size.width as usize,
        hidden: size.hidden as usize,
        classes: size.classes as usize,
        parameters: (size.parameters / 4) as usize,
    };
    let own = config.method().map_or(0, |method| (method.extra_bytes)(&sizes, &config.methods));
    if reweighted { size.edges + own } else { own }
}

/// The numbers that an estimate is made of.
struct Size {
    nodes: u64,
    arcs: u64,
    /// Number of features.
    width: u64,
    classes: u64,
    hidden: u64,
    layers: u64,
    /// Clients that the data are divided among: one where the method works on the whole graph.
    clients: u64,
    threads: u64,
    /// Bytes of the features.
    features: u64,
    /// Bytes of an operator: a position and a weight per arc and per node.
    edges: u64,
    /// Bytes of a model.
    parameters: u64,
}

impl Size {
    fn of(graph: &Graph, config: &Config, threads: usize) -> Self {
        let (nodes, arcs) = (graph.len() as u64, graph.adjacency().arcs() as u64);
        let model = &config.model;
        let whole = config.method().is_ok_and(|method| method.layout == Layout::Whole);
        let architecture = Architecture {
            inputs: graph.features().columns(),
            hidden: model.hidden,
            classes: graph.classes(),
            layers: model.layers,
        };
        Self {
            nodes,
            arcs,
            width: graph.features().columns() as u64,
            classes: graph.classes() as u64,
            hidden: model.hidden as u64,
            layers: model.layers as u64,
            clients: if whole { 1 } else { config.partition.clients.max(1) as u64 },
            threads: threads as u64,
            features: match graph.features() {
                Features::Sparse(x) => x.values().len() as u64 * 8,
                Features::Dense { values, .. } => values.len() as u64 * 4,
            },
            edges: (arcs + nodes) * 8,
            parameters: parameters(&model.backbone, architecture) * 4,
        }
    }
}

/// Number of parameters of the configured network; 0 if there is no such network.
fn parameters(backbone: &str, sizes: Architecture) -> u64 {
    backbones::build::<f32>(backbone, sizes)
        .map_or(0, |network| network.shapes().iter().map(|shape| (shape.rows * shape.columns) as u64).sum())
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
