//! `boostfgl data import`.

use super::data::write;
use crate::output::{self, thousands};
use anyhow::Result;
use boostfgl::Error;
use boostfgl::datasets::columns::{Columns, Rest, Role};
use boostfgl::datasets::intake::{
    ColumnReport, Encoding, Limits, Plan, Reading, Request, RoleFlags, plan,
};
use boostfgl::datasets::readers::{self, Format, csv_tables};
use boostfgl::graph::{Graph, Missing};
use clap::{Args, ValueEnum};
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

/// Convert a graph in any known format to one file, or exported tables to a folder, that every
/// command accepts
///
/// With --nodes and --edges, delimiter, encoding and the kind of every column are found, and --to
/// is a folder. --dry-run shows what each column becomes and writes nothing.
#[derive(Debug, Args)]
#[command(after_long_help = examples())]
pub(super) struct Import {
    /// A file or folder in a known format
    #[arg(required_unless_present = "nodes", conflicts_with = "nodes")]
    source: Option<PathBuf>,

    /// File to write, or with --nodes the folder
    #[arg(long, value_name = "FILE.npz|DIR", required_unless_present = "dry_run")]
    to: Option<PathBuf>,

    /// The format, if it cannot be detected
    #[arg(long, conflicts_with = "nodes")]
    format: Option<String>,

    /// Edges are directed (csv only)
    #[arg(long, conflicts_with = "nodes")]
    directed: bool,

    /// Replace an existing file, or the folder of an earlier import
    #[arg(long)]
    overwrite: bool,

    #[command(flatten)]
    tables: TableFlags,

    #[command(flatten)]
    roles: RoleArguments,

    #[command(flatten)]
    limits: LimitFlags,
}

/// The tables to import, and how they are read.
#[derive(Debug, Args)]
#[command(next_help_heading = "Exported tables")]
struct TableFlags {
    /// Tables with one row per node, as another program exported them; .gz too
    #[arg(long, value_name = "FILE", num_args = 1..)]
    nodes: Vec<PathBuf>,

    /// Tables with one row per edge [default: none, every node is isolated]
    #[arg(long, value_name = "FILE", num_args = 1.., requires = "nodes")]
    edges: Vec<PathBuf>,

    /// What columns are, such as the columns.toml of an earlier import: the same for all banks
    /// makes their folders agree
    #[arg(long, value_name = "FILE", requires = "nodes")]
    columns: Option<PathBuf>,

    /// Show what each column becomes and write nothing
    #[arg(long, requires = "nodes")]
    dry_run: bool,

    /// Print what each column becomes as one JSON document
    #[arg(long, requires = "nodes")]
    json: bool,

    /// The delimiter, if it is found wrongly: one character, or `tab`
    #[arg(long, value_name = "CHARACTER", requires = "nodes")]
    delimiter: Option<String>,

    /// The encoding, if it is found wrongly: utf-8, utf-16le, utf-16be, windows-1252
    #[arg(long, value_name = "NAME", requires = "nodes")]
    encoding: Option<String>,

    /// Edges that name a node which is in no table of nodes
    #[arg(long, value_name = "WHAT", requires = "nodes", default_value = "refuse")]
    unknown_nodes: UnknownNodes,

    /// Ids and labels that differ only by spaces or case are different [default: an error]
    #[arg(long, requires = "nodes")]
    exact_names: bool,

    /// The nodes have no labels: they are to be predicted
    #[arg(long, requires = "nodes")]
    unlabelled: bool,
}

/// What becomes of edges with the name of a node that does not exist.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum UnknownNodes {
    Refuse,
    Drop,
}

/// The columns with a role of their own.
#[derive(Debug, Args)]
#[command(next_help_heading = "Roles of columns (without them, columns.toml and names decide)")]
struct RoleArguments {
    /// The column with the name of the node
    #[arg(long, value_name = "COLUMN", requires = "nodes")]
    id: Option<String>,

    /// The column with its class
    #[arg(long, value_name = "COLUMN", requires = "nodes")]
    label: Option<String>,

    /// The column with train, val, test or none
    #[arg(long, value_name = "COLUMN", requires = "nodes")]
    split: Option<String>,

    /// Columns that group nodes for evaluation, such as protected attributes; never trained on
    #[arg(long, value_name = "COLUMN,…", requires = "nodes", value_delimiter = ',')]
    group: Vec<String>,

    /// Columns to leave out
    #[arg(long, value_name = "COLUMN,…", requires = "nodes", value_delimiter = ',')]
    drop: Vec<String>,

    /// The column where an edge begins
    #[arg(long, value_name = "COLUMN", requires = "nodes")]
    src: Option<String>,

    /// The column where it ends
    #[arg(long, value_name = "COLUMN", requires = "nodes")]
    dst: Option<String>,

    /// The column with its weight
    #[arg(long, value_name = "COLUMN", requires = "nodes")]
    weight: Option<String>,
}

/// What columns become if columns.toml does not say.
#[derive(Debug, Args)]
#[command(next_help_heading = "Features")]
struct LimitFlags {
    /// The most values of a category with a feature of their own
    #[arg(long, value_name = "N", requires = "nodes", default_value_t = 32)]
    max_levels: usize,

    /// What becomes of the other values: other (one feature), hashed or zeros
    #[arg(long, value_name = "WHAT", requires = "nodes", default_value = "other")]
    rest: String,

    /// The number of features that hashed values share
    #[arg(long, value_name = "N", requires = "nodes", default_value_t = 32,
        value_parser = clap::value_parser!(u32).range(1..=4096))]
    hash_buckets: u32,

    /// What stands in for missing numbers and dates: mean, zero, or indicator (a further feature)
    #[arg(long, value_name = "WHAT", requires = "nodes", default_value = "mean")]
    missing: String,

    /// Numbers and dates are not standardised
    #[arg(long, requires = "nodes")]
    no_standardise: bool,
}

/// Examples, and the formats from the table of readers.
fn examples() -> String {
    let formats: String = Format::all()
        .map(|format| format!("  {:<15} {}\n", format.name(), format.description()))
        .collect();
    format!(
        "Examples:\n  \
         boostfgl data import --nodes accounts.csv --edges transfers.csv --to bank --dry-run\n  \
         boostfgl data import --nodes a.csv --edges t.csv --to bank --id account --label fraud\n  \
         boostfgl data import --nodes b.csv --edges u.csv --to other --columns bank/columns.toml\n\n\
         Formats:\n{formats}\n`boostfgl data formats` lists what each of them needs."
    )
}

impl Import {
    pub(super) fn execute(&self) -> Result<()> {
        if self.tables.nodes.is_empty() {
            return self.convert();
        }
        if let Some(to) = &self.to {
            check_folder(to, self.overwrite)?;
        }
        let plan = plan(&self.request()?).map_err(Error::from)?;
        if let (Some(to), false) = (&self.to, self.tables.dry_run) {
            plan.write(to, self.overwrite).map_err(Error::from)?;
        }
        if self.tables.json {
            let document = serde_json::json!({
                "nodes": plan.nodes(),
                "edges": plan.edges(),
                "columns": plan.columns,
                "notes": plan.notes,
            });
            return output::print(&format!("{}\n", serde_json::to_string_pretty(&document)?));
        }
        output::print(&self.described(&plan))
    }

    /// Converts a file or folder in a known format to one npz.
    fn convert(&self) -> Result<()> {
        let (Some(source), Some(to)) = (&self.source, &self.to) else { return Ok(()) };
        output::check_new_file(to, self.overwrite)?;
        let graph = import(source, self.format.as_deref(), self.directed)?;
        write(&graph.renamed(stem(source)), to)
    }

    fn request(&self) -> Result<Request> {
        let columns = match &self.tables.columns {
            Some(path) => Columns::read(path).map_err(Error::from)?,
            None => Columns::default(),
        };
        let encoding = self.tables.encoding.as_deref().map(Encoding::named).transpose();
        let delimiter = self.tables.delimiter.as_deref().map(delimiter).transpose()?;
        let limits = Limits {
            max_levels: self.limits.max_levels,
            rest: Rest::named(&self.limits.rest).map_err(Error::from)?,
            hash_buckets: self.limits.hash_buckets,
            missing: Missing::from_name(&self.limits.missing).map_err(Error::from)?,
            standardise: !self.limits.no_standardise,
        };
        Ok(Request {
            nodes: self.tables.nodes.clone(),
            edges: self.tables.edges.clone(),
            columns,
            roles: self.roles.flags(),
            reading: Reading { delimiter, encoding: encoding.map_err(Error::from)? },
            limits,
            drop_unknown_nodes: self.tables.unknown_nodes == UnknownNodes::Drop,
            exact_names: self.tables.exact_names,
            unlabelled: self.tables.unlabelled,
        })
    }

    /// What each column becomes, and where the folder is.
    fn described(&self, plan: &Plan) -> String {
        let mut text = table(&plan.columns);
        text.push('\n');
        for note in &plan.notes {
            let _ = writeln!(text, "note: {note}");
        }
        let [nodes, edges] = [plan.nodes(), plan.edges()].map(thousands);
        let features: usize = plan.columns.iter().map(|column| column.features).sum();
        let counts = format!("{nodes} nodes, {edges} edges, {} features", thousands(features));
        let _ = match &self.to {
            Some(to) if !self.tables.dry_run => {
                let to = to.display();
                writeln!(text, "{to}: {counts}; use it as `boostfgl run {to}`")
            }
            _ => writeln!(text, "{counts}; nothing written"),
        };
        text
    }
}

impl RoleArguments {
    fn flags(&self) -> RoleFlags {
        let single = [
            (Role::Id, &self.id),
            (Role::Label, &self.label),
            (Role::Split, &self.split),
            (Role::Src, &self.src),
            (Role::Dst, &self.dst),
            (Role::Weight, &self.weight),
        ];
        let single = single.into_iter().filter_map(|(role, name)| Some((role, name.clone()?)));
        let groups = self.group.iter().map(|name| (Role::Group, name.clone()));
        let dropped = self.drop.iter().map(|name| (Role::Drop, name.clone()));
        RoleFlags { given: single.chain(groups).chain(dropped).collect() }
    }
}

/// One character that separates fields.
fn delimiter(text: &str) -> Result<u8> {
    match text.as_bytes() {
        b"tab" | b"\\t" => Ok(b'\t'),
        [byte] if byte.is_ascii() && !b"\"\r\n".contains(byte) => Ok(*byte),
        _ => {
            let reason = format!("expected one ASCII character or `tab`, found `{text}`");
            Err(Error::usage("--delimiter", reason, "For example --delimiter ';'.").into())
        }
    }
}

/// Refuses a folder that may not be replaced, before the tables are read.
fn check_folder(to: &Path, overwrite: bool) -> Result<()> {
    let is_empty = to.read_dir().is_ok_and(|mut entries| entries.next().is_none());
    let is_import = to.join(Columns::FILE).is_file() && to.join(csv_tables::NODE_FILE).is_file();
    let parent = to.parent().filter(|parent| !parent.as_os_str().is_empty());
    let (reason, advice) = if to.is_file() || to.extension().is_some_and(|ending| ending == "npz") {
        ("expected the name of a folder for the tables, found that of a file", "Name a folder.")
    } else if to.exists() && !is_empty && !(overwrite && is_import) {
        let advice = "Choose another name, or pass --overwrite to replace an earlier import.";
        ("expected a new or an empty folder, found an existing one", advice)
    } else if parent.is_some_and(|parent| !parent.is_dir()) {
        let reason = "expected a folder in an existing folder, found no such folder";
        (reason, "Create the folder around it first.")
    } else {
        return Ok(());
    };
    Err(Error::usage(to.display().to_string(), reason, advice).into())
}

/// What each column becomes, as a table of text.
fn table(columns: &[ColumnReport]) -> String {
    let mut rows = vec![["column", "becomes", "distinct", "missing", "example"].map(str::to_owned)];
    rows.extend(columns.iter().map(|column| {
        [
            shortened(&format!("{}.{}", column.table, column.name), 32),
            column.became.clone(),
            thousands(column.distinct),
            thousands(column.missing),
            shortened(&column.example, 24),
        ]
    }));
    let width = |at: usize| rows.iter().map(|row| row[at].chars().count()).max().unwrap_or(0);
    let widths: [usize; 5] = std::array::from_fn(width);
    let mut text = String::new();
    for [name, became, distinct, missing, example] in &rows {
        let line = format!(
            "{name:<0$}  {became:<1$}  {distinct:>2$}  {missing:>3$}  {example}",
            widths[0], widths[1], widths[2], widths[3]
        );
        let _ = writeln!(text, "{}", line.trim_end());
    }
    text
}

/// A text of at most so many characters, in one line.
fn shortened(text: &str, most: usize) -> String {
    let line = text.replace(['\n', '\r', '\t'], " ");
    match line.char_indices().nth(most) {
        Some((end, _)) => format!("{}…", &line[..end]),
        None => line,
    }
}

fn import(source: &Path, format: Option<&str>, directed: bool) -> Result<Graph> {
    let format = match format {
        Some(name) => Format::from_name(name).map_err(Error::from)?,
        None => readers::detect(source).map_err(Error::from)?,
    };
    let graph = match format {
        Format::Csv => csv_tables::read_with(source, csv_tables::CsvOptions { directed }),
        _ if directed => {
            let reason = format!("expected the csv format, found {}", format.name());
            let advice = "Leave --directed out: this format defines the direction of its edges.";
            return Err(Error::usage("--directed", reason, advice).into());
        }
        _ => readers::read(source, Some(format)),
    };
    Ok(graph.map_err(Error::from)?)
}

fn stem(path: &Path) -> String {
    path.file_stem().map_or_else(|| "graph".to_owned(), |s| s.to_string_lossy().into_owned())
}
