//! A metric by groups of nodes, for people and spreadsheets.

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

/// What there is to show.
#[derive(Clone, Copy, Debug)]
enum Shown<'a> {
    One(Option<u64>, &'a MetricFrame),
    Several(&'a SeedFrames),
}

impl<'a> FrameTable<'a> {
    /// The table of one frame, for example of one seed; `title` says of what data and method.
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
    /// for groups that count too few cases to be ranked. What has no value is an empty field.
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

    /// The table as headings and marked text; `mark` says how the worst group is marked.
    fn table(&self, mark: &str) -> TextTable {
        match self.shown {
            Shown::One(_, frame) => self.one(frame, mark),
            Shown::Several(frames) => self.several(frames, mark),
        }
    }

    fn one(&self, frame: &MetricFrame, mark: &str) -> TextTable {
        let own = frame.metric.class().is_some();
        let line = |label: String,
                    [nodes, counted]: [usize; 2],
                    value: Option<f64>,
                    interval,
                    mark: Mark| {
            let mut cells = vec![Marked::plain(range(std::iter::once(nodes)))];
            cells.extend(own.then(|| Marked::plain(range(std::iter::once(counted)))));
            cells.push(Marked {
                text: value.map_or_else(|| absent(nodes), |value| percent(Some(value))),
                mark,
            });
            cells.push(Marked::plain(reach(value, interval)));
            Line { label, cells: vec![cells] }
        };
        let ranked = frame.rows.iter().map(|row| row.value.filter(|_| !row.small));
        let marks = worst_marks(frame.metric.larger_is_better(), ranked);
        let sizes = [frame.nodes, frame.counted];
        let mut rows =
            vec![line(ALL.to_owned(), sizes, frame.overall, frame.overall_interval, Mark::Plain)];
        rows.extend(frame.rows.iter().zip(marks).map(|(row, mark)| {
            line(
                labelled(&row.group, is_small(row)),
                [row.nodes, row.counted],
                row.value,
                row.interval,
                mark,
            )
        }));
        let interval = frame
            .difference_interval
            .map(|interval| format!(" {}", points(interval)))
            .unwrap_or_default();
        let last = frame.difference.map(|difference| {
            let ratio = frame.ratio.map(|ratio| format!(", ratio {ratio:.2}")).unwrap_or_default();
            format!("Difference {}{interval} points{ratio}.", percent(Some(difference)))
        });
        let mut notes = vec![format!("Percent; 95 % intervals over nodes; {mark}.")];
        notes.extend(small_note(frame.rows.iter().any(is_small), frame.min_group));
        notes.push(last.unwrap_or_else(|| lone(frame.min_group)));
        TextTable {
            title: format!("{}: {} by {}", self.title, frame.metric, frame.grouping),
            labels: "Group",
            columns: self.headings(&frame.metric, true),
            rows,
            notes,
        }
    }

    fn several(&self, frames: &SeedFrames, mark: &str) -> TextTable {
        let own = frames.metric.class().is_some();
        let line =
            |label: String, nodes: &[usize], counted: &[usize], value: Spread, mark: Mark| {
                let sizes = |sizes: &[usize]| Marked::plain(range(sizes.iter().copied()));
                let mut cells = vec![sizes(nodes)];
                cells.extend(own.then(|| sizes(counted)));
                let none = || absent(nodes.iter().copied().max().unwrap_or(0));
                cells.push(Marked { text: value.mean.map_or_else(none, |_| spread(value)), mark });
                Line { label, cells: vec![cells] }
            };
        let ranked = frames.rows.iter().map(|row| row.value.mean.filter(|_| !row.small));
        let marks = worst_marks(frames.metric.larger_is_better(), ranked);
        let over_seeds = |pick: fn(&MetricFrame) -> usize| -> Vec<usize> {
            frames.seeds.iter().map(|seed| pick(&seed.frame)).collect()
        };
        let (nodes, counted) = (over_seeds(|frame| frame.nodes), over_seeds(|frame| frame.counted));
        let mut rows = vec![line(ALL.to_owned(), &nodes, &counted, frames.overall, Mark::Plain)];
        let rest = frames.rows.iter().zip(marks);
        rows.extend(rest.map(|(row, mark)| {
            line(labelled(&row.group, row.small), &row.nodes, &row.counted, row.value, mark)
        }));
        let last = frames.difference.mean.map(|_| {
            let ratio = frames.ratio.mean.map(|mean| {
                let std =
                    frames.ratio.std.map_or_else(|| "–".to_owned(), |std| format!("{std:.2}"));
                format!(", ratio {mean:.2} ± {std}")
            });
            format!("Difference {} points{}.", spread(frames.difference), ratio.unwrap_or_default())
        });
        let mut notes = vec![format!(
            "Percent, mean ± standard deviation over {} seeds; {mark}.",
            frames.seeds.len()
        )];
        notes.extend(small_note(frames.rows.iter().any(|row| row.small), frames.min_group));
        notes.push(last.unwrap_or_else(|| lone(frames.min_group)));
        TextTable {
            title: format!("{}: {} by {}", self.title, frames.metric, frames.grouping),
            labels: "Group",
            columns: self.headings(&frames.metric, false),
            rows,
            notes,
        }
    }

    /// The headings; recall has one for the nodes that it counts.
    fn headings(&self, metric: &FrameMetric, interval: bool) -> Vec<[String; 2]> {
        let name = plain(&metric.to_string());
        let mut titles = vec![["Nodes", ""]];
        titles.extend(metric.class().map(|_| ["Counted", "of the class"]));
        titles.push([&name, "%"]);
        titles.extend(interval.then_some(["Interval", "%"]));
        titles.into_iter().map(|title| title.map(str::to_owned)).collect()
    }
}

/// The label of the row of all evaluated nodes.
const ALL: &str = "all nodes";

/// What stands in place of the difference.
fn lone(min_group: usize) -> String {
    let cases = if min_group > 1 {
        format!(" and at least {min_group} counted cases")
    } else {
        String::new()
    };
    format!("No difference and ratio: they need two groups with a value{cases}.")
}

/// Whether a group has a value that is not ranked; where there is none, that is said instead.
fn is_small(row: &FrameRow) -> bool {
    row.small && row.value.is_some()
}

/// The name of a group, and whether it is small.
fn labelled(group: &str, small: bool) -> String {
    if small { format!("{group} (small)") } else { group.to_owned() }
}

/// What it means to be small, where some group is.
fn small_note(any: bool, min_group: usize) -> Option<String> {
    any.then(|| {
        format!(
            "(small): fewer than {min_group} counted cases; not ranked, not in \
        difference and ratio."
        )
    })
}

/// Why a group has no value: it has no node, or none that the metric counts.
fn absent(nodes: usize) -> String {
    if nodes == 0 { "no such node".to_owned() } else { "no counted node".to_owned() }
}

/// The interval of a value, or that there is none.
fn reach(value: Option<f64>, interval: Option<Interval>) -> String {
    match (value, interval) {
        (None, _) => String::new(),
        (Some(_), None) => "not available".to_owned(),
        (Some(_), Some(interval)) => points(interval),
    }
}

/// Marks the worst as printed, and all that print like it; if all print alike, none.
fn worst_marks(larger_is_better: bool, values: impl Iterator<Item = Option<f64>>) -> Vec<Mark> {
    let tenths = |fraction: f64| (1000.0 * fraction).round();
    let printed: Vec<Option<f64>> = values.map(|value| value.map(tenths)).collect();
    let known = || printed.iter().flatten().copied();
    let (least, most) = (known().reduce(f64::min), known().reduce(f64::max));
    let worst = if larger_is_better { least } else { most };
    let mark = |value: &Option<f64>| {
        if value.is_some() && *value == worst && least != most { Mark::Worst } else { Mark::Plain }
    };
    printed.iter().map(mark).collect()
}

/// A fraction in percent.
fn percent(fraction: Option<f64>) -> String {
    fraction.map_or_else(|| "no such node".to_owned(), |x| format!("{:.1}", 100.0 * x))
}

fn points(interval: Interval) -> String {
    format!("[{:.1}, {:.1}]", 100.0 * interval.lo, 100.0 * interval.hi)
}

fn spread(value: Spread) -> String {
    match (value.mean, value.std) {
        (None, _) => percent(None),
        (mean, None) => format!("{} ± –", percent(mean)),
        (mean, std) => format!("{} ± {}", percent(mean), percent(std)),
    }
}

/// The records of one seed.
fn records(seed: Option<u64>, frame: &MetricFrame) -> String {
    let number = |value: Option<f64>| value.map(|x| x.to_string()).unwrap_or_default();
    let record = |[row, group, nodes]: [String; 3],
                  value: Option<f64>,
                  unit: f64,
                  interval: Option<Interval>,
                  rest: [String; 3]| {
        let [worst, counted, small] = rest;
        csv_line(&[
            frame.metric.to_string(),
            frame.grouping.to_string(),
            seed.map(|seed| seed.to_string()).unwrap_or_default(),
            row,
            group,
            nodes,
            number(value.map(|x| unit * x)),
            number(interval.map(|i| unit * i.lo)),
            number(interval.map(|i| unit * i.hi)),
            worst,
            counted,
            small,
        ])
    };
    let flag = |set: bool| u8::from(set).to_string();
    let none = || [(); 3].map(|()| String::new());
    let whole = |row: &str, nodes: String| [row.to_owned(), String::new(), nodes];
    let all = [String::new(), frame.counted.to_string(), String::new()];
    let mut text = record(
        whole("overall", frame.nodes.to_string()),
        frame.overall,
        100.0,
        frame.overall_interval,
        all,
    );
    for row in &frame.rows {
        let worst = frame.worst.as_ref().is_some_and(|worst| worst.group == row.group);
        let place = ["group".to_owned(), row.group.clone(), row.nodes.to_string()];
        let rest = [flag(worst), row.counted.to_string(), flag(row.small)];
        text.push_str(&record(place, row.value, 100.0, row.interval, rest));
    }
    let (difference, ratio) = (whole("difference", String::new()), whole("ratio", String::new()));
    text.push_str(&record(difference, frame.difference, 100.0, frame.difference_interval, none()));
    text.push_str(&record(ratio, frame.ratio, 1.0, None, none()));
    text
}
