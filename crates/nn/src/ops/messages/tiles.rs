//! Passes over all pairs of candidates, one tile of [`TILE`] nodes by [`CHUNK`] places at a time.
//!
//! The cosines of a tile are a matrix product. They are computed again in every pass: storing them
//! would take O(n²) memory.

use super::Candidates;
use crate::kernels::gemm::{Shape, Strided, Target, product};
use crate::kernels::messages::{self, Back, CHUNK, Scale, TILE};
use crate::{Matrix, Real};
use rayon::prelude::*;
use std::ops::Range;

/// The pairs of candidates, and unit vectors by place.
#[derive(Clone, Copy)]
pub(super) struct Pairs<'a, T> {
    pub(super) candidates: &'a Candidates,
    pub(super) directions: &'a Matrix<T>,
}

/// The nodes whose messages are computed: their places and unit vectors.
pub(super) struct Receivers<'a, T> {
    pub(super) places: &'a [u32],
    pub(super) directions: &'a Matrix<T>,
}

/// The numbers of a tile, row by row.
struct Tile<T>(Vec<T>);

impl<T: Real> Tile<T> {
    fn new() -> Self {
        Self(vec![T::ZERO; TILE * CHUNK])
    }

    /// ⟨row of a, row of b⟩ for `rows` of a with the rows `places` of b.
    fn fill(&mut self, a: Strided<'_, T>, rows: usize, b: &Matrix<T>, places: Range<usize>) {
        let shape = Shape { rows, columns: places.len(), depth: b.columns() };
        let target = Target { out: &mut self.0, stride: CHUNK, add: false };
        product(shape, a, Strided::of(b).starting_at(places.start).transposed(), target);
    }

    /// Row `r`, as long as `places`, rounded up to whole vectors of eight.
    fn row(&mut self, r: usize, places: &Range<usize>) -> &mut [T] {
        &mut self.0[r * CHUNK..][..places.len().next_multiple_of(8)]
    }

    /// out += tile · (the rows `places` of x).
    fn pass_to(&self, rows: usize, x: &Matrix<T>, places: Range<usize>, out: &mut [T]) {
        let shape = Shape { rows, columns: x.stride(), depth: places.len() };
        let target = Target { out, stride: x.stride(), add: true };
        product(
            shape,
            Strided::rows(&self.0, CHUNK),
            Strided::of(x).starting_at(places.start),
            target,
        );
    }

    /// out += tileᵀ · (the rows of x from `first` on).
    fn pass_back(&self, rows: Range<usize>, x: &Matrix<T>, out: &mut [T]) {
        let shape = Shape { rows: out.len() / x.stride(), columns: x.stride(), depth: rows.len() };
        let target = Target { out, stride: x.stride(), add: true };
        product(
            shape,
            Strided::rows(&self.0, CHUNK).transposed(),
            Strided::of(x).starting_at(rows.start),
            target,
        );
    }
}

/// Pieces of a window of places, each starting at a multiple of 64, a word of similarity bits.
fn chunks(window: Range<usize>) -> impl Iterator<Item = Range<usize>> {
    (window.start / 64 * 64..window.end)
        .step_by(CHUNK)
        .map(move |first| first..(first + CHUNK).min(window.end))
}

impl<T: Real> Pairs<'_, T> {
    /// For every place the sum of the unit vectors of its candidates, without itself.
    pub(super) fn around(&self) -> Vec<f64> {
        let classes = self.directions.columns();
        // Prefix sums: candidates are a range of places, so that each sum is one difference.
        let mut before = vec![0.0; classes];
        for place in 0..self.directions.rows() {
            let sums = before[place * classes..].to_vec();
            before
                .extend(sums.iter().zip(self.directions.row(place)).map(|(sum, u)| sum + u.f64()));
        }
        let mut sums = Vec::with_capacity(self.candidates.ranges.len() * classes);
        for (place, &(from, to)) in self.candidates.ranges.iter().enumerate() {
            let (from, to) = (&before[from as usize * classes..], &before[to as usize * classes..]);
            let own = self.directions.row(place).iter();
            sums.extend(
                own.zip(from.iter().zip(to)).map(|(own, (from, to))| to - from - own.f64()),
            );
        }
        sums
    }

    /// The mean similarity, where that of a node with itself counts as 0.
    pub(super) fn mean(&self, beta: f64) -> f64 {
        let classes = self.directions.columns();
        let around = self.around();
        // Σⱼ ⟨uᵢ, uⱼ⟩ = ⟨uᵢ, Σⱼ uⱼ⟩: O(n) products instead of one per pair.
        let cosines: f64 = around
            .chunks_exact(classes)
            .enumerate()
            .map(|(place, sums)| dot(self.directions.row(place), sums))
            .sum();
        (beta * self.candidates.similar_pairs as f64 + (1.0 - beta) * cosines)
            / self.candidates.pairs().max(1) as f64
    }

    /// The largest similarity, and the places of a pair that has it. Every pair is visited once.
    pub(super) fn largest(&self, scale: Scale<'_, T>) -> (T, (usize, usize)) {
        let n = self.directions.rows();
        let tiles: Vec<Range<usize>> =
            (0..n).step_by(TILE).map(|first| first..(first + TILE).min(n)).collect();
        let found: Vec<_> =
            tiles.into_par_iter().map(|tile| self.largest_of(tile, scale)).collect();
        // In the order of tiles, so that of several equal maxima the same one is chosen on any
        // number of threads.
        found
            .into_iter()
            .fold((T::ZERO, (0, 0)), |best, next| if next.0 > best.0 { next } else { best })
    }

    fn largest_of(&self, own: Range<usize>, scale: Scale<'_, T>) -> (T, (usize, usize)) {
        // An upper bound for pairs that are not similar: no cosine exceeds 1, up to rounding.
        let dissimilar_bound = scale.learnt * T::of(1.0 + 1e-4);
        let rows: Vec<u32> = own.clone().map(|place| place as u32).collect();
        let end = self.candidates.window(&rows).end;
        let (mut tile, mut best) = (Tile::new(), (T::ZERO, (0, 0)));
        for places in chunks(own.start..end.max(own.start)) {
            if best.0 > dissimilar_bound
                && !self.candidates.any_similar(own.clone(), places.clone())
            {
                continue;
            }
            tile.fill(
                Strided::of(self.directions).starting_at(own.start),
                own.len(),
                self.directions,
                places.clone(),
            );
            for (r, place) in own.clone().enumerate() {
                let mut segment = self.candidates.segment(place, places.start, places.len());
                // Only places after this one: the matrix is symmetric.
                segment.range.0 = segment.range.0.max(place as u32 + 1);
                let (row, mut largest) = (tile.row(r, &places), T::ZERO);
                messages::similarities(scale, segment, row, &mut largest);
                if largest > best.0 {
                    let at = row.iter().position(|x| *x == largest).unwrap_or(0);
                    best = (largest, (place, places.start + at));
                }
            }
        }
        best
    }

    /// Adds Σⱼ PReLU(fᵢⱼ)·eⱼ and Σⱼ PReLU(−fᵢⱼ)·eⱼ of the receivers to matrices of zeros.
    pub(super) fn gather(
        &self,
        receivers: &Receivers<'_, T>,
        scale: Scale<'_, T>,
        e: &Matrix<T>,
        out: [&mut Matrix<T>; 2],
    ) {
        let stride = e.stride();
        let [positive, negative] = out.map(|out| out.data_mut().par_chunks_mut(TILE * stride));
        let tiles = receivers.places.par_chunks(TILE).enumerate().zip(positive.zip(negative));
        tiles.for_each(|((t, own), (positive, negative))| {
            let (mut up, mut down) = (Tile::new(), Tile::new());
            for places in chunks(self.candidates.window(own)) {
                let directions = Strided::of(receivers.directions).starting_at(t * TILE);
                up.fill(directions, own.len(), self.directions, places.clone());
                for (r, &place) in own.iter().enumerate() {
                    let segment =
                        self.candidates.segment(place as usize, places.start, places.len());
                    messages::weights(scale, segment, up.row(r, &places), down.row(r, &places));
                }
                up.pass_to(own.len(), e, places.clone(), positive);
                down.pass_to(own.len(), e, places, negative);
            }
        });
    }
}

/// The gradients of both sums of the receivers, and the summed rows e, by place.
#[derive(Clone, Copy)]
pub(super) struct OutputGradients<'a, T> {
    pub(super) positive: &'a Matrix<T>,
    pub(super) negative: &'a Matrix<T>,
    pub(super) e: &'a Matrix<T>,
}

/// The gradients of the mean, the largest similarity and the slope, and, by place, of unit vectors
/// and e. The latter do not include the paths through the mean and the largest similarity.
pub(super) struct InputGradients<T> {
    pub(super) to_scale: [f64; 3],
    pub(super) to_directions: Matrix<T>,
    pub(super) to_e: Matrix<T>,
}

/// The contribution of a chunk of places to the gradients of its receivers.
struct Partial<T> {
    to_scale: [f64; 3],
    receivers: Range<usize>,
    to_directions: Vec<T>,
}

impl<T: Real> Pairs<'_, T> {
    /// The backward pass of [`Pairs::gather`], into matrices of zeros.
    pub(super) fn back(
        &self,
        receivers: &Receivers<'_, T>,
        scale: Scale<'_, T>,
        gradients: OutputGradients<'_, T>,
        out: &mut InputGradients<T>,
    ) {
        let (n, stride) = (self.directions.rows(), self.directions.stride());
        let rows = out.to_directions.data_mut().par_chunks_mut(CHUNK * stride);
        let rows = rows.zip(out.to_e.data_mut().par_chunks_mut(CHUNK * stride)).enumerate();
        // A chunk owns its rows of both outputs; only the contributions to receivers are partial
        // sums. These are added in the order of chunks, so that the bits do not depend on the
        // number of threads.
        let partial: Vec<Partial<T>> = rows
            .map(|(c, (to_directions, to_e))| {
                let places = c * CHUNK..((c + 1) * CHUNK).min(n);
                self.back_from(receivers, scale, gradients, places, to_directions, to_e)
            })
            .collect();
        for part in partial {
            (0..3).for_each(|k| out.to_scale[k] += part.to_scale[k]);
            for (row, i) in part.to_directions.chunks_exact(stride).zip(part.receivers) {
                let own = out.to_directions.row_mut(receivers.places[i] as usize);
                own.iter_mut().zip(row).for_each(|(sum, x)| *sum += *x);
            }
        }
    }

    fn back_from(
        &self,
        receivers: &Receivers<'_, T>,
        scale: Scale<'_, T>,
        gradients: OutputGradients<'_, T>,
        places: Range<usize>,
        to_directions: &mut [T],
        to_e: &mut [T],
    ) -> Partial<T> {
        let stride = self.directions.stride();
        let receivers_here = self.receivers_near(receivers.places, &places);
        let mut partial = vec![T::ZERO; receivers_here.len() * stride];
        let (mut to_scale, mut tiles) = ([0.0; 3], [Tile::new(), Tile::new(), Tile::new()]);
        for (t, to_own) in partial.chunks_mut(TILE * stride).enumerate() {
            let first = receivers_here.start + t * TILE;
            let own = first..first + to_own.len() / stride;
            let [positive, to_positive, to_negative] = &mut tiles;
            positive.fill(
                Strided::of(receivers.directions).starting_at(first),
                own.len(),
                self.directions,
                places.clone(),
            );
            to_positive.fill(
                Strided::of(gradients.positive).starting_at(first),
                own.len(),
                gradients.e,
                places.clone(),
            );
            to_negative.fill(
                Strided::of(gradients.negative).starting_at(first),
                own.len(),
                gradients.e,
                places.clone(),
            );
            for (r, &place) in receivers.places[own.clone()].iter().enumerate() {
                let row = Back {
                    positive: positive.row(r, &places),
                    to_positive: to_positive.row(r, &places),
                    to_negative: to_negative.row(r, &places),
                };
                let segment = self.candidates.segment(place as usize, places.start, places.len());
                messages::back(scale, segment, row, &mut to_scale);
            }
            // ⟨uᵢ, uⱼ⟩ depends on both vectors: the receiver gets uⱼ, the candidate uᵢ.
            to_positive.pass_to(own.len(), self.directions, places.clone(), to_own);
            to_positive.pass_back(own.clone(), receivers.directions, to_directions);
            positive.pass_back(own.clone(), gradients.positive, to_e);
            to_negative.pass_back(own, gradients.negative, to_e);
        }
        Partial { to_scale, receivers: receivers_here, to_directions: partial }
    }

    /// The smallest range of `receivers` that contains all with a candidate among `places`.
    fn receivers_near(&self, receivers: &[u32], places: &Range<usize>) -> Range<usize> {
        let first = receivers.iter().position(|&own| self.has_candidates(own, places));
        let last = receivers.iter().rposition(|&own| self.has_candidates(own, places));
        let first = first.unwrap_or(receivers.len());
        first..last.map_or(first, |last| last + 1)
    }

    /// Whether the node at place `own` has candidates among `places`.
    fn has_candidates(&self, own: u32, places: &Range<usize>) -> bool {
        let (from, to) = self.candidates.ranges[own as usize];
        (from as usize) < places.end && (to as usize) > places.start
    }
}

fn dot<T: Real>(u: &[T], sums: &[f64]) -> f64 {
    u.iter().zip(sums).map(|(u, sum)| u.f64() * sum).sum()
}
