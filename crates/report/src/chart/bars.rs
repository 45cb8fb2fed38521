//! Stacked bars: one bar per row, divided into series.

use super::axes::{rectangle, text};
use super::{Chart, WIDTH, colour, legend, named_row, number, shortened, text_width};
use crate::markup::Markup;

/// Stacked bars.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Bars {
    /// What the chart shows.
    pub title: String,
    /// What a length is, with unit.
    pub x: String,
    /// Names of the parts.
    pub series: Vec<String>,
    /// Names of the bars with the length of each part.
    pub rows: Vec<(String, Vec<f64>)>,
}

/// The height of a row.
const STEP: f64 = 24.0;

impl Bars {
    /// Draws the chart.
    pub fn chart(&self) -> Chart {
        let mut drawing = Markup::default();
        let names: Vec<&str> = self.series.iter().map(|name| &name[..]).collect();
        let top = legend(&mut drawing, &names, 8.0, 0);
        let longest =
            self.rows.iter().map(|(name, _)| text_width(&shortened(name, 40))).fold(0.0, f64::max);
        let left = (16.0 + longest).clamp(60.0, WIDTH / 2.0);
        let largest = self.rows.iter().map(|(_, parts)| total(parts)).fold(0.0, f64::max);
        let unit = if largest > 0.0 { (WIDTH - left - 76.0) / largest } else { 0.0 };
        for (r, row) in self.rows.iter().enumerate() {
            self.draw_bar(&mut drawing, row, [left, top + STEP * r as f64], unit);
        }
        let bottom = top + STEP * self.rows.len() as f64;
        text(&mut drawing, WIDTH / 2.0, bottom + 18.0, "name middle", &self.x);
        let head = std::iter::once(self.x.clone()).chain(self.series.iter().cloned()).collect();
        let rows = self.rows.iter().map(|row| named_row(row, self.series.len())).collect();
        Chart::new(&self.title, drawing, bottom + 26.0, head, rows)
    }

    /// Draws one bar with its name on the left and its total on the right. `unit` is the length
    /// of 1.
    fn draw_bar(
        &self,
        drawing: &mut Markup,
        (name, parts): &(String, Vec<f64>),
        [left, y]: [f64; 2],
        unit: f64,
    ) {
        text(drawing, left - 8.0, y + STEP / 2.0 + 4.0, "tick end", &shortened(name, 40));
        let mut x = left;
        for (s, &length) in parts.iter().enumerate().filter(|(_, x)| is_drawn(**x)) {
            let part = self.series.get(s).map_or("", |part| &part[..]);
            rectangle(
                drawing,
                [x, y + 3.0, length * unit, STEP - 6.0],
                &format!("part {}", colour(s)),
                &format!("{name}\n{part}: {}", number(length)),
            );
            x += length * unit;
        }
        text(drawing, x + 6.0, y + STEP / 2.0 + 4.0, "tick", &number(total(parts)));
    }
}

/// Whether a part has a length that can be drawn.
fn is_drawn(length: f64) -> bool {
    length.is_finite() && length > 0.0
}

/// The length of a bar.
fn total(parts: &[f64]) -> f64 {
    parts.iter().filter(|length| is_drawn(**length)).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bars_are_as_long_as_their_numbers() {
        let bars = Bars {
            title: "classes".into(),
            x: "nodes".into(),
            series: vec!["a".into(), "b".into()],
            rows: vec![("client 0".into(), vec![10.0, 30.0]), ("client 1".into(), vec![0.0, 20.0])],
        };
        let chart = bars.chart();
        assert_eq!(chart.svg.matches("<rect").count(), 3, "nothing is drawn for 0");
        assert!(chart.svg.contains("client 0\nb: 30"), "{}", chart.svg);
        assert_eq!(chart.rows[1], ["client 1", "0", "20"]);
        assert!(!Bars::default().chart().svg.contains("NaN"));
    }
}
