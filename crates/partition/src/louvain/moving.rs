//! The first phase of a Louvain level: nodes move one by one.

use boostfgl_graph::Stream;

use super::MIN_GAIN;
use super::level::Level;
use super::work::Work;

/// Communities under construction.
///
/// `link` is a dense scratch buffer: the weight between the visited node and each community.
/// Weights are positive, so 0 means that there is no edge, and only the communities in `touched`
/// need clearing: a visit costs O(degree), not O(communities).
pub(super) struct Moving<'a> {
    level: &'a Level<'a>,
    resolution: f64,
    community: Vec<u32>,
    /// Sum of the weighted degrees in each community, tot_c.
    totals: Vec<f64>,
    /// Nodes that may gain by a move: a neighbour has changed its community since their last visit.
    stale: Vec<bool>,
    link: Vec<f64>,
    touched: Vec<u32>,
}

impl<'a> Moving<'a> {
    /// Every node alone.
    pub(super) fn new(level: &'a Level<'a>, resolution: f64) -> Self {
        Self {
            level,
            resolution,
            community: (0..level.len() as u32).collect(),
            totals: level.degrees().to_vec(),
            stale: vec![true; level.len()],
            link: vec![0.0; level.len()],
            touched: Vec::new(),
        }
    }

    /// The community of each node, numbered by one of its former members.
    pub(super) fn communities(&self) -> &[u32] {
        &self.community
    }

    /// Sweeps until the gain is small; returns the increase of Q.
    ///
    /// The first sweep visits every node, later ones only nodes with a neighbour that has moved
    /// since their last visit: the others rarely move, and the last sweeps, in which few nodes
    /// move, become cheap (Ozaki, Tezuka, Inaba 2016). Before a level ends, one more full sweep
    /// checks that no node gains by a move.
    ///
    /// `progress` is called with the share of this level that is done, by estimate.
    pub(super) fn run(&mut self, seed: u64, level: u64, progress: &mut dyn FnMut(f64)) -> f64 {
        let mut gained = 0.0;
        let mut work = Work::new(self.level.len());
        let mut full = true;
        for sweep in 0..MAX_SWEEPS {
            if full {
                self.stale.fill(true);
            }
            let mut order: Vec<u32> =
                (0..self.level.len() as u32).filter(|&v| self.stale[v as usize]).collect();
            Stream::new(seed, "louvain", &[level, sweep]).shuffle(&mut order);
            work.sweep(order.len(), full && sweep > 0);
            let mut rise = 0.0;
            for nodes in order.chunks(REPORTED) {
                for &v in nodes {
                    rise += self.visit(v as usize);
                }
                progress(work.visited(nodes.len()));
            }
            // ΔQ = (1/m) · (w(v, c) − γ k_v tot_c / 2m − the same for staying), and total() = 2m.
            let rise = 2.0 * rise / self.level.total();
            gained += rise;
            // NaN, from a resolution that is not a number, counts as a small gain: the sweeps end.
            let little = rise < MIN_GAIN || rise.is_nan();
            if little && full {
                break;
            }
            full = little;
        }
        gained
    }

    /// Moves `v` if that gains, and marks its neighbours as stale if it moved; returns the gain.
    fn visit(&mut self, v: usize) -> f64 {
        if !std::mem::take(&mut self.stale[v]) {
            return 0.0;
        }
        let before = self.community[v];
        let gain = self.settle(v);
        let Self { level, community, stale, .. } = self;
        if community[v] != before {
            // For a neighbour in the community that `v` joined, staying has only become better, so
            // it needs no visit.
            level.each_arc(v, |u, _| stale[u as usize] |= community[u as usize] != community[v]);
        }
        gain
    }

    /// Moves `v` to the neighbouring community c with the largest w(v, c) − γ k_v tot_c / 2m, `v`
    /// itself taken out, and returns by how much that beats staying.
    fn settle(&mut self, v: usize) -> f64 {
        let Self { level, community, totals, link, touched, .. } = self;
        level.each_arc(v, |u, weight| {
            let c = community[u as usize];
            if link[c as usize] == 0.0 {
                touched.push(c);
            }
            link[c as usize] += weight;
        });
        let own = community[v];
        let degree = level.degree(v);
        // The gain of staying and of moving is that of joining as an isolated node: the degree of
        // `v` must not count for the community that it is already in.
        totals[own as usize] -= degree;

        let cost = self.resolution * degree / level.total();
        let stay = link[own as usize] - cost * totals[own as usize];
        let (mut best, mut most) = (own, stay);
        for &c in touched.iter() {
            let gain = link[c as usize] - cost * totals[c as usize];
            // Ties go to staying, then to the lowest number, so that the order of edges in
            // `touched` does not affect the result.
            if gain > most || (gain == most && best != own && c < best) {
                (best, most) = (c, gain);
            }
        }
        for c in touched.drain(..) {
            link[c as usize] = 0.0;
        }
        totals[best as usize] += degree;
        community[v] = best;
        most - stay
    }
}

/// Progress is reported after this many visits.
const REPORTED: usize = 1 << 15;

/// A bound for the case that rounding errors keep nodes moving. Real graphs need about ten sweeps.
const MAX_SWEEPS: u64 = 1000;
