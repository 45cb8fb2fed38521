//! Clients as pie charts on a ring, joined by lines for the edges cut between them.

use super::axes::text;
use super::{Chart, WIDTH, colour, legend, number, place, text_width};
use crate::markup::{Attributes, Markup};
use std::f64::consts::TAU;

/// One client.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Slices {
    /// Its name.
    pub name: String,
    /// How much it holds of each part.
    pub parts: Vec<f64>,
    /// Other clients by their position, with the number of edges cut between the two.
    pub joined: Vec<(usize, f64)>,
}

/// Pies on a ring.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Ring {
    /// What the chart shows.
    pub title: String,
    /// Names of the parts.
    pub series: Vec<String>,
    /// What a part is, such as "nodes".
    pub unit: String,
    /// What a line is, such as "lost edges".
    pub joint: String,
    /// The pies.
    pub pies: Vec<Slices>,
}

const HEIGHT: f64 = 420.0;
/// The vertical radius of the ring; the horizontal one is half as large again.
const RADIUS: f64 = 138.0;

impl Ring {
    /// Draws the chart.
    pub fn chart(&self) -> Chart {
        let mut drawing = Markup::default();
        let names: Vec<&str> = self.series.iter().map(|name| &name[..]).collect();
        let top = legend(&mut drawing, &names, 8.0, 0);
        let height = HEIGHT + top;
        let n = self.pies.len();
        let largest = self.pies.iter().map(Slices::total).fold(0.0, f64::max);
        // Neighbours on the ring must not touch, and a single pie must not fill the drawing.
        let most =
            if n < 2 { 90.0 } else { (RADIUS * libm::sin(TAU / 2.0 / n as f64) * 0.82).min(70.0) };
        let centres: Vec<[f64; 2]> = (0..n).map(|i| centre(i, n, top)).collect();
        self.draw_joints(&mut drawing, &centres);
        for (pie, &centre) in self.pies.iter().zip(&centres) {
            // The area is proportional to the total.
            let radius = if largest > 0.0 { most * (pie.total() / largest).sqrt() } else { 0.0 };
            self.draw_pie(&mut drawing, pie, centre, radius.max(3.0));
        }
        Chart::new(
            &self.title,
            drawing,
            height,
            self.head(),
            self.pies.iter().map(|pie| self.row(pie)).collect(),
        )
    }

    /// Draws lines between pies, their width proportional to the number of edges cut.
    fn draw_joints(&self, drawing: &mut Markup, centres: &[[f64; 2]]) {
        let pairs = self.pairs();
        let strongest = pairs.iter().map(|(_, _, strength)| *strength).fold(0.0, f64::max);
        for (i, j, strength) in pairs.into_iter().filter(|(_, _, strength)| *strength > 0.0) {
            let ([x1, y1], [x2, y2]) = (centres[i].map(place), centres[j].map(place));
            let width = place(0.8 + 11.0 * strength / strongest);
            let attributes: &Attributes<'_> = &[
                ("x1", &x1),
                ("y1", &y1),
                ("x2", &x2),
                ("y2", &y2),
                ("class", &"lost"),
                ("stroke-width", &width),
            ];
            drawing.open("line", attributes);
            drawing.text("title", &[], &self.joint_title(i, j, strength));
            drawing.close("line");
        }
    }

    /// Every pair of joined pies once, the first before the second, with the edges cut.
    fn pairs(&self) -> Vec<(usize, usize, f64)> {
        let mut pairs = Vec::new();
        for (i, pie) in self.pies.iter().enumerate() {
            let later = pie.joined.iter().filter(|(j, _)| *j > i && *j < self.pies.len());
            pairs.extend(later.map(|(j, strength)| (i, *j, *strength)));
        }
        pairs
    }

    /// The text shown on hover over a line.
    fn joint_title(&self, i: usize, j: usize, strength: f64) -> String {
        format!(
            "{} – {}\n{}: {}",
            self.pies[i].name,
            self.pies[j].name,
            self.joint,
            number(strength)
        )
    }

    /// Draws one pie with its name and total below it.
    fn draw_pie(&self, drawing: &mut Markup, pie: &Slices, [x, y]: [f64; 2], radius: f64) {
        let total = pie.total();
        let mut from = -TAU / 4.0;
        for (s, &part) in
            pie.parts.iter().enumerate().filter(|(_, part)| part.is_finite() && **part > 0.0)
        {
            let to = from + TAU * part / total;
            let name = self.series.get(s).map_or("", |name| &name[..]);
            let title = format!(
                "{}\n{name}: {} of {} {}",
                pie.name,
                number(part),
                number(total),
                self.unit
            );
            drawing.open(
                "path",
                &[
                    ("d", &wedge([x, y], radius, from, to)),
                    ("class", &format!("part {}", colour(s))),
                ],
            );
            drawing.text("title", &[], &title);
            drawing.close("path");
            from = to;
        }
        let label = format!("{}: {}", pie.name, number(total));
        let x = x.clamp(text_width(&label) / 2.0 + 4.0, WIDTH - text_width(&label) / 2.0 - 4.0);
        text(drawing, x, y + radius + 15.0, "tick middle halo", &label);
    }

    /// The head of the table.
    fn head(&self) -> Vec<String> {
        let parts = self.series.iter().cloned();
        std::iter::once("client".to_owned())
            .chain(parts)
            .chain([self.unit.clone(), self.joint.clone()])
            .collect()
    }

    /// One row of the table.
    fn row(&self, pie: &Slices) -> Vec<String> {
        let parts =
            (0..self.series.len()).map(|s| number(pie.parts.get(s).copied().unwrap_or(0.0)));
        let joined = pie.joined.iter().map(|(_, strength)| strength).sum();
        std::iter::once(pie.name.clone())
            .chain(parts)
            .chain([number(pie.total()), number(joined)])
            .collect()
    }
}

impl Slices {
    /// The sum of its parts.
    fn total(&self) -> f64 {
        self.parts.iter().filter(|part| part.is_finite() && **part > 0.0).sum()
    }
}

/// The centre of pie `i` of `n`, clockwise from the top of the ring; a single pie is in the middle.
fn centre(i: usize, n: usize, top: f64) -> [f64; 2] {
    let angle = TAU * (i as f64 / n as f64 - 0.25);
    let distance = if n < 2 { 0.0 } else { RADIUS };
    let [x, y] = [WIDTH / 2.0, top + HEIGHT / 2.0];
    [x + distance * libm::cos(angle) * 1.5, y + distance * libm::sin(angle)]
}

/// The SVG path of a sector between two angles.
fn wedge([x, y]: [f64; 2], radius: f64, from: f64, to: f64) -> String {
    let [x1, y1, x2, y2] = [
        x + radius * libm::cos(from),
        y + radius * libm::sin(from),
        x + radius * libm::cos(to),
        y + radius * libm::sin(to),
    ]
    .map(place);
    let (x, y, radius_text) = (place(x), place(y), place(radius));
    if to - from > TAU * 0.9999 {
        // SVG draws no arc whose ends are equal, so a full circle is drawn as two halves.
        let (low, high) = (
            place(y.parse::<f64>().unwrap_or(0.0) + radius),
            place(y.parse::<f64>().unwrap_or(0.0) - radius),
        );
        return format!(
            "M{x},{high}A{radius_text},{radius_text} 0 1 1 {x},{low}A{radius_text},{radius_text} \
             0 1 1 {x},{high}Z"
        );
    }
    let large = u8::from(to - from > TAU / 2.0);
    format!("M{x},{y}L{x1},{y1}A{radius_text},{radius_text} 0 {large} 1 {x2},{y2}Z")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pies_and_lines_have_titles_with_their_numbers() {
        let pie = |name: &str, parts: &[f64], joined: &[(usize, f64)]| Slices {
            name: name.into(),
            parts: parts.to_vec(),
            joined: joined.to_vec(),
        };
        let ring = Ring {
            title: "partition".into(),
            series: vec!["a".into(), "<b>".into()],
            unit: "nodes".into(),
            joint: "lost edges".into(),
            pies: vec![
                pie("client 0", &[3.0, 1.0], &[(1, 7.0)]),
                pie("client 1", &[0.0, 2.0], &[(0, 7.0)]),
            ],
        };
        let chart = ring.chart();
        assert_eq!(chart.svg.matches("<path").count(), 3);
        assert_eq!(chart.svg.matches("class=\"lost\"").count(), 1, "once per pair");
        assert!(
            chart.svg.contains("client 0\n&lt;b&gt;: 1 of 4 nodes")
                && chart.svg.contains("lost edges: 7")
        );
        assert_eq!(chart.rows[1], ["client 1", "0", "2", "2", "7"]);
        let alone = Ring { pies: vec![Slices::default()], ..ring };
        assert!(!alone.chart().svg.contains("NaN") && !Ring::default().chart().svg.contains("NaN"));
    }

    #[test]
    fn a_full_circle_is_drawn_as_two_arcs() {
        assert_eq!(wedge([10.0, 10.0], 5.0, 0.0, TAU).matches('A').count(), 2);
        assert_eq!(wedge([0.0, 0.0], 1.0, 0.0, TAU / 4.0), "M0,0L1,0A1,1 0 0 1 0,1Z");
    }
}
