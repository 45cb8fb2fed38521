//! Running plans: rows, reuse and repair of cells, documents.

use boostfgl::grid::{CellStore, GridProgress, Resources};
use boostfgl_data::catalogue::Lookup;
use boostfgl_reproduce::{Laboratory, NAMES, Origin, Plan, Ran, Results, claims, document};
use std::num::NonZeroUsize;
use std::path::Path;

/// A plan small enough for a test.
fn plan(further: &str) -> Plan {
    let text = format!(
        r#"
        title = "small"
        paper = "none"
        reading = ""
        datasets = ["demo"]
        methods = ["fedavg", "boostfgl"]
        seeds = 2
        settings = {{ "fed.rounds" = 3, "model.hidden" = 8 }}
        {further}
        "#
    );
    Plan::parse(&text, "a test").unwrap()
}

fn origin() -> Origin {
    Origin { command: "boostfgl reproduce".into(), ..Origin::default() }
}

/// Notes that were made while a plan ran.
#[derive(Default)]
struct Notes(Vec<String>);

impl GridProgress for Notes {
    fn note(&mut self, text: &str) {
        self.0.push(text.to_owned());
    }
}

fn laboratory(place: &Path, threads: Option<usize>) -> Laboratory {
    let resources =
        threads.map(|n| Resources { threads: NonZeroUsize::new(n).unwrap(), memory: None });
    Laboratory::new(
        Lookup::from_env(Some(place.join("no data here"))),
        CellStore::open(place).unwrap(),
        resources,
    )
}

fn run(place: &Path, name: &str, plan: &Plan) -> (Ran, Vec<String>) {
    let mut notes = Notes::default();
    let ran = laboratory(place, Some(2)).run(name, plan, origin(), &mut notes).unwrap();
    (ran, notes.0)
}

#[test]
fn finished_cells_are_reused_and_a_truncated_one_runs_again() {
    let place = tempfile::tempdir().unwrap();
    let (first, _) = run(place.path(), "table1", &plan(""));
    assert_eq!((first.cells, first.reused, &first.failed), (4, 0, &None));
    let (second, notes) = run(place.path(), "table1", &plan(""));
    assert_eq!((second.reused, &second.results, notes.len()), (4, &first.results, 0));

    let mut cells: Vec<_> =
        std::fs::read_dir(place.path().join("cells")).unwrap().map(|e| e.unwrap().path()).collect();
    cells.sort();
    let whole = std::fs::read(&cells[1]).unwrap();
    std::fs::write(&cells[1], &whole[..whole.len() / 2]).unwrap();
    let (third, notes) = run(place.path(), "table1", &plan(""));
    assert_eq!((third.reused, notes.len()), (3, 1));
    assert!(notes[0].ends_with("this cell runs again"), "{}", notes[0]);
    // Times differ, results do not.
    let digits = |ran: &Ran| -> Vec<(String, Option<f64>)> {
        ran.results
            .rows
            .iter()
            .map(|row| (row.digest.clone(), ran.results.value(row, "hete_f1")))
            .collect()
    };
    assert_eq!(digits(&third), digits(&first));
}

#[test]
fn diagnostics_change_no_result_and_none_is_lost() {
    let place = tempfile::tempdir().unwrap();
    let (plain, _) = run(place.path(), "table1", &plan(""));
    let (gsd, _) = run(place.path(), "gsd", &plan("diagnostics = [\"gsd\"]"));
    assert_eq!(gsd.reused, 0, "plain cells have no findings");
    let digests =
        |ran: &Ran| ran.results.rows.iter().map(|row| row.digest.clone()).collect::<Vec<_>>();
    assert_eq!(digests(&gsd), digests(&plain));
    assert!(gsd.results.rows.iter().all(|row| row.series["gsd"].len() == 3));
    assert!(
        gsd.results
            .rows
            .iter()
            .all(|row| gsd.results.value(row, "gsd.mean").is_some_and(|gsd| gsd > 0.0))
    );

    let (dilution, _) = run(place.path(), "dilution", &plan("diagnostics = [\"dilution\"]"));
    assert_eq!((dilution.reused, digests(&dilution)), (0, digests(&plain)));
    // The findings of the first diagnostic stay, although the cells ran again for the second.
    let (again, _) = run(place.path(), "gsd", &plan("diagnostics = [\"gsd\"]"));
    assert_eq!((again.reused, again.results), (4, gsd.results));
    let (curves, _) = run(place.path(), "convergence", &plan("curves = true"));
    assert_eq!(curves.reused, 4);
    assert!(curves.results.rows.iter().all(|row| row.series["overall_f1"].len() == 3));
}

#[test]
fn variants_are_rows_and_results_do_not_depend_on_threads() {
    let sweep = "[[sweep]]\nname = \"clients\"\nvary = { \"partition.clients\" = [3, 20] }";
    let plan = plan(sweep);
    let results = [1, 3].map(|threads| {
        let place = tempfile::tempdir().unwrap();
        laboratory(place.path(), Some(threads))
            .run("clients", &plan, origin(), &mut ())
            .unwrap()
            .results
    });
    assert_eq!(results[0], results[1]);
    assert_eq!(results[0].rows.len(), 2 * 2 * 2);
    let verdicts = claims::verdicts(&results[..1]);
    assert_eq!(verdicts.len(), 2, "two claims are about the number of clients");
    assert!(
        verdicts
            .iter()
            .all(|verdict| verdict.evidence.len() == 1 && verdict.evidence[0].seeds == 2)
    );
    let tables = document::tables(&results[0]);
    assert!(tables.contains("clients 20") && tables.contains("| boostfgl |"), "{tables}");
}

#[test]
fn missing_datasets_and_cells_are_reported() {
    let place = tempfile::tempdir().unwrap();
    let (ran, notes) = run(place.path(), "table1", &plan("").on(&["demo".into(), "cora".into()]));
    // With the published files in BOOSTFGL_DATA nothing is left out.
    if std::env::var_os("BOOSTFGL_DATA").is_none() {
        assert_eq!(ran.results.left_out, ["cora"]);
        assert!(
            notes[0].starts_with("cora is left out: it is not on this machine"),
            "{}",
            notes[0]
        );
    }
    let empty = tempfile::tempdir().unwrap();
    let finished =
        laboratory(empty.path(), None).run("table1", &plan(""), origin(), &mut ()).unwrap();
    assert_eq!((finished.reused, finished.failed), (0, None));
    assert!(finished.results.rows.iter().all(|row| row.missing.as_deref() == Some("not run")));
    assert!(document::tables(&finished.results).contains("not run"));

    let nowhere = Plan { datasets: vec!["ogbn-products".into()], ..plan("") };
    let error =
        laboratory(place.path(), Some(1)).run("table1", &nowhere, origin(), &mut ()).unwrap_err();
    assert!(
        error.to_string().contains("expected at least one of its datasets on this machine"),
        "{error}"
    );
}

#[test]
fn the_document_is_a_function_of_the_result_files() {
    let place = tempfile::tempdir().unwrap();
    for (name, further) in [("table1", ""), ("khop", "diagnostics = [\"all\"]")] {
        let (ran, _) = run(place.path(), name, &plan(further));
        std::fs::write(place.path().join(format!("{name}.json")), ran.results.to_json()).unwrap();
    }
    let all = document::read_all(place.path()).unwrap();
    assert_eq!(
        all.iter().map(|results| results.name.as_str()).collect::<Vec<_>>(),
        ["table1", "khop"]
    );
    let text = document::write(&all).unwrap();
    assert_eq!(text, document::write(&document::read_all(place.path()).unwrap()).unwrap());
    for wanted in ["## Verdicts", "Hete-min-F1", "## Error by distance", "| demo", "does not hold"]
    {
        assert!(text.contains(wanted), "no {wanted:?} in\n{text}");
    }
    assert!(!text.contains("NaN") && !text.contains("inf"), "{text}");
}

#[test]
fn every_experiment_can_be_shown() {
    let place = tempfile::tempdir().unwrap();
    for name in NAMES {
        let own = Plan::named(name).unwrap();
        let small = Plan {
            sweeps: own.sweeps,
            methods: own.methods,
            diagnostics: own.diagnostics,
            ..plan("")
        };
        let small = Plan { curves: own.curves, seeds: 1, ..small }.on(&["demo".into()]);
        // Slow methods are slow on any graph; the others take the same path.
        let light = |method: &String| {
            !["fedsage-plus", "fedtad", "adafgl"].iter().any(|heavy| method.starts_with(heavy))
        };
        let small =
            Plan { methods: small.methods.iter().filter(|m| light(m)).cloned().collect(), ..small };
        let (ran, _) = run(place.path(), name, &small);
        assert_eq!(ran.failed, None, "{name}");
        let tables = document::tables(&ran.results);
        assert!(tables.contains("| ") && !tables.contains("NaN"), "{name}: {tables}");
        let csv = ran.results.csv();
        assert!(csv.lines().count() > 1, "{name}");
        let path = place.path().join(format!("{name}.json"));
        std::fs::write(&path, ran.results.to_json()).unwrap();
        assert_eq!(Results::read(&path).unwrap(), ran.results, "{name}");
    }
    let all = document::read_all(place.path()).unwrap();
    let decided: Vec<&str> = claims::verdicts(&all).iter().map(|verdict| verdict.claim).collect();
    let left: Vec<&str> =
        claims::all().map(|claim| claim.text).filter(|text| !decided.contains(text)).collect();
    // Slow methods are left out, and growth can be suppressed only where error grows.
    let allowed =
        |text: &&str| text.contains("heavier methods") || text.contains("suppresses the growth");
    assert!(left.iter().all(allowed), "{left:?}");
}

/// The document in the repository was not edited by hand.
#[test]
fn the_committed_document_comes_from_the_committed_results() {
    let docs = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs");
    let all = document::read_all(&docs.join("reproduction")).unwrap();
    assert_eq!(all.len(), NAMES.len(), "one result file per experiment");
    assert!(all.iter().all(|results| !results.origin.quick), "full runs only");
    let committed = std::fs::read_to_string(docs.join("reproduction.md")).unwrap();
    assert_eq!(
        committed,
        document::write(&all).unwrap(),
        "write it anew: boostfgl reproduce document --out docs/reproduction --document \
         docs/reproduction.md"
    );
}

/// A full result has no such line.
#[test]
fn a_first_look_lists_its_smaller_settings() {
    let smaller = Plan::named("table1").unwrap().smaller();
    assert!(smaller.contains(&"methods.fedsage-plus.wide = 256".to_owned()), "{smaller:?}");
    let place = tempfile::tempdir().unwrap();
    let (ran, _) = run(place.path(), "table1", &Plan { seeds: 1, ..plan("") });
    for quick in [true, false] {
        let mut results = ran.results.clone();
        results.origin.quick = quick;
        let text = document::write(&[results]).unwrap();
        assert!(
            smaller.iter().all(|setting| text.contains(&format!("`{setting}`")) == quick),
            "{text}"
        );
    }
}
