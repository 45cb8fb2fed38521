//! Creating, overwriting and reading run folders.

use std::fs;

use boostfgl_report::{Error, RunFolder, free_name};

#[test]
fn a_folder_that_is_not_empty_is_refused() {
    let place = tempfile::tempdir().unwrap();
    fs::write(place.path().join("thesis.tex"), "years").unwrap();
    let error = RunFolder::create(place.path(), false).unwrap_err();
    let path = place.path().display();
    assert_eq!(
        error.to_string(),
        format!("{path}: expected an empty folder, found `thesis.tex` in it")
    );
    assert!(error.advice().contains("--overwrite"));
}

#[test]
fn an_empty_or_missing_folder_is_accepted() {
    let place = tempfile::tempdir().unwrap();
    RunFolder::create(place.path(), false).unwrap();
    let deep = RunFolder::create(place.path().join("a/b"), false).unwrap();
    assert!(deep.path().is_dir());
    assert!(RunFolder::open(place.path().join("nowhere")).is_err());
}

#[test]
fn overwriting_removes_only_the_files_of_a_run() {
    let place = tempfile::tempdir().unwrap();
    let run = [
        "config.toml",
        "partition.csv",
        "rounds.jsonl",
        "predictions.csv",
        "summary.json",
        "model.safetensors",
        "report.html",
        ".boostfgl-abc123.tmp",
    ];
    for name in run.into_iter().chain(["notes.md", ".hidden"]) {
        fs::write(place.path().join(name), "x").unwrap();
    }
    for folder in ["checkpoint", "figures"] {
        fs::create_dir(place.path().join(folder)).unwrap();
        fs::write(place.path().join(folder).join("f"), "x").unwrap();
    }

    RunFolder::create(place.path(), true).unwrap();
    let entries = fs::read_dir(place.path()).unwrap();
    let mut left: Vec<_> =
        entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    left.sort();
    assert_eq!(left, [".hidden", "figures", "notes.md"]);
    assert!(place.path().join("figures/f").exists());
}

#[test]
fn a_checkpoint_folder_without_rounds_is_kept() {
    let place = tempfile::tempdir().unwrap();
    fs::create_dir(place.path().join("checkpoint")).unwrap();
    fs::write(place.path().join("checkpoint/other-project.pt"), "x").unwrap();
    RunFolder::create(place.path(), true).unwrap();
    assert!(place.path().join("checkpoint/other-project.pt").exists());
}

#[test]
fn unfinished_files_are_not_left_behind() {
    let place = tempfile::tempdir().unwrap();
    let run = RunFolder::create(place.path().join("run"), false).unwrap();
    let mut rounds = run.rounds().unwrap();
    rounds.write(&serde_json::json!({"round": 1})).unwrap();
    rounds.finish().unwrap();
    run.predictions(&[]).unwrap().finish().unwrap();
    run.write_atomic(RunFolder::CONFIG, b"a = 1\n").unwrap();
    run.write_atomic(RunFolder::CONFIG, b"a = 2\n").unwrap();
    // Dropped before it is finished, as after an error.
    drop(run.start(RunFolder::MODEL).unwrap());

    let mut names: Vec<_> =
        fs::read_dir(run.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    names.sort();
    assert_eq!(names, ["config.toml", "predictions.csv", "rounds.jsonl"]);
    assert_eq!(fs::read(run.file(RunFolder::CONFIG)).unwrap(), b"a = 2\n");
    assert!(
        matches!(run.summary(), Err(Error::Io { .. })),
        "a run without a summary is not finished"
    );
}

#[test]
fn free_names_are_numbered() {
    let place = tempfile::tempdir().unwrap();
    let base = place.path().join("cora");
    assert_eq!(free_name(&base), base);
    let made: Vec<_> =
        (0..3).map(|_| RunFolder::create_free(&base).unwrap().path().to_path_buf()).collect();
    assert_eq!(made, [base.clone(), place.path().join("cora-2"), place.path().join("cora-3")]);
    assert_eq!(free_name(format!("{}/", base.display())), place.path().join("cora-4"));
}

/// Eight threads request the same name at once and get eight folders.
#[test]
fn concurrent_runs_get_different_folders() {
    let place = tempfile::tempdir().unwrap();
    let base = place.path().join("run");
    let made = std::thread::scope(|scope| {
        let create = || RunFolder::create_free(&base).unwrap().path().to_path_buf();
        let threads: Vec<_> = (0..8).map(|_| scope.spawn(create)).collect();
        threads
            .into_iter()
            .map(|thread| thread.join().unwrap())
            .collect::<std::collections::BTreeSet<_>>()
    });
    assert_eq!(made.len(), 8);
}
