//! `run --diagnostics` and `diagnose`: recorded diagnostics, replayed runs, and training with
//! diagnostics.

use crate::common::{Output, Place, TINY, TINY_CHANGES, write_own_data};
use boostfgl::fairness::diagnostics::DiagnosticKind;
use serde_json::Value;

fn document(done: &Output) -> Value {
    serde_json::from_str(&done.stdout).unwrap_or_else(|error| panic!("{error}\n{}", done.stdout))
}

/// Trains FedAvg on own data with these diagnostics, into the folder `a`.
fn record(place: &Place, diagnostics: &str) {
    write_own_data(place, "mine");
    let watch =
        if diagnostics.is_empty() { String::new() } else { format!("--diagnostics {diagnostics}") };
    place.ok(&format!("run mine {TINY} --clients 3 --method fedavg --out a {watch}"));
}

fn names(document: &Value) -> Vec<&str> {
    let cost = document["seeds"][0]["cost"].as_array().unwrap();
    cost.iter().map(|cost| cost["name"].as_str().unwrap()).collect()
}

#[test]
fn help_explains_every_diagnostic() {
    let place = Place::new();
    for command in ["run", "diagnose"] {
        let help = place.ok(&format!("{command} --help")).stdout;
        for kind in DiagnosticKind::ALL {
            let line = |line: &str| {
                line.trim_start().starts_with(kind.name()) && line.contains(kind.question())
            };
            assert!(help.lines().any(line), "{command}: {}\n{help}", kind.name());
        }
    }
}

#[test]
fn diagnostics_do_not_change_the_digest() {
    let place = Place::new();
    for method in ["fedavg", "boostfgl"] {
        let plain = place.digest(&format!("run {TINY} --method {method} --out {method}"));
        assert!(!place.exists(&format!("{method}/diagnostics.json")));
        let done = place.ok(&format!(
            "run {TINY} --method {method} --out {method}-watched --diagnostics all --json --quiet"
        ));
        let document = document(&done);
        assert_eq!(document["digest"], plain.as_str(), "{method}");
        let written = place.json(&format!("{method}-watched/diagnostics.json"));
        assert_eq!(document["diagnostics"], written);
        assert_eq!(names(&written), DiagnosticKind::ALL.map(DiagnosticKind::name));
        // Every other key is that of summary.json.
        let summary = place.json(&format!("{method}-watched/summary.json"));
        let mut rest = document.clone();
        rest.as_object_mut().unwrap().remove("diagnostics");
        assert_eq!(rest, summary);
    }
}

#[test]
fn diagnostics_are_printed_below_the_table() {
    let place = Place::new();
    let done = place.ok(&format!("run {TINY} --diagnostics gsd,dr"));
    for method in ["fedavg", "boostfgl"] {
        for wanted in [
            format!("demo, {method}: {} (gsd)", DiagnosticKind::Gsd.question()),
            format!("demo, {method}: {} (dilution)", DiagnosticKind::Dilution.question()),
            format!("demo, {method}: what did the diagnostics take?"),
        ] {
            assert!(done.stdout.contains(&wanted), "{wanted}\n{}", done.stdout);
        }
        assert_eq!(
            names(&place.json(&format!("runs/demo,{TINY_CHANGES}/{method}/diagnostics.json"))),
            ["gsd", "dilution"]
        );
    }
    assert!(!done.stdout.contains("(epr)") && !done.stdout.contains("NaN"), "{}", done.stdout);
    let both = document(&place.ok(&format!("run {TINY} --diagnostics khop --json")));
    assert_eq!(names(&both["runs"][1]["diagnostics"]), ["khop"]);
    // Hardness needs gsd, which is recorded but not printed.
    let one = document(
        &place.ok(&format!("run {TINY} --method fedavg --out hard --diagnostics hardness --json")),
    );
    assert_eq!(names(&one["diagnostics"]), ["hardness"]);
    assert!(one["diagnostics"]["seeds"][0].get("gsd").is_none());
    assert_eq!(names(&place.json("hard/diagnostics.json")), ["gsd", "hardness"]);
}

#[test]
fn invalid_diagnostics_and_groupings_are_refused_before_training() {
    let place = Place::new();
    for (arguments, wanted) in [
        ("run --diagnostics gsd,erp", "unknown diagnostic `erp` (did you mean `epr`?)"),
        ("run --diagnostics ,", "--diagnostics: expected all or some of gsd, epr"),
        ("diagnose demo --diagnostics gds", "unknown diagnostic `gds` (did you mean `gsd`?)"),
        ("diagnose demo --by minorty", "unknown grouping `minorty` (did you mean `minority`?)"),
        ("diagnose demo --by degree:1", "expected a number of parts from 2 to 100, found `1`"),
        (
            "diagnose demo --by column:town --out a",
            "grouping `column:town`: expected data with group columns",
        ),
        (
            "diagnose demo --by class --metric acuracy",
            "unknown metric `acuracy` (did you mean `accuracy`?)",
        ),
        ("diagnose demo --by class --metric recall:none --out a", "unknown class `none`"),
        (
            "diagnose demo --by client --clients 2000 --out a",
            "expected at most 1000 groups, found 2000",
        ),
        ("diagnose demo --metric accuracy", "--by <GROUPING>"),
        ("diagnose demo --per-round", "--by <GROUPING>"),
        ("diagnose demo --replay", "--replay: expected the folder of a run, found demo"),
        ("diagnose demo --rounds 0", "fed.rounds"),
        ("diagnose demo --method fedavgg", "did you mean `fedavg`?"),
        (
            "diagnose demoo",
            "demoo: expected the folder of a run (with config.toml and summary.json) or a dataset",
        ),
        ("diagnose demoo", "unknown dataset `demoo` (did you mean `demo`?)"),
        ("diagnose runs/none", "runs/none: expected the folder of a run"),
    ] {
        place.refused_with(arguments, &[wanted]);
    }
    place.write("other/readme.txt", "nothing here");
    place.refused_with(
        "diagnose other",
        &["other: expected the folder of a run", "found a folder with the files readme.txt"],
    );
    place.write("stopped/config.toml", "");
    place.write("stopped/rounds.jsonl", "");
    place.refused_with(
        "diagnose stopped",
        &["stopped: expected a finished run, found no summary.json", "boostfgl resume"],
    );
}

#[test]
fn recorded_diagnostics_are_printed() {
    let place = Place::new();
    record(&place, "gsd,trust");
    let before = place.snapshot();
    let some = place.ok("diagnose a");
    assert!(
        some.stdout.contains("mine, fedavg: do minority nodes get")
            && some.stdout.contains("(trust)")
    );
    assert!(
        some.stdout.contains("Recorded in a; not recorded: epr, khop, dilution"),
        "{}",
        some.stdout
    );
    let one = place.ok("diagnose a --diagnostics gsd");
    assert!(one.stdout.contains("(gsd)") && !one.stdout.contains("(trust)"), "{}", one.stdout);
    assert!(
        one.stdout.ends_with("Recorded in a\n") && one.stdout.contains("the run itself"),
        "{}",
        one.stdout
    );
    let json = document(&place.ok("diagnose a --diagnostics trust --json"));
    assert_eq!(names(&json["diagnostics"]), ["trust"]);
    assert_eq!(json["digest"], place.json("a/summary.json")["digest"]);
    assert_eq!(json["frames"], serde_json::json!([]));
    assert_eq!(place.snapshot(), before);
}

#[test]
fn missing_diagnostics_are_named_and_computed_by_replay() {
    let place = Place::new();
    record(&place, "gsd");
    place.refused_with(
        "diagnose a --diagnostics gsd,dr,khop",
        &[
            "a/diagnostics.json: expected findings of khop,dilution, found gsd",
            "`boostfgl run … --diagnostics khop,dilution` records them",
            "--replay: it trains again from config.toml and partition.csv to the same digits",
        ],
    );
    let before = place.snapshot();
    let done = place.ok("diagnose a --diagnostics gsd,dr,khop --replay");
    let digest = place.json("a/summary.json")["digest"].as_str().unwrap().to_owned();
    let last = format!(
        "Trained again with digest {}, as in a; the folder was not changed\n",
        &digest[..12]
    );
    assert!(done.stdout.ends_with(&last) && done.stdout.contains("(dilution)"), "{}", done.stdout);
    let json = document(&place.ok("diagnose a --diagnostics all --replay --json --quiet"));
    assert_eq!(
        (names(&json["diagnostics"]).len(), json["digest"].as_str()),
        (7, Some(digest.as_str()))
    );
    // Recorded and replayed diagnostics differ only in seconds.
    assert_eq!(
        json["diagnostics"]["seeds"][0]["gsd"],
        place.json("a/diagnostics.json")["seeds"][0]["gsd"]
    );
    assert_eq!(place.snapshot(), before);

    std::fs::remove_file(place.path("a/diagnostics.json")).unwrap();
    place.refused_with(
        "diagnose a",
        &["a/diagnostics.json: expected findings of gsd,epr", "found no such file"],
    );
}

#[test]
fn a_replay_that_differs_is_an_error() {
    let place = Place::new();
    record(&place, "");
    let digest = place.json("a/summary.json")["digest"].as_str().unwrap().to_owned();
    let other = "0".repeat(64);
    let summary = place.read("a/summary.json");
    let (start, end) = summary.rsplit_once(&digest).unwrap();
    place.write("a/summary.json", format!("{start}{other}{end}"));
    // As in a folder of an earlier version: checksums would name the change.
    std::fs::remove_file(place.path("a/checksums.txt")).unwrap();
    let done = place.run("diagnose a --replay --diagnostics trust");
    done.check_error("replay");
    assert_eq!((done.code, done.stdout.as_str()), (Some(1), ""));
    assert!(done.stderr.contains(&digest) && done.stderr.contains(&other), "{}", done.stderr);
}

#[test]
fn damaged_files_are_named_and_replay_does_not_need_them() {
    let place = Place::new();
    record(&place, "gsd");
    for (file, arguments, wanted) in [
        ("diagnostics.json", "diagnose a", "a/diagnostics.json: EOF while parsing"),
        (
            "predictions.csv",
            "diagnose a --by minority",
            "a/predictions.csv: line 61: expected 8 fields, found 7",
        ),
    ] {
        let whole = place.bytes(&format!("a/{file}"));
        place.write(&format!("a/{file}"), &whole[..whole.len() - 3]);
        place.refused_with(arguments, &[wanted, "--replay", "or repeat the run"]);
        place.ok(&format!("{arguments} --replay"));
        std::fs::remove_file(place.path(&format!("a/{file}"))).unwrap();
        place.refused_with(arguments, &[file, "--replay"]);
        place.write(&format!("a/{file}"), whole);
        place.ok(arguments);
    }
    // Truncated between rows.
    let rows = place.read("a/predictions.csv");
    place.write(
        "a/predictions.csv",
        rows.lines().take(31).map(|row| format!("{row}\n")).collect::<String>(),
    );
    let changed = "a/predictions.csv: expected the content recorded in checksums.txt";
    place.refused_with("diagnose a --by minority", &[changed, "--replay", "or repeat the run"]);
    // Without checksums, as in folders of earlier versions, the rows are counted.
    std::fs::remove_file(place.path("a/checksums.txt")).unwrap();
    let short =
        "a/predictions.csv: expected a row for each of 60 nodes for seed 0, found none for 30";
    place.refused_with("diagnose a --by minority", &[short, "--replay", "or repeat the run"]);
    place.write("a/summary.json", "{\"version\": 1,");
    place.refused_with("diagnose a", &["a/summary.json: EOF while parsing", "line 1 column"]);
}

#[test]
fn changed_data_are_refused_with_both_fingerprints() {
    let place = Place::new();
    record(&place, "gsd");
    let expected = place.json("a/summary.json")["data"]["whole"].as_str().unwrap().to_owned();
    assert_eq!(expected.len(), 64);
    let all = ["diagnose a", "diagnose a --by minority", "diagnose a --replay"];
    all.iter().for_each(|command| drop(place.ok(command)));
    let (nodes, edges) = (place.read("mine/nodes.csv"), place.read("mine/edges.csv"));
    for (file, changed, part) in [
        ("nodes.csv", nodes.replacen("n-0,red,0.25,", "n-0,red,0.5,", 1), "features"),
        ("nodes.csv", nodes.replacen("n-0,red", "n-0,blue", 1), "labels"),
        ("nodes.csv", nodes.replacen(",train\n", ",none\n", 1), "split"),
        ("edges.csv", edges.replacen(",1.5\n", ",2.5\n", 1), "structure"),
    ] {
        let whole = place.read(&format!("mine/{file}"));
        assert_ne!(changed, whole, "{part}");
        place.write(&format!("mine/{file}"), changed);
        for command in all {
            let message = place.refused(command);
            assert!(
                message
                    .contains(&format!("of fingerprint {expected}, found that `mine` has changed")),
                "{message}"
            );
            assert!(
                message.contains(&format!("(other {part})"))
                    && message.contains("Restore the data"),
                "{message}"
            );
        }
        place.write(&format!("mine/{file}"), whole);
    }
    // The same data in another format, or with a new group column, are not changed data.
    place.ok("data export mine --to mine.npz");
    place.ok(&format!("run mine.npz {TINY} --clients 3 --method fedavg --out n"));
    assert_eq!(place.json("n/summary.json")["data"], place.json("a/summary.json")["data"]);
    let with_town: String = nodes
        .lines()
        .enumerate()
        .map(|(at, line)| match at {
            0 => format!("{line},group:town\n"),
            _ => format!("{line},{}\n", ["Bonn", "Ulm"][at % 2]),
        })
        .collect();
    place.write("mine/nodes.csv", with_town);
    place.ok("diagnose a --by column:town");
    // A group column that the run recorded must not change.
    place.ok(&format!("run mine {TINY} --clients 3 --method fedavg --out g"));
    place.ok("diagnose g --by column:town");
    place.write("mine/nodes.csv", place.read("mine/nodes.csv").replacen(",Bonn\n", ",Ulm\n", 1));
    let message = place.refused("diagnose g --by column:town");
    assert!(
        message.contains("`group:town` of `mine` changed")
            && message.contains("Put the columns back"),
        "{message}"
    );
    std::fs::remove_dir_all(place.path("mine")).unwrap();
    let done = place.ok("diagnose a");
    assert!(done.stderr.contains("cannot check whether the data have changed"), "{}", done.stderr);
}

/// Earlier versions wrote no fingerprint.
#[test]
fn a_run_without_a_fingerprint_is_read_with_a_note() {
    let place = Place::new();
    record(&place, "gsd");
    let mut summary = place.json("a/summary.json");
    summary.as_object_mut().unwrap().remove("data");
    place.write("a/summary.json", format!("{summary:#}\n"));
    let folder = place.path("a");
    let sums = boostfgl::disk::Checksums::read(&folder).unwrap().unwrap();
    sums.with("summary.json", &place.bytes("a/summary.json")).write().unwrap();
    for command in
        ["diagnose a", "diagnose a --by minority", "diagnose a --replay", "report a --out p.html"]
    {
        let done = place.ok(command);
        let noted = done.stderr.contains("a/summary.json has no fingerprint of the data");
        assert_eq!(noted, command.starts_with("diagnose"), "{command}: {}", done.stderr);
    }
}

#[test]
fn training_flags_are_refused_for_a_run() {
    let place = Place::new();
    record(&place, "gsd");
    for flag in [
        "--method boostfgl",
        "--rounds 3",
        "--seeds 2",
        "--set hidden=3",
        "--out b",
        "--overwrite",
        "--boost node",
    ] {
        let name = flag.split(' ').next().unwrap();
        place.refused_with(
            &format!("diagnose a {flag}"),
            &[&format!("{name}: expected a dataset"), "found a, which is a run"],
        );
    }
    place.refused_with(
        "diagnose a --by client --per-round",
        &["--per-round: expected --replay", "Add --replay"],
    );
}

#[test]
fn diagnosing_a_dataset_writes_nothing() {
    let place = Place::new();
    let before = place.snapshot();
    let tiny = "--rounds 2 --set model.hidden=8";
    let done = place.ok(&format!("diagnose {tiny} --diagnostics attribution"));
    assert!(
        done.stdout.contains("demo, fedavg: whose loss did training reduce?"),
        "{}",
        done.stdout
    );
    assert!(
        done.stdout.contains("Nothing written") && done.stderr.contains("seed 0 (1 of 1)"),
        "{done:?}"
    );
    assert_eq!(place.snapshot(), before);

    let json = document(
        &place.ok(&format!("diagnose demo {tiny} --method boostfgl --seeds 2 --json --out b")),
    );
    let digest = place.digest(&format!("run {tiny} --method boostfgl --seeds 2"));
    assert_eq!(
        (json["digest"].as_str(), json["method"].as_str()),
        (Some(digest.as_str()), Some("boostfgl"))
    );
    assert_eq!(place.json("b/summary.json")["digest"], digest.as_str());
    assert_eq!(place.json("b/diagnostics.json"), json["diagnostics"]);
    place.refused_with(
        &format!("diagnose demo {tiny} --out b"),
        &["b: expected an empty folder", "--overwrite"],
    );
    let again = place.ok("diagnose b --diagnostics attribution");
    assert!(again.stdout.contains("demo, boostfgl: whose loss"), "{}", again.stdout);
}

#[test]
fn frames_are_the_same_from_the_folder_and_from_memory() {
    let place = Place::new();
    record(&place, "");
    let by = "--by minority*heterophilous --by client --metric accuracy --metric macro_f1";
    let folder = document(&place.ok(&format!("diagnose a {by} --json")));
    let memory =
        document(&place.ok(&format!("diagnose a {by} --json --replay --per-round --quiet")));
    assert_eq!(folder["frames"].as_array().unwrap().len(), 4);
    assert_eq!((&folder["frames"], &folder["diagnostics"]), (&memory["frames"], &Value::Null));
    let accuracy = place.json("a/summary.json")["mean"]["accuracy"]["pooled"].as_f64().unwrap();
    let overall = folder["frames"][0]["overall"]["mean"].as_f64().unwrap();
    assert!((100.0 * overall - accuracy).abs() < 1e-9);
    // The last round is the reported one.
    for (course, frames) in
        memory["rounds"].as_array().unwrap().iter().zip(memory["frames"].as_array().unwrap())
    {
        let rounds = course["rounds"].as_array().unwrap();
        assert_eq!(
            (rounds.len(), &rounds[0]["round"], &rounds[1]["round"]),
            (2, &1.into(), &2.into())
        );
        assert_eq!(
            (&course["metric"], &course["grouping"]),
            (&frames["metric"], &frames["grouping"])
        );
        assert_eq!(rounds[1]["frames"]["rows"], frames["rows"]);
    }
    let text = place.ok("diagnose a --by client --metric error --replay --per-round").stdout;
    assert!(text.contains("mine, fedavg: error by client, round by round"), "{text}");
    assert!(text.contains("95 % intervals over nodes") && !text.contains("(gsd)"), "{text}");
    // Groups and diagnostics can be requested together.
    let both =
        place.ok(&format!("diagnose mine {TINY} --clients 3 --by class --diagnostics khop")).stdout;
    assert!(both.contains("(khop)") && both.contains("accuracy by class"), "{both}");
}

/// Twelve nodes of two classes. Client 1 has no node of the small class; nodes 7, 10 and 11 have no
/// neighbours; no node is heterophilous; node 11 is in no town.
fn write_odd_data(place: &Place) -> String {
    let town = |i: usize| if i == 11 { "" } else { ["Ulm", "Bonn"][i % 2] };
    let nodes: String = (0..12)
        .map(|i| {
            format!(
                "{i},{},{}.5,{},{}\n",
                if i < 8 { "large" } else { "small" },
                i % 5,
                i % 3,
                town(i)
            )
        })
        .collect();
    place.write("odd/nodes.csv", format!("id,label,f,g,group:town\n{nodes}"));
    place.write("odd/edges.csv", "src,dst\n0,1\n1,2\n2,3\n8,9\n4,5\n5,6\n");
    let role = |i: usize| if [0, 1, 8, 4, 5, 6].contains(&i) { "train" } else { "test" };
    let part: String = (0..12)
        .map(|i| format!("0,{i},{},{}\n", usize::from((4..8).contains(&i)), role(i)))
        .collect();
    place.write("part.csv", format!("seed,node,client,split\n{part}"));
    format!(
        "odd {TINY} --partition part.csv --set groups.minority=0.1 --set \
         boost.model.minority_ratio=0.1"
    )
}

#[test]
fn missing_values_are_dashes() {
    let place = Place::new();
    let odd = write_odd_data(&place);
    for method in ["fedavg", "boostfgl", "central", "isolated"] {
        let done = place.ok(&format!("diagnose {odd} --method {method}"));
        assert!(!done.stdout.contains("NaN") && !done.stdout.contains("inf"), "{}", done.stdout);
        for kind in DiagnosticKind::ALL {
            assert!(
                done.stdout.contains(&format!("({})", kind.name())),
                "{method}\n{}",
                done.stdout
            );
        }
        let words = |line: &str| line.split_whitespace().map(str::to_owned).collect::<Vec<_>>();
        let lone = |line: &str| words(line) == words("client 1 0 3 – – – –");
        assert!(method == "central" || done.stdout.lines().any(lone), "{method}\n{}", done.stdout);
        assert!(done.stdout.lines().all(|line| line.chars().count() <= 100), "{}", done.stdout);
    }
    let json = document(
        &place.ok(&format!("diagnose {odd} --by minority*heterophilous --by column:town --json")),
    );
    let rows = json["frames"][0]["rows"].as_array().unwrap();
    let nodes: Vec<_> = rows
        .iter()
        .map(|row| (row["group"].as_str().unwrap(), row["nodes"][0].as_u64().unwrap()))
        .collect();
    // Nodes 7, 10 and 11 have no neighbours, so their homophily is unknown.
    let expected = [
        ("minority × heterophilous", 0),
        ("minority × homophilous", 1),
        ("minority × homophily=unknown", 2),
        ("majority × heterophilous", 0),
        ("majority × homophilous", 2),
        ("majority × homophily=unknown", 1),
    ];
    assert_eq!(nodes, expected);
    assert!(
        rows.iter().all(|row| row["value"]["mean"].is_null() == (row["nodes"][0] == 0)),
        "{rows:?}"
    );
    let towns: Vec<_> = json["frames"][1]["rows"]
        .as_array()
        .unwrap()
        .iter()
        .map(|row| (&row["group"], &row["nodes"][0]))
        .collect();
    // Of the test nodes 2, 3, 7, 9, 10 and 11 the last is in no town.
    let expected: [(Value, Value); 3] = [
        ("town=Bonn".into(), 3.into()),
        ("town=Ulm".into(), 2.into()),
        ("town=unknown".into(), 1.into()),
    ];
    assert_eq!(towns, expected.iter().map(|(town, nodes)| (town, nodes)).collect::<Vec<_>>());
    place.ok(&format!("run {odd} --method fedavg --out a"));
    let text = place.ok("diagnose a --by column:town --by minority*heterophilous").stdout;
    assert!(text.contains("town=Ulm") && text.contains("no such node"), "{text}");
    place.refused_with(
        "diagnose a --by column:twon",
        &["unknown group column `twon` (did you mean `town`?)"],
    );
    place.write("odd/nodes.csv", place.read("odd/nodes.csv").replace("7,large", "seven,large"));
    place.refused_with("diagnose a --by client", &["`odd` has changed", "(other structure)"]);
}

#[test]
fn the_example_with_a_class_in_help_runs() {
    let place = Place::new();
    let help = place.ok("diagnose --help").stdout;
    let line = help.lines().map(str::trim).find(|line| line.contains("--metric recall:")).unwrap();
    let example = line.strip_prefix("boostfgl ").unwrap();
    let output = place.ok(&format!("{example} --rounds 1 --set model.hidden=4")).stdout;
    assert!(output.contains("recall:6 by minority"), "{output}");
    // The error for an unknown class lists the classes.
    let other = example.replace("recall:6", "recall:Theory");
    place.refused_with(
        &format!("{other} --rounds 1"),
        &["unknown class `Theory`", "there are 0, 1, 2"],
    );
}

/// Forty nodes, one of the region Fiji and two without a region. The features show the class,
/// except for frauds of the north, whose features are those of the other class.
fn write_regions(place: &Place) {
    let region = |i: usize| match i {
        0 => "Fiji",
        1 | 2 => "",
        i if i % 2 == 0 => "north",
        _ => "south",
    };
    let class = |i: usize| if i.is_multiple_of(4) { "fraud" } else { "fine" };
    let seen = |i: usize| u8::from(class(i) == "fraud" && region(i) != "north");
    let nodes: String =
        (0..40).map(|i| format!("{i},{},{},1,{}\n", class(i), seen(i), region(i))).collect();
    place.write("regions/nodes.csv", format!("id,label,f,g,group:region\n{nodes}"));
    place.write("regions/edges.csv", "src,dst\n4,8\n8,12\n5,9\n9,13\n");
    let part: String = (0..40)
        .map(|i| {
            format!("0,{i},{},{}\n", i % 2, if i < 4 { "test" } else { ["train", "test"][i / 20] })
        })
        .collect();
    place.write("part.csv", format!("seed,node,client,split\n{part}"));
}

#[test]
fn small_groups_are_shown_with_an_interval_but_not_ranked() {
    let place = Place::new();
    write_regions(&place);
    place.ok(
        "run regions --partition part.csv --method fedavg --rounds 30 --seeds 1 --quiet --out a",
    );
    let by = |more: &str| place.ok(&format!("diagnose a --by column:region {more}")).stdout;
    let line = |text: &str, start: &str| {
        let found = text.lines().find(|line| line.starts_with(start));
        found
            .unwrap_or_else(|| panic!("{start}\n{text}"))
            .split_whitespace()
            .map(str::to_owned)
            .collect::<Vec<_>>()
    };
    let text = by("");
    // Fiji has one test node: its interval is Wilson's interval of one case, never a point.
    let fiji = line(&text, "region=Fiji (small)");
    let ends = if fiji[3] == "100.0" { ["[20.7,", "100.0]"] } else { ["[0.0,", "79.3]"] };
    assert_eq!(fiji[2..], ["1".into(), fiji[3].clone(), ends[0].into(), ends[1].into()], "{text}");
    assert_eq!(line(&text, "region=unknown (small)")[2], "2", "{text}");
    assert!(
        text.contains(
            "(small): fewer than 10 counted cases; not ranked, not in difference and ratio."
        ),
        "{text}"
    );
    // Only north and south have ten test nodes: they make the difference.
    let json: Value = document(&place.ok("diagnose a --by column:region --json"));
    let frame = &json["frames"][0]["seeds"][0]["frame"];
    let value = |at: usize| frame["rows"][at]["value"].as_f64().unwrap();
    assert_eq!(
        (&frame["rows"][1]["group"], &frame["rows"][2]["group"]),
        (&"region=north".into(), &"region=south".into())
    );
    assert!(
        (frame["difference"].as_f64().unwrap() - (value(1) - value(2)).abs()).abs() < 1e-12,
        "{frame}"
    );
    assert!(
        !["region=Fiji", "region=unknown"].contains(&frame["worst"]["group"].as_str().unwrap()),
        "{frame}"
    );
    // --min-group 1 ranks every group.
    assert!(!by("--min-group 1").contains("(small)"));
    let none = by("--min-group 100");
    assert!(
        none.contains("they need two groups with a value and at least 100 counted cases"),
        "{none}"
    );
    assert!(!none.lines().any(|line| line.ends_with('!')), "{none}");
    // Recall counts frauds only. The south has none, which the table shows.
    let recall = by("--metric recall:fraud --min-group 5");
    assert!(line(&recall, "region=south").join(" ").ends_with("0 no counted node"), "{recall}");
    assert_eq!(line(&recall, "region=north")[1..3], ["10", "5"], "{recall}");
    // No test node has a neighbour: the report counts them as nodes of unknown homophily.
    let page = place.read("a/report.html");
    for wanted in ["of unknown homophily</th>", ">homophilous (no such node)</th>"] {
        assert!(page.contains(wanted), "{wanted}");
    }
    place.ok("report a --min-group 100 --out few.html");
    let page = place.read("few.html");
    for wanted in [
        "No two groups have 100 test nodes",
        "minority classes (too small to rank)",
        "too small to rank)\n",
    ] {
        assert!(page.contains(wanted), "{wanted}");
    }
    assert!(
        !page.contains("but only for") && !page.contains("worst served client"),
        "nothing is ranked"
    );
    place.refused_with("diagnose a --min-group 3", &["--by <GROUPING>"]);
    place.refused_with("diagnose a --by class --min-group few", &["invalid value 'few'"]);
}
