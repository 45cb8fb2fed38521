//! A metric by groups of nodes, for people and spreadsheets.

use boostfgl_fairness::MetricFrame;
use boostfgl_fairness::frame::{SeedFrames, Spread};
use boostfgl_fairness::statistics::Interval;

use crate::Style;
use crate::sheet::{Line, Mark, Marked, Sheet, csv_line, plain};
use crate::table::range;

/// One metric on every group of a grouping: one row per group, the worst marked, the difference and ratio below.
///
/// Of one seed each value stands beside its interval; of several, mean and standard deviation are shown.
/// [`FrameTable::text`] is for a terminal, [`FrameTable::markdown`] and [`FrameTable::csv`] are for documents and
/// spreadsheets.
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

    /// As text for a terminal, ending in a newline; `!` marks the worst group. The last line has difference and ratio.
    pub fn text(&self, style: Style) -> String {
        self.sheet("! worst group").text(style)
    }

    /// In Markdown, the worst group in bold, ending in a newline. The last line has difference and ratio.
    pub fn markdown(&self) -> String {
        let sheet = self.sheet("worst group in bold");
        format!("{}\n{}. {}\n", sheet.markdown(), plain(&sheet.title), sheet.notes.join(" "))
    }

    /// As CSV with every digit, one record per seed and group:
    /// `metric,grouping,seed,row,group,nodes,value,lo,hi,worst`. `row` is `overall`, `group`, `difference` or `ratio`;
    /// values are in percent but for the ratio; `worst` is 1 for the worst group of its seed. What has no value is an
    /// empty field.
    pub fn csv(&self) -> String {
        let header = ["metric", "grouping", "seed", "row", "group", "nodes", "value", "lo", "hi", "worst"];
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
    fn sheet(&self, mark: &str) -> Sheet {
        match self.shown {
            Shown::One(_, frame) => self.one(frame, mark),
            Shown::Several(frames) => self.several(frames, mark),
        }
    }

    fn one(&self, frame: &MetricFrame, mark: &str) -> Sheet {
        let line = |label: &str, nodes: usize, value: Option<f64>, interval: Option<Interval>, mark: Mark| Line {
            label: label.to_owned(),
            cells: vec![vec![
                Marked::plain(range(std::iter::once(nodes))),
                Marked { text: percent(value), mark },
                Marked::plain(interval.map(points).unwrap_or_default()),
            ]],
        };
        let marks = worst_marks(frame.metric.larger_is_better(), frame.rows.iter().map(|row| row.value));
        let mut rows = vec![line(ALL, frame.nodes, frame.overall, frame.overall_interval, Mark::Plain)];
        rows.extend(
            frame.rows.iter().zip(marks).map(|(row, mark)| line(&row.group, row.nodes, row.value, row.interval, mark)),
        );
        let interval = frame.difference_interval.map(|interval| format!(" {}", points(interval))).unwrap_or_default();
        let last = frame.difference.map(|difference| {
            let ratio = frame.ratio.map(|ratio| format!(", ratio {ratio:.2}")).unwrap_or_default();
            format!("Difference {}{interval} points{ratio}.", percent(Some(difference)))
        });
        let drawn = frame.overall_interval.is_some() || frame.rows.iter().any(|row| row.interval.is_some());
        let intervals = if drawn { "; 95 % bootstrap intervals over nodes" } else { "" };
        Sheet {
            title: format!("{}: {} by {}", self.title, frame.metric, frame.grouping),
            labels: "Group",
            columns: headings(&[["Nodes", ""], [&plain(&frame.metric.to_string()), "%"], ["Interval", "%"]]),
            rows,
            notes: vec![format!("Percent{intervals}; {mark}."), last.unwrap_or_else(|| LONE.to_owned())],
        }
    }

    fn several(&self, frames: &SeedFrames, mark: &str) -> Sheet {
        let line = |label: &str, nodes: String, value: Spread, mark: Mark| Line {
            label: label.to_owned(),
            cells: vec![vec![Marked::plain(nodes), Marked { text: spread(value), mark }]],
        };
        let marks = worst_marks(frames.metric.larger_is_better(), frames.rows.iter().map(|row| row.value.mean));
        let all = range(frames.seeds.iter().map(|seed| seed.frame.nodes));
        let mut rows = vec![line(ALL, all, frames.overall, Mark::Plain)];
        let rest = frames.rows.iter().zip(marks);
        rows.extend(rest.map(|(row, mark)| line(&row.group, range(row.nodes.iter().copied()), row.value, mark)));
        let last = frames.difference.mean.map(|_| {
            let ratio = frames.ratio.mean.map(|mean| {
                let std = frames.ratio.std.map_or_else(|| "–".to_owned(), |std| format!("{std:.2}"));
                format!(", ratio {mean:.2} ± {std}")
            });
            format!("Difference {} points{}.", spread(frames.difference), ratio.unwrap_or_default())
        });
        let over = format!("Percent, mean ± standard deviation over {} seeds; {mark}.", frames.seeds.len());
        Sheet {
            title: format!("{}: {} by {}", self.title, frames.metric, frames.grouping),
            labels: "Group",
            columns: headings(&[["Nodes", ""], [&plain(&frames.metric.to_string()), "%"]]),
            rows,
            notes: vec![over, last.unwrap_or_else(|| LONE.to_owned())],
        }
    }
}

/// The label of the row of all judged nodes.
const ALL: &str = "all nodes";
/// What stands in place of the difference.
const LONE: &str = "No difference and ratio: they need two groups with a value.";

fn headings(titles: &[[&str; 2]]) -> Vec<[String; 2]> {
    titles.iter().map(|title| title.map(str::to_owned)).collect()
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
    let record =
        |[row, group, nodes]: [String; 3], value: Option<f64>, unit: f64, interval: Option<Interval>, worst: &str| {
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
                worst.to_owned(),
            ])
        };
    let whole = |row: &str, nodes: String| [row.to_owned(), String::new(), nodes];
    let mut text = record(whole("overall", frame.nodes.to_string()), frame.overall, 100.0, frame.overall_interval, "");
    for row in &frame.rows {
        let worst = frame.worst.as_ref().is_some_and(|worst| worst.group == row.group);
        let place = ["group".to_owned(), row.group.clone(), row.nodes.to_string()];
        text.push_str(&record(place, row.value, 100.0, row.interval, if worst { "1" } else { "0" }));
    }
    let (difference, ratio) = (whole("difference", String::new()), whole("ratio", String::new()));
    text.push_str(&record(difference, frame.difference, 100.0, frame.difference_interval, ""));
    text.push_str(&record(ratio, frame.ratio, 1.0, None, ""));
    text
}
