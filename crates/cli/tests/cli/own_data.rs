//! Your own nodes.csv and edges.csv.

use crate::common::{Place, TINY, table, write_own_data};
use std::collections::{BTreeMap, BTreeSet};

#[test]
fn predictions_have_the_ids_and_class_names_of_the_data() {
    let place = Place::new();
    write_own_data(&place, "mine");
    place.ok(&format!(
        "run mine {TINY} --clients 3 --method fedavg --set split.source=shares --out a"
    ));
    let rows = table(&place.read("a/predictions.csv"));
    let ids: BTreeSet<&str> = rows.iter().map(|r| r["node"].as_str()).collect();
    assert_eq!((rows.len(), ids.len()), (60, 60));
    assert!(ids.contains("n-0") && ids.contains("n-59"));
    for row in &rows {
        let at: usize = row["node"][2..].parse().unwrap();
        let label = if at == 7 { "" } else { ["red", "green", "blue"][at % 3] };
        assert_eq!(row["label"], label);
        assert!(["red", "green", "blue"].contains(&row["prediction"].as_str()));
        // A node without a label is neither trained on nor evaluated.
        assert_eq!(row["split"] == "none", at == 7, "{row:?}");
    }
    assert_eq!(place.json("a/summary.json")["dataset"], "mine");
}

#[test]
fn the_split_of_the_data_is_used_by_default() {
    let place = Place::new();
    write_own_data(&place, "mine");
    // Also by the key's earlier name.
    for (out, setting) in
        [("a", ""), ("b", "--set split.source=file"), ("c", "--set split.published=true")]
    {
        let done =
            place.ok(&format!("run mine {TINY} --clients 3 --method fedavg {setting} --out {out}"));
        for row in table(&place.read(&format!("{out}/predictions.csv"))) {
            let at: usize = row["node"][2..].parse().unwrap();
            let split =
                if at == 7 { "none" } else { ["train", "val", "test", "train", "none"][at % 5] };
            assert_eq!(row["split"], split, "{row:?}");
        }
        assert!(
            done.stdout.contains("of the data: 24 training, 12 validation, 11 test nodes"),
            "{}",
            done.stdout
        );
    }
    let done = place.ok(&format!(
        "run mine {TINY} --clients 3 --method fedavg --set split.source=shares --out d"
    ));
    assert!(done.stdout.contains("drawn by shares per client and class"), "{}", done.stdout);
    assert_eq!(place.json("d/summary.json")["seeds"][0]["split"]["source"], "shares");
    // Files of earlier versions have `published = false`, which means shares.
    let old = place.read("d/config.toml").replace("source = \"shares\"", "published = false");
    place.write("old.toml", old);
    let again = place.ok("run --config old.toml --json --quiet --out e");
    let digest = |name: &str| place.json(name)["digest"].clone();
    assert_eq!(
        digest("d/summary.json"),
        serde_json::from_str::<serde_json::Value>(&again.stdout).unwrap()["digest"]
    );
    place.write("plain/nodes.csv", "id,label,f\na,x,1\nb,y,2\n");
    place.write("plain/edges.csv", "src,dst\na,b\n");
    place.refused_with(
        &format!("run plain {TINY} --clients 1 --method fedavg --set split.source=file --out f"),
        &["plain has no split of its own", "split.source=shares"],
    );
}

#[test]
fn an_imported_graph_gives_the_same_digest() {
    let place = Place::new();
    write_own_data(&place, "mine");
    let done = place.ok("data import mine --to kept.npz");
    assert!(
        done.stdout.contains("kept.npz: 60 nodes") && done.stdout.contains("boostfgl run kept.npz")
    );
    for settings in ["", "--set split.source=shares"] {
        let run = |data: &str| {
            place.digest(&format!("run {data} {TINY} --clients 3 --method boostfgl {settings}"))
        };
        assert_eq!(run("mine"), run("kept.npz"), "{settings}");
    }
    place.ok(&format!("run kept.npz {TINY} --clients 3 --method fedavg --out a"));
    assert!(place.read("a/predictions.csv").contains(",n-59,"));
    place.refused_with(
        "data import mine --to kept.npz",
        &["kept.npz: expected a new file", "--overwrite"],
    );
    place.ok("data import mine --to kept.npz --overwrite");
    place.refused_with("data import mine --to no/kept.npz", &["no/kept.npz", "no such folder"]);
    place.refused_with(
        "data import mine --to mine --overwrite",
        &["mine: expected the name of a file, found a folder"],
    );
    place.refused_with("data import gone --to b.npz", &["gone"]);
    place.refused_with(
        "data import mine --format cvs --to b.npz",
        &["unknown format `cvs` (did you mean `csv`?)"],
    );
    place.refused_with(
        "data import kept.npz --directed --to b.npz",
        &["--directed", "csv", "flat-npz"],
    );
}

#[test]
fn directed_edges_stay_directed() {
    let place = Place::new();
    place.write("mine/nodes.csv", "id,label,f,g\na,x,1,1\nb,x,2,1\nc,y,3,0\nd,y,4,0\n");
    place.write("mine/edges.csv", "src,dst\na,b\nb,a\nb,c\nc,d\n");
    place.ok("data import mine --to both.npz");
    place.ok("data import mine --to one.npz --directed");
    let edges = |file: &str| {
        let done = place.ok(&format!("data show {file} --json"));
        let document: serde_json::Value = serde_json::from_str(&done.stdout).unwrap();
        document["statistics"]["edges"].as_u64().unwrap()
    };
    assert_eq!((edges("both.npz"), edges("one.npz")), (3, 4));
    let shares = "--set split.train=0.5 --set split.val=0 --set split.test=0.5";
    let run = |file: &str| {
        place.digest(&format!("run {file} {TINY} --clients 1 --method fedavg {shares}"))
    };
    assert_ne!(run("both.npz"), run("one.npz"));
}

#[test]
fn groups_follow_from_labels_and_edges() {
    let place = Place::new();
    write_own_data(&place, "mine");
    place.ok(&format!("run mine {TINY} --clients 3 --method fedavg --out a"));
    let rows = table(&place.read("a/predictions.csv"));
    let label: BTreeMap<&str, &str> =
        rows.iter().map(|r| (r["node"].as_str(), r["label"].as_str())).collect();
    let mut neighbours: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    let edges = place.read("mine/edges.csv");
    for line in edges.lines().skip(1) {
        let ends: Vec<&str> = line.split(',').collect();
        if ends[0] != ends[1] {
            neighbours.entry(ends[0]).or_default().insert(ends[1]);
            neighbours.entry(ends[1]).or_default().insert(ends[0]);
        }
    }
    let mut counts: BTreeMap<&str, usize> = ["blue", "green", "red"].map(|class| (class, 0)).into();
    let train = rows.iter().filter(|r| r["split"] == "train");
    train.for_each(|r| *counts.get_mut(r["label"].as_str()).unwrap() += 1);
    let mut order: Vec<(usize, &str)> =
        counts.iter().map(|(class, count)| (*count, *class)).collect();
    order.sort_unstable();
    let (total, mut mass, mut minority) = (counts.values().sum::<usize>(), 0, BTreeSet::new());
    for (count, class) in order {
        if 2 * mass < total {
            minority.insert(class);
            mass += count;
        }
    }
    for row in rows.iter().filter(|row| !row["label"].is_empty()) {
        let known: Vec<&str> = neighbours[row["node"].as_str()]
            .iter()
            .map(|u| label[u])
            .filter(|l| !l.is_empty())
            .collect();
        let same = known.iter().filter(|l| **l == row["label"]).count();
        let heterophilous = !known.is_empty() && 2 * same <= known.len();
        assert_eq!(row["heterophilous"] == "1", heterophilous, "{row:?}");
        assert_eq!(row["minority"] == "1", minority.contains(row["label"].as_str()), "{row:?}");
    }
}

/// Nine nodes in two classes, small enough to be assigned to clients by hand.
fn write_nine(place: &Place) {
    let nodes: String = (0..9)
        .map(|i| format!("{i},{},{i},1\n", if i % 2 == 0 { "even" } else { "odd" }))
        .collect();
    place.write("nine/nodes.csv", format!("id,label,f,g\n{nodes}"));
    place.write("nine/edges.csv", "src,dst\n0,1\n1,2\n2,3\n3,4\n");
}

#[test]
fn clients_without_some_split_can_take_part() {
    let place = Place::new();
    write_nine(&place);
    // Client 1 has no training node, client 2 a single node and no edge, client 3 two nodes and no
    // edge.
    let part = "seed,node,client,split\n0,0,0,train\n0,1,0,train\n0,2,0,test\n0,3,1,val\n0,4,1,test\n0,5,2,train\n\
                0,6,3,train\n0,7,3,test\n0,8,0,test\n";
    place.write("part.csv", part);
    for method in ["isolated", "central", "fedavg", "boostfgl"] {
        let run = format!("run nine {TINY} --method {method} --partition part.csv --out {method}");
        place.ok(&run);
        let summary = place.json(&format!("{method}/summary.json"));
        assert!(summary["mean"]["accuracy"]["pooled"].is_number(), "{method}");
        assert_eq!(place.read(&format!("{method}/partition.csv")), part);
    }
}

#[test]
fn a_graph_without_edges_runs_and_has_no_heterophilous_node() {
    let place = Place::new();
    write_nine(&place);
    place.write("nine/edges.csv", "src,dst\n");
    let shares = "--set split.train=0.4 --set split.val=0.2 --set split.test=0.4";
    for (method, partitioner) in
        [("fedavg", "louvain"), ("boostfgl", "random"), ("boostfgl", "louvain")]
    {
        let flags =
            format!("--method {method} --set partitioner={partitioner} --clients 1 {shares}");
        let done = place.ok(&format!("run nine {TINY} {flags} --out {method}-{partitioner}"));
        assert!(done.stdout.contains("no such node"), "{}", done.stdout);
        let summary = place.json(&format!("{method}-{partitioner}/summary.json"));
        assert!(summary["mean"]["accuracy"]["pooled"].is_number());
        assert!(summary["mean"]["hete_f1"]["pooled"].is_null());
        assert_eq!(summary["seeds"][0]["groups"]["heterophilous"], 0);
    }
}

#[test]
fn a_graph_with_one_class_gives_full_accuracy() {
    let place = Place::new();
    write_nine(&place);
    place.write("nine/nodes.csv", place.read("nine/nodes.csv").replace("odd", "even"));
    for method in ["fedavg", "boostfgl"] {
        place.ok(&format!("run nine {TINY} --clients 1 --method {method} --out {method}"));
        assert_eq!(
            place.json(&format!("{method}/summary.json"))["mean"]["accuracy"]["pooled"],
            100.0
        );
    }
}
