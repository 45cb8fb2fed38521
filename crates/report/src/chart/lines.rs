//! Curves over rounds, with a band around each.

use super::scale::{Scale, label};
use super::svg::{Drawing, place};
use super::{Chart, Margins, colour, legend};

/// One curve: (x, mean, low, high) of each point, x increasing. Without spread low and high are the mean.
#[derive(Clone, Debug, PartialEq)]
pub struct Line {
    /// Name in the legend.
    pub name: String,
    /// The points; those that are not finite leave a gap.
    pub points: Vec<[f64; 4]>,
}

/// Curves with bands.
#[derive(Clone, Debug, PartialEq)]
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
}

const WIDTH: f64 = 640.0;
const HEIGHT: f64 = 300.0;
const TICKS: usize = 5;

impl Lines {
    /// Draws them.
    pub fn chart(&self) -> Chart {
        let mut drawing = Drawing::default();
        let names: Vec<&str> = self.lines.iter().map(|line| &line.name[..]).collect();
        let top = if names.len() > 1 { legend(&mut drawing, &names, 56.0, WIDTH) } else { 8.0 };
        let room = Margins { left: 56.0, right: 12.0, top, bottom: 40.0 };
        let points = || self.lines.iter().flat_map(|line| &line.points);
        let xs = Scale::over(points().map(|p| p[0]), room.left, WIDTH - room.right);
        let ys = Scale::over(points().flat_map(|p| [p[1], p[2], p[3]]), HEIGHT - room.bottom, room.top).rounded(TICKS);
        self.axes(&mut drawing, room, xs, ys);
        for (i, line) in self.lines.iter().enumerate() {
            line.draw(&mut drawing, i, xs, ys, !self.band.is_empty());
        }
        let title = if self.band.is_empty() { self.title.clone() } else { format!("{} ({})", self.title, self.band) };
        let svg = drawing.finish(WIDTH, HEIGHT, &title);
        let (head, rows) = self.table();
        Chart { title, svg, head, rows }
    }

    fn axes(&self, drawing: &mut Drawing, room: Margins, xs: Scale, ys: Scale) {
        let (right, bottom) = (WIDTH - room.right, HEIGHT - room.bottom);
        let ticks = ys.ticks(TICKS);
        for &y in &ticks {
            let at = place(ys.at(y));
            drawing.element(
                "line",
                &[("x1", &place(room.left)), ("x2", &place(right)), ("y1", &at), ("y2", &at), ("class", &"grid")],
            );
            let (x, y_text) = (place(room.left - 6.0), place(ys.at(y) + 4.0));
            drawing.text("text", &[("x", &x), ("y", &y_text), ("class", &"tick end")], &label(y, &ticks));
        }
        let ticks = xs.ticks(TICKS + 3);
        for &x in &ticks {
            let at = place(xs.at(x));
            drawing.element(
                "line",
                &[("x1", &at), ("x2", &at), ("y1", &place(bottom)), ("y2", &place(bottom + 4.0)), ("class", &"axis")],
            );
            drawing.text(
                "text",
                &[("x", &at), ("y", &place(bottom + 17.0)), ("class", &"tick middle")],
                &label(x, &ticks),
            );
        }
        drawing.element(
            "line",
            &[
                ("x1", &place(room.left)),
                ("x2", &place(right)),
                ("y1", &place(bottom)),
                ("y2", &place(bottom)),
                ("class", &"axis"),
            ],
        );
        let (middle, below) = ((room.left + right) / 2.0, HEIGHT - 6.0);
        drawing.text("text", &[("x", &place(middle)), ("y", &place(below)), ("class", &"name middle")], &self.x);
        let (x, y) = (13.0, (room.top + bottom) / 2.0);
        let turn = format!("rotate(-90 {} {})", place(x), place(y));
        drawing.text(
            "text",
            &[("x", &place(x)), ("y", &place(y)), ("transform", &turn), ("class", &"name middle")],
            &self.y,
        );
    }

    fn table(&self) -> (Vec<String>, Vec<Vec<String>>) {
        let mut head = vec!["series".to_owned(), self.x.clone(), self.y.clone()];
        if !self.band.is_empty() {
            head.extend(["low".to_owned(), "high".to_owned()]);
        }
        let row = |line: &Line, p: &[f64; 4]| {
            let mut row = vec![line.name.clone(), format!("{}", p[0]), format!("{:.4}", p[1])];
            if !self.band.is_empty() {
                row.extend([format!("{:.4}", p[2]), format!("{:.4}", p[3])]);
            }
            row
        };
        let rows = self.lines.iter().flat_map(|line| line.points.iter().map(move |p| row(line, p))).collect();
        (head, rows)
    }
}

impl Line {
    fn draw(&self, drawing: &mut Drawing, number: usize, xs: Scale, ys: Scale, band: bool) {
        let class = colour(number);
        for run in self.points.split(|p| !p.iter().all(|x| x.is_finite())).filter(|run| !run.is_empty()) {
            let path =
                |value: usize| run.iter().map(move |p| format!("{},{}", place(xs.at(p[0])), place(ys.at(p[value]))));
            if band && run.len() > 1 {
                let around: Vec<String> = path(3).chain(path(2).rev()).collect();
                drawing.element("polygon", &[("points", &around.join(" ")), ("class", &format!("band {class}"))]);
            }
            drawing.element(
                "polyline",
                &[("points", &path(1).collect::<Vec<_>>().join(" ")), ("class", &format!("line {class}"))],
            );
            for p in run {
                let (x, y) = (place(xs.at(p[0])), place(ys.at(p[1])));
                drawing.open("circle", &[("cx", &x), ("cy", &y), ("r", &"5"), ("class", &format!("hover {class}"))]);
                drawing.text("title", &[], &format!("{}, {}: {:.3}", self.name, p[0], p[1]));
                drawing.close("circle");
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(points: Vec<[f64; 4]>) -> Lines {
        let line = |name: &str| Line { name: name.to_owned(), points: points.clone() };
        let text = |text: &str| text.to_owned();
        Lines {
            title: text("accuracy"),
            x: text("round"),
            y: text("%"),
            band: text("± std"),
            lines: vec![line("a<b"), line("c")],
        }
    }

    #[test]
    fn every_point_is_in_the_picture_and_in_the_table() {
        let chart = lines(vec![[1.0, 50.0, 48.0, 52.0], [2.0, 60.0, 59.0, 61.0]]).chart();
        assert_eq!(chart.svg.matches("<title>").count(), 4);
        assert!(chart.svg.contains("a&lt;b, 2: 60.000"), "{}", chart.svg);
        assert_eq!(chart.rows.len(), 4);
        assert_eq!(chart.rows[1], ["a<b", "2", "60.0000", "59.0000", "61.0000"]);
        assert!(chart.html().contains("<td>a&lt;b</td>"));
    }

    /// A round without a number leaves a gap, and no curve is no reason to fail.
    #[test]
    fn what_is_missing_is_left_out() {
        let nan = [f64::NAN; 4];
        let chart = lines(vec![[1.0, 5.0, 5.0, 5.0], nan, [3.0, 6.0, 6.0, 6.0]]).chart();
        assert_eq!(chart.svg.matches("<polyline").count(), 4);
        assert!(!chart.svg.contains("NaN"));
        assert!(!lines(Vec::new()).chart().svg.contains("NaN"));
    }
}
