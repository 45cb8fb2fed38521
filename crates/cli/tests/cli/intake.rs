//! From tables as other programs export them to a run.

use crate::common::{Place, TINY, table};
use serde_json::Value;

/// Forty accounts as a spreadsheet in Germany exports them, and their transfers.
fn write_export(place: &Place) {
    let mut nodes =
        String::from("Konto;Betrug;Saldo;eröffnet;Land;aktiv;Geschlecht;Notiz;Kundennr\n");
    let mut edges = String::from("von;nach;Betrag;Zweck\n");
    for i in 0..40 {
        let label = ["ok", "fraud"][usize::from(i % 5 == 0)];
        let balance =
            if i % 7 == 0 { "-".to_owned() } else { format!("{}.{:03},5{}", i, i, i % 9) };
        let opened = format!("{:02}.{:02}.20{:02}", 1 + i % 28, 1 + i % 12, 10 + i % 10);
        let country = ["AT", "CH", "DE", ""][i % 4];
        let active = ["ja", "nein"][i % 2];
        let sex = ["f", "m"][i % 2];
        nodes.push_str(&format!(
            "K-{i};{label};{balance};{opened};{country};{active};{sex};{};{}\n",
            if i == 3 { "\"neu; geprüft\"" } else { "" },
            1000 + i
        ));
        edges.push_str(&format!("K-{i};K-{};{},5;Miete\n", (i + 1) % 40, i + 1));
        edges.push_str(&format!("K-{i};K-{};1;Lohn\n", (i * 7 + 3) % 40));
    }
    place.write("konten.csv", nodes);
    place.write("umsatz.csv", edges);
}

const EXPORT: &str = "--nodes konten.csv --edges umsatz.csv --id Konto --label Betrug \
    --group Geschlecht --drop Notiz,Kundennr --src von --dst nach --weight Betrag";

#[test]
fn an_export_becomes_a_folder_that_trains() {
    let place = Place::new();
    write_export(&place);
    let done = place.ok(&format!("data import {EXPORT} --to bank"));
    for wanted in [
        "nodes.Konto",
        "the id",
        "the label, 2 classes",
        "a number (decimal comma), standardised; missing: mean",
        "days since 1970 (day.month.year), standardised",
        "3 levels; missing: zero",
        "0 or 1",
        "the group `Geschlecht`",
        "the weight of an edge",
        "note: edge columns left out: `Zweck` (--weight NAME takes one as weight)",
        "nodes.Kundennr    left out",
        "bank: 40 nodes, 80 edges, 6 features; use it as `boostfgl run bank`",
    ] {
        assert!(done.stdout.contains(wanted), "{wanted}\n{}", done.stdout);
    }
    let nodes = place.read("bank/nodes.csv");
    let rows = table(&nodes);
    assert!(nodes.starts_with("id,label,group:Geschlecht,Saldo,eröffnet,Land,aktiv\n"), "{nodes}");
    assert_eq!(rows[1]["Saldo"], "1001.51");
    assert_eq!((rows[0]["Saldo"].as_str(), rows[3]["Land"].as_str()), ("", ""));
    assert_eq!((rows[1]["eröffnet"].as_str(), rows[1]["aktiv"].as_str()), ("2011-02-02", "nein"));
    assert_eq!(table(&place.read("bank/edges.csv"))[0]["weight"], "1.5");
    let shown = place.ok("data show bank --json");
    let shown: Value = serde_json::from_str(&shown.stdout).unwrap();
    assert_eq!(shown["statistics"]["features"], 6);
    place.ok(&format!("run bank {TINY} --clients 2 --method fedavg --out run"));
    let predictions = table(&place.read("run/predictions.csv"));
    assert_eq!(predictions.len(), 40);
    assert!(predictions.iter().all(|row| ["ok", "fraud"].contains(&row["prediction"].as_str())));
    // The group can be asked for, and it was no feature.
    place.ok("diagnose run --by column:Geschlecht");
}

#[test]
fn a_dry_run_shows_the_same_and_writes_nothing() {
    let place = Place::new();
    write_export(&place);
    let before = place.snapshot();
    let dry = place.ok(&format!("data import {EXPORT} --to bank --dry-run"));
    assert_eq!(place.snapshot(), before);
    assert!(dry.stdout.ends_with("40 nodes, 80 edges, 6 features; nothing written\n"));
    let json = place.ok(&format!("data import {EXPORT} --dry-run --json"));
    assert_eq!(place.snapshot(), before);
    let json: Value = serde_json::from_str(&json.stdout).unwrap();
    let columns = json["columns"].as_array().unwrap();
    let balance = columns.iter().find(|column| column["name"] == "Saldo").unwrap();
    assert_eq!((&balance["missing"], &balance["features"]), (&Value::from(6), &Value::from(1)));
    let kept = EXPORT.replace(",Kundennr", "");
    let done = place.ok(&format!("data import {kept} --dry-run"));
    let note =
        "note: column `Kundennr` has another whole number in every row: --drop it if it is an id";
    assert!(done.stdout.contains(note) && !dry.stdout.contains("--drop it"), "{}", done.stdout);
    let real = place.ok(&format!("data import {EXPORT} --to bank"));
    let table = |text: &str| text.split("\n\n").next().unwrap().to_owned();
    assert_eq!(table(&dry.stdout), table(&real.stdout));
}

#[test]
fn delimiters_encodings_and_gzip_change_nothing() {
    let place = Place::new();
    let nodes = "id;label;größe;town\na;x;1;Köln\nb;y;2;Bern\nc;x;4;Köln\n";
    let edges = "src;dst\na;b\nb;c\n";
    let with = |text: &str, delimiter: &str| text.replace(';', delimiter);
    let western = |text: &str| text.chars().map(|c| c as u8).collect::<Vec<u8>>();
    let utf16 = |text: &str, little: bool| -> Vec<u8> {
        let units = std::iter::once(0xfeff).chain(text.encode_utf16());
        units
            .flat_map(|unit| if little { unit.to_le_bytes() } else { unit.to_be_bytes() })
            .collect()
    };
    let gz = |text: &str| {
        let mut packed = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        std::io::Write::write_all(&mut packed, text.as_bytes()).unwrap();
        packed.finish().unwrap()
    };
    let forms: [(&str, Vec<u8>, Vec<u8>); 8] = [
        ("plain", nodes.into(), edges.into()),
        ("comma", with(nodes, ",").into(), with(edges, ",").into()),
        ("tab", with(nodes, "\t").into(), with(edges, "\t").into()),
        ("pipe", format!("\u{feff}{}", with(nodes, "|")).into(), with(edges, "|").into()),
        ("western", western(nodes), edges.into()),
        ("little", utf16(nodes, true), utf16(edges, true)),
        ("big", utf16(nodes, false), utf16(edges, false)),
        ("gz", gz(nodes), gz(edges)),
    ];
    for (name, nodes, edges) in &forms {
        place.write(&format!("{name}.nodes"), nodes);
        place.write(&format!("{name}.edges"), edges);
        let import = format!("data import --nodes {name}.nodes --edges {name}.edges --to {name}");
        let done = place.ok(&import);
        let noted = done.stdout.contains("western.nodes: no UTF-8 (line 1), read as Windows-1252");
        assert_eq!(noted, *name == "western", "{}", done.stdout);
        for file in ["nodes.csv", "edges.csv", "columns.toml"] {
            assert_eq!(
                place.read(&format!("{name}/{file}")),
                place.read(&format!("plain/{file}")),
                "{name}/{file}"
            );
        }
    }
}

#[test]
fn one_columns_file_makes_the_folders_of_several_banks_agree() {
    let place = Place::new();
    let bank = |names: &[&str]| {
        let rows = names.iter().enumerate();
        let rows = rows.map(|(v, town)| {
            let (label, split) = (["ok", "bad"][v % 2], ["train", "train", "test"][v % 3]);
            format!("n{v},{label},{split},{town},{v}\n")
        });
        format!("id,label,split,town,age\n{}", rows.collect::<String>())
    };
    place.write("a.csv", bank(&["Ulm", "Bern", "Ulm", "Wien"]));
    place.write("b.csv", bank(&["Bern", "Rom", "Bern", "Rom", ""]));
    place.write("e.csv", "src,dst\nn0,n1\nn1,n2\nn2,n3\n");
    place.ok("data import --nodes a.csv --edges e.csv --to a");
    let done = place.ok("data import --nodes b.csv --edges e.csv --to b --columns a/columns.toml");
    let note = "column `town`: 2 rows with no level of columns.toml (`Rom`): all zeros";
    assert!(done.stdout.contains(note), "{}", done.stdout);
    assert_eq!(place.read("a/columns.toml"), place.read("b/columns.toml"));
    place.ok(&format!("run --client-data a b {TINY} --method fedavg --out run"));
    // The first label of another bank need not be the first class.
    place.write("c.csv", "id,label,town,age\nn0,worse,Ulm,1\n");
    place.refused_with(
        "data import --nodes c.csv --to c --columns a/columns.toml",
        &["c.csv, line 2, column 2: expected a class of columns.toml, found `worse`"],
    );
    // New customers have no labels yet.
    place.write("d.csv", "id,town,age\nn0,Ulm,1\nn1,Wien,2\n");
    let done = place.ok("data import --nodes d.csv --to d --columns a/columns.toml");
    assert!(done.stdout.contains("no column of labels: every node is unlabelled"));
    assert_eq!(place.read("d/nodes.csv"), "id,label,town,age\nn0,,Ulm,1\nn1,,Wien,2\n");
}

#[test]
fn every_problem_of_a_table_is_in_one_message_and_nothing_is_imported() {
    let place = Place::new();
    let mut nodes = String::from("id,label,age,since,split,group:who,note\n");
    for i in 0..30 {
        let id = if i == 4 { "N 3".to_owned() } else { format!("n{i}") };
        let label = if i == 5 { "Fraud" } else { ["ok", "fraud"][i % 2] };
        let age = if i == 6 { "3O".to_owned() } else { i.to_string() };
        let since = if i < 20 { format!("2024-01-{:02}", i + 1) } else { format!("{i}.01.2024") };
        let split = if i % 3 == 0 { "trian" } else { "test" };
        nodes.push_str(&format!("{id},{label},{age},{since},{split},p{i},note number {i}\n"));
    }
    place.write("n.csv", nodes);
    place.write("e.csv", "src,dst,weight\nn0,n1,1\n");
    let before = place.snapshot();
    let done = place.run("data import --nodes n.csv --edges e.csv --to bank");
    assert_eq!((done.code, done.stdout.as_str()), (Some(2), ""));
    assert_eq!(place.snapshot(), before);
    for wanted in [
        "n.csv: 7 problems",
        "line 6, column 1: expected ids that differ by more than spaces and case (or \
         --exact-names), found `N 3`, which is `n3` again, first on line 5",
        "line 7, column 2: expected labels that differ by more than spaces and case",
        "line 2, column 5: expected train, val, test, none or nothing, found `trian` (did you \
         mean `train`?), in 10 rows",
        "line 1, column 6: expected groups of several nodes for `who`, found a value of its own \
         for each of 30 nodes",
        "line 8, column 3: expected a number for `age`, found `3O`",
        "line 22, column 4: expected one format of dates for `since`, year-month-day, found \
         `20.01.2024`, in 10 rows, day.month.year",
        "line 1, column 7: expected categories, numbers or dates, found 30 distinct texts",
    ] {
        assert!(done.stderr.contains(wanted), "{wanted}\n{}", done.stderr);
    }
}

#[test]
fn edges_must_name_nodes_unless_unknown_ones_are_dropped() {
    let place = Place::new();
    place.write("n.csv", "id,label,age\na,x,1\nb,y,2\nC,x,3\n");
    place.write("e.csv", "source,target,weight\na,b,1\na,z,1\nq,b,0\na,b,-1\n");
    place.refused_with(
        "data import --nodes n.csv --edges e.csv --to bank",
        &[
            "e.csv: 3 problems",
            "line 3, column 2: expected an id of the node tables (or --unknown-nodes drop), found \
             `z`",
            "line 4, column 1: ",
            "line 5, column 3: expected a number above 0, found `-1`",
        ],
    );
    place.write("e.csv", "source,target,weight\na,b,1\na,z,1\nq,b,0\n");
    let done = place.ok("data import --nodes n.csv --edges e.csv --to bank --unknown-nodes drop");
    assert!(done.stdout.contains("note: 2 edges name a node that is not in the node tables"));
    assert!(done.stdout.contains("bank: 3 nodes, 1 edges"), "{}", done.stdout);
    // A name that is nearly that of a node is a mistake in any case.
    place.write("f.csv", "src,dst\na,c\n");
    place.refused_with(
        "data import --nodes n.csv --edges f.csv --to other --unknown-nodes drop",
        &["line 2, column 2", "found `c`, which differs from `C`"],
    );
}

#[test]
fn ids_that_differ_by_spaces_or_case_are_refused_unless_they_are_exact() {
    let place = Place::new();
    place.write("n.csv", "id;label;age\nA1;x;1\n A1 ;y;2\na 1;x;3\n");
    place.refused_with(
        "data import --nodes n.csv --to bank",
        &[
            "n.csv: 2 problems",
            "line 3, column 1: expected every id once, found `A1`, with other spaces around it, \
             again, first on line 2",
            "line 4, column 1: expected ids that differ by more than spaces and case (or \
             --exact-names), found `a 1`, which is `A1` again, first on line 2",
        ],
    );
    place.write("n.csv", "id;label;age\nA1;x;1\na 1;X;3\n");
    place.refused_with("data import --nodes n.csv --to bank", &["found `X`, which is `x` again"]);
    let done = place.ok("data import --nodes n.csv --to bank --exact-names");
    assert!(done.stdout.contains("the label, 2 classes"), "{}", done.stdout);
}

#[test]
fn files_that_are_no_tables_of_one_encoding_are_refused() {
    let place = Place::new();
    place.write("e.csv", "src,dst\n");
    let mut mixed = "id,label,town\na,x,Köln\nb,x,".to_owned().into_bytes();
    mixed.extend(b"Z\xfcrich\n");
    place.write("mixed.csv", &mixed);
    place.refused_with(
        "data import --nodes mixed.csv --edges e.csv --to bank",
        &["mixed.csv, line 3, byte 30: expected one encoding, UTF-8 as on line 2, found the byte"],
    );
    place.write("zero.csv", b"id,label\0a\n");
    place.refused_with(
        "data import --nodes zero.csv --edges e.csv --to bank",
        &["zero.csv, line 1: expected a table of text, found a zero byte"],
    );
    place.write("cut.gz", b"\x1f\x8b\x08\0\0");
    place.refused_with(
        "data import --nodes cut.gz --to bank",
        &["cut.gz: expected a complete gzip"],
    );
    place.refused_with("data import --nodes gone.csv --to bank", &["gone.csv"]);
}

#[test]
fn a_column_of_as_many_categories_as_rows_is_refused_once() {
    let place = Place::new();
    let rows: String = (0..100_000).map(|v| format!("n{v},{},{v},text {v}\n", v % 2)).collect();
    place.write("n.csv", format!("id,label,age,town\n{rows}"));
    place.refused_with(
        "data import --nodes n.csv --to bank",
        &["n.csv, line 1, column 4: expected categories, numbers or dates, found 100000 distinct \
           texts in 100000 rows of `town`: --drop it if it is an id, or set kind = \"hashed\""],
    );
    place.write("c.toml", "[nodes.town]\nkind = \"hashed\"\nbuckets = 8\n");
    let done = place.ok("data import --nodes n.csv --columns c.toml --to bank");
    assert!(done.stdout.contains("hashed to 8") && done.stdout.contains("9 features"));
}

#[test]
fn flags_and_columns_that_do_not_fit_are_refused_with_the_nearest_name() {
    let place = Place::new();
    place.write("n.csv", "account,label,age\na,x,1\nb,y,2\n");
    for (flags, wanted) in [
        ("--to bank", "none for --id"),
        ("--id acount --to bank", "no column `acount` of --id (did you mean `account`?)"),
        ("--id account --drop ages --to bank", "--drop: expected a column of the tables"),
        ("--id account --missing men --to bank", "`men` (did you mean `mean`?)"),
        ("--id account --rest othr --to bank", "`othr` (did you mean `other`?)"),
        ("--id account --encoding utf8 --to bank", "`utf8` (did you mean `utf-8`?)"),
        ("--id account --delimiter xy --to bank", "one ASCII character or `tab`"),
        ("--id account --to bank.npz", "expected the name of a folder for the tables"),
        ("--id account --to no/bank", "found no such folder"),
        ("--id account --label age --drop label --to bank", "at least one feature column"),
    ] {
        place.refused_with(&format!("data import --nodes n.csv {flags}"), &[wanted]);
    }
    place.write("c.toml", "[nodes.account]\nrol = \"id\"\n");
    place.refused_with(
        "data import --nodes n.csv --columns c.toml --to bank",
        &["c.toml, nodes.account: expected a known key, found `rol` (did you mean `role`?)"],
    );
    place.ok("data import --nodes n.csv --id account --to bank");
    place.refused_with(
        "data import --nodes n.csv --id account --to bank",
        &["bank: expected a new or an empty folder", "--overwrite"],
    );
    place.ok("data import --nodes n.csv --id account --to bank --overwrite");
    place.write("mine/thesis.txt", "years of work");
    place.refused_with(
        "data import --nodes n.csv --id account --to mine --overwrite",
        &["mine: expected a new or an empty folder"],
    );
}

#[test]
fn check_lists_what_is_unusual_about_a_graph() {
    let place = Place::new();
    let mut nodes = String::from("id,label,small,large,same,gap\n");
    let mut edges = String::from("src,dst\nn1,n1\nn1,n0\n");
    for i in 0..30 {
        let label = if i < 2 { "fraud" } else { "ok" };
        let gap = if i < 20 { String::new() } else { i.to_string() };
        nodes.push_str(&format!("n{i},{label},{i},{}00000,7,{gap}\n", i % 7));
        edges.push_str(&format!("n0,n{i}\n"));
    }
    place.write("n.csv", nodes);
    place.write("e.csv", edges);
    place.ok("data import --nodes n.csv --edges e.csv --to bank --no-standardise");
    let done = place.ok("data check bank").stdout;
    assert!(done.starts_with("bank: readable, 30 nodes, 29 edges\n"), "{done}");
    for wanted in [
        "merged duplicates  1\n",
        "dropped loops      2\n",
        "isolated nodes     0\n",
        "most neighbours    n0 (29), n1 (1)",
        "constant features  same\n",
        "(gap) to 2.0",
        "e5 (large)\n",
        "missing values     gap (66.7 %)\n",
        "fraud                        2     6.7 %\n",
        "hint: class `fraud` is rare (6.7 % of the labels)",
        "hint: scales differ: `large` varies ",
        "hint: `gap` is missing at 66.7 % of the nodes\n",
    ] {
        assert!(done.contains(wanted), "{wanted}\n{done}");
    }
    let json: Value = serde_json::from_str(&place.ok("data check bank --json").stdout).unwrap();
    assert_eq!(json["health"]["dropped_loops"], 2);
    assert_eq!(json["health"]["classes"][0]["count"], 2);
    place.ok("data import --nodes n.csv --edges e.csv --to scaled");
    let done = place.ok("data check scaled").stdout;
    assert!(!done.contains("scales differ"), "{done}");
    let demo = place.ok("data check demo").stdout;
    assert!(demo.contains("merged duplicates  not known for this format"), "{demo}");
}

/// A table that pandas wrote.
#[cfg(feature = "parquet")]
#[test]
fn parquet_tables_are_imported() {
    let place = Place::new();
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../data/tests/fixtures/parquet_tables.json");
    let fixture: Value = serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap();
    let hex = fixture["files"]["snappy"].as_str().unwrap();
    let byte = |at: usize| u8::from_str_radix(&hex[at..at + 2], 16).unwrap();
    place.write("t.parquet", (0..hex.len()).step_by(2).map(byte).collect::<Vec<u8>>());
    place.write("e.csv", "src,dst\na,\"b, c\"\n");
    place.ok("data import --nodes t.parquet --edges e.csv --label word --to bank");
    let nodes = place.read("bank/nodes.csv");
    let lines: Vec<&str> = nodes.lines().collect();
    assert_eq!(lines[0], "id,label,count,amount,small,active,day,moment,micros,price");
    let first = "a,ü,1,1.5,1.5,true,2024-02-29,2024-02-29T12:30:00,2024-02-29,12.50";
    assert_eq!(lines[1], first);
    assert_eq!(lines[2], "\"b, c\",,-2,,2.5,false,,,,");
    assert!(place.ok("data show bank").stdout.contains("features       8"));
}

#[test]
fn a_prepared_folder_stays_prepared_through_other_formats() {
    let place = Place::new();
    write_export(&place);
    place.ok(&format!("data import {EXPORT} --to bank"));
    place.ok("data import bank --to bank.npz");
    let missing = |data: &str| {
        let json: Value =
            serde_json::from_str(&place.ok(&format!("data check {data} --json")).stdout).unwrap();
        json["health"]["missing"].clone()
    };
    assert_eq!(missing("bank")[0]["name"], "Saldo");
    assert_eq!(missing("bank"), missing("bank.npz"));
    for format in ["csv", "npz"] {
        let parts = format!("parts-{format}");
        place.ok(&format!(
            "partition bank --partitioner random --clients 2 --to-clients {parts} --format {format}"
        ));
        let files = if format == "npz" { "/graph.npz" } else { "" };
        let counts = ["client-0", "client-1"].map(|client| {
            let missing = missing(&format!("{parts}/{client}{files}"));
            missing.as_array().unwrap().iter().map(|it| it["count"].as_u64().unwrap()).sum::<u64>()
        });
        assert_eq!(counts.iter().sum::<u64>(), 6, "{format}");
        place.ok(&format!("run --client-data {parts} {TINY} --method fedavg --out run-{format}"));
    }
}

/// What a run computed on its clients' own data, wherever they are.
fn federation_digest(place: &Place, run: &str) -> String {
    let summary: Value = serde_json::from_str(&place.read(&format!("{run}/summary.json"))).unwrap();
    summary["seeds"][0]["federation_digest"].as_str().unwrap().to_owned()
}

/// Means and deviations are fitted on training nodes, by each client or with the moments of all, in
/// a simulation and on folders of clients to the same digits. They are in the model file, so that a
/// prediction for new customers uses those of the training.
#[test]
fn columns_are_prepared_in_training_and_in_predictions() {
    let place = Place::new();
    write_export(&place);
    place.ok(&format!("data import {EXPORT} --to bank"));
    place.ok("partition bank --clients 2 --to-clients parts --seeds 1");
    let new = place.read("konten.csv").replace(";fraud;", ";;").replace(";ok;", ";;");
    place.write("neu.csv", new);
    place.ok("data import --nodes neu.csv --edges umsatz.csv --columns bank/columns.toml --to new");
    let method = format!("{TINY} --method fedavg");
    let mut digests = Vec::new();
    for (name, moments) in [("own", "client"), ("all", "all-clients")] {
        let scope = format!("{method} --set moments={moments}");
        place.ok(&format!("run bank --clients 2 {scope} --out {name}"));
        place.ok(&format!("run --client-data parts {scope} --out {name}-folders"));
        let digest = federation_digest(&place, name);
        assert_eq!(federation_digest(&place, &format!("{name}-folders")), digest);
        digests.push(digest);
        place.ok(&format!("predict {name} --to again.csv"));
        let again = table(&place.read("again.csv"));
        for (row, found) in table(&place.read(&format!("{name}/predictions.csv"))).iter().zip(again)
        {
            assert_eq!((&row["node"], &row["prediction"]), (&found["node"], &found["prediction"]));
        }
        std::fs::remove_file(place.path("again.csv")).unwrap();
    }
    assert_ne!(digests[0], digests[1], "moments of one client and of all");
    let scores = place.ok("predict all new");
    assert_eq!(table(&scores.stdout).len(), 40);
    place.refused_with("predict own new", &["--client", "means and deviations"]);
    let first = place.ok("predict own new --client 0").stdout;
    assert_ne!(first, place.ok("predict own new --client 1").stdout, "each has its own scale");
    // The same model and scale, from the folder of that client.
    assert_eq!(place.ok("predict own-folders new --client client-0").stdout, first);
    place.refused_with("predict own-folders new", &["--client", "client-0, client-1"]);
    let again = table(&place.ok("predict own-folders --client client-0").stdout);
    let kept = table(&place.read("own-folders/clients/client-0/predictions.csv"));
    for (row, found) in kept.iter().zip(again) {
        assert_eq!((&row["node"], &row["prediction"]), (&found["node"], &found["prediction"]));
    }
}
