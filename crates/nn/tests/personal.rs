//! Gradients of the operations of personal modules against central finite differences, in f64:
//! smoothed features, PReLU, learnt messages.

use boostfgl_graph::{Adjacency, Features, Graph, Labels, SparseRows, Stream};
use boostfgl_nn::ops::{Candidates, Smoothing};
use boostfgl_nn::{Dropout, Inputs, Matrix, Pool, Propagation, Tape, Var, softmax_rows};

const NODES: usize = 7;
const WIDTH: usize = 4;

fn random(rows: usize, columns: usize, which: u64) -> Matrix<f64> {
    let mut stream = Stream::new(2, "personal", &[which]);
    Matrix::from_rows(
        rows,
        columns,
        &(0..rows * columns).map(|_| stream.normal()).collect::<Vec<_>>(),
    )
}

/// ⟨w, y⟩ for y = `record`(inputs), and its gradient with respect to each input.
fn weighted<'t>(
    inputs: &'t [Matrix<f64>],
    pool: &'t Pool<f64>,
    record: impl Fn(&mut Tape<'t, f64>, &[Var]) -> Var,
) -> (f64, Vec<Matrix<f64>>) {
    let mut tape = Tape::new(pool);
    let vars: Vec<Var> = inputs.iter().map(|x| tape.parameter(x)).collect();
    let y = record(&mut tape, &vars);
    let weights = random(tape.value(y).rows(), tape.value(y).columns(), 99);
    let value = tape.value(y).to_vec().iter().zip(weights.to_vec()).map(|(y, w)| y * w).sum();
    (value, tape.backward_from(vec![(y, weights)], &vars))
}

/// Compares gradients with finite differences in every entry of every input.
fn check(mut inputs: Vec<Matrix<f64>>, value: impl Fn(&[Matrix<f64>]) -> (f64, Vec<Matrix<f64>>)) {
    let (_, found) = value(&inputs);
    for t in 0..inputs.len() {
        for (i, j) in
            (0..found[t].rows()).flat_map(|i| (0..found[t].columns()).map(move |j| (i, j)))
        {
            let (h, at) = (1e-6, inputs[t].row(i)[j]);
            inputs[t].row_mut(i)[j] = at + h;
            let above = value(&inputs).0;
            inputs[t].row_mut(i)[j] = at - h;
            let numeric = (above - value(&inputs).0) / (2.0 * h);
            inputs[t].row_mut(i)[j] = at;
            let tape = found[t].row(i)[j];
            assert!(
                (numeric - tape).abs() < 1e-6 * numeric.abs().max(1.0),
                "{t} [{i}, {j}]: {tape}, not {numeric}"
            );
        }
    }
}

fn slope(q: f64) -> Matrix<f64> {
    Matrix::from_rows(1, 1, &[q])
}

#[test]
fn prelu_agrees_with_finite_differences() {
    let pool = Pool::new();
    for (q, dropout) in
        [(0.25, Dropout::off()), (-0.3, Dropout::new(0.4, 7)), (0.0, Dropout::new(0.4, 8))]
    {
        check(vec![random(4, 5, 0), random(1, 5, 1), slope(q)], |inputs| {
            weighted(inputs, &pool, |tape, vars| {
                let x = tape.select_rows(vars[0], &[0, 1, 2, 3]);
                tape.prelu(x, vars[1], vars[2], &[3, 5, 8, 9], dropout, 1)
            })
        });
    }
}

/// A predicted distribution in which rows 0 and 1 are similar, and so are 2 and 3.
fn predicted() -> Matrix<f64> {
    let mut p = random(NODES, 3, 4);
    for (to, from) in [(1, 0), (3, 2)] {
        let row = p.row(from).to_vec();
        p.row_mut(to).copy_from_slice(&row);
    }
    softmax_rows(&mut p);
    p
}

#[test]
fn learnt_messages_agree_with_finite_differences() {
    let pool = Pool::new();
    let some = vec![(0, 4), (0, 4), (0, 4), (0, 4), (4, 7), (4, 7), (4, 7)];
    let all = Candidates::all(&predicted(), 0.999);
    let within = Candidates::within(&predicted(), 0.999, (0..NODES as u32).collect(), &some);
    let mixed = vec![(0, 4), (0, 4), (4, 7), (4, 7), (4, 7), (0, 4), (0, 4)];
    let ordered = Candidates::within(&predicted(), 0.999, vec![6, 0, 5, 1, 4, 2, 3], &mixed);
    assert_eq!((all.pairs(), within.pairs(), ordered.pairs()), (49, 25, 25));
    assert_eq!(ordered.relation().lists(), all.relation().lists());
    assert_eq!(all.relation().lists()[..5], [vec![1], vec![0], vec![3], vec![2], vec![]]);
    for (candidates, beta, q) in
        [(&all, 0.2, 0.25), (&all, 0.0, -0.5), (&within, 0.2, 0.25), (&ordered, 0.2, 0.25)]
    {
        // Of all nodes, or of some, one of them twice.
        for rows in [None, Some(&[5, 0, 2, 0][..])] {
            check(vec![random(NODES, 3, 5), slope(q)], |inputs| {
                weighted(inputs, &pool, |tape, vars| {
                    tape.learned_messages(vars[0], vars[1], candidates, beta, rows)
                })
            });
        }
    }
}

/// More nodes than one tile holds: requested rows are the rows of all nodes, and the gradient
/// agrees with finite differences along a random direction.
#[test]
fn learnt_messages_over_many_tiles_have_consistent_rows_and_gradients() {
    let (n, pool) = (700, Pool::new());
    let mut p = random(n, 3, 10);
    softmax_rows(&mut p);
    let windows: Vec<(u32, u32)> =
        (0..n as u32).map(|v| (v.saturating_sub(290), (v + 291).min(n as u32))).collect();
    let within = Candidates::within(&p, 0.99, (0..n as u32).collect(), &windows);
    let rows: Vec<u32> = (0..n as u32).rev().filter(|v| v % 3 == 0).collect();
    for candidates in [&Candidates::all(&p, 0.99), &within] {
        let value = |e: &Matrix<f64>, rows: Option<&[u32]>| {
            let inputs = [e.clone(), slope(0.25)];
            weighted(&inputs, &pool, |tape, vars| {
                tape.learned_messages(vars[0], vars[1], candidates, 0.2, rows)
            })
        };
        let (e, direction) = (random(n, 3, 11), random(n, 3, 12));
        let moved = |h: f64| {
            let x: Vec<f64> =
                e.to_vec().iter().zip(direction.to_vec()).map(|(e, d)| e + h * d).collect();
            value(&Matrix::from_rows(n, 3, &x), Some(&rows)).0
        };
        let (_, gradients) = value(&e, Some(&rows));
        let along: f64 =
            gradients[0].to_vec().iter().zip(direction.to_vec()).map(|(g, d)| g * d).sum();
        // f jumps where r passes the mean: the step is too short for a pair to pass it.
        let numeric = (moved(1e-8) - moved(-1e-8)) / 2e-8;
        assert!((numeric - along).abs() < 1e-5 * numeric.abs().max(1.0), "{along}, not {numeric}");
        let inputs = [e, slope(0.25)];
        let mut tape = Tape::new(&pool);
        let (at, q) = (tape.constant(&inputs[0]), tape.constant(&inputs[1]));
        let all = tape.learned_messages(at, q, candidates, 0.2, None);
        let some = tape.learned_messages(at, q, candidates, 0.2, Some(&rows));
        for (i, &v) in rows.iter().enumerate() {
            let pairs = tape.value(some).row(i).iter().zip(tape.value(all).row(v as usize));
            pairs.for_each(|(a, b)| assert!((a - b).abs() < 1e-12));
        }
    }
}

/// The formula of the module in plain loops.
#[test]
fn learnt_messages_agree_with_their_formula() {
    let pool = Pool::new();
    let (e, q, beta) = (random(NODES, 3, 6), 0.25, 0.2);
    let candidates = Candidates::all(&predicted(), 0.999);
    let similar = candidates.relation().lists();
    let mut u = e.clone();
    softmax_rows(&mut u);
    let dot = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(a, b)| a * b).sum::<f64>();
    let cosine = |i: usize, j: usize| {
        dot(u.row(i), u.row(j)) / (dot(u.row(i), u.row(i)) * dot(u.row(j), u.row(j))).sqrt()
    };
    let r = |i: usize, j: usize| match i == j {
        true => 0.0,
        false => {
            beta * f64::from(u8::from(similar[i].contains(&(j as u32))))
                + (1.0 - beta) * cosine(i, j)
        }
    };
    let pairs = || (0..NODES).flat_map(|i| (0..NODES).map(move |j| (i, j)));
    let mean = pairs().map(|(i, j)| r(i, j)).sum::<f64>() / 49.0;
    let top = pairs().map(|(i, j)| r(i, j)).fold(0.0, f64::max);
    let f = |i: usize, j: usize| match r(i, j) - mean {
        _ if i == j => 1.0,
        above if above > 0.0 => above / (top - mean),
        below => -(below + mean) / mean,
    };
    let prelu = |x: f64| if x > 0.0 { x } else { q * x };
    let sum = |sign: f64| {
        let cell = |i: usize, c: usize| {
            (0..NODES).map(|j| prelu(sign * f(i, j)) * e.row(j)[c]).sum::<f64>()
        };
        let cells: Vec<f64> =
            (0..NODES).flat_map(|i| (0..3).map(move |c| (i, c))).map(|(i, c)| cell(i, c)).collect();
        let mut out = Matrix::from_rows(NODES, 3, &cells);
        softmax_rows(&mut out);
        out
    };
    let (positive, negative) = (sum(1.0), sum(-1.0));
    let q = slope(q);
    let mut tape = Tape::new(&pool);
    let (at, q) = (tape.constant(&e), tape.constant(&q));
    let y = tape.learned_messages(at, q, &candidates, beta, None);
    for i in 0..NODES {
        for c in 0..3 {
            let expected = 0.5 * (positive.row(i)[c] - negative.row(i)[c] + e.row(i)[c]);
            assert!((tape.value(y).row(i)[c] - expected).abs() < 1e-12);
        }
    }
}

/// A single node has no other candidate, and nothing is divided by 0.
#[test]
fn a_single_node_sends_messages_to_itself() {
    let pool = Pool::new();
    let candidates = Candidates::all(&Matrix::from_rows(1, 2, &[0.3, 0.7]), 0.999);
    check(vec![random(1, 2, 7), slope(0.25)], |inputs| {
        weighted(inputs, &pool, |tape, vars| {
            tape.learned_messages(vars[0], vars[1], &candidates, 0.2, None)
        })
    });
}

fn graphs() -> [Graph; 2] {
    let edges: Vec<(u32, u32)> =
        (0..NODES as u32).map(|v| (v, (v * v + 1) % NODES as u32)).collect();
    let (adjacency, _) = Adjacency::from_edges(NODES, &edges, None, false).unwrap();
    let values: Vec<f32> = random(NODES, WIDTH, 8).to_vec().iter().map(|x| *x as f32).collect();
    let offsets: Vec<usize> = (0..=NODES).map(|v| v * WIDTH).collect();
    let columns: Vec<u32> = (0..NODES * WIDTH).map(|i| (i % WIDTH) as u32).collect();
    let sparse = Features::Sparse(SparseRows::new(WIDTH, &offsets, &columns, &values).unwrap());
    let dense = Features::dense(NODES, WIDTH, values).unwrap();
    let graph = |features| {
        let labels = Labels::from_integers(&[0; NODES], 2).unwrap();
        Graph::new("seven", adjacency.clone(), features, labels).unwrap()
    };
    [graph(sparse), graph(dense)]
}

/// For sparse and dense features: y is the product with explicitly smoothed features, and its
/// gradient agrees with finite differences.
#[test]
fn smoothed_products_equal_products_with_smoothed_features() {
    let pool = Pool::new();
    for graph in graphs() {
        let inputs = Inputs::<f64>::new(&graph);
        let operator = Propagation::gcn(graph.adjacency()).csr().clone();
        let x: Vec<Vec<f64>> = (0..NODES)
            .map(|v| random(NODES, WIDTH, 8).row(v).iter().map(|x| f64::from(*x as f32)).collect())
            .collect();
        for steps in [0, 3] {
            let smoothing = Smoothing::new(&inputs, operator.clone(), 5).steps(steps);
            let weights = random((steps + 1) * WIDTH, 3, 9);
            let mut level = x.clone();
            let mut expected = vec![vec![0.0; 3]; NODES];
            for step in 0..=steps {
                for (v, row) in expected.iter_mut().enumerate() {
                    let add = |c: usize| {
                        (0..WIDTH)
                            .map(|f| level[v][f] * weights.row(step * WIDTH + f)[c])
                            .sum::<f64>()
                    };
                    (0..3).for_each(|c| row[c] += add(c));
                }
                let cell = |v: usize, f: usize| {
                    operator
                        .row_range(v)
                        .map(|k| operator.values()[k] * level[operator.indices()[k] as usize][f])
                        .sum()
                };
                level = (0..NODES).map(|v| (0..WIDTH).map(|f| cell(v, f)).collect()).collect();
            }
            let mut tape = Tape::new(&pool);
            let w = tape.constant(&weights);
            let y = tape.smoothed_product(&smoothing, w, None);
            let found = tape.value(y).to_vec();
            assert!(found.iter().zip(expected.concat()).all(|(a, b)| (a - b).abs() < 1e-12));
            check(vec![weights.clone()], |inputs| {
                weighted(inputs, &pool, |tape, vars| {
                    tape.smoothed_product(&smoothing, vars[0], None)
                })
            });
        }
    }
}
