//! Curves over rounds, with a band around each.

use super::axes::{PlotArea, circle, line, rectangle};
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
/// Curves with more points are thinned out: the difference is invisible, and every point is a row
/// of the table.
const MOST_POINTS: usize = 120;

impl Lines {
    /// Draws the chart.
    pub fn chart(&self) -> Chart {
        let lines: Vec<Line> = self.lines.iter().map(Line::thinned).collect();
        let points: Vec<&[f64; 4]> = lines.iter().flat_map(|line| &line.points).collect();
        let mut drawing = Markup::default();
        let names: Vec<&str> = lines.iter().map(|line| &line.name[..]).collect();
        let area = PlotArea::below(legend(&mut drawing, &names, 64.0, 0), HEIGHT);
        let xs = Scale::over(points.iter().map(|p| p[0]), area.left, area.right);
        let counted = !points.is_empty() && points.iter().all(|p| p[0].fract() == 0.0);
        let xs = if counted { xs.whole(8) } else { xs };
        // A spread around small numbers may reach below zero where the numbers cannot.
        let floor = if points.iter().any(|p| p[1] < 0.0) { f64::NEG_INFINITY } else { 0.0 };
        let heights = points.iter().flat_map(|p| [p[1], p[2].max(floor), p[3]]).chain(self.mark);
        let ys = Scale::over(heights, area.bottom, area.top).rounded(5);
        area.axes(&mut drawing, [xs, ys], [&self.x, &self.y]);
        if let Some(mark) = self.mark {
            line(&mut drawing, [area.left, ys.at(mark), area.right, ys.at(mark)], "mark");
        }
        for (i, line) in lines.iter().enumerate() {
            line.draw(&mut drawing, i, [xs, ys], floor, !self.band.is_empty());
        }
        let steps = steps(&points);
        let titles: Vec<String> = steps.iter().map(|x| self.slice_title(&lines, *x)).collect();
        draw_slices(&mut drawing, area, xs, &steps, &titles);
        let rows = steps.iter().map(|x| self.row(&lines, *x)).collect();
        let note =
            if self.band.is_empty() { String::new() } else { format!("Band: {}.", self.band) };
        Chart::new(&self.title, drawing, HEIGHT, self.head(&lines), rows).noted(note)
    }

    /// The values of all curves at `x`, shown on hover.
    fn slice_title(&self, lines: &[Line], x: f64) -> String {
        let mut title = format!("{} {}", self.x, number(x));
        for line in lines {
            let Some(p) = line.at(x) else { continue };
            title.push_str(&format!("\n{}: {}", line.name, number(p[1])));
            if !self.band.is_empty() && p[2] != p[3] {
                title.push_str(&format!(" ({} to {})", number(p[2]), number(p[3])));
            }
        }
        title
    }

    /// The head of the table, with two more columns per curve if there are bands.
    fn head(&self, lines: &[Line]) -> Vec<String> {
        let mut head = vec![self.x.clone()];
        for line in lines {
            head.push(line.name.clone());
            if !self.band.is_empty() {
                head.extend([format!("{} low", line.name), format!("{} high", line.name)]);
            }
        }
        head
    }

    /// The row of the table with the values of all curves at `x`.
    fn row(&self, lines: &[Line], x: f64) -> Vec<String> {
        let mut row = vec![number(x)];
        for line in lines {
            let p = line.at(x).unwrap_or([f64::NAN; 4]);
            let shown = if self.band.is_empty() { &p[1..2] } else { &p[1..4] };
            row.extend(shown.iter().map(|x| number(*x)));
        }
        row
    }
}

/// Every finite x once, increasing.
fn steps(points: &[&[f64; 4]]) -> Vec<f64> {
    let mut steps: Vec<f64> = points.iter().map(|p| p[0]).filter(|x| x.is_finite()).collect();
    steps.sort_by(f64::total_cmp);
    steps.dedup();
    steps
}

/// Draws one invisible column per x, whose title has all values there. Columns meet halfway.
fn draw_slices(drawing: &mut Markup, area: PlotArea, xs: Scale, steps: &[f64], titles: &[String]) {
    for (i, (x, title)) in steps.iter().zip(titles).enumerate() {
        let at = xs.at(*x);
        let from = if i == 0 { area.left } else { f64::midpoint(xs.at(steps[i - 1]), at) };
        let to = steps.get(i + 1).map_or(area.right, |next| f64::midpoint(at, xs.at(*next)));
        rectangle(drawing, [from, area.top, to - from, area.bottom - area.top], "slice", title);
    }
}

impl Line {
    /// The curve through the means of the values at each x, with a band of one standard deviation.
    /// An x without values leaves a gap.
    pub fn of(name: impl Into<String>, points: impl IntoIterator<Item = (f64, Vec<f64>)>) -> Self {
        let points = points.into_iter().map(|(x, values)| mean_and_band(x, &values));
        Self { name: name.into(), points: points.collect() }
    }

    /// The point at `x`, if it is finite.
    fn at(&self, x: f64) -> Option<[f64; 4]> {
        self.points.iter().copied().find(|p| p[0] == x && p[1].is_finite())
    }

    /// At most [`MOST_POINTS`] points at even distances, including the first and the last.
    fn thinned(&self) -> Self {
        let n = self.points.len();
        if n <= MOST_POINTS {
            return self.clone();
        }
        let kept = (0..MOST_POINTS).map(|i| self.points[i * (n - 1) / (MOST_POINTS - 1)]);
        Self { name: self.name.clone(), points: kept.collect() }
    }

    /// Draws the curve, a dot where a point has no neighbours, and the band if `band` is set. Lower
    /// ends below `floor` are raised to it.
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
            if band && run.len() > 1 {
                let upper = path(run, 3, [xs, ys], floor);
                let lower = path(run, 2, [xs, ys], floor).rev();
                let around: Vec<String> = upper.chain(lower).collect();
                drawing.element(
                    "polygon",
                    &[("points", &around.join(" ")), ("class", &format!("band {class}"))],
                );
            }
            if let [p] = run {
                let title = format!("{}: {}", self.name, number(p[1]));
                circle(drawing, [xs.at(p[0]), ys.at(p[1]), 3.0], &format!("dot {class}"), &title);
            } else {
                let along: Vec<String> = path(run, 1, [xs, ys], floor).collect();
                drawing.element(
                    "polyline",
                    &[("points", &along.join(" ")), ("class", &format!("line {class}"))],
                );
            }
        }
    }
}

/// The point (x, mean, mean − std, mean + std); without values all but x are NaN.
fn mean_and_band(x: f64, values: &[f64]) -> [f64; 4] {
    let Some(mean) = boostfgl_fairness::mean(values) else {
        return [x, f64::NAN, f64::NAN, f64::NAN];
    };
    let std = boostfgl_fairness::sample_std(values).unwrap_or(0.0);
    [x, mean, mean - std, mean + std]
}

/// The SVG coordinates of the points, with y taken from one column of them.
fn path(
    points: &[[f64; 4]],
    column: usize,
    [xs, ys]: [Scale; 2],
    floor: f64,
) -> impl DoubleEndedIterator<Item = String> {
    points
        .iter()
        .map(move |p| format!("{},{}", place(xs.at(p[0])), place(ys.at(p[column].max(floor)))))
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

    /// Also if no curve has a point.
    #[test]
    fn missing_values_leave_gaps() {
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
