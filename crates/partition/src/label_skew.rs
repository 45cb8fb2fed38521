//! Label skew: each class is spread unevenly over the clients, by a Dirichlet draw (Hsu, Qi, Brown
//! 2019).

use boostfgl_graph::{Graph, Stream};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::partitioner::{check_clients, check_positive};
use crate::{Partitioner, Result};

/// Partitioner `label-skew`: for each class, shares p ~ Dirichlet(α, …, α) over the clients.
///
/// α → 0 gives each class to one client, α → ∞ the same class mix to all: 0.1 is very uneven, 1
/// uneven, 100 nearly even. Unlabelled nodes are
/// dealt evenly. A client that ends up empty takes one node from the largest, so that every client
/// has at least one.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct LabelSkew {
    /// Concentration of label-skew's Dirichlet, above 0: small is skewed.
    pub alpha: f64,
}

impl Default for LabelSkew {
    fn default() -> Self {
        Self { alpha: 1.0 }
    }
}

impl Partitioner for LabelSkew {
    fn name(&self) -> &'static str {
        "label-skew"
    }

    fn summary(&self) -> &'static str {
        "each class spread over the clients by a Dirichlet draw; the smaller alpha, the more uneven"
    }

    fn check(&self) -> Result<()> {
        check_positive("partition.alpha", self.alpha)
    }

    fn assign(&self, graph: &Graph, clients: usize, seed: u64) -> Result<Vec<u32>> {
        self.check()?;
        check_clients(graph.len(), clients)?;
        let mut client = vec![0u32; graph.len()];
        for (class, mut nodes) in nodes_by_class(graph).into_iter().enumerate() {
            let mut stream = Stream::new(seed, "label skew", &[class as u64]);
            stream.shuffle(&mut nodes);
            if class == graph.classes() {
                deal(&nodes, clients, &mut client);
            } else {
                cut(&nodes, &dirichlet(self.alpha, clients, &mut stream), &mut client);
            }
        }
        fill_empty(&mut client, clients);
        Ok(client)
    }
}

/// The nodes of each class, increasing; the unlabelled ones last.
fn nodes_by_class(graph: &Graph) -> Vec<Vec<u32>> {
    let mut nodes = vec![Vec::new(); graph.classes() + 1];
    for (v, class) in graph.labels().iter().enumerate() {
        nodes[class.map_or(graph.classes(), |c| c as usize)].push(v as u32);
    }
    nodes
}

fn deal(nodes: &[u32], clients: usize, client: &mut [u32]) {
    for (turn, &v) in nodes.iter().enumerate() {
        client[v as usize] = (turn % clients) as u32;
    }
}

/// Cuts `nodes` at ⌊n · (p₀ + … + p_k)⌋; the last client's share ends at n in spite of rounding.
fn cut(nodes: &[u32], shares: &[f64], client: &mut [u32]) {
    let (mut start, mut sum) = (0, 0.0);
    for (k, share) in shares.iter().enumerate() {
        sum += share;
        let end =
            if k + 1 == shares.len() { nodes.len() } else { (sum * nodes.len() as f64) as usize };
        let end = end.clamp(start, nodes.len());
        nodes[start..end].iter().for_each(|&v| client[v as usize] = k as u32);
        start = end;
    }
}

/// One draw from the symmetric Dirichlet(α): Gamma(α) numbers divided by their sum.
///
/// In logarithms, because for small α all of them may be too small for an f64.
fn dirichlet(alpha: f64, length: usize, stream: &mut Stream) -> Vec<f64> {
    let logs: Vec<f64> = (0..length).map(|_| log_gamma_draw(alpha, stream)).collect();
    let largest = logs.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let parts: Vec<f64> = logs.iter().map(|log| libm::exp(log - largest)).collect();
    let sum: f64 = parts.iter().sum();
    parts.iter().map(|part| part / sum).collect()
}

/// The logarithm of a Gamma(shape, 1) number.
///
/// Marsaglia & Tsang, "A simple method for generating gamma variables", 2000: with d = shape − 1/3
/// and c = 1/√(9d), d·v for v = (1 + c·x)³ is accepted if ln u < x²/2 + d − d·v + d·ln v. Below
/// shape 1, Gamma(a) = Gamma(a + 1) · u^(1/a).
fn log_gamma_draw(shape: f64, stream: &mut Stream) -> f64 {
    if shape < 1.0 {
        let log_uniform = libm::log(1.0 - stream.unit());
        // A subnormal shape would make this −∞ for all clients, and their shares 0/0.
        return log_gamma_draw(shape + 1.0, stream) + (log_uniform / shape).max(-f64::MAX / 2.0);
    }
    let d = shape - 1.0 / 3.0;
    let c = 1.0 / libm::sqrt(9.0 * d);
    loop {
        let x = stream.normal();
        let root = 1.0 + c * x;
        if root <= 0.0 {
            continue;
        }
        let v = root * root * root;
        if libm::log(1.0 - stream.unit()) < 0.5 * x * x + d * (1.0 - v + libm::log(v)) {
            return libm::log(d) + libm::log(v);
        }
    }
}

/// Every empty client takes the last node of the largest one.
fn fill_empty(client: &mut [u32], clients: usize) {
    let mut nodes = vec![Vec::new(); clients];
    for (v, &k) in client.iter().enumerate() {
        nodes[k as usize].push(v);
    }
    while let Some(empty) = nodes.iter().position(Vec::is_empty) {
        let largest = (0..clients).max_by_key(|&k| (nodes[k].len(), std::cmp::Reverse(k)));
        let Some(v) = largest.and_then(|k| nodes[k].pop()) else { return };
        client[v] = empty as u32;
        nodes[empty].push(v);
    }
}

#[cfg(test)]
mod tests {
    use boostfgl_graph::{Adjacency, Features, Labels};

    use super::*;

    fn graph(labels: &[i64], classes: usize) -> Graph {
        let n = labels.len();
        let (adjacency, _) = Adjacency::from_edges(n, &[], None, false).unwrap();
        let labels = Labels::from_integers(labels, classes).unwrap();
        Graph::new("labels", adjacency, Features::dense(n, 1, vec![0.0; n]).unwrap(), labels)
            .unwrap()
    }

    #[test]
    fn gamma_has_the_right_mean_and_variance() {
        for shape in [0.1, 0.7, 1.0, 3.5, 50.0] {
            let mut stream = Stream::new(0, "gamma test", &[]);
            let draws: Vec<f64> =
                (0..40_000).map(|_| libm::exp(log_gamma_draw(shape, &mut stream))).collect();
            let mean = draws.iter().sum::<f64>() / draws.len() as f64;
            let variance =
                draws.iter().map(|x| (x - mean) * (x - mean)).sum::<f64>() / draws.len() as f64;
            // Four standard errors of the mean; the variance is rougher.
            assert!(
                (mean - shape).abs() < 4.0 * (shape / 40_000.0).sqrt(),
                "shape {shape}: mean {mean}"
            );
            assert!((variance / shape - 1.0).abs() < 0.12, "shape {shape}: variance {variance}");
        }
    }

    #[test]
    fn shares_sum_to_one_for_every_alpha() {
        for alpha in [f64::MIN_POSITIVE, 5e-324, 1e-9, 0.1, 1.0, 1e6, f64::MAX] {
            let shares = dirichlet(alpha, 7, &mut Stream::new(1, "shares test", &[]));
            let sum: f64 = shares.iter().sum();
            assert!(
                (sum - 1.0).abs() < 1e-12 && shares.iter().all(|p| *p >= 0.0),
                "alpha {alpha}: {shares:?}"
            );
        }
    }

    #[test]
    fn alpha_decides_how_uneven() {
        let labels: Vec<i64> = (0..2000).map(|v| v % 4).collect();
        let graph = graph(&labels, 4);
        let spread = |alpha| {
            let client = LabelSkew { alpha }.assign(&graph, 5, 3).unwrap();
            let count =
                |k, class| (0..2000).filter(|&v| client[v] == k && labels[v] == class).count();
            let counts: Vec<usize> = (0..5).map(|k| count(k, 0)).collect();
            counts.iter().max().unwrap() - counts.iter().min().unwrap()
        };
        assert!(spread(1e4) < 30, "{}", spread(1e4));
        assert!(spread(1e-3) > 400, "{}", spread(1e-3));
    }

    #[test]
    fn unlabelled_nodes_are_spread_evenly_and_no_client_is_empty() {
        let client = LabelSkew::default().assign(&graph(&[-1; 10], 2), 5, 0).unwrap();
        for k in 0..5 {
            assert_eq!(client.iter().filter(|&&c| c == k).count(), 2);
        }
        let mut client = LabelSkew { alpha: 1e-6 }.assign(&graph(&[0; 6], 1), 6, 0).unwrap();
        client.sort_unstable();
        assert_eq!(client, [0, 1, 2, 3, 4, 5]);
    }

    #[test]
    fn alpha_must_be_positive() {
        for alpha in [0.0, -1.0, f64::NAN, f64::INFINITY] {
            let error = LabelSkew { alpha }.assign(&graph(&[0, 0], 1), 2, 0).unwrap_err();
            assert!(
                error.to_string().starts_with("partition.alpha: expected a finite number above 0"),
                "{error}"
            );
        }
    }
}
