//! Products with delta-coded rows of a similarity relation agree with plain sums.

use boostfgl_graph::Stream;
use boostfgl_nn::ops::Candidates;
use boostfgl_nn::{Csr, Matrix, Pool, Real, SimilarityRelation, SmoothingOperator};
use proptest::prelude::*;

/// A symmetric relation: points in clusters on a line are similar when they are near. A width of 0
/// gives identical rows, a huge one joins everything, and with a reach of 0 no nodes are similar.
fn relation(nodes: usize, clusters: u64, width: f64, reach: f64, seed: u64) -> Vec<Vec<u32>> {
    let mut stream = Stream::new(seed, "alike", &[]);
    let at: Vec<f64> = (0..nodes)
        .map(|_| (stream.unit() * clusters as f64).floor() + width * stream.unit())
        .collect();
    let near = |v: usize, u: usize| v != u && (at[v] - at[u]).abs() < reach;
    (0..nodes).map(|v| (0..nodes as u32).filter(|&u| near(v, u as usize)).collect()).collect()
}

fn random<T: Real>(rows: usize, columns: usize, seed: u64) -> Matrix<T> {
    let mut stream = Stream::new(seed, "alike numbers", &[]);
    Matrix::from_rows(
        rows,
        columns,
        &(0..rows * columns).map(|_| T::of(stream.normal())).collect::<Vec<_>>(),
    )
}

/// The largest error of B·y, relative to the sum of magnitudes, against plain sums in f64.
fn error<T: Real>(lists: &[Vec<u32>], columns: usize, seed: u64) -> f64 {
    let y = random::<T>(lists.len(), columns, seed);
    let found = SimilarityRelation::from_lists(lists).product(&y, &Pool::new());
    let mut worst = 0f64;
    for (v, list) in lists.iter().enumerate() {
        for c in 0..columns {
            let terms =
                || list.iter().copied().chain([v as u32]).map(|u| y.row(u as usize)[c].f64());
            let (sum, size) = (terms().sum::<f64>(), terms().map(f64::abs).sum::<f64>());
            worst = worst.max((found.row(v)[c].f64() - sum).abs() / size.max(1.0));
        }
    }
    worst
}

proptest! {
    #[test]
    fn products_agree_with_plain_sums(
        nodes in 1usize..90,
        clusters in 1u64..6,
        width in prop::sample::select(vec![0.0, 0.2, 0.9, 5.0]),
        reach in prop::sample::select(vec![0.0, 0.1, 0.4, 100.0]),
        columns in 1usize..70,
        seed in any::<u64>(),
    ) {
        let lists = relation(nodes, clusters, width, reach, seed);
        let relation = SimilarityRelation::from_lists(&lists);
        prop_assert_eq!(&relation.lists(), &lists);
        let degrees: Vec<u32> = lists.iter().map(|list| list.len() as u32 + 1).collect();
        prop_assert_eq!(relation.degrees(), &degrees[..]);
        prop_assert!(relation.differences() <= degrees.iter().sum::<u32>() as usize);
        prop_assert!(error::<f64>(&lists, columns, seed) < 1e-12);
        // A sum takes at most twice as many operations as it has terms, on partial sums of at most
        // twice as many.
        prop_assert!(error::<f32>(&lists, columns, seed) < 2.0 * nodes as f64 * f64::from(f32::EPSILON));
    }
}

/// More rows than a block, and the same digits on any number of threads.
#[test]
fn products_do_not_depend_on_threads() {
    let lists = relation(2500, 7, 0.3, 0.05, 3);
    assert!(error::<f64>(&lists, 3, 1) < 1e-12);
    assert!(error::<f32>(&lists, 3, 1) < 1e-6);
    let y = random::<f32>(2500, 40, 2);
    let product_on = |threads: usize| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        pool.install(|| SimilarityRelation::from_lists(&lists).product(&y, &Pool::new()).to_vec())
    };
    assert!(product_on(1) == product_on(3));
}

/// Identical rows cost one copy each.
#[test]
fn identical_rows_have_no_differences() {
    let all: Vec<Vec<u32>> = (0..50u32).map(|v| (0..50).filter(|&u| u != v).collect()).collect();
    assert_eq!(SimilarityRelation::from_lists(&all).differences(), 50);
    assert_eq!(SimilarityRelation::from_lists(&vec![Vec::new(); 50]).differences(), 50);
    assert!(SimilarityRelation::from_lists(&[]).is_empty());
}

#[test]
#[should_panic(expected = "0 is not in the list of 1")]
fn an_asymmetric_relation_is_refused() {
    SimilarityRelation::from_lists(&[vec![1], vec![]]);
}

/// Â = E + diag(s)·B·diag(s) and its transpose, entry by entry.
#[test]
fn a_smoothing_operator_is_the_sum_of_edges_and_scaled_similarity() {
    let lists = relation(30, 3, 0.4, 0.2, 5);
    let entries: Vec<(usize, u32, f64)> =
        (0..30).map(|v| (v, (v * v % 30) as u32, 0.5 + v as f64)).collect();
    let scale: Vec<f64> = (0..30).map(|v| 1.0 / f64::from(v + 1)).collect();
    let entry = |v: usize, u: usize| {
        let edges: f64 =
            entries.iter().filter(|e| (e.0, e.1 as usize) == (v, u)).map(|e| e.2).sum();
        let similar = v == u || lists[v].contains(&(u as u32));
        edges + f64::from(u8::from(similar)) * scale[v] * scale[u]
    };
    let (columns, values) = entries.iter().map(|&(_, column, value)| (column, value)).unzip();
    let edges = Csr::new(30, (0..=30).collect(), columns, values);
    let operator =
        SmoothingOperator::new(edges, scale.clone(), SimilarityRelation::from_lists(&lists));
    let (y, pool) = (random::<f64>(30, 5, 6), Pool::new());
    let (product, product_back) =
        (operator.product(&y, &pool), operator.transposed_product(&y, &pool));
    for (v, c) in (0..30).flat_map(|v| (0..5).map(move |c| (v, c))) {
        let plain: f64 = (0..30).map(|u| entry(v, u) * y.row(u)[c]).sum();
        let transposed: f64 = (0..30).map(|u| entry(u, v) * y.row(u)[c]).sum();
        assert!(
            (product.row(v)[c] - plain).abs() < 1e-12
                && (product_back.row(v)[c] - transposed).abs() < 1e-12
        );
    }
}

/// For all pairs, and for windows of another order.
#[test]
fn similar_candidates_are_those_with_large_cosines() {
    let x = random::<f64>(200, 3, 8);
    let dot = |v: usize, u: usize| x.row(v).iter().zip(x.row(u)).map(|(a, b)| a * b).sum::<f64>();
    let near = |v: usize, u: usize| v != u && dot(v, u) / (dot(v, v) * dot(u, u)).sqrt() > 0.9;
    let expected: Vec<Vec<u32>> =
        (0..200).map(|v| (0..200u32).filter(|&u| near(v, u as usize)).collect()).collect();
    assert_eq!(Candidates::all(&x, 0.9).relation().lists(), expected);
    let order: Vec<u32> = (0..200).map(|place| place * 77 % 200).collect();
    let mut place = vec![0u32; 200];
    (0..).zip(&order).for_each(|(at, &v)| place[v as usize] = at);
    let windows: Vec<(u32, u32)> =
        place.iter().map(|&at| (at.saturating_sub(70), (at + 71).min(200))).collect();
    let within = |v: u32, u: &u32| place[v as usize].abs_diff(place[*u as usize]) <= 70;
    let fewer: Vec<Vec<u32>> = (0..)
        .zip(&expected)
        .map(|(v, list)| list.iter().copied().filter(|u| within(v, u)).collect())
        .collect();
    assert_eq!(Candidates::within(&x, 0.9, order, &windows).relation().lists(), fewer);
}
