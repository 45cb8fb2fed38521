//! A number per group with its interval, one row per group and one mark per series.

use super::axes::{Room, circle, line, text};
use super::scale::{Scale, label};
use super::{Chart, WIDTH, colour, legend, number, shortened, text_width};
use crate::markup::Markup;

/// A number and what it may be.
#[derive(Clone, Debug, PartialEq)]
pub struct Dot {
    /// Row it stands in.
    pub group: String,
    /// Which series, by number.
    pub series: usize,
    /// The number.
    pub mean: f64,
    /// Its interval; equal ends are not drawn, and ends that are no numbers mean that there is
    /// none.
    pub interval: [f64; 2],
    /// A wider one, drawn thinner.
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
    /// The dots; groups are shown in the order in which they first come.
    pub dots: Vec<Dot>,
    /// A number that is marked by a line, such as 0 for differences.
    pub mark: Option<f64>,
    /// The first colour: where one series is left out, the others keep theirs.
    pub first_colour: usize,
}

const TICKS: usize = 6;
/// Height of one mark, and the room between groups.
const STEP: f64 = 13.0;
const GAP: f64 = 10.0;

impl Dots {
    /// Draws them.
    pub fn chart(&self) -> Chart {
        let mut groups: Vec<&str> = Vec::new();
        for dot in &self.dots {
            if !groups.contains(&&dot.group[..]) {
                groups.push(&dot.group);
            }
        }
        let longest =
            groups.iter().map(|group| text_width(&shortened(group, 44))).fold(0.0, f64::max);
        let mut drawing = Markup::default();
        let names: Vec<&str> = self.series.iter().map(|name| &name[..]).collect();
        let top = legend(&mut drawing, &names, 8.0, self.first_colour);
        let per_group = STEP * self.series.len().max(1) as f64 + GAP;
        let bottom = top + per_group * groups.len() as f64;
        let room = Room {
            left: (16.0 + longest).clamp(60.0, WIDTH / 2.0),
            right: WIDTH - 14.0,
            top,
            bottom: bottom.max(top + 20.0),
        };
        let xs = Scale::over(self.numbers(), room.left, room.right).rounded(TICKS);
        self.axis(&mut drawing, xs, room);
        for (g, group) in groups.iter().enumerate() {
            let start = top + per_group * g as f64;
            text(
                &mut drawing,
                room.left - 8.0,
                start + per_group / 2.0 + 4.0,
                "tick end",
                &shortened(group, 44),
            );
            for dot in self.dots.iter().filter(|dot| dot.group == **group) {
                self.draw(
                    &mut drawing,
                    dot,
                    xs,
                    start + GAP / 2.0 + STEP * (dot.series as f64 + 0.5),
                );
            }
        }
        let wide = self.dots.iter().any(|dot| dot.wide.is_some());
        let rows = self.dots.iter().map(|dot| self.row(dot, wide)).collect();
        let note = if self.interval.is_empty() {
            String::new()
        } else {
            format!("Line: {}.", self.interval)
        };
        Chart::new(&self.title, drawing, room.bottom + 42.0, self.head(wide), rows).noted(note)
    }

    fn numbers(&self) -> impl Iterator<Item = f64> {
        // As with curves, except where a difference is marked: there below zero means something.
        let signed = self.mark.is_some() || self.dots.iter().any(|dot| dot.mean < 0.0);
        let floor = if signed { f64::NEG_INFINITY } else { 0.0 };
        // The larger of no number and 0 would be 0.
        let above = move |x: f64| if x.is_nan() { x } else { x.max(floor) };
        let ends = move |dot: &Dot| {
            let [low, high] = dot.wide.unwrap_or(dot.interval);
            [dot.mean, above(dot.interval[0]), dot.interval[1], above(low), high]
        };
        self.dots.iter().flat_map(ends).chain(self.mark)
    }

    fn axis(&self, drawing: &mut Markup, xs: Scale, room: Room) {
        let ticks = xs.ticks(TICKS);
        for &tick in &ticks {
            let at = xs.at(tick);
            line(drawing, [at, room.top, at, room.bottom], "grid");
            text(drawing, at, room.bottom + 16.0, "tick middle", &label(tick, &ticks));
        }
        if let Some(mark) = self.mark {
            line(drawing, [xs.at(mark), room.top, xs.at(mark), room.bottom], "mark");
        }
        room.name_x(drawing, &self.x);
    }

    fn draw(&self, drawing: &mut Markup, dot: &Dot, xs: Scale, y: f64) {
        if !dot.mean.is_finite() {
            return;
        }
        let class = colour(dot.series + self.first_colour);
        let mut reach = |ends: [f64; 2], kind: &str| {
            if ends.iter().all(|x| x.is_finite()) && ends[0] < ends[1] {
                line(drawing, [xs.at(ends[0]), y, xs.at(ends[1]), y], &format!("{kind} {class}"));
            }
        };
        dot.wide.into_iter().for_each(|wide| reach(wide, "thin"));
        reach(dot.interval, "line");
        let name = self.series.get(dot.series).map_or("", |name| &name[..]);
        let ends = match dot.interval {
            [low, high] if low.is_nan() || high.is_nan() => "interval not available".to_owned(),
            ends => ends.map(number).join(" to "),
        };
        let told = format!("{}\n{name}: {} ({ends})", dot.group, number(dot.mean));
        circle(drawing, [xs.at(dot.mean), y, 4.5], &format!("dot {class}"), &told);
    }

    fn head(&self, wide: bool) -> Vec<String> {
        let mut head = ["group", "series", &self.x, "low", "high"].map(str::to_owned).to_vec();
        if wide {
            head.extend(["wide low".to_owned(), "wide high".to_owned()]);
        }
        head
    }

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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn groups_have_a_row_and_missing_numbers_none() {
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
    fn a_number_without_an_interval_says_so() {
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
