//! A number per group with its interval, one row per group and one mark per series.

use super::scale::{Scale, label};
use super::svg::{Drawing, place};
use super::{Chart, colour, legend};

/// A number and what it may be.
#[derive(Clone, Debug, PartialEq)]
pub struct Dot {
    /// Row it stands in.
    pub group: String,
    /// Which series, by number.
    pub series: usize,
    /// The number.
    pub mean: f64,
    /// Its interval; equal ends are not drawn.
    pub interval: [f64; 2],
}

/// Dots with intervals.
#[derive(Clone, Debug, PartialEq)]
pub struct Dots {
    /// What the chart shows.
    pub title: String,
    /// What the numbers are, with unit.
    pub x: String,
    /// Names of series.
    pub series: Vec<String>,
    /// The dots; groups are shown in the order in which they first come.
    pub dots: Vec<Dot>,
    /// A number that is marked by a line, such as 0 for differences.
    pub mark: Option<f64>,
}

const WIDTH: f64 = 640.0;
const TICKS: usize = 6;
/// Height of one mark, and the room between groups.
const STEP: f64 = 13.0;
const GAP: f64 = 9.0;

impl Dots {
    /// Draws them.
    pub fn chart(&self) -> Chart {
        let mut groups: Vec<&str> = Vec::new();
        for dot in &self.dots {
            if !groups.contains(&&dot.group[..]) {
                groups.push(&dot.group);
            }
        }
        let longest = groups.iter().map(|group| group.chars().count()).max().unwrap_or(0);
        let left = (16.0 + 6.6 * longest as f64).clamp(60.0, WIDTH / 2.0);
        let mut drawing = Drawing::default();
        let names: Vec<&str> = self.series.iter().map(|name| &name[..]).collect();
        let top = if names.len() > 1 { legend(&mut drawing, &names, 8.0, WIDTH) + 4.0 } else { 8.0 };
        let per_group = STEP * self.series.len().max(1) as f64 + GAP;
        let bottom = top + per_group * groups.len() as f64;
        let numbers = self.dots.iter().flat_map(|dot| [dot.mean, dot.interval[0], dot.interval[1]]).chain(self.mark);
        let xs = Scale::over(numbers, left, WIDTH - 12.0).rounded(TICKS);
        self.axis(&mut drawing, xs, top, bottom);
        for (g, group) in groups.iter().enumerate() {
            let start = top + per_group * g as f64;
            let y = place(start + per_group / 2.0 + 4.0);
            drawing.text("text", &[("x", &place(left - 8.0)), ("y", &y), ("class", &"tick end")], group);
            for dot in self.dots.iter().filter(|dot| dot.group == **group) {
                self.mark_of(&mut drawing, dot, xs, start + GAP / 2.0 + STEP * (dot.series as f64 + 0.5));
            }
        }
        let svg = drawing.finish(WIDTH, bottom + 40.0, &self.title);
        Chart {
            title: self.title.clone(),
            svg,
            head: self.head(),
            rows: self.dots.iter().map(|dot| self.row(dot)).collect(),
        }
    }

    fn axis(&self, drawing: &mut Drawing, xs: Scale, top: f64, bottom: f64) {
        let ticks = xs.ticks(TICKS);
        for &x in &ticks {
            let at = place(xs.at(x));
            drawing.element(
                "line",
                &[("x1", &at), ("x2", &at), ("y1", &place(top)), ("y2", &place(bottom)), ("class", &"grid")],
            );
            drawing.text(
                "text",
                &[("x", &at), ("y", &place(bottom + 15.0)), ("class", &"tick middle")],
                &label(x, &ticks),
            );
        }
        if let Some(mark) = self.mark {
            let at = place(xs.at(mark));
            drawing.element(
                "line",
                &[("x1", &at), ("x2", &at), ("y1", &place(top)), ("y2", &place(bottom)), ("class", &"axis")],
            );
        }
        let (x, y) = (place(WIDTH / 2.0), place(bottom + 33.0));
        drawing.text("text", &[("x", &x), ("y", &y), ("class", &"name middle")], &self.x);
    }

    fn mark_of(&self, drawing: &mut Drawing, dot: &Dot, xs: Scale, y: f64) {
        if !dot.mean.is_finite() {
            return;
        }
        let ([low, high], class, y) = (dot.interval, colour(dot.series), place(y));
        if low.is_finite() && high.is_finite() && low < high {
            let (from, to) = (place(xs.at(low)), place(xs.at(high)));
            drawing.element(
                "line",
                &[("x1", &from), ("x2", &to), ("y1", &y), ("y2", &y), ("class", &format!("line {class}"))],
            );
        }
        drawing.open(
            "circle",
            &[("cx", &place(xs.at(dot.mean))), ("cy", &y), ("r", &"4.5"), ("class", &format!("dot {class}"))],
        );
        let name = self.series.get(dot.series).map_or("", |name| &name[..]);
        drawing.text("title", &[], &format!("{name}, {}: {:.2} [{low:.2}, {high:.2}]", dot.group, dot.mean));
        drawing.close("circle");
    }

    fn head(&self) -> Vec<String> {
        ["group", "series", &self.x, "low", "high"].map(str::to_owned).to_vec()
    }

    fn row(&self, dot: &Dot) -> Vec<String> {
        let name = self.series.get(dot.series).cloned().unwrap_or_default();
        let number = |x: f64| if x.is_finite() { format!("{x:.2}") } else { "–".to_owned() };
        vec![dot.group.clone(), name, number(dot.mean), number(dot.interval[0]), number(dot.interval[1])]
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
            mark: None,
        };
        let chart = dots.chart();
        assert_eq!(chart.svg.matches("<circle").count(), 3);
        assert!(chart.svg.contains("fedavg, minority: 20.00 [19.00, 22.00]"), "{}", chart.svg);
        assert_eq!(chart.rows[3], ["minority", "boostfgl", "–", "–", "–"]);
        assert!(!chart.svg.contains("NaN"));
    }
}
