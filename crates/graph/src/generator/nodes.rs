//! Classes, communities and weights of the nodes.

use std::ops::Range;

use super::features::Topic;
use super::spec::Spec;
use super::wheel::Wheel;
use crate::Stream;

/// Every node's class and place, and the wheels to draw edge ends from.
pub(super) struct Nodes {
    /// The class of each node.
    pub(super) class: Vec<u32>,
    /// The community or pocket of each node; pockets come after the communities of all classes.
    place: Vec<u32>,
    /// Regular nodes, ordered by class, then community.
    pub(super) regular: Wheel,
    /// Pocket nodes, ordered by pocket.
    pub(super) pockets: Wheel,
    /// The range of each place on its wheel.
    stretches: Vec<Range<usize>>,
    communities: usize,
    regular_places: usize,
    /// Per place, the second class of its features, and the share δ of the drift towards it.
    drift: Vec<(u32, f64)>,
}

impl Nodes {
    /// Assigns classes, places and weights. Node ids carry no information: they are shuffled.
    pub(super) fn draw(spec: &Spec, seed: u64) -> Self {
        let shares = (0..spec.classes).map(|c| libm::pow((c + 1) as f64, -spec.imbalance));
        let class_sizes = apportion(spec.nodes, &shares.collect::<Vec<_>>());

        let mut ids: Vec<u32> = (0..spec.nodes as u32).collect();
        Stream::new(seed, "generator/nodes", &[]).shuffle(&mut ids);

        let within: Vec<f64> =
            (0..spec.communities).map(|k| 1.0 / libm::sqrt((k + 1) as f64)).collect();
        let mut class = vec![0; spec.nodes];
        let (mut sizes, mut regular, mut pocketed) = (Vec::new(), Vec::new(), Vec::new());
        let mut start = 0;
        for (c, &size) in class_sizes.iter().enumerate() {
            let members = &ids[start..start + size];
            start += size;
            for &v in members {
                class[v as usize] = c as u32;
            }
            let aside = libm::round(spec.pockets * size as f64) as usize;
            pocketed.extend_from_slice(&members[..aside]);
            regular.extend_from_slice(&members[aside..]);
            sizes.extend(apportion(size - aside, &within));
        }

        // Pockets draw from all classes in proportion to their sizes.
        Stream::new(seed, "generator/pockets", &[]).shuffle(&mut pocketed);
        let regular_places = sizes.len();
        let pockets = (pocketed.len() / spec.pocket_size).max(1);
        sizes.extend(apportion(pocketed.len(), &vec![1.0; pockets]));

        // The wheels are filled at the end: until then `regular` and `pocketed` are needed to
        // assign places.
        let weight = weights(spec, seed);
        let mut nodes = Self {
            class,
            place: vec![0; spec.nodes],
            regular: Wheel::new(Vec::new(), &weight),
            pockets: Wheel::new(Vec::new(), &weight),
            stretches: stretches(&sizes, regular_places),
            communities: spec.communities,
            regular_places,
            drift: drifts(spec, regular_places, sizes.len(), seed),
        };
        for (place, stretch) in nodes.stretches.iter().enumerate() {
            let list = if place < regular_places { &regular } else { &pocketed };
            for &v in &list[stretch.clone()] {
                nodes.place[v as usize] = place as u32;
            }
        }
        nodes.regular = Wheel::new(regular, &weight);
        nodes.pockets = Wheel::new(pocketed, &weight);
        nodes
    }

    /// The topic of `v`, from which its features are drawn.
    pub(super) fn topic(&self, v: usize) -> Topic {
        let (second, drift) = self.drift[self.place[v] as usize];
        Topic { class: Some(self.class[v]), second, drift }
    }

    /// Whether `v` is in a pocket.
    pub(super) fn in_pocket(&self, v: u32) -> bool {
        self.place[v as usize] as usize >= self.regular_places
    }

    /// The stretch of `v`'s community or pocket, on the wheel that holds `v`.
    pub(super) fn neighbourhood(&self, v: u32) -> Range<usize> {
        self.stretches[self.place[v as usize] as usize].clone()
    }

    /// The stretch of the regular nodes of `v`'s class.
    pub(super) fn class_mates(&self, v: u32) -> Range<usize> {
        let first = self.class[v as usize] as usize * self.communities;
        self.stretches[first].start..self.stretches[first + self.communities - 1].end
    }
}

/// A second class and a share δ for every place: uniform in [0, drift] for communities, the full
/// drift for pockets.
fn drifts(spec: &Spec, regular_places: usize, places: usize, seed: u64) -> Vec<(u32, f64)> {
    let mut stream = Stream::new(seed, "generator/drift", &[]);
    let mut drifts = Vec::with_capacity(places);
    for place in 0..places {
        if place >= regular_places {
            drifts.push((stream.below(spec.classes) as u32, spec.drift));
            continue;
        }
        // A step of 1..C around the circle of classes lands on another class, if there is one.
        let step = 1 + stream.below(spec.classes.max(2) - 1);
        let second = ((place / spec.communities + step) % spec.classes) as u32;
        drifts.push((second, spec.drift * stream.unit()));
    }
    drifts
}

/// Splits `total` in proportion to `shares`: whole parts that sum to it, the largest remainders
/// rounded up.
///
/// Where there is enough for all, every part gets at least one.
fn apportion(total: usize, shares: &[f64]) -> Vec<usize> {
    let sum: f64 = shares.iter().sum();
    let (least, rest) = if total >= shares.len() { (1, total - shares.len()) } else { (0, total) };
    let exact: Vec<f64> = shares.iter().map(|share| rest as f64 * share / sum).collect();
    let mut parts: Vec<usize> = exact.iter().map(|&x| libm::floor(x) as usize).collect();
    let mut order: Vec<usize> = (0..shares.len()).collect();
    order.sort_by(|&a, &b| {
        (exact[b] - libm::floor(exact[b])).total_cmp(&(exact[a] - libm::floor(exact[a])))
    });
    let short = rest.saturating_sub(parts.iter().sum());
    for &i in order.iter().cycle().take(short) {
        parts[i] += 1;
    }
    parts.iter().map(|part| part + least).collect()
}

/// Consecutive stretches of the given sizes; counting starts again at `restart`, where the second
/// list begins.
fn stretches(sizes: &[usize], restart: usize) -> Vec<Range<usize>> {
    let mut start = 0;
    let mut ranges = Vec::with_capacity(sizes.len());
    for (place, &size) in sizes.iter().enumerate() {
        if place == restart {
            start = 0;
        }
        ranges.push(start..start + size);
        start += size;
    }
    ranges
}

/// Pareto weights, capped so that no expected degree is above `max_degree`.
fn weights(spec: &Spec, seed: u64) -> Vec<f64> {
    let gamma = spec.degree_exponent;
    let mean_weight = (gamma - 1.0) / (gamma - 2.0);
    let mean_degree = (2.0 * spec.edges as f64 / spec.nodes as f64).max(1.0);
    let cap = (spec.max_degree as f64 / mean_degree * mean_weight).max(1.0);
    let mut stream = Stream::new(seed, "generator/weights", &[]);
    (0..spec.nodes).map(|_| libm::pow(1.0 - stream.unit(), -1.0 / (gamma - 1.0)).min(cap)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_sum_up_and_none_is_empty() {
        assert_eq!(apportion(10, &[1.0, 1.0, 1.0]), [4, 3, 3]);
        assert_eq!(apportion(5, &[100.0, 1.0, 1.0]), [3, 1, 1]);
        assert_eq!(apportion(2, &[1.0, 5.0, 3.0]), [0, 1, 1]);
        assert_eq!(apportion(0, &[1.0]), [0]);
    }

    #[test]
    fn stretches_restart_for_the_second_list() {
        assert_eq!(stretches(&[2, 3, 4, 1], 2), [0..2, 2..5, 0..4, 4..5]);
    }
}
