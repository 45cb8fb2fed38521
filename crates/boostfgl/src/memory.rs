//! An estimate of the memory that a run will need.

use crate::{Config, Error, Result};
use boostfgl_fed::boost::Place;
use boostfgl_fed::config::{MOST_LAYERS, WIDEST};
use boostfgl_fed::methods::{Layout, Sizes};
use boostfgl_graph::{Features, Graph};
use boostfgl_nn::backbones::{self, Architecture};

/// An estimate of the peak, in bytes.
///
/// Counts the graph, each client's copy of features and edges (with the transposes that gradients
/// need), the models and optimiser states, the activations of as many clients as there are threads,
/// and the additional memory of the method and its boosts. It does not count the overhead of the
/// allocator; it is meant to be within a factor of two.
///
/// Counted in floating point: integers up to 2⁵³ are exact, and nothing overflows.
pub fn estimate(graph: &Graph, config: &Config, threads: usize) -> u64 {
    estimate_of(&DataSize::of(graph), config, threads)
}

/// The same for data of this size, which are divided among the configured number of clients.
pub fn estimate_of(data: &DataSize, config: &Config, threads: usize) -> u64 {
    let size = Size::of(data, config, threads);
    // Clients hold features twice (rows and, for the gradient, columns), the operator, and a
    // restricted operator per layer with its transpose and index maps.
    let data = 5.0 * size.features + size.arcs * 4.0 + size.edges + size.layers * 3.0 * size.edges;
    let models = size.parameters * (3.0 * size.clients + 3.0 + 2.0 * size.threads);
    let at_work = size.threads.min(size.clients);
    let activations =
        at_work * size.share(size.nodes) * (4.0 * size.hidden + 4.0 * size.classes) * 4.0;
    (data + models + activations + extra(&size, config)) as u64
}

/// The size of the data of a run.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct DataSize {
    /// Number of nodes.
    pub nodes: usize,
    /// Number of arcs: every edge in both directions.
    pub arcs: usize,
    /// Number of features.
    pub width: usize,
    /// Number of classes.
    pub classes: usize,
    /// Bytes of the features.
    pub feature_bytes: f64,
}

impl DataSize {
    /// The size of a graph.
    pub fn of(graph: &Graph) -> Self {
        Self {
            nodes: graph.len(),
            arcs: graph.adjacency().arcs(),
            width: graph.width(),
            classes: graph.classes(),
            feature_bytes: match graph.features() {
                Features::Sparse(x) => x.values().len() as f64 * 8.0,
                Features::Dense { values, .. } => values.len() as f64 * 4.0,
            },
        }
    }

    /// The size of both together, which have the same features and classes.
    #[must_use]
    pub fn plus(self, other: Self) -> Self {
        Self {
            nodes: self.nodes + other.nodes,
            arcs: self.arcs + other.arcs,
            width: self.width.max(other.width),
            classes: self.classes.max(other.classes),
            feature_bytes: self.feature_bytes + other.feature_bytes,
        }
    }
}

/// Refuses a need of more than `allowed` bytes.
///
/// # Errors
/// [`Error::Memory`] with both numbers.
pub(crate) fn check_limit(needed: u64, allowed: u64) -> Result<()> {
    if needed <= allowed {
        return Ok(());
    }
    Err(Error::Memory { needed_mib: needed >> 20, allowed_mib: allowed >> 20 })
}

/// Refuses a need of far more than this machine has, under these settings. One that might work is
/// allowed, and every need is where the system does not report its memory.
///
/// # Errors
/// [`Error::Machine`] with both numbers and the keys that decide.
pub(crate) fn check_machine(needed: u64, config: &Config) -> Result<()> {
    let Some(machine) = machine().filter(|&machine| needed > worth_a_try(machine)) else {
        return Ok(());
    };
    let keys = deciding(config);
    Err(Error::Machine { keys, needed_mib: needed >> 20, machine_mib: machine >> 20 })
}

/// Memory and swap space of this machine, in bytes; `None` where the system does not report them.
/// Linux does.
pub fn machine() -> Option<u64> {
    total(&std::fs::read_to_string("/proc/meminfo").ok()?)
}

/// The largest estimate that is attempted on a machine with this much memory: an estimate may be
/// twice the actual need.
pub fn worth_a_try(machine: u64) -> u64 {
    machine.saturating_mul(2)
}

/// The keys on which the memory of a run depends most, with their values.
pub(crate) fn deciding(config: &Config) -> String {
    let (model, clients) = (&config.model, config.partition.clients);
    let own = super::config::keys()
        .iter()
        .any(|key| key.path.starts_with(&format!("methods.{}.", config.method)));
    let own =
        if own { format!(" and the keys of methods.{}", config.method) } else { String::new() };
    format!(
        "model.hidden = {}, model.layers = {}, partition.clients = {clients}{own}",
        model.hidden, model.layers
    )
}

fn total(meminfo: &str) -> Option<u64> {
    let swap = bytes_of(meminfo, "SwapTotal:").unwrap_or(0);
    bytes_of(meminfo, "MemTotal:")?.checked_add(swap)
}

/// A line of /proc/meminfo, such as `MemTotal: 16 kB`, in bytes.
fn bytes_of(meminfo: &str, name: &str) -> Option<u64> {
    let line = meminfo.lines().find_map(|line| line.strip_prefix(name))?;
    line.trim().trim_end_matches("kB").trim().parse::<u64>().ok()?.checked_mul(1024)
}

/// The memory of the method and its boosts in addition to that of FedAvg. For the method it is
/// `extra_bytes`.
fn extra(size: &Size, config: &Config) -> f64 {
    // A boost that reweights messages has an operator of its own in addition to the plain one.
    let reweighted = config
        .active_boosts()
        .is_ok_and(|boosts| boosts.iter().any(|boost| boost.info().acts_on(Place::Propagation)));
    // Clients are taken to be of equal size: the partition is not drawn yet.
    let clients = size.clients as usize;
    let sizes = Sizes {
        nodes: vec![size.share(size.nodes); clients],
        arcs: vec![size.share(size.arcs); clients],
        features: size.width,
        hidden: size.hidden,
        classes: size.classes,
        parameters: size.parameters / 4.0,
        rounds: config.fed.rounds as f64,
    };
    let own = config.method().map_or(0.0, |method| (method.extra_bytes)(&sizes, &config.methods));
    if reweighted { size.edges + own } else { own }
}

/// The numbers that an estimate is made of.
struct Size {
    nodes: f64,
    arcs: f64,
    /// Number of features.
    width: f64,
    classes: f64,
    hidden: f64,
    layers: f64,
    /// Clients that the data are divided among: one where the method works on the whole graph.
    clients: f64,
    threads: f64,
    /// Bytes of the features.
    features: f64,
    /// Bytes of an operator: a position and a weight per arc and per node.
    edges: f64,
    /// Bytes of a model.
    parameters: f64,
}

impl Size {
    fn of(data: &DataSize, config: &Config, threads: usize) -> Self {
        let (nodes, arcs) = (data.nodes as f64, data.arcs as f64);
        let model = &config.model;
        // A configuration that is not checked yet may have any numbers.
        let (hidden, layers) = (model.hidden.min(WIDEST), model.layers.min(MOST_LAYERS));
        let clients = config.partition.clients.clamp(1, data.nodes.max(1));
        let whole = config.method().is_ok_and(|method| method.layout == Layout::Whole);
        let architecture =
            Architecture { inputs: data.width, hidden, classes: data.classes, layers };
        Self {
            nodes,
            arcs,
            width: data.width as f64,
            classes: data.classes as f64,
            hidden: hidden as f64,
            layers: layers as f64,
            clients: if whole { 1.0 } else { clients as f64 },
            threads: threads as f64,
            features: data.feature_bytes,
            edges: (arcs + nodes) * 8.0,
            parameters: parameters(&model.backbone, architecture) * 4.0,
        }
    }

    /// The share of one client in a total.
    fn share(&self, total: f64) -> f64 {
        (total / self.clients).ceil()
    }
}

/// Number of parameters of the configured network; 0 if there is no such network.
fn parameters(backbone: &str, sizes: Architecture) -> f64 {
    backbones::build::<f32>(backbone, sizes).map_or(0.0, |network| {
        network.shapes().iter().map(|shape| shape.rows as f64 * shape.columns as f64).sum()
    })
}

/// A size such as `512MiB`, `2GiB`, `1.5G` or `4096B`. A number without a unit is refused: 2 could
/// be bytes or gigabytes.
///
/// ```
/// use boostfgl::memory::parse_size;
/// assert_eq!((parse_size("2GiB"), parse_size("512MiB")), (Some(2 << 30), Some(512 << 20)));
/// assert_eq!((parse_size("2"), parse_size("lots")), (None, None));
/// ```
pub fn parse_size(text: &str) -> Option<u64> {
    let text = text.trim();
    let digits = text.find(|c: char| !(c.is_ascii_digit() || c == '.')).unwrap_or(text.len());
    let number: f64 = text[..digits].parse().ok()?;
    let unit = match text[digits..].trim().to_ascii_lowercase().as_str() {
        "b" => 1u64,
        "k" | "kb" | "kib" => 1 << 10,
        "m" | "mb" | "mib" => 1 << 20,
        "g" | "gb" | "gib" => 1 << 30,
        "t" | "tb" | "tib" => 1 << 40,
        _ => return None,
    };
    (number.is_finite() && number >= 0.0).then_some((number * unit as f64) as u64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use boostfgl_fed::methods::METHODS;

    /// A configuration is estimated before it is refused: no number that fits into a file may
    /// overflow.
    #[test]
    fn absurd_configurations_have_huge_estimates_that_do_not_overflow() {
        let experiment = crate::Experiment::on("demo").build().unwrap();
        let most = i64::MAX as usize;
        for method in METHODS {
            let mut config = Config { method: method.name.to_owned(), ..Config::default() };
            config.model.hidden = most;
            config.partition.clients = most;
            (config.methods.adafgl.hidden, config.methods.adafgl.steps) = (most, most);
            let sage = &mut config.methods.fedsage_plus;
            (sage.max_neighbours, sage.latent, sage.narrow, sage.wide) = (most, most, most, most);
            (config.methods.fedtad.noise, config.methods.fedtad.pseudo_nodes) = (most, most);
            (config.methods.fedpub.proxy_blocks, config.methods.fedpub.proxy_nodes) = (most, most);
            (config.methods.fedspray.width, config.methods.fairfgl.history) = (most, most);
            let estimate = estimate(experiment.graph(), &config, 1024);
            assert!(estimate > 1 << 40, "{}: {estimate}", method.name);
        }
    }

    #[test]
    fn memory_and_swap_are_read_from_meminfo() {
        let meminfo =
            "MemTotal:       16384 kB\nMemFree:          128 kB\nSwapTotal:        4096 kB\n";
        assert_eq!(total(meminfo), Some(20 << 20));
        assert_eq!(total("MemTotal:       16384 kB\n"), Some(16 << 20));
        assert_eq!(total("MemFree: 1 kB\n"), None);
        assert_eq!(total("MemTotal: much\n"), None);
    }
}
