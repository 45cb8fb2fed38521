//! Louvain on Zachary's karate club, whose best modularity is known.

use boostfgl_graph::Adjacency;
use boostfgl_partition::louvain::{communities, modularity};

fn karate() -> Adjacency {
    let (adjacency, counts) = Adjacency::from_edges(34, &EDGES, None, false).unwrap();
    assert_eq!((adjacency.edges(), counts.loops, counts.duplicates), (78, 0, 0));
    adjacency
}

/// The optimum over all divisions is Q = 0.41979 (Brandes et al. 2008, "On modularity clustering");
/// python-louvain over 50 seeds has minimum 0.39489, mean 0.41583, maximum 0.41979.
#[test]
fn the_best_of_fifty_seeds_is_optimal() {
    let karate = karate();
    let qs: Vec<f64> = (0..50).map(|seed| communities(&karate, 1.0, seed).modularity).collect();
    let best = qs.iter().copied().fold(f64::MIN, f64::max);
    let mean = qs.iter().sum::<f64>() / 50.0;
    println!("best {best:.6}, mean {mean:.6}");
    assert!((best - 0.41979).abs() < 1e-5, "best {best}");
    assert!(mean > 0.410, "mean {mean}");
}

/// By hand: 67 of the 78 edges stay inside, the factions' degrees sum to 81 and 75, so
/// Q = 67/78 − (81/156)² − (75/156)² = 0.358235.
#[test]
fn the_club_as_it_split_has_its_known_modularity() {
    let officer = [9, 14, 15, 18, 20, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31, 32, 33];
    let faction: Vec<u32> = (0..34).map(|v| u32::from(officer.contains(&v))).collect();
    let q = modularity(&karate(), &faction, 1.0);
    assert!((q - 0.358_234_714_003_944_8).abs() < 1e-15, "{q}");
}

/// Frozen: a change of the algorithm changes every published partition and must be noticed.
#[test]
fn digits_are_frozen() {
    let found = communities(&karate(), 1.0, 0);
    assert_eq!(found.community, FROZEN);
}

const FROZEN: [u32; 34] = [
    0, 0, 0, 0, 1, 1, 1, 0, 2, 2, 1, 0, 0, 0, 2, 2, 1, 0, 2, 0, 2, 0, 2, 3, 3, 3, 2, 3, 3, 2, 2, 3,
    2, 2,
];

/// Zachary 1977, nodes counted from 0.
const EDGES: [(u32, u32); 78] = [
    (0, 1),
    (0, 2),
    (0, 3),
    (0, 4),
    (0, 5),
    (0, 6),
    (0, 7),
    (0, 8),
    (0, 10),
    (0, 11),
    (0, 12),
    (0, 13),
    (0, 17),
    (0, 19),
    (0, 21),
    (0, 31),
    (1, 2),
    (1, 3),
    (1, 7),
    (1, 13),
    (1, 17),
    (1, 19),
    (1, 21),
    (1, 30),
    (2, 3),
    (2, 7),
    (2, 8),
    (2, 9),
    (2, 13),
    (2, 27),
    (2, 28),
    (2, 32),
    (3, 7),
    (3, 12),
    (3, 13),
    (4, 6),
    (4, 10),
    (5, 6),
    (5, 10),
    (5, 16),
    (6, 16),
    (8, 30),
    (8, 32),
    (8, 33),
    (9, 33),
    (13, 33),
    (14, 32),
    (14, 33),
    (15, 32),
    (15, 33),
    (18, 32),
    (18, 33),
    (19, 33),
    (20, 32),
    (20, 33),
    (22, 32),
    (22, 33),
    (23, 25),
    (23, 27),
    (23, 29),
    (23, 32),
    (23, 33),
    (24, 25),
    (24, 27),
    (24, 31),
    (25, 31),
    (26, 29),
    (26, 33),
    (27, 33),
    (28, 31),
    (28, 33),
    (29, 32),
    (29, 33),
    (30, 32),
    (30, 33),
    (31, 32),
    (31, 33),
    (32, 33),
];
