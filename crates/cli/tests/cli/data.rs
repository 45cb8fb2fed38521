//! `data` and `partition`.

use crate::common::{Output, Place, TINY, real_data, table, write_own_data};
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};

fn parse(done: &Output) -> Value {
    serde_json::from_str(&done.stdout).unwrap()
}

#[test]
fn the_list_shows_which_datasets_are_on_this_machine() {
    let place = Place::new();
    let list = place.ok("data list").stdout;
    for name in
        ["cora", "citeseer", "pubmed", "chameleon-filtered", "ogbn-arxiv", "demo", "cora-like"]
    {
        assert!(
            list.lines().any(|line| line.split_whitespace().next() == Some(name)),
            "{name}\n{list}"
        );
    }
    let line = |list: &str| list.lines().find(|line| line.starts_with("cora ")).unwrap().to_owned();
    assert!(line(&list).contains("2,708") && line(&list).contains("fetch"), "{list}");
    place.write("data/cora.npz", "");
    assert!(line(&place.ok("data list").stdout).ends_with("yes"));
    std::fs::rename(place.path("data"), place.path("elsewhere")).unwrap();
    assert!(line(&place.ok("data list").stdout).contains("fetch"));
    assert!(line(&place.ok("data list --data-dir elsewhere").stdout).ends_with("yes"));
}

#[test]
fn show_describes_a_graph() {
    let place = Place::new();
    let shown = place.ok("data show demo").stdout;
    for wanted in ["demo", "nodes", "2,708", "5,429", "homophily", "class sizes", "█"] {
        assert!(shown.contains(wanted), "{wanted}\n{shown}");
    }
    let document = parse(&place.ok("data show demo --json"));
    assert_eq!(document["statistics"]["nodes"], 2708);
    assert_eq!(document["statistics"]["class_counts"].as_array().unwrap().len(), 7);

    write_own_data(&place, "mine");
    let document = parse(&place.ok("data show mine --json"));
    assert_eq!(
        (&document["name"], &document["statistics"]["unlabelled"]),
        (&Value::from("mine"), &Value::from(1))
    );
    assert!(place.ok("data show mine").stdout.contains("green"));
}

/// The tests have no network, and the catalogue needs none.
#[test]
fn show_of_a_missing_dataset_prints_facts_and_how_to_fetch_it() {
    let place = Place::new();
    let done = place.ok("data show cora");
    for wanted in [
        "licence",
        "origin",
        "2,708 (by the catalogue)",
        "Not on this machine",
        "boostfgl data fetch cora",
    ] {
        assert!(done.stdout.contains(wanted), "{wanted}\n{}", done.stdout);
    }
    assert!(!done.stdout.contains("class sizes\n") && done.stderr.is_empty(), "{done:?}");
    let document = parse(&place.ok("data show cora --json"));
    assert_eq!((&document["name"], &document["statistics"]), (&Value::from("cora"), &Value::Null));
    assert_eq!(document["catalogue"]["counts"]["nodes"], 2708);
    assert!(!place.exists("cache"));
}

#[test]
fn formats_are_listed_and_an_unknown_npz_gets_the_nearest_one() {
    let place = Place::new();
    let list = place.ok("data formats").stdout;
    for name in
        ["flat-npz", "planetoid", "gnn-benchmark", "heterophilous", "geom-gcn", "ogb", "csv"]
    {
        assert!(
            list.lines().any(|line| line.split_whitespace().next() == Some(name)),
            "{name}\n{list}"
        );
    }
    assert!(list.contains("needs     edge_index, y, x or x_indptr"), "{list}");
    place.ok("data generate demo --to whole.npz");
    // The same archive with the name of one array changed.
    let renamed = place.bytes("whole.npz");
    let mut renamed = renamed;
    for at in 0..renamed.len() - 10 {
        if renamed[at..].starts_with(b"edge_index") {
            renamed[at..at + 10].copy_from_slice(b"edge_idx_x");
        }
    }
    place.write("other.npz", renamed);
    let output = place.refused("data check other.npz");
    let first = output.lines().next().unwrap();
    assert!(first.starts_with("error: other.npz: found an npz with the arrays "), "{output}");
    assert!(first.ends_with("the nearest is flat-npz, which also needs edge_index"), "{output}");
    assert!(first.chars().count() < 300, "{output}");
    assert!(output.contains("help: `boostfgl data formats` lists every format"), "{output}");
}

#[test]
fn check_reads_every_file() {
    let place = Place::new();
    write_own_data(&place, "mine");
    let output = place.ok("data check mine").stdout;
    assert!(output.starts_with("mine: readable, 60 nodes"), "{output}");
    assert!(place.ok("data check demo").stdout.contains("2,708 nodes"));
    place.refused_with(
        "data check cora",
        &["`cora` is not on this machine; looked in", "boostfgl data fetch"],
    );
    if let Some(data) = real_data("cora.npz") {
        let output = place.ok(&format!("data check cora --data-dir {}", data.display())).stdout;
        assert!(output.contains("as published; counts agree"), "{output}");
        let shown = place.ok(&format!("data show cora --data-dir {}", data.display())).stdout;
        assert!(shown.contains("licence") && shown.contains("5,278"), "{shown}");
    }
}

#[test]
fn written_graphs_read_back() {
    let place = Place::new();
    place.ok("data generate demo --to a.npz");
    place.ok("data export demo --to b.npz");
    place.ok("data generate demo --seed 7 --to c.npz");
    let statistics =
        |name: &str| parse(&place.ok(&format!("data show {name} --json")))["statistics"].clone();
    assert_eq!(statistics("a.npz"), statistics("demo"));
    assert_eq!(statistics("b.npz"), statistics("demo"));
    assert_ne!(statistics("c.npz"), statistics("demo"));
    let run = |data: &str| place.digest(&format!("run {data} {TINY} --method fedavg"));
    assert_eq!(run("a.npz"), run("demo"));
    assert_eq!(run("b.npz"), run("demo"));
    for again in ["data generate demo --to a.npz", "data export demo --to a.npz"] {
        place.refused_with(
            again,
            &["a.npz: expected a new file, found an existing one", "--overwrite"],
        );
        place.ok(&format!("{again} --overwrite"));
    }
    place.refused_with("data generate dmo --to d.npz", &["did you mean `demo`?"]);
    place.refused_with("data export nothing --to d.npz", &["unknown dataset `nothing`"]);
    place.refused_with("data export demo --to no/d.npz", &["no/d.npz", "Create the folder first"]);
}

#[test]
fn partitions_are_printed_and_written() {
    let place = Place::new();
    write_own_data(&place, "mine");
    let output = place.ok("partition mine --clients 3 --seeds 2 --out p.csv").stdout;
    for wanted in [
        "seed 0",
        "seed 1",
        "3 clients",
        "edges between clients lost",
        "class mix",
        "blue",
        "Written to p.csv",
    ] {
        assert!(output.contains(wanted), "{wanted}\n{output}");
    }
    let rows = table(&place.read("p.csv"));
    assert_eq!(rows.len(), 120);
    let clients: BTreeSet<&str> = rows.iter().map(|r| r["client"].as_str()).collect();
    assert_eq!(clients, BTreeSet::from(["0", "1", "2"]));

    // Reading and writing keeps the file, and a run with the file equals a run without it.
    place.ok("partition mine --seeds 2 --partition p.csv --out q.csv");
    assert_eq!(place.read("p.csv"), place.read("q.csv"));
    let flags = format!("run mine {TINY} --method fedavg");
    assert_eq!(
        place.digest(&format!("{flags} --partition p.csv")),
        place.digest(&format!("{flags} --clients 3"))
    );

    let before = place.snapshot();
    let output = place.ok("partition mine --clients 3 --seeds 1").stdout;
    assert!(output.contains("Nothing written"), "{output}");
    assert_eq!(place.snapshot(), before);
    place
        .refused_with("partition mine --out p.csv", &["p.csv: expected a new file", "--overwrite"]);
    place.refused_with("partition mine --out no/p.csv", &["no/p.csv", "no such folder"]);
    place.refused_with("partition mine --clients 61", &["61 clients", "60 nodes"]);
    place.ok("partition mine --clients 2 --seeds 1 --out p.csv --overwrite");
}

#[test]
fn label_skew_divides_classes_less_evenly_than_other_partitioners() {
    let place = Place::new();
    let divide = |flags: &str| {
        let done = place.ok(&format!("partition demo --seeds 1 --clients 4 --json {flags}"));
        let all = parse(&done);
        let partition = &all[0]["partition"];
        let clients = partition["clients"].as_array().unwrap();
        let sum = |key: &str| clients.iter().map(|c| c[key].as_u64().unwrap()).sum::<u64>();
        assert_eq!((clients.len(), sum("nodes")), (4, 2708), "{flags}");
        let sizes: Vec<u64> = clients.iter().map(|c| c["nodes"].as_u64().unwrap()).collect();
        (sum("lost_edges"), sizes, class_spread(clients))
    };
    let (louvain, ..) = divide("");
    let (random, sizes, even) = divide("--partitioner random");
    let (skewed, _, skew) = divide("--partitioner label-skew --set alpha=0.1");
    assert!(louvain * 3 < random && skewed < random, "{louvain}, {skewed}, {random}");
    assert_eq!(sizes, [677; 4]);
    assert!(skew > 2.0 * even, "{skew} and {even}");
    place.refused_with("partition demo --partitioner labelskew", &["did you mean `label-skew`?"]);
    place.refused_with("partition demo --partitioner label-skew --set alpha=0", &["alpha"]);
}

/// The spread of class shares over clients: for each class maximum − minimum, summed.
fn class_spread(clients: &[Value]) -> f64 {
    let mut spread: BTreeMap<usize, (f64, f64)> = BTreeMap::new();
    for client in clients {
        let counts: Vec<f64> = client["class_counts"]
            .as_array()
            .unwrap()
            .iter()
            .map(|n| n.as_f64().unwrap())
            .collect();
        let total: f64 = counts.iter().sum();
        for (class, count) in counts.iter().enumerate() {
            let (low, high) = spread.entry(class).or_insert((1.0, 0.0));
            (*low, *high) = (low.min(count / total), high.max(count / total));
        }
    }
    spread.values().map(|(low, high)| high - low).sum()
}
