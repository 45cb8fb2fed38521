//! Invalid input gives one line with the error and one with advice, and nothing is written.

use crate::common::{Place, TINY, write_own_data};

/// The arguments of a run of one method that would write to `out`.
fn run(rest: &str) -> String {
    format!("run --rounds 2 --set model.hidden=8 --method fedavg --out out {rest}")
}

#[test]
fn unknown_names_are_refused() {
    let place = Place::new();
    for (rest, wanted) in [
        ("coar", "unknown dataset `coar` (did you mean `cora`?)"),
        ("nothing-like-it", "unknown dataset `nothing-like-it`"),
        ("generate:dmo", "unknown preset `dmo` (did you mean `demo`?)"),
        ("no/such/folder", "no/such/folder: No such file"),
        ("missing.npz", "missing.npz: No such file"),
        ("--boost nodes", "unknown boost `nodes` (did you mean `node`?)"),
        ("--boost node,,model,", "unknown boost ``"),
        (
            "--set boosts=[\"nod\"]",
            "boosts[0] (from --set boosts=[\"nod\"]): expected one of node, topology, model, \
             found `nod` (did you mean `node`?)",
        ),
        ("--set backbone=gnc", "unknown backbone `gnc` (did you mean `gcn`?)"),
        ("--set partitioner=louvian", "unknown partitioner `louvian` (did you mean `louvain`?)"),
        (
            "--set modle.hidden=3",
            "--set modle.hidden=3: unknown key `modle.hidden` (did you mean `model.hidden`?)",
        ),
        ("--set hiden=3", "did you mean `model.hidden`?"),
        ("--set model=3", "expected a table, found a value"),
        ("--set rounds", "--set rounds: expected key=value, found no `=`"),
        ("--partition gone.csv", "gone.csv: No such file"),
        ("--config gone.toml", "gone.toml: No such file"),
        (
            "--set optimizer.optimizer=adma",
            "optimizer.optimizer (from --set optimizer.optimizer=adma): expected one of adam, \
             sgd, found `adma` (did you mean `adam`?)",
        ),
        (
            "--set gamma=1 --set method=afl",
            "`gamma` is ambiguous with the method afl: expected one of boost.model.gamma, \
             methods.afl.gamma",
        ),
        (
            "--set fed={round=3}",
            "--set fed={round=3}: unknown key `fed.round` (did you mean `fed.rounds`?)",
        ),
    ] {
        place.refused_with(&run(rest), &[wanted]);
    }
    let methods = run("demo").replace("fedavg", "fedavgg");
    place.refused_with(&methods, &["unknown method `fedavgg` (did you mean `fedavg`?)"]);
}

#[test]
fn numbers_out_of_range_are_refused() {
    let place = Place::new();
    for (rest, wanted) in [
        ("--clients 9999", "9999 clients: K larger than the graph, which has 2708 nodes"),
        ("--clients 0", "partition.clients: expected at least 1, found 0"),
        ("--clients -1", "invalid value '-1' for '--clients <K>'"),
        ("--clients many", "'many' for '--clients"),
        ("--set rounds=0", "fed.rounds: expected at least 1, found 0"),
        ("--set rounds=1.5", "expected a whole number of at least 0, found floating point `1.5`"),
        ("--set rounds=abc", "expected a whole number of at least 0, found string \"abc\""),
        ("--seeds 0", "--seeds: expected a number of seeds from 1 to"),
        (
            "--seeds some",
            "--seeds: expected a number of seeds from 1 to 10000 or a list such as 0,1,2, found \
             `some`",
        ),
        ("--seeds 4000000000", "found `4000000000`"),
        ("--seeds 1,x", "found `x`"),
        ("--seeds 1,2,1", "seeds: expected every seed once, found 1 twice"),
        ("--seeds ,", "seeds: expected at least one seed, found none"),
        (
            "--set seeds=[-1]",
            "seeds[0] (from --set seeds=[-1]): expected a whole number of at least 0, found \
             integer `-1`",
        ),
        ("--threads 0", "--threads: expected 1 to 1024, found 0"),
        ("--threads 99999999", "--threads: expected 1 to 1024, found 99999999"),
        ("--threads two", "'two' for '--threads"),
        ("--memory 1M", "needs about"),
        ("--memory 0B", "needs about"),
        (
            "--memory 2",
            "--memory: expected a number with a unit, such as 2GiB or 512MiB, found `2`",
        ),
        ("--memory 0", "found `0`"),
        (
            "--memory lots",
            "--memory: expected a number with a unit, such as 2GiB or 512MiB, found `lots`",
        ),
        ("--seeds -1", "found `-1`"),
        (
            "--set split.train=0.9",
            "split: expected three ratios from 0 to 1 that sum to at most 1, found [0.9, 0.4, 0.4]",
        ),
        ("--set split.train=-0.1", "three ratios from 0 to 1"),
        ("--set split.train=0", "no client has a training node"),
        ("--set dropout=1", "model.dropout: expected at least 0 and below 1, found 1"),
        ("--set learning_rate=-1", "optimizer.learning_rate: expected a number above 0, found -1"),
        (
            "--set learning_rate=nan",
            "optimizer.learning_rate: expected a number above 0, found NaN",
        ),
        (
            "--set groups.minority_ratio=2",
            "groups.minority: expected a share above 0 and at most 1, \"smallest:N\"",
        ),
        (
            "--set minority_ratio=0.2",
            "`minority_ratio` is ambiguous: expected one of groups.minority, boost.model",
        ),
        ("--set groups.minority=smallest:0", "found \"smallest:0\""),
        ("--set groups.minority=[]", "found an empty list"),
        ("--set groups.minority=[\"purple\"]", "groups.minority: expected names of classes"),
        (
            "--set split.source=fiel",
            "expected one of auto, file, shares, found `fiel` (did you mean `file`?)",
        ),
        (
            "--set participation=0",
            "fed.participation: expected a number above 0 and at most 1, found 0",
        ),
        (
            "--set hidden=1000000000000",
            "model.hidden: expected at most 1000000, found 1000000000000",
        ),
        (
            "--set hidden=4611686018427387904",
            "model.hidden: expected at most 1000000, found 4611686018427387904",
        ),
        (
            "--set rounds=4611686018427387904",
            "fed.rounds: expected at most 1000000000, found 4611686018427387904",
        ),
        (
            "--set learning_rate=1e300",
            "optimizer.learning_rate: expected a number that single precision can hold",
        ),
        ("--set resolution=0", "partition.resolution: expected a finite number above 0, found 0"),
        ("--set alpha=-3", "partition.alpha: expected a finite number above 0, found -3"),
        (
            "--set attack.kind=nan --set which=[]",
            "attack.which: expected the numbers of the clients that attack, found none",
        ),
        (
            "--set attack.kind=label-flip --set attack.rounds=1",
            "attack.rounds: expected no number of rounds with label-flip",
        ),
        (
            "--set partition.file=p.csv",
            "partition.file: expected a file only with partitioner = \"file\", found p.csv",
        ),
        ("--set layers=99", "model.layers: expected 1 to 8, found 99"),
        ("--set hidden=0", "model.hidden: expected at least 1, found 0"),
        (
            "--set partitioner=file",
            "partition.file: expected the path of a partition.csv, found none",
        ),
    ] {
        place.refused_with(&run(rest), &[wanted]);
    }
    place.refused_with("run --rounds 0", &["fed.rounds: expected at least 1, found 0"]);
}

/// A width of a million is a valid setting, but exceeds the memory of today's machines on this
/// graph. It is refused without `--memory`.
#[test]
fn runs_that_exceed_the_memory_of_the_machine_are_refused() {
    if !std::path::Path::new("/proc/meminfo").exists() {
        eprintln!("skipped: the memory of this system is unknown");
        return;
    }
    let place = Place::new();
    let large = "--set layers=8 --set model.hidden=1000000";
    let keys =
        "model.hidden = 1000000, model.layers = 8, partition.clients = 5: this run needs about";
    for command in ["run --method fedavg --out out", "diagnose demo --out out"] {
        place.refused_with(
            &format!("{command} {large}"),
            &[keys, "which this machine with", "MiB cannot hold"],
        );
    }
    let own = "run --method fedtad --set fedtad.pseudo_nodes=1000000";
    place.refused_with(
        own,
        &["partition.clients = 5 and the keys of methods.fedtad: this run needs about"],
    );
}

#[test]
fn invalid_command_lines_are_refused() {
    let place = Place::new();
    for (arguments, wanted) in [
        ("--bogus", "unexpected argument '--bogus'"),
        ("run --bogus", "unexpected argument '--bogus'"),
        ("rnu", "unrecognized subcommand 'rnu'"),
        ("run --seeds 1 --seeds 2", "cannot be used multiple times"),
        ("run demo cora", "unexpected argument 'cora'"),
        ("data", "a command is missing"),
        ("data import", "--to <FILE.npz|DIR>"),
        ("data generate demo", "--to <FILE.npz>"),
        ("config", "a command is missing"),
        ("completions tcsh", "invalid value 'tcsh'"),
        ("methods nope", "unknown method `nope`"),
        ("methods fedavgg", "did you mean `fedavg`?"),
        // A command where data are expected.
        ("run compare", "help: `compare` is a command: write `boostfgl compare …`."),
        ("diagnose report", "help: `report` is a command: write `boostfgl report …`."),
        ("data show methods", "help: `methods` is a command: write `boostfgl methods …`."),
        ("compare cora serve", "help: `serve` is a command: write `boostfgl serve …`."),
        (
            "run compare cora --rounds 2",
            "help: `compare` is a command: write `boostfgl compare …`.",
        ),
    ] {
        place.refused_with(arguments, &[wanted]);
    }
}

#[test]
fn an_edited_configuration_of_a_finished_run_is_refused() {
    let place = Place::new();
    place.ok(&format!("run {TINY} --method fedavg --out a"));
    let config = place.read("a/config.toml").replace("rounds = 2", "rounds = 3");
    place.write("a/config.toml", &config);
    let wanted = [
        "a/config.toml: expected the content recorded in checksums.txt, found other",
        "copy it to another folder",
    ];
    place.refused_with("run --config a/config.toml --out b", &wanted);
    place.write("c/config.toml", &config);
    place.write("c/checksums.txt", "of something else");
    place.ok("run --config c/config.toml --out b");
    assert_eq!(place.read("b/rounds.jsonl").lines().count(), 3);
}

#[test]
fn errors_in_configuration_files_name_the_line() {
    let place = Place::new();
    for (text, wanted) in [
        (
            "[fed]\nrounds = 3\nround = 4\n",
            "c.toml, line 3: unknown key `fed.round` (did you mean `fed.rounds`?)",
        ),
        (
            "# one\n\nmethodd = \"x\"\n",
            "c.toml, line 3: unknown key `methodd` (did you mean `method`?)",
        ),
        ("# one\n\nmethods = \"x\"\n", "c.toml, line 3: expected a table, found a value"),
        ("# one\n\nmethods = \"x\"\n", "(or did you mean `method`?)"),
        (
            "[fed]\n\nrounds = \"many\"\n",
            "fed.rounds (from c.toml, line 3): expected a whole number of at least 0, found \
             string \"many\"",
        ),
        ("[fed]\nrounds = 0\n", "fed.rounds (from c.toml, line 2): expected at least 1, found 0"),
        ("seeds = 3\n", "seeds (from c.toml, line 1): expected a list"),
        ("seeds = [1, \"x\"]\n", "seeds[1] (from c.toml, line 1): expected a whole number"),
        ("fed = 3\n", "c.toml, line 1: expected a table, found a value"),
        ("[nothing]\n", "c.toml, line 1: unknown table `nothing`"),
        ("# one\n[fde]\n", "c.toml, line 2: unknown table `fde` (did you mean `fed`?)"),
        ("[dataset]\n", "c.toml, line 1: expected a value for `dataset`, found a table"),
        ("method = \"fedavg\"\n[fed\n", "c.toml, line 2: "),
        ("method = \"fedavg\"\nmethod = \"central\"\n", "c.toml, line 2: "),
        ("method = \"fedavgg\"\n", "did you mean `fedavg`?"),
        ("dataset = \"coar\"\n", "did you mean `cora`?"),
    ] {
        place.write("c.toml", text);
        place.refused_with("run --config c.toml --out out", &[wanted]);
        place.refused_with("config check c.toml", &[wanted]);
    }
    place.write("c.toml", b"\xff\xfe");
    place.refused_with("run --config c.toml", &["c.toml"]);
}

#[test]
fn errors_in_tables_name_file_line_and_column() {
    let place = Place::new();
    let good = ("id,label,f\na,x,1\nb,y,2\n", "src,dst\na,b\n");
    for (nodes, edges, wanted) in [
        (
            "id,label,f\na,x,1\nb,y\n",
            good.1,
            "nodes.csv, line 3, column 3: expected 3 fields, as in the header, found 2",
        ),
        (
            "id,label,f\na,x,NaN\nb,y,1\n",
            good.1,
            "nodes.csv, line 2, column 3: expected a finite number for `f`, found `NaN`",
        ),
        ("id,label,f\na,x,one\n", good.1, "expected a finite number for `f`, found `one`"),
        (
            "id,f\na,1\nb,2\n",
            good.1,
            "nodes.csv, line 1, column 1: expected a header with a column `label`, found `id,f`",
        ),
        ("id,label\na,x\nb,y\n", good.1, "expected at least one feature column, found none"),
        ("id,label,f\n", good.1, "  line 2, column 1: expected an id from nodes.csv, found `a`"),
        ("", good.1, "nodes.csv, line 1"),
        (
            "id,label,f\na,x,1\na,y,2\n",
            good.1,
            "nodes.csv, line 3, column 1: expected every id once, found `a` again",
        ),
        (
            good.0,
            "src,dst\na,zoe\n",
            "edges.csv, line 2, column 2: expected an id from nodes.csv, found `zoe`",
        ),
        (
            good.0,
            "src,dst,weight\na,b,-1\n",
            "edges.csv, line 2, column 3: expected a number above 0, found `-1`",
        ),
        (
            good.0,
            "from,to\na,b\n",
            "edges.csv, line 1, column 1: expected a header with a column `src`",
        ),
        ("id,label,f\na,,1\nb,,2\n", good.1, "bad: expected nodes with labels, found none"),
        (good.0, good.1, "no client has a training node"),
    ] {
        place.write("bad/nodes.csv", nodes);
        place.write("bad/edges.csv", edges);
        place.refused_with(&run("bad --clients 1"), &[wanted]);
    }
    place.write("other/readme.txt", "nothing here");
    place.refused_with(
        &run("other"),
        &["other: found a folder with the files readme.txt;", "boostfgl data formats"],
    );
    place.refused_with("data check other", &["other: found a folder with the files readme.txt;"]);
    place.write("half/nodes.csv", good.0);
    place.refused_with(
        &run("half"),
        &["half: found a folder with the files nodes.csv;", "csv, which also needs edges.csv"],
    );
    place.refused_with(
        &run("half/nodes.csv"),
        &["half/nodes.csv: found one file", "expected the folder that holds it"],
    );
    place.write("text.txt", "nothing");
    place.refused_with(&run("text.txt"), &["text.txt: found a file that is no npz; expected"]);
}

/// All problems of a file can be corrected at once, with line numbers as in an editor.
#[test]
fn all_problems_of_a_table_are_listed_with_their_lines() {
    let place = Place::new();
    write_own_data(&place, "mine");
    for end in ["\n", "\r\n"] {
        let rows: String = (0..30).map(|at| format!("n{at},0,x{at}\n")).collect();
        place.write("bad/nodes.csv", format!("id,label,f\n{rows}").replace('\n', end));
        place.write("bad/edges.csv", "src,dst\n");
        let output = place.refused("data check bad");
        let lines: Vec<&str> = output.lines().collect();
        assert_eq!(lines[0], "error: bad/nodes.csv: 30 problems", "{output}");
        assert!(
            lines[1]
                .starts_with("  line 2, column 3: expected a finite number for `f`, found `x0`"),
            "{output}"
        );
        assert!(lines[20].starts_with("  line 21, column 3: "), "{output}");
        assert_eq!((lines[21], lines.len()), ("  and 10 more", 23), "{output}");

        place.write("bad/nodes.csv", "id,label,f\na,x,1\nb,y,2\n".replace('\n', end));
        place.write("bad/edges.csv", "src,dst\na,b\na,q\n\np,b\n".replace('\n', end));
        let wanted =
            ["bad/edges.csv: 2 problems", "\n  line 3, column 2: ", "\n  line 5, column 1: "];
        place.refused_with("data check bad", &wanted);

        place.write("part.csv", "node,client\nn-0,0\nn-1,x\nn-x,0\n".replace('\n', end));
        let wanted = ["part.csv: 2 problems", "\n  line 3, column 2: ", "\n  line 4, column 1: "];
        place.refused_with(&run("mine --partition part.csv"), &wanted);
    }
}

#[test]
fn damaged_archives_are_refused() {
    let place = Place::new();
    write_own_data(&place, "mine");
    place.ok("data import mine --to good.npz");
    let good = place.bytes("good.npz");
    for cut in [0, 1, 30, good.len() / 3, good.len() / 2, good.len() - 1] {
        place.write("cut.npz", &good[..cut]);
        place.refused_with(&run("cut.npz"), &["cut.npz: expected", "found"]);
    }
    place.write("cut.npz", "not an archive at all");
    place.refused_with("data check cut.npz", &["cut.npz: expected"]);
    // A flipped bit is either refused or harmless; it never causes a panic.
    for at in (40..good.len()).step_by(good.len() / 12) {
        let mut bad = good.clone();
        bad[at] ^= 0x10;
        place.write("cut.npz", &bad);
        let done = place.run("data check cut.npz");
        assert!(
            matches!(done.code, Some(0 | 2)) && !done.stderr.contains("panicked"),
            "byte {at}: {done:?}"
        );
    }
}

#[test]
fn catalogued_files_with_a_wrong_checksum_are_refused() {
    let place = Place::new();
    place.write("data/cora.npz", "not what was published");
    for arguments in [run("cora"), "data check cora".to_owned(), "data show cora".to_owned()] {
        place.refused_with(
            &arguments,
            &["cora.npz: expected SHA-256 57247a80", "found ", "fetch the dataset again"],
        );
    }
    if let Some(data) = crate::common::real_data("cora.npz") {
        let mut bytes = std::fs::read(data.join("cora.npz")).unwrap();
        let middle = bytes.len() / 2;
        bytes[middle] ^= 1;
        place.write("data/cora.npz", bytes);
        place.refused_with(&run("cora"), &["cora.npz: expected SHA-256 57247a80"]);
    }
}

#[test]
fn errors_in_partition_files_are_named() {
    let place = Place::new();
    write_own_data(&place, "mine");
    place.ok("partition mine --clients 3 --seeds 1 --out good.csv");
    let good = place.read("good.csv");
    let lines: Vec<&str> = good.lines().collect();
    let client = |at: usize| lines[at].split(',').nth(2).unwrap();
    let without = |skip: usize| {
        lines
            .iter()
            .enumerate()
            .filter(|(at, _)| *at != skip)
            .map(|(_, l)| format!("{l}\n"))
            .collect()
    };
    let cases: [(String, &str); 8] = [
        (good.replace("n-5,", "n-500,"), "column 2: expected a node of mine, found `n-500`"),
        (
            without(6),
            "expected a row for each of 60 nodes, found none for 1 of them, the first being `n-5`",
        ),
        (
            good.replace(",2,", ",3,"),
            "column client: expected clients 0 to 3 without gaps, found no node in client 2",
        ),
        (good.replace(",2,", ",x,"), "expected a client number from 0 to 59 at most, found `x`"),
        (format!("{good}{}\n", lines[1]), "expected every node once for seed 0, found `n-0`"),
        (good.replace("client", "owner"), "line 1: expected a column `client`"),
        (good.replace("train", "tarin"), "expected train, val, test or none, found `tarin`"),
        (good.replace("train", "test"), "no client has a training node"),
    ];
    assert!(lines.iter().skip(1).any(|line| line.contains(",2,")), "client {}", client(1));
    for (text, wanted) in cases {
        place.write("part.csv", text);
        place.refused_with(&run("mine --partition part.csv"), &[wanted]);
        // With --overwrite, an invalid run must not delete an earlier one.
        place.write("out/rounds.jsonl", "");
        place.write("out/summary.json", "{}");
        place.refused_with(&run("mine --partition part.csv --overwrite"), &[wanted]);
        std::fs::remove_dir_all(place.path("out")).unwrap();
    }
}

#[test]
fn folders_that_cannot_be_created_are_refused() {
    let place = Place::new();
    place.write("file", "in the way");
    let one = format!("run {TINY} --method fedavg");
    place.refused_with(&format!("{one} --out file"), &["file: expected a folder", "--out"]);
    place.refused_with(
        &format!("{one} --out file/inside"),
        &["file/inside: expected a folder", "--out"],
    );
    place.refused_with(&format!("run {TINY} --out file"), &["file/fedavg: expected a folder"]);
    place.write("runs", "in the way");
    place.refused_with(&one, &["runs"]);
}
