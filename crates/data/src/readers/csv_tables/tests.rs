//! Tables that are read, and every defect that is named.

use super::*;
use crate::readers::testing::Folder;
use boostfgl_graph::{Features, Missing};
use proptest::prelude::*;

const NODES: &str = "id,label,a,split,b\nx,10,1,train,2\n\"y, z\",9,3,test,4\nw,,5,val,6\n";
const EDGES: &str = "src,dst,weight\nx,\"y, z\",2\n\"y, z\",x,1\nw,x,0.5\n";

fn parse(nodes: &[u8], edges: &[u8], directed: bool) -> Result<Graph> {
    let folder = Folder::new();
    folder.write(NODE_FILE, nodes);
    folder.write(EDGE_FILE, edges);
    read_with(&folder.path(""), CsvOptions { directed })
}

#[test]
fn tables_become_a_graph() {
    let graph = parse(NODES.as_bytes(), EDGES.as_bytes(), false).unwrap();
    assert_eq!((graph.len(), graph.adjacency().edges(), graph.id(1).as_str()), (3, 2, "y, z"));
    assert_eq!(graph.adjacency().weights().unwrap()[graph.adjacency().arc_range(0)], [3.0, 0.5]);
    assert_eq!(graph.labels().names(), ["9", "10"]);
    assert_eq!(graph.labels().iter().collect::<Vec<_>>(), [Some(1), Some(0), None]);
    assert_eq!(graph.split().unwrap().roles(), [Role::Train, Role::Test, Role::None]);
    let Features::Dense { values, .. } = graph.features() else { panic!("no zeros") };
    assert_eq!(values[..], [1.0, 2.0, 3.0, 4.0, 5.0, 6.0]);
    assert_eq!(parse(NODES.as_bytes(), EDGES.as_bytes(), true).unwrap().adjacency().edges(), 3);
}

/// Comparing every name with every other would take minutes: 60,000² are 3,600 million
/// comparisons.
#[test]
fn many_groupings_take_time_in_proportion() {
    let count = 60_000;
    let titles: String = (0..count).map(|k| format!(",group:g{k}")).collect();
    let nodes = format!("id,label,a{titles}\nx,0,1{}\n", ",".repeat(count));
    let begun = std::time::Instant::now();
    let graph = parse(nodes.as_bytes(), b"src,dst\n", false).unwrap();
    assert_eq!(graph.group_columns().len(), count);
    assert!(begun.elapsed().as_secs() < 8, "took {:?}", begun.elapsed());
}

#[test]
fn other_programs_tables_are_understood() {
    let nodes = "\u{feff}id, label, f0,f1,f2,f3,f4\r\n1, b ,0,0,0,0,0\r\n2,a,0,0,7,0,0\r\n";
    let graph = parse(nodes.as_bytes(), b"dst,src\r\n2,1\r\n", true).unwrap();
    assert_eq!(graph.labels().names(), ["a", "b"]);
    assert_eq!(graph.adjacency().neighbours(1), [0]);
    assert!(matches!(graph.features(), Features::Sparse(_)));
    assert!(graph.split().is_none());
}

#[test]
fn group_columns_are_no_features() {
    let nodes = "id,group:age,label,a,group: sex \nx,10,0,1,f\ny,9,1,2,\nz,,0,3,m\n";
    let graph = parse(nodes.as_bytes(), b"src,dst\nx,y\n", false).unwrap();
    let columns = [
        GroupColumn::from_texts("age", &["10", "9", ""]),
        GroupColumn::from_texts("sex", &["f", "", "m"]),
    ];
    assert_eq!(graph.group_columns(), columns);
    assert_eq!(graph.group_columns()[0].values, ["9", "10"]);
    let plain = parse(b"id,label,a\nx,0,1\ny,1,2\nz,0,3\n", b"src,dst\nx,y\n", false).unwrap();
    assert_eq!(graph.features(), plain.features());
    assert_eq!(
        graph.clone().renamed("r").scaled(boostfgl_graph::Scaling::Binary).group_columns(),
        columns
    );
    assert!(graph.induced(&[0, 1]).group_columns().is_empty());
}

#[test]
fn errors_name_file_line_and_column() {
    let nodes = |text: &str| parse(text.as_bytes(), b"src,dst\n", false).unwrap_err().to_string();
    let edges =
        |text: &str| parse(NODES.as_bytes(), text.as_bytes(), false).unwrap_err().to_string();
    for (message, wanted) in [
        (
            nodes("id,label,a\nx,0,1\ny,0,1\nx,0,1\n"),
            "nodes.csv, line 4, column 1: expected every id once, found `x` again, first on \
             line 2",
        ),
        (
            nodes("id,label,a\nx,0,one\n"),
            "nodes.csv, line 2, column 3: expected a finite number for `a`, found `one`",
        ),
        (
            nodes("id,label,a\nx,0,NaN\n"),
            "line 2, column 3: expected a finite number for `a`, found `NaN`",
        ),
        (
            nodes("id,label,a\nx,0,1\ny,0\n"),
            "line 3, column 3: expected 3 fields, as in the header, found 2",
        ),
        (nodes("id,label,a\n,0,1\n"), "line 2, column 1: expected an id"),
        (
            nodes("id,label,a,split\nx,0,1,tain\n"),
            "line 2, column 4: expected train, val, test, none or nothing, found `tain`",
        ),
        (nodes("x,0,1\n"), "line 1, column 1: expected a header with a column `id`, found `x,0,1`"),
        (nodes("id,label\nx,0\n"), "expected at least one feature column"),
        (nodes("id,label,a,a\n"), "line 1, column 4: expected every column name once"),
        (nodes("id,label,group:a\nx,0,1\n"), "expected at least one feature column"),
        (
            nodes("id,label,town\nx,0,Ulm\n"),
            "found `Ulm` (a column of names is a grouping if it is called `group:town`)",
        ),
        (
            nodes("id,label,a,group:\n"),
            "line 1, column 4: expected a name after `group:`, found `group:`",
        ),
        (nodes("id,label,a,group:b*c\n"), "line 1, column 4: expected a name without `*`"),
        (
            nodes("id,label,a,group:b,group: b\n"),
            "line 1, column 5: expected every name of a grouping once, found `b` again, first \
             in column 4",
        ),
        (nodes("id,label,a\n"), "expected at least one node"),
        (nodes(""), "line 1, column 1: expected a header"),
        (
            edges("src,dst\nx,w\nx,q\n"),
            "edges.csv, line 3, column 2: expected an id from nodes.csv, found `q`",
        ),
        (
            edges("src,dst,weight\nx,w,-1\n"),
            "edges.csv, line 2, column 3: expected a number above 0, found `-1`",
        ),
        (
            edges("src,dst,colour\n"),
            "edges.csv, line 1, column 3: expected the columns src, dst and weight only",
        ),
        (edges("source,dst\n"), "expected a header with a column `src`"),
    ] {
        assert!(message.contains(wanted), "{message}\n{wanted}");
    }
    let bytes = parse(b"id,label,a\nx,\xff,1\n", b"src,dst\n", false).unwrap_err().to_string();
    assert!(bytes.contains("nodes.csv, line 2, column 2: expected UTF-8 text"), "{bytes}");
}

#[test]
fn lines_are_numbered_as_in_an_editor_for_all_line_endings() {
    let nodes = "id,label,a\nx,0,1\n\ny,0,one\nx,1,2\n";
    for end in ["\n", "\r\n"] {
        let message = parse(nodes.replace('\n', end).as_bytes(), b"src,dst\n", false)
            .unwrap_err()
            .to_string();
        assert!(
            message.contains("\n  line 4, column 3: expected a finite number for `a`, found `one`"),
            "{message}"
        );
        assert!(message.ends_with(
            "\n  line 5, column 1: expected every id once, found `x` again, first on line 2"
        ));
        let edges = "src,dst\nx,w\nx,q\n".replace('\n', end);
        let message = parse(NODES.as_bytes(), edges.as_bytes(), false).unwrap_err().to_string();
        assert!(message.contains("edges.csv, line 3, column 2"), "{message}");
        let message =
            parse(format!("id,label,a{end}x,0,1{end}y,0{end}").as_bytes(), b"src,dst\n", false);
        assert!(message.unwrap_err().to_string().contains("nodes.csv, line 3, column 3"));
    }
}

#[test]
fn all_problems_of_a_table_are_reported_at_once() {
    let rows: String = (0..30).map(|at| format!("n{at},0,x{at}\n")).collect();
    let message = parse(format!("id,label,a\n{rows},0,1\n").as_bytes(), b"src,dst\n", false)
        .unwrap_err()
        .to_string();
    let lines: Vec<&str> = message.lines().collect();
    assert!(lines[0].ends_with("nodes.csv: 31 problems") && lines.len() == 22, "{message}");
    assert!(
        lines[1].starts_with("  line 2, column 3: ") && lines[20].starts_with("  line 21, "),
        "{message}"
    );
    assert_eq!(lines[21], "  and 11 more");
    let edges = b"src,dst,weight\nx,q,1\np,x,-1\nx,w\n\xff,w,1\nx,w,1\n";
    let message = parse(NODES.as_bytes(), edges, false).unwrap_err().to_string();
    let places = [
        "line 2, column 2: ",
        "line 3, column 1: ",
        "line 3, column 3: ",
        "line 4, column 3: ",
        "line 5, ",
    ];
    assert!(message.contains("edges.csv: 5 problems"), "{message}");
    for (line, place) in message.lines().skip(1).zip(places) {
        assert!(line.trim_start().starts_with(place), "{message}");
    }
}

proptest! {
    #[test]
    fn damage_never_panics(cut in 0usize..120, at in 0usize..120, bit in 0u8..8, in_nodes: bool) {
        let (mut nodes, mut edges) = (NODES.as_bytes().to_vec(), EDGES.as_bytes().to_vec());
        let table = if in_nodes { &mut nodes } else { &mut edges };
        let length = table.len();
        table[at % length] ^= 1 << bit;
        table.truncate(cut.max(1));
        let _ = parse(&nodes, &edges, false);
    }
}

/// A folder with a `columns.toml`.
fn prepared(nodes: &str, columns: &str) -> Result<Graph> {
    let folder = Folder::new();
    folder.write(NODE_FILE, nodes.as_bytes());
    folder.write(EDGE_FILE, b"src,dst\n");
    folder.write(Columns::FILE, columns.as_bytes());
    read(&folder.path(""))
}

#[test]
fn columns_become_features_as_columns_toml_says() {
    let columns = "[nodes.since]\nkind = \"date\"\nstandardise = true\n\
        [nodes.on]\nkind = \"boolean\"\nmissing = \"indicator\"\n\
        [nodes.town]\nkind = \"category\"\nlevels = [\"Ulm\", \"Bern\"]\nrest = \"other\"\n\
        missing = \"indicator\"\n\
        [nodes.kind]\nkind = \"category\"\nlevels = [\"x\"]\nmissing = \"mean\"\n\
        [nodes.note]\nkind = \"hashed\"\nbuckets = 2\n\
        [nodes.y]\nrole = \"label\"\nlevels = [\"ok\", \"bad\", \"worse\"]\n";
    let nodes = "id,label,since,on,town,kind,note\n\
        a,bad,1970-01-02,yes,Bern,x,\nb,,,,Rom,,hello\nc,ok,1970-01-01,no,,y,hello\n";
    let graph = prepared(nodes, columns).unwrap();
    assert_eq!(
        graph.feature_names(),
        [
            "since",
            "on",
            "town=Ulm",
            "town=Bern",
            "town=(other)",
            "town=(missing)",
            "kind=x",
            "note#0",
            "note#1"
        ]
    );
    // The bucket of `hello` by its 64-bit FNV-1a, 0xa430d84680aabd0b.
    let Features::Dense { values, .. } = graph.features().clone().stored(false) else { panic!() };
    let rows: Vec<&[f32]> = values.chunks(9).collect();
    assert_eq!(rows[0], [1.0, 1.0, 0.0, 1.0, 0.0, 0.0, 1.0, 0.0, 0.0]);
    assert_eq!(rows[1], [0.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0]);
    assert_eq!(rows[2], [0.0, 0.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 1.0]);
    let preparation = graph.preparation().unwrap();
    assert_eq!(preparation.missing(), [(1, 0), (1, 1), (1, 6)]);
    let of = |column: usize| preparation.columns()[column];
    assert_eq!((of(0).missing, of(0).standardise), (Missing::Mean, true));
    assert_eq!((of(1).missing, of(1).standardise), (Missing::Indicator, false));
    assert_eq!((of(2).missing, of(5).missing), (Missing::Zero, Missing::Zero));
    // Classes are those of the file, also the one without a node.
    assert_eq!(graph.labels().names(), ["ok", "bad", "worse"]);
    assert_eq!(graph.labels().iter().collect::<Vec<_>>(), [Some(1), None, Some(0)]);
}

#[test]
fn tables_that_columns_toml_does_not_fit_are_refused() {
    let reason = |nodes: &str, columns: &str| prepared(nodes, columns).unwrap_err().to_string();
    let number = "[nodes.age]\nkind = \"number\"\n";
    let message = reason("id,label,aeg\na,x,1\n", number);
    assert!(message.contains("line 1, column 3: expected a column of columns.toml, found `aeg` "));
    let message = reason("id,label,age,b\na,x,1,2\n", number);
    assert!(message.contains("line 1, column 4: expected a column of columns.toml, found `b`"));
    let two = format!("{number}[nodes.size]\n");
    let message = reason("id,label,age\na,x,1\n", &two);
    assert!(message.contains("expected the column `size` of columns.toml"), "{message}");
    let message = reason("id,label,age\na,x,old\nb,x,\nc,x,1\n", number);
    assert!(message.contains("line 2, column 3: expected a finite number for `age`, found `old`"));
    let dates = "[nodes.age]\nkind = \"date\"\n";
    let message = reason("id,label,age\na,x,1.1.2024\n", dates);
    assert!(message.contains("expected a date (year-month-day) for `age`"), "{message}");
    let classes = format!("{number}[nodes.y]\nrole = \"label\"\nlevels = [\"ok\"]\n");
    let message = reason("id,label,age\na,x,1\n", &classes);
    assert!(message.contains("line 2, column 2: expected a class of columns.toml, found `x`"));
    assert!(reason("id,label,age\na,x,1\n", "[node]\n").contains("did you mean `nodes`?"));
}

#[test]
fn sparse_and_dense_rows_hold_the_same_numbers() {
    let levels: Vec<String> = (0..20).map(|level| format!("\"l{level}\"")).collect();
    let category = format!("[nodes.t]\nkind = \"category\"\nlevels = [{}]\n", levels.join(", "));
    let graph = prepared("id,label,t\na,x,l3\nb,x,\n", &category).unwrap();
    assert!(matches!(graph.features(), Features::Sparse(_)));
    assert_eq!((graph.features().get(0, 3), graph.features().non_zeros()), (1.0, 1));
    let graph =
        prepared("id,label,t\na,x,l0\n", "[nodes.t]\nkind = \"category\"\nlevels = [\"l0\"]\n");
    assert!(matches!(graph.unwrap().features(), Features::Dense { .. }));
}
