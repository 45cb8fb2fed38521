//! Clients on a ring: what each holds as a pie, what was cut between them as lines.

use super::axes::text;
use super::{Chart, WIDTH, colour, legend, number, place, text_width};
use crate::markup::Markup;
use std::f64::consts::TAU;

/// One client.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Slices {
    /// Its name.
    pub name: String,
    /// How much it holds of each part.
    pub parts: Vec<f64>,
    /// What joins it to others, by their position.
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

impl Ring {
    /// Draws them.
    pub fn chart(&self) -> Chart {
        let mut drawing = Markup::default();
        let names: Vec<&str> = self.series.iter().map(|name| &name[..]).collect();
        let top = legend(&mut drawing, &names, 8.0, 0);
        let height = HEIGHT + top;
        let (centre, n) = ([WIDTH / 2.0, top + HEIGHT / 2.0], self.pies.len());
        let largest = self.pies.iter().map(Slices::total).fold(0.0, f64::max);
        // Neighbours on the ring do not touch, and one pie alone is not huge.
        let around = 138.0;
        let room =
            if n < 2 { 90.0 } else { (around * libm::sin(TAU / 2.0 / n as f64) * 0.82).min(70.0) };
        let spot = |i: usize| {
            let angle = TAU * (i as f64 / n as f64 - 0.25);
            let away = if n < 2 { 0.0 } else { around };
            [centre[0] + away * libm::cos(angle) * 1.5, centre[1] + away * libm::sin(angle)]
        };
        self.joints(&mut drawing, &spot);
        for (i, pie) in self.pies.iter().enumerate() {
            let radius = if largest > 0.0 { room * (pie.total() / largest).sqrt() } else { 0.0 };
            self.pie(&mut drawing, pie, spot(i), radius.max(3.0));
        }
        Chart::new(
            &self.title,
            drawing,
            height,
            self.head(),
            self.pies.iter().map(|pie| self.row(pie)).collect(),
        )
    }

    /// Lines between pies, as thick as what joins them.
    fn joints(&self, drawing: &mut Markup, spot: &impl Fn(usize) -> [f64; 2]) {
        let pairs = || {
            let of = |(i, pie): (usize, &Slices)| {
                let later: Vec<_> = pie
                    .joined
                    .iter()
                    .filter(|(j, _)| *j > i && *j < self.pies.len())
                    .copied()
                    .collect();
                later.into_iter().map(move |(j, strength)| (i, j, strength))
            };
            self.pies.iter().enumerate().flat_map(of)
        };
        let strongest = pairs().map(|(_, _, strength)| strength).fold(0.0, f64::max);
        for (i, j, strength) in pairs().filter(|(_, _, strength)| *strength > 0.0) {
            let ([x1, y1], [x2, y2]) = (spot(i), spot(j));
            let (width, told) =
                (place(0.8 + 11.0 * strength / strongest), self.told(i, j, strength));
            let (x1, y1, x2, y2) = (place(x1), place(y1), place(x2), place(y2));
            let attributes: &[(&str, &dyn std::fmt::Display)] = &[
                ("x1", &x1),
                ("y1", &y1),
                ("x2", &x2),
                ("y2", &y2),
                ("class", &"lost"),
                ("stroke-width", &width),
            ];
            drawing.open("line", attributes);
            drawing.text("title", &[], &told);
            drawing.close("line");
        }
    }

    fn told(&self, i: usize, j: usize, strength: f64) -> String {
        format!(
            "{} – {}\n{}: {}",
            self.pies[i].name,
            self.pies[j].name,
            self.joint,
            number(strength)
        )
    }

    fn pie(&self, drawing: &mut Markup, pie: &Slices, [x, y]: [f64; 2], radius: f64) {
        let total = pie.total();
        let mut from = -TAU / 4.0;
        for (s, &part) in
            pie.parts.iter().enumerate().filter(|(_, part)| part.is_finite() && **part > 0.0)
        {
            let to = from + TAU * part / total;
            let name = self.series.get(s).map_or("", |name| &name[..]);
            let told = format!(
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
            drawing.text("title", &[], &told);
            drawing.close("path");
            from = to;
        }
        let label = format!("{}: {}", pie.name, number(total));
        let at = x.clamp(text_width(&label) / 2.0 + 4.0, WIDTH - text_width(&label) / 2.0 - 4.0);
        text(drawing, at, y + radius + 15.0, "tick middle halo", &label);
    }

    fn head(&self) -> Vec<String> {
        let parts = self.series.iter().cloned();
        std::iter::once("client".to_owned())
            .chain(parts)
            .chain([self.unit.clone(), self.joint.clone()])
            .collect()
    }

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
    fn total(&self) -> f64 {
        self.parts.iter().filter(|part| part.is_finite() && **part > 0.0).sum()
    }
}

/// The outline of a piece of a pie between two angles.
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
        // An arc from a point to itself is none: two halves.
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
    fn pies_and_lines_carry_their_numbers() {
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
    fn a_whole_pie_is_a_circle() {
        assert_eq!(wedge([10.0, 10.0], 5.0, 0.0, TAU).matches('A').count(), 2);
        assert_eq!(wedge([0.0, 0.0], 1.0, 0.0, TAU / 4.0), "M0,0L1,0A1,1 0 0 1 0,1Z");
    }
}
