//! The whole pipeline reaches the known accuracy on the published Cora. Skipped without the data.

use boostfgl::datasets::catalogue::Lookup;
use boostfgl::{Data, Experiment, Layers, Run};
use std::path::PathBuf;

fn data() -> Option<PathBuf> {
    let named = std::env::var_os("BOOSTFGL_DATA").map(PathBuf::from);
    let shared = PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../../../shared/data"));
    let found = named.into_iter().chain([shared]).find(|folder| folder.join("cora.npz").is_file());
    if found.is_none() {
        eprintln!("skipped: cora.npz is not on this machine (set BOOSTFGL_DATA)");
    }
    found
}

fn experiment(settings: &[&str]) -> Option<Experiment> {
    let lookup = Lookup { data_dir: Some(data()?), ..Lookup::default() };
    let graph = Data::named("cora").unwrap().load(&lookup, None, &mut |_, _| {}).unwrap();
    let mut layers = Layers::new();
    for setting in ["dataset=cora"].iter().chain(settings) {
        layers.assignment(setting).unwrap();
    }
    let (config, _) = layers.resolve().unwrap();
    Some(Experiment::new(config, graph).unwrap())
}

fn with_threads(experiment: &Experiment, threads: usize) -> Run {
    let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
    pool.install(|| experiment.run()).unwrap()
}

fn accuracy(run: &Run) -> f64 {
    run.summary.mean.0.accuracy.pooled.unwrap()
}

#[test]
fn fedavg_learns_cora_with_any_number_of_threads() {
    let Some(experiment) =
        experiment(&["method=fedavg", "seeds=[0]", "hidden=64", "eval_every=50"])
    else {
        return;
    };
    let run = with_threads(&experiment, 1);
    assert!(accuracy(&run) >= 75.0, "{}", accuracy(&run));
    assert_eq!(with_threads(&experiment, 2).summary.digest, run.summary.digest);

    let seed = &run.seeds[0];
    let sizes = seed.evaluation.groups.sizes();
    assert!(sizes.heterophilous > 0 && sizes.minority > 0 && sizes.hete_min > 0, "{sizes:?}");
    assert_eq!(sizes.minority + sizes.majority, sizes.all);
    assert_eq!(seed.evaluation.clients.len(), 5);
    let scores = seed.evaluation.scores;
    for metric in [scores.accuracy, scores.overall_f1, scores.hete_f1, scores.hete_min_f1] {
        for reading in [metric.pooled, metric.present, metric.client] {
            assert!(reading.is_some_and(|x| x > 0.0 && x <= 1.0), "{metric:?}");
        }
    }
    // Averaged over the classes that are present, a group's F1 is at least what it is over all.
    assert!(scores.hete_min_f1.present >= scores.hete_min_f1.pooled);
}

#[test]
fn the_whole_graph_beats_its_parts_alone() {
    let Some(base) = experiment(&["method=central", "seeds=[0, 1]", "hidden=64", "eval_every=50"])
    else {
        return;
    };
    let central = accuracy(&base.run().unwrap());
    let isolated = accuracy(&base.with_method("isolated", None).unwrap().run().unwrap());
    assert!(central >= isolated, "central {central}, isolated {isolated}");
    assert!(central >= 80.0, "{central}");
}
