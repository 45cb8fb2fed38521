//! `run --client-data`: clients with graphs of their own, in folders of their own.

use crate::common::{Place, table, write_own_data};
use serde_json::Value;

/// A short run on the demo graph, as simulation or on folders.
const SHORT: &str = "--seeds 3, --rounds 3 --set model.hidden=8 --quiet";

/// The demo graph in three folders, with the partition of seed 3.
fn demo_clients(place: &Place) {
    place.ok("partition demo --clients 3 --seeds 3, --to-clients parts");
}

/// Two small clients by hand, without a schema.
fn banks(place: &Place) {
    for (bank, shift) in [("north", 0), ("south", 1)] {
        let (mut nodes, mut edges) = (String::from("id,label,split,age,income\n"), String::new());
        edges.push_str("src,dst\n");
        for i in 0..40 {
            let label = ["ok", "fraud"][usize::from((i * 7 + shift) % 5 == 0)];
            let split = ["train", "val", "test", "test"][i % 4];
            nodes.push_str(&format!("{bank}-{i},{label},{split},{},{}\n", i % 9, (i * 3) % 7));
            edges.push_str(&format!("{bank}-{i},{bank}-{}\n", (i * 3 + 1) % 40));
        }
        place.write(&format!("banks/{bank}/nodes.csv"), nodes);
        place.write(&format!("banks/{bank}/edges.csv"), edges);
    }
}

fn first_seed(place: &Place, run: &str) -> Value {
    place.json(&format!("{run}/summary.json"))["seeds"][0].clone()
}

/// The metrics of every round.
fn metrics(place: &Place, run: &str) -> Vec<Value> {
    let rounds = place.read(&format!("{run}/rounds.jsonl"));
    let lines = rounds.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    lines.map(|round| round["metrics"].clone()).collect()
}

#[test]
fn client_folders_give_what_a_simulation_gives() {
    let place = Place::new();
    demo_clients(&place);
    // A global model, all boosts, personal models, masks of clients' own, a sparse update.
    let methods = [
        "fedavg",
        "boostfgl",
        "fedgta --boost all",
        "fedpub",
        "fairfgl",
        "fedproto",
        "boostfgl --set boost.model.gap_minority=global --set fed.report=best-val",
    ];
    for (at, method) in methods.iter().enumerate() {
        let common = format!("{SHORT} --method {method}");
        let (simulated, folders) = (format!("simulated-{at}"), format!("folders-{at}"));
        place.ok(&format!(
            "run demo --clients 3 {common} --set groups.homophily_graph=local --out {simulated}"
        ));
        place.ok(&format!("run --client-data parts {common} --out {folders}"));
        let (expected, found) = (first_seed(&place, &simulated), first_seed(&place, &folders));
        for key in ["federation_digest", "accuracy", "hete_f1", "hete_min_f1", "groups", "round"] {
            assert_eq!(found[key], expected[key], "{method}: {key}");
        }
        for key in ["last", "best_val", "budget", "minority", "bytes_up", "bytes_down"] {
            assert_eq!(found[key], expected[key], "{method}: {key}");
        }
        assert!(found["digest"].is_null(), "no side has all predictions");
        assert_eq!(metrics(&place, &folders), metrics(&place, &simulated), "{method}");
        let line = place.read(&format!("{folders}/rounds.jsonl"));
        assert!(line.contains("\"name\":\"client-1\""), "{line}");
    }
}

#[test]
fn predictions_and_personal_models_stay_in_the_folders_of_clients() {
    let place = Place::new();
    demo_clients(&place);
    let common = format!("{SHORT} --method fedgta");
    place.ok(&format!("run demo --clients 3 {common} --out simulated"));
    place.ok(&format!("run --client-data parts {common} --out run"));
    assert!(!place.exists("run/predictions.csv") && !place.exists("run/model.safetensors"));
    let simulated = table(&place.read("simulated/predictions.csv"));
    let mut compared = 0;
    for client in 0..3 {
        let folder = format!("run/clients/client-{client}");
        assert!(place.exists(&format!("{folder}/model.safetensors")));
        for row in table(&place.read(&format!("{folder}/predictions.csv"))) {
            let same = simulated.iter().find(|other| other["node"] == row["node"]).unwrap();
            for column in ["seed", "client", "split", "label", "prediction", "minority"] {
                assert_eq!(row[column], same[column], "{row:?}");
            }
            compared += 1;
        }
    }
    assert_eq!(compared, simulated.len());
    let sums = place.read("run/checksums.txt");
    assert!(sums.contains("  clients/client-2/predictions.csv\n"), "{sums}");
    // A changed file of a client is noticed, and --overwrite removes what a run wrote.
    place.ok("report run --out page.html");
    let damaged = "clients/client-2/predictions.csv";
    assert!(!place.read("page.html").contains(damaged));
    let rows = place.read(&format!("run/{damaged}"));
    place.write(&format!("run/{damaged}"), rows.replacen(",test,", ",none,", 1));
    place.ok("report run --out damaged.html");
    assert!(place.read("damaged.html").contains(damaged), "a changed file of a client is named");
    place.write("run/clients/client-0/notes.txt", "mine");
    place.ok(&format!("run --client-data parts {SHORT} --method fedavg --out run --overwrite"));
    assert!(!place.exists("run/clients/client-1/model.safetensors"));
    assert!(
        place.exists("run/clients/client-0/notes.txt") && place.exists("run/model.safetensors")
    );
}

#[test]
fn format_of_files_and_transport_change_no_digit() {
    let place = Place::new();
    demo_clients(&place);
    place.ok("partition demo --clients 3 --seeds 3, --to-clients packed --format npz");
    let run = |data: &str, more: &str, out: &str| {
        place.ok(&format!("run --client-data {data} {SHORT} --method boostfgl {more} --out {out}"));
        first_seed(&place, out)["federation_digest"].clone()
    };
    let first = run("parts", "", "a");
    assert_eq!(run("packed", "", "b"), first);
    assert_eq!(run("parts", "--set transport=loopback", "c"), first);
    assert_eq!(run("parts", "--threads 1", "d"), first);
    let folders = "parts/client-0 parts/client-1 parts/client-2";
    assert_eq!(run(folders, "", "e"), first);
}

#[test]
fn names_of_clients_are_in_tables_and_report() {
    let place = Place::new();
    banks(&place);
    let done = place.ok(
        "run --client-data banks/north banks/south --rounds 2 --seeds 2 --method fedavg --out run",
    );
    for wanted in ["banks", "Clients, each with its own graph", "north", "south", "local: among"] {
        assert!(done.stdout.contains(wanted), "{wanted}\n{}", done.stdout);
    }
    let page = place.read("run/report.html");
    for wanted in ["north", "south", "client north", "local: among the neighbours"] {
        assert!(page.contains(wanted), "{wanted}");
    }
    assert!(!page.contains("predictions.csv is missing"));
    let config = place.read("run/config.toml");
    assert!(config.contains("client_data = [\"banks/north\", \"banks/south\"]"), "{config}");
    // The recorded configuration repeats the run.
    place.ok("run --config run/config.toml --quiet --out again");
    let digest = |run: &str| first_seed(&place, run)["federation_digest"].clone();
    assert_eq!(digest("again"), digest("run"));
    // Two methods next to each other.
    let both = place.ok("run --client-data banks --rounds 2 --seeds 1 --quiet --out both");
    assert!(both.stdout.contains("boostfgl"), "{}", both.stdout);
    assert!(place.exists("both/boostfgl/clients/south/predictions.csv"));
}

#[test]
fn a_killed_run_on_folders_resumes_to_the_same_result() {
    let place = Place::new();
    demo_clients(&place);
    // The best round is kept by the clients: who has kept it is part of the state.
    let common = "--client-data parts --rounds 8 --seeds 2 --set model.hidden=8 --method fedpub \
        --checkpoint-rounds 2 --quiet --set fed.report=best-val";
    place.ok(&format!("run {common} --out whole"));
    for rounds in [1, 5, 11] {
        let run = format!("killed-{rounds}");
        let mut child = place.start(&format!("run {common} --out {run}"));
        place.wait_for_rounds(&run, rounds);
        child.kill().unwrap();
        child.wait().unwrap();
        assert!(!place.exists(&format!("{run}/summary.json")));
        place.ok(&format!("resume {run} --quiet"));
        let seeds = |run: &str| {
            let summary = place.json(&format!("{run}/summary.json"));
            let seeds = summary["seeds"].as_array().unwrap().clone();
            seeds
                .iter()
                .map(|seed| {
                    ["federation_digest", "accuracy", "bytes_up", "framed_up", "framed_down"]
                        .map(|key| seed[key].clone())
                })
                .collect::<Vec<_>>()
        };
        assert_eq!(seeds(&run), seeds("whole"), "{rounds} rounds");
        for file in ["clients/client-1/predictions.csv", "clients/client-2/model.safetensors"] {
            let (found, expected) = (format!("{run}/{file}"), format!("whole/{file}"));
            assert!(place.bytes(&found) == place.bytes(&expected), "{file}");
        }
    }
    // A run whose data changed in between is not continued.
    let mut child = place.start(&format!("run {common} --out changed"));
    place.wait_for_rounds("changed", 3);
    child.kill().unwrap();
    child.wait().unwrap();
    let edges = place.read("parts/client-1/edges.csv");
    let shorter = edges.trim_end().rsplit_once('\n').unwrap().0;
    place.write("parts/client-1/edges.csv", format!("{shorter}\n"));
    place.refused_with("resume changed", &["has changed", "other structure"]);
}

#[test]
fn clients_that_do_not_fit_are_named_with_file_and_column() {
    let place = Place::new();
    banks(&place);
    let run = "run --client-data banks --rounds 2 --seeds 1 --method fedavg --out run";
    let nodes = place.read("banks/south/nodes.csv");
    let changed = |from: &str, to: &str, wanted: &[&str]| {
        place.write("banks/south/nodes.csv", nodes.replace(from, to));
        place.refused_with(run, wanted);
        place.write("banks/south/nodes.csv", &nodes);
    };
    changed(
        "age,income",
        "age,salary",
        &["client south cannot join", "nodes.csv, feature column 2", "`income`", "`salary`"],
    );
    changed("id,label", "id,class", &["client south", "nodes.csv, line 1", "a column `label`"]);
    changed("south-3,", "south-2,", &["client south", "nodes.csv, line 5", "every id once"]);
    // The schema that all should follow.
    place.write("banks/schema.toml", "version = 1\nclasses = [\"ok\", \"fraud\"]\n");
    changed(
        "south-4,ok",
        "south-4,fraude",
        &["client south", "nodes.csv, column `label`", "`ok`, `fraud`", "found `fraude`"],
    );
    place.write(
        "banks/schema.toml",
        "version = 1\nclasses = [\"ok\", \"fraud\"]\nfeatures = [\"age\", \"income\", \"town\"]\n",
    );
    place.refused_with(run, &["client north", "nodes.csv, column `town`", "expected this feature"]);
    place.write("banks/schema.toml", "version = 1\nclases = []\n");
    place.refused_with(run, &["schema.toml", "unknown key `clases`", "`classes`"]);
    std::fs::remove_file(place.path("banks/schema.toml")).unwrap();
    // Clients that prescribe different orders.
    place.write("banks/north/schema.toml", "version = 1\nclasses = [\"ok\", \"fraud\"]\n");
    place.write("banks/south/schema.toml", "version = 1\nclasses = [\"fraud\", \"ok\"]\n");
    place.refused_with(run, &["client south cannot join", "order of the classes", "`ok`, `fraud`"]);
    for bank in ["north", "south"] {
        std::fs::remove_file(place.path(&format!("banks/{bank}/schema.toml"))).unwrap();
    }
    // Names of features on one side only.
    place.write("unnamed/a/nodes.csv", "id,label,x\na,0,1\nb,1,2\n");
    place.write("unnamed/a/edges.csv", "src,dst\na,b\n");
    place.write("unnamed/b/schema.txt", "");
    place.ok("data generate cora-like --to unnamed/b/graph.npz");
    place.refused_with(
        "run --client-data unnamed --method fedavg --out run",
        &["client b cannot join", "graph.npz, names of features", "found none"],
    );
    // Two clients of one name, or of names that are one folder on some systems.
    place.write("other/South/nodes.csv", &nodes);
    place.write("other/South/edges.csv", place.read("banks/south/edges.csv"));
    place.refused_with(
        "run --client-data banks/north banks/south other/South --method fedavg --out run",
        &["client South cannot join: name", "the name of client 1"],
    );
    place.write("other/south/nodes.csv", &nodes);
    place.write("other/south/edges.csv", place.read("banks/south/edges.csv"));
    place.refused_with(
        "run --client-data banks/north banks/south other/south --method fedavg --out run",
        &["client south cannot join: name", "the name of client 1"],
    );
    place.write("empty/readme.txt", "");
    place.refused_with("run --client-data empty --out run", &["a folder for each client"]);
    place.refused_with("run --client-data nowhere --out run", &["nowhere"]);
}

/// A client without labels, edges or training nodes takes part as far as it can, with a warning.
#[test]
fn odd_clients_take_part_or_are_refused_with_a_reason() {
    let place = Place::new();
    banks(&place);
    let run =
        "run --client-data banks --rounds 2 --seeds 1 --method boostfgl --overwrite --out run";
    let (nodes, edges) = (place.read("banks/south/nodes.csv"), place.read("banks/south/edges.csv"));
    let with = |nodes: &str, edges: &str| {
        place.write("banks/south/nodes.csv", nodes);
        place.write("banks/south/edges.csv", edges);
        place.ok(run).stdout
    };
    // One class, no edge, no training node, no label at all.
    assert!(with(&nodes.replace(",fraud,", ",ok,"), &edges).contains("south"));
    assert!(with(&nodes, "src,dst\n").contains("south"));
    let untrained = with(&nodes.replace(",train,", ",none,"), &edges);
    assert!(untrained.contains("client south has no training node"), "{untrained}");
    let unlabelled = nodes.replace(",ok,", ",,").replace(",fraud,", ",,");
    assert!(with(&unlabelled, &edges).contains("client south has no training node"));
    assert!(place.read("run/clients/south/predictions.csv").contains("south-39"));
    // Without a split in the data it is drawn on each client.
    let without = |text: &str| text.replace(",train,", ",").replace(",val,", ",");
    let without = |text: &str| without(text).replace(",test,", ",").replace("label,split", "label");
    place.write("banks/north/nodes.csv", without(&place.read("banks/north/nodes.csv")));
    let drawn = with(&without(&nodes), &edges);
    assert!(drawn.contains("drawn by shares per client and class"), "{drawn}");
    // Nothing to train on anywhere.
    for bank in ["north", "south"] {
        let text = place.read(&format!("banks/{bank}/nodes.csv"));
        let none = text.replace(",ok,", ",,").replace(",fraud,", ",,");
        place.write(&format!("banks/{bank}/nodes.csv"), none);
    }
    place.refused_with(run, &["no client has a training node"]);
}

#[test]
fn what_only_a_simulation_can_do_is_refused_with_the_reason() {
    let place = Place::new();
    banks(&place);
    let refused = |arguments: &str, wanted: &[&str]| {
        place.refused_with(&format!("run --client-data banks {arguments}"), wanted);
    };
    refused("--method central --out a", &["central", "one place holds all data"]);
    refused("--method fedavg --diagnostics all --out a", &["look inside every client"]);
    refused(
        "--method fedavg --set groups.homophily_graph=global --out a",
        &["groups.homophily_graph", "no side knows the neighbours"],
    );
    refused(
        "--method fedavg --set attack.kind=nan --set attack.clients=1 --out a",
        &["attack.kind", "none outside of a simulation"],
    );
    place.refused_with("run cora --client-data banks", &["cannot be used with"]);
    place.refused_with("run --client-data banks --clients 3", &["cannot be used with"]);
    place.ok("run --client-data banks --rounds 1 --seeds 1 --method fedavg --quiet --out run");
    place.refused_with("diagnose run", &["clients with graphs of their own"]);
    place.refused_with("diagnose run --replay", &["clients with graphs of their own"]);
    place.refused_with("partition --config run/config.toml", &["graphs of their own"]);
}

#[test]
fn writing_client_folders_refuses_what_it_cannot_do() {
    let place = Place::new();
    place.refused_with("partition demo --seeds 2 --to-clients parts", &["expected one seed"]);
    place.write("full/note.txt", "");
    place.refused_with("partition demo --to-clients full", &["found `note.txt` in it"]);
    place.refused_with("partition demo --to-clients p --format cvs", &["did you mean `csv`?"]);
    // Own data keep names, weights and the order of features.
    write_own_data(&place, "mine");
    place.ok("partition mine --clients 2 --seeds 1 --to-clients parts");
    let schema = place.read("parts/client-1/schema.toml");
    assert!(schema.contains("classes = [\"blue\", \"green\", \"red\"]"), "{schema}");
    assert!(schema.contains("features = [\"size\", \"kind\"]"), "{schema}");
    assert!(place.read("parts/client-0/edges.csv").starts_with("src,dst,weight\n"));
    let common = "--seeds 1 --rounds 2 --method fedgta --quiet";
    place.ok(&format!(
        "run mine --clients 2 {common} --set groups.homophily_graph=local --out simulated"
    ));
    place.ok(&format!("run --client-data parts {common} --out folders"));
    let digest = |run: &str| first_seed(&place, run)["federation_digest"].clone();
    assert_eq!(digest("folders"), digest("simulated"));
}
