//! The settings that are tried: all of a grid, or a seeded choice of them.

use crate::config::Assignment;
use crate::grid::Axes;
use crate::{Error, Result};
use boostfgl_graph::stream::Stream;
use std::collections::BTreeSet;

/// The most settings that are tried for a method: every one runs under every seed.
const MOST: usize = 10_000;

/// Every combination of the axes, or `count` of them drawn without replacement. The order is that of
/// the grid, so that the first of two equal settings is chosen either way.
///
/// # Errors
/// If no trial or too many are asked for.
pub fn trials(axes: &Axes, count: Option<usize>, seed: u64) -> Result<Vec<Vec<Assignment>>> {
    let all = axes.len();
    let wanted = count.unwrap_or(all).min(all);
    if wanted == 0 || wanted > MOST {
        let reason = format!("expected 1 to {MOST} trials per method, found {wanted}");
        let advice = "--trials N draws N settings of the grid at random.";
        return Err(Error::usage("--trials", reason, advice));
    }
    if wanted == all {
        return Ok(axes.combinations());
    }
    let drawn = sample(all, wanted, seed);
    Ok(drawn.into_iter().map(|number| axes.combination(number)).collect())
}

/// `count` of the numbers below `all`, each subset with the same probability (Floyd's algorithm).
fn sample(all: usize, count: usize, seed: u64) -> BTreeSet<usize> {
    let mut stream = Stream::new(seed, "trials of a search", &[]);
    let mut drawn = BTreeSet::new();
    for last in all - count..all {
        let number = stream.below(last + 1);
        if !drawn.insert(number) {
            drawn.insert(last);
        }
    }
    drawn
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn a_sample_has_distinct_numbers_and_depends_on_the_seed_alone(
            all in 1usize..500, share in 0.0..1.0f64, seed: u64
        ) {
            let count = ((all as f64 * share) as usize).max(1);
            let drawn = sample(all, count, seed);
            prop_assert_eq!(drawn.len(), count);
            prop_assert!(drawn.iter().all(|&number| number < all));
            prop_assert_eq!(&drawn, &sample(all, count, seed));
        }
    }

    #[test]
    fn every_number_is_drawn_about_equally_often() {
        let mut counts = [0usize; 6];
        for seed in 0..3000 {
            sample(6, 2, seed).into_iter().for_each(|number| counts[number] += 1);
        }
        // 1000 each, with a standard deviation of 26.
        assert!(counts.iter().all(|&count| (870..1130).contains(&count)), "{counts:?}");
    }

    #[test]
    fn a_grid_is_searched_whole_unless_fewer_trials_are_asked_for() {
        let axes = Axes::parse(&["lr=0.1,0.2,0.3".to_owned(), "hidden=8,16".to_owned()]).unwrap();
        let all = trials(&axes, None, 0).unwrap();
        assert_eq!(all, axes.combinations());
        assert_eq!(trials(&axes, Some(9), 0).unwrap(), all);
        let some = trials(&axes, Some(4), 7).unwrap();
        assert_eq!(some.len(), 4);
        let places: Vec<usize> =
            some.iter().map(|one| all.iter().position(|other| other == one).unwrap()).collect();
        assert!(places.is_sorted(), "{places:?}");
        assert!(trials(&axes, Some(0), 0).is_err());
    }
}
