//! Names come from files and may be anything.

use super::*;
use boostfgl_graph::Role;
use boostfgl_report::{Predictions, SavedPrediction, SeedPredictions};
use proptest::prelude::*;
use serde_json::json as value;

/// A finished run with these names and nothing else.
fn named(place: &Path, [name, method, dataset, node, class]: &[String; 5]) -> RunView {
    let summary = Summary { dataset: dataset.clone(), ..run(method, &[], &SCORES[..1]) };
    let row = SavedPrediction {
        node: node.clone(),
        client: 0,
        split: Role::Test,
        label: None,
        prediction: class[..].into(),
        minority: Some(false),
        heterophilous: Some(true),
    };
    RunView {
        path: place.to_path_buf(),
        name: name.clone(),
        summary: Some(summary),
        settings: None,
        rounds: None,
        partition: None,
        predictions: Some(Predictions {
            seeds: vec![SeedPredictions { seed: u64::MAX, rows: vec![row] }],
        }),
        diagnostics: None,
        problems: Vec::new(),
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn any_name_survives(names in any::<[String; 5]>()) {
        let place = tempfile::tempdir().unwrap();
        let to = place.path();
        let views = [named(to, &names), named(to, &names)];
        exported(&views, "all", to);
        let [name, method, dataset, node, class] = &names;
        let rows = csv(to.join("runs.csv"));
        prop_assert_eq!([&rows[0]["run"], &rows[0]["method"], &rows[0]["dataset"]], [name, method, dataset]);
        prop_assert_eq!(&rows[1]["run"], &format!("{name}-2"));
        let rows = json(to.join("runs.json"));
        prop_assert_eq!([&rows[0]["run"], &rows[0]["method"]], [&value!(name), &value!(method)]);
        let rows = csv(to.join("predictions.csv"));
        prop_assert_eq!([&rows[0]["node"], &rows[0]["prediction"]], [node, class]);
        prop_assert_eq!(&rows[0]["seed"], &u64::MAX.to_string());
        #[cfg(feature = "parquet")]
        {
            let rows = parquet::rows(&to.join("predictions.parquet"));
            let wanted = [value!(name), value!(dataset), value!(node), value!(class), value!(u64::MAX), Value::Null];
            let found = ["run", "dataset", "node", "prediction", "seed", "label"].map(|column| rows[0][column].clone());
            prop_assert_eq!(found, wanted);
        }
    }
}
