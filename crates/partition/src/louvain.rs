//! Louvain: communities of high modularity (Blondel, Guillaume, Lambiotte, Lefebvre 2008).
//!
//! The modularity of communities c with resolution γ is
//!
//! > Q = Σ_c \[ in_c / 2m − γ (tot_c / 2m)² \]
//!
//! where 2m is the sum of all weights of A, in_c the part of it inside c, and tot_c the weighted
//! degrees in c. Two phases take turns: single nodes move to the neighbouring community that raises
//! Q most, in random order, until a sweep gains less than 10⁻⁷; then each community becomes one
//! node of a smaller graph.
//!
//! A directed graph is made symmetric first, A + Aᵀ, so an edge with its reverse weighs 2.
//! The same seed gives the same communities on every machine: node orders come from their own
//! [`Stream`](boostfgl_graph::Stream), and nothing iterates over a hash table.

mod level;
mod moving;
mod work;

use boostfgl_graph::Adjacency;
use level::Level;
use moving::Moving;

/// A division of the nodes into communities.
#[derive(Clone, Debug, PartialEq)]
pub struct Communities {
    /// The community of each node, numbered 0, 1, … in the order of their first nodes.
    pub community: Vec<u32>,
    /// Q of the division, with the resolution it was made for.
    pub modularity: f64,
    /// The number of levels at which nodes moved.
    pub levels: usize,
}

impl Communities {
    /// Number of communities.
    pub fn count(&self) -> usize {
        self.community.iter().max().map_or(0, |&last| last as usize + 1)
    }
}

/// Finds communities of high modularity. A resolution γ above 1 gives more and smaller communities,
/// below 1 fewer and larger ones.
///
/// A node without edges is a community of its own. Ties go to the community a node is already in,
/// then to the lowest number.
///
/// Time O(n + m) per sweep, a dozen sweeps or so; memory O(n) for the first level, which reads the
/// graph in place, and at most the size of the graph for the others.
///
/// ```
/// use boostfgl_graph::Adjacency;
/// use boostfgl_partition::louvain;
///
/// let edges = [(0, 1), (1, 2), (0, 2), (3, 4), (4, 5), (3, 5), (2, 3)];
/// let (adjacency, _) = Adjacency::from_edges(6, &edges, None, false)?;
/// let found = louvain::communities(&adjacency, 1.0, 0);
/// assert_eq!(found.community, [0, 0, 0, 1, 1, 1]);
/// # Ok::<(), boostfgl_graph::Error>(())
/// ```
pub fn communities(adjacency: &Adjacency, resolution: f64, seed: u64) -> Communities {
    communities_watched(adjacency, resolution, seed, &mut |_| {})
}

/// Like [`communities`]; `progress` is called with the share that is done, by estimate.
pub fn communities_watched(
    adjacency: &Adjacency,
    resolution: f64,
    seed: u64,
    progress: &mut dyn FnMut(f64),
) -> Communities {
    let mut level = Level::of(adjacency);
    let mut community: Vec<u32> = (0..adjacency.len() as u32).collect();
    let mut levels = 0;
    while level.total() > 0.0 {
        let mut moving = Moving::new(&level, resolution);
        // A level takes about a fifth of the time of the one before.
        let left = FURTHER.powi(levels as i32);
        let gain = moving.run(seed, levels as u64, &mut |share| {
            progress(1.0 - left * (1.0 - (1.0 - FURTHER) * share));
        });
        let (found, count) = renumber(moving.communities());
        // No node moved: a further level would be the same graph again.
        if count == level.len() {
            break;
        }
        levels += 1;
        // A node of this level represents a community of the original nodes.
        for c in &mut community {
            *c = found[*c as usize];
        }
        if gain < MIN_GAIN {
            break;
        }
        level = level.merged(&found, count);
    }
    let modularity = modularity(adjacency, &community, resolution);
    Communities { community, modularity, levels }
}

/// The modularity Q of any division of the nodes; 0 for a graph without edges.
///
/// Time and memory O(n + m).
///
/// # Panics
/// If there is not one community per node, or a community is numbered n or more.
///
/// ```
/// use boostfgl_graph::Adjacency;
/// let (pair, _) = Adjacency::from_edges(4, &[(0, 1), (2, 3)], None, false)?;
/// assert_eq!(boostfgl_partition::louvain::modularity(&pair, &[0, 0, 1, 1], 1.0), 0.5);
/// # Ok::<(), boostfgl_graph::Error>(())
/// ```
pub fn modularity(adjacency: &Adjacency, community: &[u32], resolution: f64) -> f64 {
    assert_eq!(community.len(), adjacency.len(), "one community per node");
    let level = Level::of(adjacency);
    if level.total() == 0.0 {
        return 0.0;
    }
    let mut inside = 0.0;
    let mut degrees = vec![0.0; level.len()];
    for v in 0..level.len() {
        degrees[community[v] as usize] += level.degree(v);
        level.each_arc(v, |u, weight| {
            if community[u as usize] == community[v] {
                inside += weight;
            }
        });
    }
    let expected: f64 =
        degrees.iter().map(|degree| (degree / level.total()) * (degree / level.total())).sum();
    inside / level.total() - resolution * expected
}

/// Numbers communities 0, 1, … in the order of their first node; returns how many there are.
fn renumber(community: &[u32]) -> (Vec<u32>, usize) {
    let mut number = vec![u32::MAX; community.len()];
    let mut count = 0;
    let renumbered = community
        .iter()
        .map(|&c| {
            if number[c as usize] == u32::MAX {
                number[c as usize] = count;
                count += 1;
            }
            number[c as usize]
        })
        .collect();
    (renumbered, count as usize)
}

/// The share of the work that is left after a level, by estimate.
const FURTHER: f64 = 0.2;

/// A sweep, or a level, that raises Q by less than this is the last (the bound of python-louvain).
const MIN_GAIN: f64 = 1e-7;

#[cfg(test)]
mod tests {
    use super::*;

    fn adjacency(
        nodes: usize,
        edges: &[(u32, u32)],
        weights: Option<&[f32]>,
        directed: bool,
    ) -> Adjacency {
        Adjacency::from_edges(nodes, edges, weights, directed).unwrap().0
    }

    fn found(adjacency: &Adjacency, resolution: f64) -> Vec<u32> {
        communities(adjacency, resolution, 0).community
    }

    #[test]
    fn without_edges_every_node_is_alone() {
        let alone = communities(&adjacency(3, &[], None, false), 1.0, 0);
        assert_eq!(alone, Communities { community: vec![0, 1, 2], modularity: 0.0, levels: 0 });
        assert_eq!(alone.count(), 3);
    }

    #[test]
    fn weights_decide() {
        // A square whose vertical sides are heavy, then one whose horizontal sides are.
        let square = [(0, 1), (1, 2), (2, 3), (0, 3)];
        assert_eq!(
            found(&adjacency(4, &square, Some(&[9.0, 1.0, 9.0, 1.0]), false), 1.0),
            [0, 0, 1, 1]
        );
        assert_eq!(
            found(&adjacency(4, &square, Some(&[1.0, 9.0, 1.0, 9.0]), false), 1.0),
            [0, 1, 1, 0]
        );
    }

    #[test]
    fn directed_edges_count_from_both_ends() {
        let triangles = [(0, 1), (1, 2), (2, 0), (3, 4), (4, 5), (5, 3), (2, 3)];
        let (one_way, both) =
            (adjacency(6, &triangles, None, true), adjacency(6, &triangles, None, false));
        assert_eq!(found(&one_way, 1.0), found(&both, 1.0));
        let community = [0, 0, 0, 1, 1, 1];
        assert_eq!(modularity(&one_way, &community, 1.0), modularity(&both, &community, 1.0));
        // An edge and its reverse together weigh 2.
        let back = adjacency(3, &[(0, 1), (1, 0), (1, 2)], None, true);
        let weighted = adjacency(3, &[(0, 1), (1, 2)], Some(&[2.0, 1.0]), false);
        assert_eq!(modularity(&back, &[0, 0, 1], 1.0), modularity(&weighted, &[0, 0, 1], 1.0));
    }

    #[test]
    fn progress_rises_below_one() {
        let ring: Vec<(u32, u32)> = (0..200).map(|v| (v, (v + 1) % 200)).collect();
        let mut shares = Vec::new();
        communities_watched(&adjacency(200, &ring, None, false), 1.0, 0, &mut |s| shares.push(s));
        assert!(shares.len() > 2 && shares.is_sorted(), "{shares:?}");
        assert!(shares.iter().all(|share| (0.0..=1.0).contains(share)), "{shares:?}");
    }

    #[test]
    fn a_higher_resolution_gives_more_communities() {
        let ring: Vec<(u32, u32)> = (0..24).map(|v| (v, (v + 1) % 24)).collect();
        let count =
            |resolution| communities(&adjacency(24, &ring, None, false), resolution, 0).count();
        assert!(count(0.3) < count(1.0) && count(1.0) < count(4.0));
        assert_eq!(count(0.0), 1);
    }

    #[test]
    fn a_resolution_that_is_no_number_still_gives_communities() {
        let pair = adjacency(2, &[(0, 1)], None, false);
        assert_eq!(found(&pair, f64::NAN).len(), 2);
        assert_eq!(found(&pair, f64::INFINITY).len(), 2);
        assert_eq!(found(&pair, -1.0).len(), 2);
    }
}
