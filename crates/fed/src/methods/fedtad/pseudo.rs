//! The graph that the server makes of generated features: whoever points the same way is a
//! neighbour.

use boostfgl_graph::Adjacency;
use boostfgl_nn::backbones::ViewPlan;
use boostfgl_nn::{Matrix, Pool, Real, View, cosines};

/// The view of the cosine k-nearest-neighbour graph of the rows of x. A node is one of its own k;
/// an edge stands if either end chose it, and every node has a self-loop. Which edges there are is
/// not differentiated.
pub(super) fn view<T: Real>(
    x: &Matrix<T>,
    neighbours: usize,
    plan: ViewPlan,
    pool: &Pool<T>,
) -> View<T> {
    match Adjacency::from_edges(x.rows(), &nearest(x, neighbours - 1, pool), None, false) {
        Ok((adjacency, _)) => View::of_given_features(&adjacency, plan),
        Err(error) => unreachable!("edges between rows of one matrix: {error}"),
    }
}

/// Each row with its `count` nearest others; the first of equals.
fn nearest<T: Real>(x: &Matrix<T>, count: usize, pool: &Pool<T>) -> Vec<(u32, u32)> {
    let similarity = cosines(x, pool);
    let n = x.rows();
    let mut edges = Vec::with_capacity(n * count.min(n));
    let mut others: Vec<u32> = Vec::with_capacity(n);
    for v in 0..n {
        let row = similarity.row(v);
        others.clear();
        others.extend((0..n as u32).filter(|&u| u as usize != v));
        others.sort_by(|&a, &b| row[b as usize].f64().total_cmp(&row[a as usize].f64()));
        edges.extend(others.iter().take(count).map(|&u| (v as u32, u)));
    }
    pool.put(similarity);
    edges
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn neighbours_point_the_same_way() {
        let x = Matrix::from_rows(4, 2, &[1.0f64, 0.0, 3.0, 0.3, 0.0, 2.0, 0.1, 1.0]);
        assert_eq!(nearest(&x, 1, &Pool::new()), [(0, 1), (1, 0), (2, 3), (3, 2)]);
        assert_eq!(nearest(&x, 0, &Pool::new()), []);
        assert_eq!(nearest(&x, 9, &Pool::new()).len(), 12);
    }
}
