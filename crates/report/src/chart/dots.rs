//! Numbers with intervals: one row per group and one mark per series.

use super::axes::{PlotArea, circle, line, text};
use super::scale::{Scale, label};
use super::{Chart, WIDTH, colour, legend, number, shortened, text_width};
use crate::markup::Markup;

/// A number with its interval.
#[derive(Clone, Debug, PartialEq)]
pub struct Dot {
    /// The name of its row.
    pub group: String,
    /// The position of its series.
    pub series: usize,
    /// The number.
    pub mean: f64,
    /// Its interval, which is not drawn if the ends are equal. NaN means that there is none.
    pub interval: [f64; 2],
    /// A wider interval, drawn as a thinner line.
    pub wide: Option<[f64; 2]>,
}

/// Dots with intervals.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Dots {
    /// What the chart shows.
    pub title: String,
    /// What the numbers are, with unit.
    pub x: String,
    /// What the interval is, such as "95 % interval over test nodes".
    pub interval: String,
    /// Names of series.
    pub series: Vec<String>,
    /// The dots; groups are shown in order of first appearance.
    pub dots: Vec<Dot>,
    /// A number marked by a vertical line, such as 0 for differences.
    pub mark: Option<f64>,
    /// The colour of the first series. If the base is left out, the others keep their colours.
    pub first_colour: usize,
}

/// About how many ticks the axis has.
const TICKS: usize = 6;
/// The height of one mark.
const STEP: f64 = 13.0;
/// The distance between groups.
const GAP: f64 = 10.0;

impl Dots {
    /// Draws the chart.
    pub fn chart(&self) -> Chart {
        let groups = self.groups();
        let longest =
            groups.iter().map(|group| text_width(&shortened(group, 44))).fold(0.0, f64::max);
        let mut drawing = Markup::default();
        let names: Vec<&str> = self.series.iter().map(|name| &name[..]).collect();
        let top = legend(&mut drawing, &names, 8.0, self.first_colour);
        let per_group = STEP * self.series.len().max(1) as f64 + GAP;
        let bottom = top + per_group * groups.len() as f64;
        let area = PlotArea {
            left: (16.0 + longest).clamp(60.0, WIDTH / 2.0),
            right: WIDTH - 14.0,
            top,
            bottom: bottom.max(top + 20.0),
        };
        let xs = Scale::over(self.numbers(), area.left, area.right).rounded(TICKS);
        self.draw_axis(&mut drawing, xs, area);
        for (g, group) in groups.iter().enumerate() {
            let start = top + per_group * g as f64;
            let (x, y) = (area.left - 8.0, start + per_group / 2.0 + 4.0);
            text(&mut drawing, x, y, "tick end", &shortened(group, 44));
            for dot in self.dots.iter().filter(|dot| dot.group == **group) {
                let y = start + GAP / 2.0 + STEP * (dot.series as f64 + 0.5);
                self.draw_dot(&mut drawing, dot, xs, y);
            }
        }
        let wide = self.dots.iter().any(|dot| dot.wide.is_some());
        let rows = self.dots.iter().map(|dot| self.row(dot, wide)).collect();
        let note = if self.interval.is_empty() {
            String::new()
        } else {
            format!("Line: {}.", self.interval)
        };
        Chart::new(&self.title, drawing, area.bottom + 42.0, self.head(wide), rows).noted(note)
    }

    /// The groups in order of first appearance.
    fn groups(&self) -> Vec<&str> {
        let mut groups: Vec<&str> = Vec::new();
        for dot in &self.dots {
            if !groups.contains(&&dot.group[..]) {
                groups.push(&dot.group);
            }
        }
        groups
    }

    /// All numbers that the axis must cover.
    fn numbers(&self) -> impl Iterator<Item = f64> {
        // Scores and counts have no negative values, though an interval around them may. Only
        // differences, which have a mark, and negative numbers need the axis below zero.
        let signed = self.mark.is_some() || self.dots.iter().any(|dot| dot.mean < 0.0);
        let floor = if signed { f64::NEG_INFINITY } else { 0.0 };
        self.dots.iter().flat_map(move |dot| dot.extent(floor)).chain(self.mark)
    }

    /// Draws the x axis, its grid lines and the mark.
    fn draw_axis(&self, drawing: &mut Markup, xs: Scale, area: PlotArea) {
        let ticks = xs.ticks(TICKS);
        for &tick in &ticks {
            let at = xs.at(tick);
            line(drawing, [at, area.top, at, area.bottom], "grid");
            text(drawing, at, area.bottom + 16.0, "tick middle", &label(tick, &ticks));
        }
        if let Some(mark) = self.mark {
            line(drawing, [xs.at(mark), area.top, xs.at(mark), area.bottom], "mark");
        }
        area.name_x(drawing, &self.x);
    }

    /// Draws one dot with its intervals at height `y`.
    fn draw_dot(&self, drawing: &mut Markup, dot: &Dot, xs: Scale, y: f64) {
        if !dot.mean.is_finite() {
            return;
        }
        let class = colour(dot.series + self.first_colour);
        if let Some(wide) = dot.wide {
            draw_interval(drawing, wide, xs, y, &format!("thin {class}"));
        }
        draw_interval(drawing, dot.interval, xs, y, &format!("line {class}"));
        let name = self.series.get(dot.series).map_or("", |name| &name[..]);
        let ends = match dot.interval {
            [low, high] if low.is_nan() || high.is_nan() => "interval not available".to_owned(),
            ends => ends.map(number).join(" to "),
        };
        let title = format!("{}\n{name}: {} ({ends})", dot.group, number(dot.mean));
        circle(drawing, [xs.at(dot.mean), y, 4.5], &format!("dot {class}"), &title);
    }

    /// The head of the table, with two more columns for wide intervals.
    fn head(&self, wide: bool) -> Vec<String> {
        let mut head = ["group", "series", &self.x, "low", "high"].map(str::to_owned).to_vec();
        if wide {
            head.extend(["wide low".to_owned(), "wide high".to_owned()]);
        }
        head
    }

    /// One row of the table.
    fn row(&self, dot: &Dot, wide: bool) -> Vec<String> {
        let name = self.series.get(dot.series).cloned().unwrap_or_default();
        let mut row = vec![dot.group.clone(), name, number(dot.mean)];
        row.extend(dot.interval.map(number));
        if wide {
            row.extend(dot.wide.unwrap_or([f64::NAN; 2]).map(number));
        }
        row
    }
}

impl Dot {
    /// The mean and the ends of both intervals; lower ends below `floor` are raised to it.
    fn extent(&self, floor: f64) -> [f64; 5] {
        let [low, high] = self.wide.unwrap_or(self.interval);
        [self.mean, at_least(floor, self.interval[0]), self.interval[1], at_least(floor, low), high]
    }
}

/// The larger of both. NaN stays NaN, because `f64::max` would replace it by `floor`.
fn at_least(floor: f64, x: f64) -> f64 {
    if x.is_nan() { x } else { x.max(floor) }
}

/// Draws a horizontal line over the interval, unless it is empty or not finite.
fn draw_interval(drawing: &mut Markup, [low, high]: [f64; 2], xs: Scale, y: f64, class: &str) {
    if low.is_finite() && high.is_finite() && low < high {
        line(drawing, [xs.at(low), y, xs.at(high), y], class);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn missing_numbers_have_no_mark() {
        let dot = |group: &str, series: usize, mean: f64| Dot {
            group: group.into(),
            series,
            mean,
            interval: [mean - 1.0, mean + 2.0],
            wide: None,
        };
        let dots = Dots {
            title: "F1 by group".into(),
            x: "macro-F1, %".into(),
            series: vec!["fedavg".into(), "boostfgl".into()],
            dots: vec![
                dot("all", 0, 80.0),
                dot("all", 1, 81.0),
                dot("minority", 0, 20.0),
                dot("minority", 1, f64::NAN),
            ],
            ..Dots::default()
        };
        let chart = dots.chart();
        assert_eq!(chart.svg.matches("<circle").count(), 3);
        assert!(chart.svg.contains("minority\nfedavg: 20 (19 to 22)"), "{}", chart.svg);
        assert_eq!(chart.rows[3], ["minority", "boostfgl", "–", "–", "–"]);
        assert!(!chart.svg.contains("NaN") && !Dots::default().chart().svg.contains("NaN"));
    }

    #[test]
    fn a_missing_interval_is_named_in_the_title() {
        let dot = Dot {
            group: "few".into(),
            series: 0,
            mean: 100.0,
            interval: [f64::NAN; 2],
            wide: None,
        };
        let dots = Dots { series: vec!["fedavg".into()], dots: vec![dot], ..Dots::default() };
        let chart = dots.chart();
        assert!(chart.svg.contains("few\nfedavg: 100 (interval not available)"), "{}", chart.svg);
        assert!(
            !chart.svg.contains("NaN") && chart.rows[0] == ["few", "fedavg", "100", "–", "–"],
            "{:?}",
            chart.rows
        );
    }
}
