//! A metric by groups of nodes, round by round.

use boostfgl_fairness::frame::{SeedFrames, Spread};
use boostfgl_fairness::{FrameMetric, Grouping};
use serde::{Deserialize, Serialize};

use crate::Style;
use crate::text_table::{Line, Marked, TextTable, WIDTH, plain, width};

/// One metric on every group after every evaluated round of a run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct GroupCurves {
    /// What is measured.
    pub metric: FrameMetric,
    /// How nodes are divided.
    pub grouping: Grouping,
    /// The evaluated rounds, in order.
    pub rounds: Vec<RoundFrames>,
}

/// One evaluated round.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RoundFrames {
    /// Its number, from 1.
    pub round: usize,
    /// The values of the groups over seeds, without intervals.
    pub frames: SeedFrames,
}

impl GroupCurves {
    /// As text for a terminal, one row per round, ending in a newline. Columns that do not fit the
    /// width go into further tables below.
    pub fn text(&self, title: &str, style: Style) -> String {
        self.tables(title).iter().map(|table| table.text(style)).collect::<Vec<_>>().join("\n")
    }

    /// In Markdown, one row per round, ending in a newline.
    pub fn markdown(&self, title: &str) -> String {
        self.tables(title).iter().map(section).collect::<Vec<_>>().join("\n")
    }

    fn tables(&self, title: &str) -> Vec<TextTable> {
        let mut columns =
            vec![Column::new("all nodes", self.values(|frames| Some(frames.overall)))];
        columns.extend(
            self.groups()
                .into_iter()
                .map(|name| Column::new(name, self.values(|frames| group_value(frames, name)))),
        );
        columns.push(Column::new("difference", self.values(|frames| Some(frames.difference))));
        let seeds = self.rounds.first().map_or(0, |round| round.frames.seeds.len());
        let over = if seeds > 1 {
            format!(", mean ± standard deviation over {seeds} seeds")
        } else {
            String::new()
        };
        let mut notes =
            vec![format!("Percent{over}, on the test nodes after each evaluated round.")];
        notes.extend(self.small());
        let title = format!("{title}: {} by {}, round by round", self.metric, self.grouping);
        chunks(&columns).into_iter().map(|columns| self.table(&title, columns, &notes)).collect()
    }

    /// The table of some of the columns.
    fn table(&self, title: &str, columns: &[Column], notes: &[String]) -> TextTable {
        TextTable {
            title: title.to_owned(),
            labels: "Round",
            columns: columns.iter().map(|column| column.heading.clone()).collect(),
            rows: self
                .rounds
                .iter()
                .enumerate()
                .map(|(at, round)| row(round.round, at, columns))
                .collect(),
            notes: notes.to_vec(),
        }
    }

    /// Every group that any round has, in order.
    fn groups(&self) -> Vec<&str> {
        let mut names: Vec<&str> = Vec::new();
        for row in self.rounds.iter().flat_map(|round| &round.frames.rows) {
            if !names.contains(&row.group.as_str()) {
                names.push(&row.group);
            }
        }
        names
    }

    /// The note on groups that are left out of the difference, if there are any.
    fn small(&self) -> Option<String> {
        let frames = &self.rounds.first()?.frames;
        let small: Vec<&str> =
            frames.rows.iter().filter(|row| row.small).map(|row| row.group.as_str()).collect();
        let why = format!("fewer than {} counted cases", frames.min_group);
        (!small.is_empty())
            .then(|| format!("Not in the difference ({why}): {}.", plain(&small.join(", "))))
    }

    /// The cells of a column.
    fn values(&self, pick: impl Fn(&SeedFrames) -> Option<Spread>) -> Vec<String> {
        self.rounds
            .iter()
            .map(|round| percent(pick(&round.frames), round.frames.seeds.len()))
            .collect()
    }
}

/// One column, top to bottom.
struct Column {
    heading: [String; 2],
    cells: Vec<String>,
}

impl Column {
    /// Names of intersections take two lines.
    fn new(name: &str, cells: Vec<String>) -> Self {
        let name = plain(name);
        let heading = match name.split_once(" × ") {
            Some((first, rest)) => [format!("{first} ×"), rest.to_owned()],
            None => [name, String::new()],
        };
        Self { heading, cells }
    }

    /// Its width on the screen: the widest text, its mark and the gap.
    fn width(&self) -> usize {
        self.heading.iter().chain(&self.cells).map(|text| width(text)).max().unwrap_or(0) + 3
    }
}

fn row(round: usize, at: usize, columns: &[Column]) -> Line {
    let cells = columns.iter().map(|column| Marked::plain(column.cells[at].clone())).collect();
    Line { label: round.to_string(), cells: vec![cells] }
}

/// As many columns side by side as fit, at least one.
fn chunks(columns: &[Column]) -> Vec<&[Column]> {
    let room = WIDTH - "Round ".len();
    let (mut found, mut start, mut taken) = (Vec::new(), 0, 0);
    for (at, column) in columns.iter().enumerate() {
        if at > start && taken + column.width() > room {
            found.push(&columns[start..at]);
            (start, taken) = (at, 0);
        }
        taken += column.width();
    }
    found.push(&columns[start..]);
    found
}

/// The value of a group in a round.
fn group_value(frames: &SeedFrames, group: &str) -> Option<Spread> {
    frames.rows.iter().find(|row| row.group == group).map(|row| row.value)
}

/// A table in Markdown with title and notes below.
fn section(table: &TextTable) -> String {
    format!("{}\n{}. {}\n", table.markdown(), plain(&table.title), table.notes.join(" "))
}

/// Mean ± standard deviation in percent; the value alone if there is one seed.
fn percent(value: Option<Spread>, seeds: usize) -> String {
    match value.map(|value| (value.mean, value.std)) {
        None | Some((None, _)) => "–".to_owned(),
        Some((Some(mean), _)) if seeds == 1 => one_decimal(mean),
        Some((Some(mean), std)) => {
            format!("{} ± {}", one_decimal(mean), std.map_or_else(|| "–".to_owned(), one_decimal))
        }
    }
}

/// A fraction in percent.
fn one_decimal(fraction: f64) -> String {
    format!("{:.1}", 100.0 * fraction)
}
