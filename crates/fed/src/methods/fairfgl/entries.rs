//! Sparse updates of several clients, read together in blocks of parameters, so that sums over a
//! block stay in the L1 cache.

use boostfgl_nn::{Real, add_inner_products};

/// Parameters of a block: those of five clients take 20 KiB.
const PIECE: usize = 1024;

/// The entries of one update that have not been read yet, in the order of places.
pub(super) struct Entries<'a, T>(&'a [(u32, T)]);

impl<'a, T: Real> Entries<'a, T> {
    pub(super) fn new(entries: &'a [(u32, T)]) -> Self {
        Self(entries)
    }

    /// Reads the next entries below place `end`. They are read one by one: searching for the end
    /// first would touch memory out of order and take longer.
    #[inline]
    pub(super) fn read(&mut self, end: usize, mut each: impl FnMut(usize, T)) {
        let mut read = 0;
        while let Some(&(place, x)) = self.0.get(read).filter(|(place, _)| (*place as usize) < end)
        {
            each(place as usize, x);
            read += 1;
        }
        self.0 = &self.0[read..];
    }
}

/// ⟨Δᵢ, Δⱼ⟩ of every pair j ≤ i of sparse updates of `count` parameters.
pub(super) fn inner_products<T: Real>(updates: &[&[(u32, T)]], count: usize) -> Vec<Vec<f64>> {
    let mut rest: Vec<Entries<'_, T>> =
        updates.iter().map(|entries| Entries::new(entries)).collect();
    let mut pieces = vec![[T::ZERO; PIECE]; updates.len()];
    let mut sums = vec![vec![0.0; updates.len()]; updates.len()];
    for first in (0..count).step_by(PIECE) {
        for (piece, rest) in pieces.iter_mut().zip(&mut rest) {
            piece.fill(T::ZERO);
            // Blocks begin at multiples of their length, so that the remainder is the position.
            rest.read(first + PIECE, |place, x| piece[place % PIECE] = x);
        }
        add_inner_products(&pieces.iter().map(|piece| &piece[..]).collect::<Vec<_>>(), &mut sums);
    }
    sums
}

/// The same for dense updates.
pub(super) fn full_inner_products<T: Real>(updates: &[Vec<T>]) -> Vec<Vec<f64>> {
    let mut sums = vec![vec![0.0; updates.len()]; updates.len()];
    let count = updates.first().map_or(0, Vec::len);
    for first in (0..count).step_by(PIECE) {
        let piece = first..(first + PIECE).min(count);
        add_inner_products(
            &updates.iter().map(|update| &update[piece.clone()]).collect::<Vec<_>>(),
            &mut sums,
        );
    }
    sums
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Whole numbers, so that every order of addition gives the same sum.
    #[test]
    fn sparse_and_dense_updates_have_the_same_inner_products() {
        let number = |k: usize, i: usize| ((i * (k + 3)) % 7) as f32 - 3.0;
        let full: Vec<Vec<f32>> = (0..3)
            .map(|k| {
                (0..3_000).map(|i| if (i + k) % 3 == 0 { number(k, i) } else { 0.0 }).collect()
            })
            .collect();
        let sent = |update: &Vec<f32>| {
            let all = update.iter().enumerate().map(|(i, x)| (i as u32, *x));
            all.filter(|(_, x)| *x != 0.0).collect::<Vec<_>>()
        };
        let sparse: Vec<Vec<(u32, f32)>> = full.iter().map(sent).collect();
        let sparse =
            inner_products(&sparse.iter().map(|entries| &entries[..]).collect::<Vec<_>>(), 3_000);
        assert_eq!(sparse, full_inner_products(&full));
        let plain = |i: usize, j: usize| {
            full[i].iter().zip(&full[j]).map(|(a, b)| f64::from(a * b)).sum::<f64>()
        };
        assert_eq!((sparse[1][1], sparse[2][0]), (plain(1, 1), plain(2, 0)));
    }
}
