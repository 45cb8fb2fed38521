//! Drawing exactly m distinct edges.

use super::Progress;
use super::nodes::Nodes;
use super::spec::{Mix, Spec};
use super::wheel::Wheel;
use crate::{Error, Result, Stream};

/// Edges drawn from one stream. Part of the format of a seed: another size gives other graphs.
const CHUNK: usize = 1 << 16;

/// Draws per edge; an edge that is not found is left to the next round.
const TRIES: usize = 32;

/// Rounds in which missing edges are drawn again, before the spec is refused as too tight.
const ROUNDS: u64 = 400;

/// `spec.edges` distinct pairs (u, v) with u < v, in increasing order.
pub(super) fn draw(
    spec: &Spec,
    nodes: &Nodes,
    seed: u64,
    progress: Progress,
) -> Result<Vec<(u32, u32)>> {
    let sampler = Sampler { nodes, mix: spec.mix(), locality: spec.locality };
    let wanted_other = libm::round((1.0 - spec.homophily) * spec.edges as f64) as usize;
    let mut edges = Vec::with_capacity(spec.edges);
    // With an edge for every node, no node has to stay isolated.
    if spec.edges >= spec.nodes {
        sampler.open(spec.nodes, seed, &mut edges);
        sort_distinct(&mut edges);
    }
    for round in 0..ROUNDS {
        progress("edges", edges.len() as f64 / spec.edges.max(1) as f64);
        let missing = spec.edges.saturating_sub(edges.len());
        if missing == 0 {
            return Ok(edges);
        }
        // Dropped duplicates leave edges missing and may shift the mix: this round corrects both.
        let other = edges.iter().filter(|(u, v)| !sampler.same(*u, *v)).count();
        let other = wanted_other.saturating_sub(other).min(missing);
        sampler.fill(&mut edges, Colour::Other, other, seed, round);
        sampler.fill(&mut edges, Colour::Same, missing - other, seed, round);
        sort_distinct(&mut edges);
    }
    let expected = format!("room for {} distinct edges of this mix", spec.edges);
    Err(Error::inconsistent(
        "generator spec, edges",
        expected,
        format!("room for about {}", edges.len()),
    ))
}

fn sort_distinct(edges: &mut Vec<(u32, u32)>) {
    edges.sort_unstable_by_key(|&(u, v)| u64::from(u) << 32 | u64::from(v));
    edges.dedup();
}

/// Whether an edge joins two nodes of one class.
#[derive(Clone, Copy)]
enum Colour {
    Other,
    Same,
}

/// Draws edges of the four kinds.
struct Sampler<'a> {
    nodes: &'a Nodes,
    mix: Mix,
    locality: f64,
}

impl Sampler<'_> {
    fn same(&self, u: u32, v: u32) -> bool {
        self.nodes.class[u as usize] == self.nodes.class[v as usize]
    }

    /// Lets every node open one edge, of either colour in proportion to its share of such ends.
    fn open(&self, nodes: usize, seed: u64, edges: &mut Vec<(u32, u32)>) {
        let Mix { pocket_other, pocket_same, regular_other, regular_same } = self.mix;
        let pocket = pocket_same / (2.0 * pocket_other + pocket_same).max(f64::MIN_POSITIVE);
        let inside = 2.0 * regular_same + pocket_same;
        let regular = inside / (2.0 * regular_other + inside).max(f64::MIN_POSITIVE);
        for (chunk, start) in (0..nodes).step_by(CHUNK).enumerate() {
            let mut stream = Stream::new(seed, "generator/open", &[chunk as u64]);
            for u in start..nodes.min(start + CHUNK) {
                let u = u as u32;
                let same = stream.unit() < if self.nodes.in_pocket(u) { pocket } else { regular };
                edges.extend(self.edge(
                    u,
                    if same { Colour::Same } else { Colour::Other },
                    &mut stream,
                ));
            }
        }
    }

    /// Appends up to `count` edges of one colour, divided between pockets and regular nodes.
    fn fill(
        &self,
        edges: &mut Vec<(u32, u32)>,
        colour: Colour,
        count: usize,
        seed: u64,
        round: u64,
    ) {
        let (pocket, regular) = match colour {
            Colour::Other => (self.mix.pocket_other, self.mix.regular_other),
            Colour::Same => (self.mix.pocket_same, self.mix.regular_same),
        };
        let pocket =
            libm::round(count as f64 * pocket / (pocket + regular).max(f64::MIN_POSITIVE)) as usize;
        let parts = [(&self.nodes.pockets, pocket), (&self.nodes.regular, count - pocket)];
        for (part, (wheel, count)) in (0..).zip(parts) {
            self.fill_from(edges, wheel, colour, count, seed, [round, part]);
        }
    }

    /// Appends up to `count` edges with their first end on `wheel`, number `part` of the round.
    ///
    /// First ends are stratified, the i-th drawn from the i-th of `count` equal parts of the
    /// weight: in proportion to weight all the same, but in the order of the wheel, so that memory
    /// is read forwards instead of at random.
    fn fill_from(
        &self,
        edges: &mut Vec<(u32, u32)>,
        wheel: &Wheel,
        colour: Colour,
        count: usize,
        seed: u64,
        [round, part]: [u64; 2],
    ) {
        for (chunk, start) in (0..count).step_by(CHUNK).enumerate() {
            let path = [round, colour as u64, part, chunk as u64];
            let mut stream = Stream::new(seed, "generator/edges", &path);
            for i in start..count.min(start + CHUNK) {
                let first = wheel.at((i as f64 + stream.unit()) / count as f64);
                edges.extend(first.and_then(|u| self.edge(u, colour, &mut stream)));
            }
        }
    }

    /// An edge from `u`, smaller end first; `None` if no try finds another end.
    fn edge(&self, u: u32, colour: Colour, stream: &mut Stream) -> Option<(u32, u32)> {
        let end = (0..TRIES).find_map(|_| match colour {
            Colour::Other => self.other_class(u, stream),
            Colour::Same => self.same_class(u, stream),
        });
        end.map(|v| (u.min(v), u.max(v)))
    }

    /// Another end for `u` in its class, mostly in its community; `None` if the draw is `u` itself.
    fn same_class(&self, u: u32, stream: &mut Stream) -> Option<u32> {
        let near = !self.nodes.in_pocket(u) && stream.unit() < self.locality;
        let range = if near { self.nodes.neighbourhood(u) } else { self.nodes.class_mates(u) };
        self.nodes.regular.draw(range, stream).filter(|&v| v != u)
    }

    /// Another end for `u` outside its class: in its pocket, or among all regular nodes; `None` if
    /// the draw is of the same class.
    fn other_class(&self, u: u32, stream: &mut Stream) -> Option<u32> {
        let v = if self.nodes.in_pocket(u) {
            self.nodes.pockets.draw(self.nodes.neighbourhood(u), stream)
        } else {
            self.nodes.regular.draw(0..self.nodes.regular.len(), stream)
        };
        v.filter(|&v| !self.same(u, v))
    }
}
