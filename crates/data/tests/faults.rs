//! Every fault at every call of what writes graphs: the file is the old one or the new one.

use boostfgl_data::readers::flat_npz;
use boostfgl_disk::faults::{Fault, at_every_call};
use boostfgl_graph::{Adjacency, Features, Graph, Labels};

fn graph(nodes: usize) -> Graph {
    let edges: Vec<(u32, u32)> = (1..nodes as u32).map(|v| (v - 1, v)).collect();
    let (adjacency, _) = Adjacency::from_edges(nodes, &edges, None, false).unwrap();
    let features = Features::dense(nodes, 3, (0..nodes * 3).map(|x| x as f32).collect()).unwrap();
    let labels =
        Labels::from_integers(&(0..nodes as i64).map(|v| v % 2).collect::<Vec<_>>(), 2).unwrap();
    Graph::new("line", adjacency, features, labels).unwrap()
}

#[test]
fn an_npz_is_the_old_or_the_new() {
    let (old, new) = (graph(4), graph(3000));
    for fault in Fault::ALL {
        let prepare = || {
            let place = tempfile::tempdir().unwrap();
            flat_npz::write(&old, &place.path().join("g.npz")).unwrap();
            place
        };
        let (calls, whole) = at_every_call(
            fault,
            prepare,
            |place| flat_npz::write(&new, &place.join("g.npz")),
            |place, outcome, n| {
                let left = flat_npz::read(&place.join("g.npz")).unwrap();
                assert!(
                    left.len() == 3000 || (outcome.is_err() && left.len() == 4),
                    "{fault:?} at {n}: {}",
                    left.len()
                );
                if let Err(error) = outcome {
                    assert!(error.to_string().contains("g.npz"), "{fault:?} at {n}: {error}");
                }
            },
        );
        whole.unwrap();
        assert!(calls >= 8, "{fault:?}: {calls} calls");
    }
}
