//! Every fault at every call of writing a partition, and every kind of damage to one that has a
//! file of checksums.

use boostfgl_disk::Checksums;
use boostfgl_disk::faults::{Fault, at_every_call};
use boostfgl_graph::{Adjacency, Features, Graph, Labels, Role, Split};
use boostfgl_partition::{Partition, SplitRule, file};

const NODES: usize = 2000;

fn graph() -> Graph {
    let (adjacency, _) = Adjacency::from_edges(NODES, &[], None, false).unwrap();
    let features = Features::dense(NODES, 1, vec![0.0; NODES]).unwrap();
    Graph::new("dots", adjacency, features, Labels::from_integers(&[0; NODES], 1).unwrap()).unwrap()
}

fn partition(shift: usize) -> Partition {
    let client = (0..NODES).map(|v| ((v + shift) % 2) as u32).collect();
    let roles = [Role::Train, Role::Val, Role::Test].into_iter().cycle().take(NODES).collect();
    Partition::new(2, client, Split::new(roles)).unwrap()
}

#[test]
fn a_partition_is_the_old_or_the_new() {
    let (graph, old, new) = (graph(), partition(0), partition(1));
    for fault in Fault::ALL {
        let prepare = || {
            let place = tempfile::tempdir().unwrap();
            file::write(&place.path().join("p.csv"), &graph, &[(0, &old)]).unwrap();
            place
        };
        let (calls, whole) = at_every_call(
            fault,
            prepare,
            |place| file::write(&place.join("p.csv"), &graph, &[(0, &new)]),
            |place, outcome, n| {
                let left =
                    Partition::from_file(&place.join("p.csv"), &graph, &SplitRule::default(), 0)
                        .unwrap();
                assert!(left == new || (outcome.is_err() && left == old), "{fault:?} at {n}");
                if let Err(error) = outcome {
                    assert!(error.to_string().contains("p.csv"), "{fault:?} at {n}: {error}");
                }
            },
        );
        whole.unwrap();
        assert!(calls >= 8, "{fault:?}: {calls} calls");
    }
}

#[test]
fn in_the_folder_of_a_run_every_flipped_byte_is_found() {
    let (graph, saved) = (graph(), partition(0));
    let place = tempfile::tempdir().unwrap();
    let path = place.path().join("partition.csv");
    file::write(&path, &graph, &[(0, &saved)]).unwrap();
    Checksums::of(place.path(), ["partition.csv"]).unwrap().write().unwrap();
    let read = || Partition::from_file(&path, &graph, &SplitRule::default(), 0);
    assert_eq!(read().unwrap(), saved);
    let whole = std::fs::read(&path).unwrap();
    // Rows are alike, so some bytes of every column, at the beginning and at the end, suffice.
    for at in (0..200).chain(whole.len() - 50..whole.len()) {
        for flip in (0..8).map(|bit| 1 << bit) {
            let mut damaged = whole.clone();
            damaged[at] ^= flip;
            std::fs::write(&path, damaged).unwrap();
            let error = read().unwrap_err().to_string();
            assert!(error.contains("partition.csv"), "byte {at}: {error}");
        }
        std::fs::write(&path, &whole[..at]).unwrap();
        assert!(read().is_err(), "cut to {at}");
    }
}
