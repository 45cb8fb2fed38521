//! Every fault at every call of what writes graphs: the file is the old one or the new one.

use boostfgl_data::intake::{Request, plan};
use boostfgl_data::readers::{flat_npz, read};
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

#[test]
fn an_import_is_whole_or_not_there() {
    let source = tempfile::tempdir().unwrap();
    let (nodes, edges) = (source.path().join("n.csv"), source.path().join("e.csv"));
    let rows: String = (0..2000).map(|v| format!("n{v},{},{v}\n", v % 2)).collect();
    std::fs::write(&nodes, format!("id,label,age\n{rows}")).unwrap();
    std::fs::write(&edges, "src,dst\nn0,n1\n").unwrap();
    let request = Request { nodes: vec![nodes], edges: vec![edges], ..Request::default() };
    let planned = plan(&request).unwrap();
    for fault in Fault::ALL {
        let (calls, whole) = at_every_call(
            fault,
            || tempfile::tempdir().unwrap(),
            |place| planned.write(&place.join("bank"), false),
            |place, outcome, n| {
                let left = read(&place.join("bank"), None);
                let is_whole = left.as_ref().is_ok_and(|graph| graph.len() == 2000);
                let is_absent = outcome.is_err() && !place.join("bank").exists();
                assert!(is_whole || is_absent, "{fault:?} at {n}: {left:?}");
                if let Err(error) = outcome {
                    assert!(error.to_string().contains("bank"), "{fault:?} at {n}: {error}");
                }
            },
        );
        whole.unwrap();
        assert!(calls >= 12, "{fault:?}: {calls} calls");
    }
}
