//! Curves over rounds, with a band around each.

use super::axes::{Room, circle, line, rectangle};
use super::scale::Scale;
use super::{Chart, colour, legend, number, place};
use crate::markup::Markup;

/// One curve: (x, mean, low, high) of each point, x increasing. Without spread low and high are the
/// mean.
#[derive(Clone, Debug, PartialEq)]
pub struct Line {
    /// Name in the legend.
    pub name: String,
    /// The points; those that are not finite leave a gap.
    pub points: Vec<[f64; 4]>,
}

/// Curves with bands.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Lines {
    /// What the chart shows.
    pub title: String,
    /// What x is, with unit.
    pub x: String,
    /// What y is, with unit.
    pub y: String,
    /// What the band is, such as "± standard deviation over 5 seeds"; empty without bands.
    pub band: String,
    /// The curves.
    pub lines: Vec<Line>,
    /// A height that is marked, such as 1 for a ratio.
    pub mark: Option<f64>,
}

const HEIGHT: f64 = 300.0;
/// More points on a curve are thinned out: an eye cannot tell them apart, and every one is a row of
/// the table.
const MOST_POINTS: usize = 120;

impl Lines {
    /// Draws them.
    pub fn chart(&self) -> Chart {
        let thin: Vec<Line> = self.lines.iter().map(Line::thinned).collect();
        let mut drawing = Markup::default();
        let names: Vec<&str> = thin.iter().map(|line| &line.name[..]).collect();
        let room = Room::below(legend(&mut drawing, &names, 64.0, 0), HEIGHT);
        let points = || thin.iter().flat_map(|line| &line.points);
        let xs = Scale::over(points().map(|p| p[0]), room.left, room.right);
        let counted = points().all(|p| p[0].fract() == 0.0) && points().count() > 0;
        let xs = if counted { xs.whole(8) } else { xs };
        // A spread around small numbers may reach below zero where the numbers cannot.
        let floor = if points().any(|p| p[1] < 0.0) { f64::NEG_INFINITY } else { 0.0 };
        let heights = points().flat_map(|p| [p[1], p[2].max(floor), p[3]]).chain(self.mark);
        let ys = Scale::over(heights, room.bottom, room.top).rounded(5);
        room.axes(&mut drawing, [xs, ys], [&self.x, &self.y]);
        if let Some(mark) = self.mark {
            line(&mut drawing, [room.left, ys.at(mark), room.right, ys.at(mark)], "mark");
        }
        for (i, line) in thin.iter().enumerate() {
            line.draw(&mut drawing, i, [xs, ys], floor, !self.band.is_empty());
        }
        let (steps, told) = self.slices(&thin);
        slices(&mut drawing, room, xs, &steps, &told);
        let (head, rows) = self.table(&thin, &steps);
        let note =
            if self.band.is_empty() { String::new() } else { format!("Band: {}.", self.band) };
        Chart::new(&self.title, drawing, HEIGHT, head, rows).noted(note)
    }

    /// Every x, increasing, with what all curves have there.
    fn slices(&self, lines: &[Line]) -> (Vec<f64>, Vec<String>) {
        let mut steps: Vec<f64> = lines
            .iter()
            .flat_map(|line| &line.points)
            .map(|p| p[0])
            .filter(|x| x.is_finite())
            .collect();
        steps.sort_by(f64::total_cmp);
        steps.dedup();
        let of = |line: &Line, x: f64| {
            let p = line.at(x)?;
            let spread = if self.band.is_empty() || p[2] == p[3] {
                String::new()
            } else {
                format!(" ({} to {})", number(p[2]), number(p[3]))
            };
            Some(format!("\n{}: {}{spread}", line.name, number(p[1])))
        };
        let told = |x: &f64| {
            let all: String = lines.iter().filter_map(|line| of(line, *x)).collect();
            format!("{} {}{all}", self.x, number(*x))
        };
        let all = steps.iter().map(told).collect();
        (steps, all)
    }

    /// One row per x, with what each curve has there.
    fn table(&self, lines: &[Line], steps: &[f64]) -> (Vec<String>, Vec<Vec<String>>) {
        let band = !self.band.is_empty();
        let mut head = vec![self.x.clone()];
        for line in lines {
            head.push(line.name.clone());
            if band {
                head.extend([format!("{} low", line.name), format!("{} high", line.name)]);
            }
        }
        let row = |x: &f64| {
            let mut row = vec![number(*x)];
            for line in lines {
                let p = line.at(*x).unwrap_or([f64::NAN; 4]);
                let shown = if band { &p[1..4] } else { &p[1..2] };
                row.extend(shown.iter().map(|x| number(*x)));
            }
            row
        };
        (head, steps.iter().map(row).collect())
    }
}

/// One invisible column per x that tells all numbers there.
fn slices(drawing: &mut Markup, room: Room, xs: Scale, steps: &[f64], told: &[String]) {
    for (i, (x, told)) in steps.iter().zip(told).enumerate() {
        let at = xs.at(*x);
        let from = if i == 0 { room.left } else { f64::midpoint(xs.at(steps[i - 1]), at) };
        let to = steps.get(i + 1).map_or(room.right, |next| f64::midpoint(at, xs.at(*next)));
        rectangle(drawing, [from, room.top, to - from, room.bottom - room.top], "slice", told);
    }
}

impl Line {
    /// The curve through the means of some numbers at each x, with one standard deviation around
    /// them; `None` where there is no number leaves a gap.
    pub fn of(name: impl Into<String>, points: impl IntoIterator<Item = (f64, Vec<f64>)>) -> Self {
        let point = |(x, values): (f64, Vec<f64>)| match boostfgl_fairness::mean(&values) {
            None => [x, f64::NAN, f64::NAN, f64::NAN],
            Some(mean) => {
                let std = boostfgl_fairness::sample_std(&values).unwrap_or(0.0);
                [x, mean, mean - std, mean + std]
            }
        };
        Self { name: name.into(), points: points.into_iter().map(point).collect() }
    }

    fn at(&self, x: f64) -> Option<[f64; 4]> {
        self.points.iter().copied().find(|p| p[0] == x && p[1].is_finite())
    }

    /// The first, the last, and evenly some between.
    fn thinned(&self) -> Self {
        let n = self.points.len();
        if n <= MOST_POINTS {
            return self.clone();
        }
        let kept = (0..MOST_POINTS).map(|i| self.points[i * (n - 1) / (MOST_POINTS - 1)]);
        Self { name: self.name.clone(), points: kept.collect() }
    }

    fn draw(
        &self,
        drawing: &mut Markup,
        series: usize,
        [xs, ys]: [Scale; 2],
        floor: f64,
        band: bool,
    ) {
        let class = colour(series);
        for run in
            self.points.split(|p| !p.iter().all(|x| x.is_finite())).filter(|run| !run.is_empty())
        {
            let path = |value: usize| {
                run.iter().map(move |p| {
                    format!("{},{}", place(xs.at(p[0])), place(ys.at(p[value].max(floor))))
                })
            };
            if band && run.len() > 1 {
                let around: Vec<String> = path(3).chain(path(2).rev()).collect();
                drawing.element(
                    "polygon",
                    &[("points", &around.join(" ")), ("class", &format!("band {class}"))],
                );
            }
            if let [p] = run {
                let told = format!("{}: {}", self.name, number(p[1]));
                circle(drawing, [xs.at(p[0]), ys.at(p[1]), 3.0], &format!("dot {class}"), &told);
            } else {
                let along: Vec<String> = path(1).collect();
                drawing.element(
                    "polyline",
                    &[("points", &along.join(" ")), ("class", &format!("line {class}"))],
                );
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(points: &[[f64; 4]]) -> Lines {
        let line = |name: &str| Line { name: name.to_owned(), points: points.to_vec() };
        Lines {
            title: "accuracy".into(),
            x: "round".into(),
            y: "%".into(),
            band: "± std".into(),
            lines: vec![line("a<b"), line("c")],
            mark: None,
        }
    }

    #[test]
    fn every_point_is_in_the_picture_and_in_the_table() {
        let chart = lines(&[[1.0, 50.0, 48.0, 52.0], [2.0, 60.0, 59.0, 61.0]]).chart();
        assert_eq!(chart.svg.matches("<title>").count(), 2, "one slice per round");
        assert!(
            chart.svg.contains("round 2\na&lt;b: 60 (59 to 61)\nc: 60 (59 to 61)"),
            "{}",
            chart.svg
        );
        assert_eq!(chart.head, ["round", "a<b", "a<b low", "a<b high", "c", "c low", "c high"]);
        assert_eq!(chart.rows[1], ["2", "60", "59", "61", "60", "59", "61"]);
        assert_eq!((&chart.title[..], &chart.note[..]), ("accuracy", "Band: ± std."));
    }

    /// A round without a number leaves a gap, and no curve is no reason to fail.
    #[test]
    fn what_is_missing_is_left_out() {
        let nan = [2.0, f64::NAN, f64::NAN, f64::NAN];
        let chart =
            lines(&[[1.0, 5.0, 5.0, 5.0], nan, [3.0, 6.0, 6.0, 6.0], [4.0, 6.0, 6.0, 6.0]]).chart();
        assert_eq!(
            (chart.svg.matches("<polyline").count(), chart.svg.matches("<circle").count()),
            (2, 2)
        );
        assert!(!chart.svg.contains("NaN") && !lines(&[]).chart().svg.contains("NaN"));
        assert_eq!(chart.rows[1][1], "–");
    }

    #[test]
    fn long_curves_are_thinned_and_keep_their_ends() {
        let points: Vec<[f64; 4]> = (1..=1000).map(f64::from).map(|x| [x, x, x, x]).collect();
        let chart = lines(&points).chart();
        assert_eq!(chart.rows.len(), MOST_POINTS);
        assert_eq!((&chart.rows[0][0][..], &chart.rows[MOST_POINTS - 1][0][..]), ("1", "1000"));
    }

    #[test]
    fn a_curve_of_seeds_has_their_mean_and_spread() {
        let line = Line::of("m", [(1.0, vec![1.0, 3.0]), (2.0, vec![]), (3.0, vec![4.0])]);
        assert_eq!(line.points[0], [1.0, 2.0, 2.0 - 2f64.sqrt(), 2.0 + 2f64.sqrt()]);
        assert!(line.points[1][1].is_nan());
        assert_eq!(line.points[2], [3.0, 4.0, 4.0, 4.0]);
    }
}
