//! A metric by groups of nodes as text, Markdown and CSV.

use boostfgl_fairness::frame::{FrameRow, SeedFrames, Spread};
use boostfgl_fairness::statistics::Interval;
use boostfgl_fairness::{FrameMetric, MetricFrame};

use crate::Style;
use crate::table::range;
use crate::text_table::{Line, Mark, Marked, TextTable, csv_line, plain};

/// One metric on every group of a grouping: one row per group, the worst marked, the difference and
/// ratio below.
///
/// Of one seed each value has its interval; of several, mean and standard deviation are
/// shown. [`FrameTable::text`] is for a terminal, [`FrameTable::markdown`] and [`FrameTable::csv`]
/// are for documents and spreadsheets.
#[derive(Clone, Debug)]
pub struct FrameTable<'a> {
    title: String,
    shown: Shown<'a>,
}

/// The frame of one seed, or those of several.
#[derive(Clone, Copy, Debug)]
enum Shown<'a> {
    One(Option<u64>, &'a MetricFrame),
    Several(&'a SeedFrames),
}

impl<'a> FrameTable<'a> {
    /// The table of one frame, for example of one seed; `title` names data and method.
    pub fn of_frame(title: impl Into<String>, frame: &'a MetricFrame) -> Self {
        Self { title: title.into(), shown: Shown::One(None, frame) }
    }

    /// The table over seeds. If there is only one, it is shown with its intervals.
    pub fn of_seeds(title: impl Into<String>, frames: &'a SeedFrames) -> Self {
        let shown = match &frames.seeds[..] {
            [only] => Shown::One(Some(only.seed), &only.frame),
            _ => Shown::Several(frames),
        };
        Self { title: title.into(), shown }
    }

    /// As text for a terminal, ending in a newline; `!` marks the worst group. The last line has
    /// difference and ratio.
    pub fn text(&self, style: Style) -> String {
        self.table("! worst group").text(style)
    }

    /// In Markdown, the worst group in bold, ending in a newline. The last line has difference and
    /// ratio.
    pub fn markdown(&self) -> String {
        let table = self.table("worst group in bold");
        format!("{}\n{}. {}\n", table.markdown(), plain(&table.title), table.notes.join(" "))
    }

    /// As CSV with every digit, one record per seed and group:
    /// `metric,grouping,seed,row,group,nodes,value,lo,hi,worst,counted,small`. `row` is `overall`,
    /// `group`, `difference` or `ratio`; values are in percent but for the ratio; `worst` is 1 for
    /// the worst group of its seed; `counted` is the denominator of the metric, and `small` is 1
    /// for groups that count too few cases to be ranked. A missing value is an empty field.
    pub fn csv(&self) -> String {
        let header = [
            "metric", "grouping", "seed", "row", "group", "nodes", "value", "lo", "hi", "worst",
            "counted", "small",
        ];
        let mut text = csv_line(&header.map(str::to_owned));
        match self.shown {
            Shown::One(seed, frame) => text.push_str(&records(seed, frame)),
            Shown::Several(frames) => {
                text.extend(frames.seeds.iter().map(|seed| records(Some(seed.seed), &seed.frame)));
            }
        }
        text
    }

    /// The table as headings and marked text; `mark` explains the mark of the worst group.
    fn table(&self, mark: &str) -> TextTable {
        match self.shown {
            Shown::One(_, frame) => self.one(frame, mark),
            Shown::Several(frames) => self.several(frames, mark),
        }
    }

    fn one(&self, frame: &MetricFrame, mark: &str) -> TextTable {
        let ranked = frame.rows.iter().map(|row| row.value.filter(|_| !row.small));
        let marks = worst_marks(frame.metric.larger_is_better(), ranked);
        let mut cells = size_cells(&frame.metric, &[frame.nodes], &[frame.counted]);
        cells.push(value_cell(frame.overall, frame.nodes, Mark::Plain));
        cells.push(Marked::plain(interval_text(frame.overall, frame.overall_interval)));
        let mut rows = vec![Line { label: ALL.to_owned(), cells: vec![cells] }];
        for (row, mark) in frame.rows.iter().zip(marks) {
            let mut cells = size_cells(&frame.metric, &[row.nodes], &[row.counted]);
            cells.push(value_cell(row.value, row.nodes, mark));
            cells.push(Marked::plain(interval_text(row.value, row.interval)));
            rows.push(Line { label: labelled(&row.group, is_small(row)), cells: vec![cells] });
        }
        let mut notes = vec![format!("Percent; 95 % intervals over nodes; {mark}.")];
        notes.extend(small_note(frame.rows.iter().any(is_small), frame.min_group));
        notes.push(difference_note(frame).unwrap_or_else(|| no_difference(frame.min_group)));
        TextTable {
            title: format!("{}: {} by {}", self.title, frame.metric, frame.grouping),
            labels: "Group",
            columns: self.headings(&frame.metric, true),
            rows,
            notes,
        }
    }

    fn several(&self, frames: &SeedFrames, mark: &str) -> TextTable {
        let ranked = frames.rows.iter().map(|row| row.value.mean.filter(|_| !row.small));
        let marks = worst_marks(frames.metric.larger_is_better(), ranked);
        let nodes: Vec<usize> = frames.seeds.iter().map(|seed| seed.frame.nodes).collect();
        let counted: Vec<usize> = frames.seeds.iter().map(|seed| seed.frame.counted).collect();
        let mut cells = size_cells(&frames.metric, &nodes, &counted);
        cells.push(spread_cell(frames.overall, &nodes, Mark::Plain));
        let mut rows = vec![Line { label: ALL.to_owned(), cells: vec![cells] }];
        for (row, mark) in frames.rows.iter().zip(marks) {
            let mut cells = size_cells(&frames.metric, &row.nodes, &row.counted);
            cells.push(spread_cell(row.value, &row.nodes, mark));
            rows.push(Line { label: labelled(&row.group, row.small), cells: vec![cells] });
        }
        let mut notes = vec![format!(
            "Percent, mean ± standard deviation over {} seeds; {mark}.",
            frames.seeds.len()
        )];
        notes.extend(small_note(frames.rows.iter().any(|row| row.small), frames.min_group));
        let last = difference_over_seeds(frames);
        notes.push(last.unwrap_or_else(|| no_difference(frames.min_group)));
        TextTable {
            title: format!("{}: {} by {}", self.title, frames.metric, frames.grouping),
            labels: "Group",
            columns: self.headings(&frames.metric, false),
            rows,
            notes,
        }
    }

    /// The headings; a metric that counts only some of the nodes has one more.
    fn headings(&self, metric: &FrameMetric, interval: bool) -> Vec<[String; 2]> {
        let name = plain(&metric.to_string());
        let mut titles = vec![["Nodes", ""]];
        titles.extend(metric.class().map(|_| ["Counted", metric.counted()]));
        titles.push([&name, "%"]);
        titles.extend(interval.then_some(["Interval", "%"]));
        titles.into_iter().map(|title| title.map(str::to_owned)).collect()
    }
}

/// The label of the row of all evaluated nodes.
const ALL: &str = "all nodes";

/// The number of nodes, and of counted cases if the metric counts only some of the nodes.
fn size_cells(metric: &FrameMetric, nodes: &[usize], counted: &[usize]) -> Vec<Marked> {
    let mut cells = vec![Marked::plain(range(nodes.iter().copied()))];
    if metric.class().is_some() {
        cells.push(Marked::plain(range(counted.iter().copied())));
    }
    cells
}

/// The value of one seed, or why there is none.
fn value_cell(value: Option<f64>, nodes: usize, mark: Mark) -> Marked {
    let text = value.map_or_else(|| absent(nodes), |value| percent(Some(value)));
    Marked { text, mark }
}

/// The value over seeds, or why there is none.
fn spread_cell(value: Spread, nodes: &[usize], mark: Mark) -> Marked {
    let text = match value.mean {
        Some(_) => spread(value),
        None => absent(nodes.iter().copied().max().unwrap_or(0)),
    };
    Marked { text, mark }
}

/// The difference of one seed with its interval, and the ratio.
fn difference_note(frame: &MetricFrame) -> Option<String> {
    let difference = frame.difference?;
    let interval = frame
        .difference_interval
        .map(|interval| format!(" {}", points(interval)))
        .unwrap_or_default();
    let ratio = frame.ratio.map(|ratio| format!(", ratio {ratio:.2}")).unwrap_or_default();
    Some(format!("Difference {}{interval} points{ratio}.", percent(Some(difference))))
}

/// The difference and the ratio over seeds.
fn difference_over_seeds(frames: &SeedFrames) -> Option<String> {
    frames.difference.mean?;
    let ratio = frames.ratio.mean.map(|mean| {
        let std = frames.ratio.std.map_or_else(|| "–".to_owned(), |std| format!("{std:.2}"));
        format!(", ratio {mean:.2} ± {std}")
    });
    let ratio = ratio.unwrap_or_default();
    Some(format!("Difference {} points{ratio}.", spread(frames.difference)))
}

/// The note in place of a missing difference.
fn no_difference(min_group: usize) -> String {
    let cases = if min_group > 1 {
        format!(" and at least {min_group} counted cases")
    } else {
        String::new()
    };
    format!("No difference and ratio: they need two groups with a value{cases}.")
}

/// Whether a group has a value that is not ranked. A group without a value gets [`absent`] instead.
fn is_small(row: &FrameRow) -> bool {
    row.small && row.value.is_some()
}

/// The name of a group, marked if it is small.
fn labelled(group: &str, small: bool) -> String {
    if small { format!("{group} (small)") } else { group.to_owned() }
}

/// The explanation of `(small)`, if a group is.
fn small_note(any: bool, min_group: usize) -> Option<String> {
    any.then(|| {
        format!(
            "(small): fewer than {min_group} counted cases; not ranked, not in \
        difference and ratio."
        )
    })
}

/// The reason of a missing value: the group has no node, or none that the metric counts.
fn absent(nodes: usize) -> String {
    if nodes == 0 { "no such node".to_owned() } else { "no counted node".to_owned() }
}

/// The interval of a value, or `not available`.
fn interval_text(value: Option<f64>, interval: Option<Interval>) -> String {
    match (value, interval) {
        (None, _) => String::new(),
        (Some(_), None) => "not available".to_owned(),
        (Some(_), Some(interval)) => points(interval),
    }
}

/// Marks the worst value and all that are printed like it; none, if all are printed alike.
fn worst_marks(larger_is_better: bool, values: impl Iterator<Item = Option<f64>>) -> Vec<Mark> {
    // In tenths of a percent, as printed.
    let printed: Vec<Option<f64>> =
        values.map(|value| value.map(|fraction| (1000.0 * fraction).round())).collect();
    let known = printed.iter().flatten().copied();
    let (least, most) = (known.clone().reduce(f64::min), known.reduce(f64::max));
    if least == most {
        return vec![Mark::Plain; printed.len()];
    }
    let worst = if larger_is_better { least } else { most };
    printed.iter().map(|value| if *value == worst { Mark::Worst } else { Mark::Plain }).collect()
}

/// A fraction in percent.
fn percent(fraction: Option<f64>) -> String {
    fraction.map_or_else(|| "no such node".to_owned(), |x| format!("{:.1}", 100.0 * x))
}

/// `[50.0, 75.0]`, in percent.
fn points(interval: Interval) -> String {
    format!("[{:.1}, {:.1}]", 100.0 * interval.lo, 100.0 * interval.hi)
}

/// Mean ± standard deviation, in percent.
fn spread(value: Spread) -> String {
    match (value.mean, value.std) {
        (None, _) => percent(None),
        (mean, None) => format!("{} ± –", percent(mean)),
        (mean, std) => format!("{} ± {}", percent(mean), percent(std)),
    }
}

/// One record of CSV below [`FrameTable::csv`]'s header.
#[derive(Default)]
struct Record<'a> {
    row: &'a str,
    group: &'a str,
    nodes: String,
    value: Option<f64>,
    interval: Option<Interval>,
    /// The factor of value and interval: 100 for percent.
    unit: f64,
    worst: String,
    counted: String,
    small: String,
}

impl Record<'_> {
    fn line(&self, seed: Option<u64>, frame: &MetricFrame) -> String {
        csv_line(&[
            frame.metric.to_string(),
            frame.grouping.to_string(),
            seed.map(|seed| seed.to_string()).unwrap_or_default(),
            self.row.to_owned(),
            self.group.to_owned(),
            self.nodes.clone(),
            self.number(self.value),
            self.number(self.interval.map(|interval| interval.lo)),
            self.number(self.interval.map(|interval| interval.hi)),
            self.worst.clone(),
            self.counted.clone(),
            self.small.clone(),
        ])
    }

    /// A number in the unit of the record, with every digit.
    fn number(&self, value: Option<f64>) -> String {
        value.map(|x| (self.unit * x).to_string()).unwrap_or_default()
    }
}

/// The records of one seed.
fn records(seed: Option<u64>, frame: &MetricFrame) -> String {
    let overall = Record {
        row: "overall",
        nodes: frame.nodes.to_string(),
        value: frame.overall,
        interval: frame.overall_interval,
        unit: 100.0,
        counted: frame.counted.to_string(),
        ..Record::default()
    };
    let difference = Record {
        row: "difference",
        value: frame.difference,
        interval: frame.difference_interval,
        unit: 100.0,
        ..Record::default()
    };
    let ratio = Record { row: "ratio", value: frame.ratio, unit: 1.0, ..Record::default() };
    let mut records = vec![overall];
    records.extend(frame.rows.iter().map(|row| group_record(frame, row)));
    records.extend([difference, ratio]);
    records.iter().map(|record| record.line(seed, frame)).collect()
}

fn group_record<'a>(frame: &MetricFrame, row: &'a FrameRow) -> Record<'a> {
    let worst = frame.worst.as_ref().is_some_and(|worst| worst.group == row.group);
    Record {
        row: "group",
        group: &row.group,
        nodes: row.nodes.to_string(),
        value: row.value,
        interval: row.interval,
        unit: 100.0,
        worst: u8::from(worst).to_string(),
        counted: row.counted.to_string(),
        small: u8::from(row.small).to_string(),
    }
}
