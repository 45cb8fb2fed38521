//! Parts of wholes: one bar per row, cut into series.

use super::axes::{rectangle, text};
use super::{Chart, WIDTH, colour, legend, number, shortened, text_width};
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

const STEP: f64 = 24.0;

impl Bars {
    /// Draws them.
    pub fn chart(&self) -> Chart {
        let mut drawing = Markup::default();
        let names: Vec<&str> = self.series.iter().map(|name| &name[..]).collect();
        let top = legend(&mut drawing, &names, 8.0, 0);
        let longest =
            self.rows.iter().map(|(name, _)| text_width(&shortened(name, 40))).fold(0.0, f64::max);
        let left = (16.0 + longest).clamp(60.0, WIDTH / 2.0);
        let shown = |row: &[f64]| row.iter().filter(|x| x.is_finite() && **x > 0.0).sum::<f64>();
        let largest = self.rows.iter().map(|(_, row)| shown(row)).fold(0.0, f64::max);
        let unit = if largest > 0.0 { (WIDTH - left - 76.0) / largest } else { 0.0 };
        for (r, (name, row)) in self.rows.iter().enumerate() {
            let y = top + STEP * r as f64;
            text(&mut drawing, left - 8.0, y + STEP / 2.0 + 4.0, "tick end", &shortened(name, 40));
            let mut x = left;
            for (s, &length) in row.iter().enumerate().filter(|(_, x)| x.is_finite() && **x > 0.0) {
                let part = names.get(s).copied().unwrap_or_default();
                let told = format!("{name}\n{part}: {}", number(length));
                rectangle(
                    &mut drawing,
                    [x, y + 3.0, length * unit, STEP - 6.0],
                    &format!("part {}", colour(s)),
                    &told,
                );
                x += length * unit;
            }
            text(&mut drawing, x + 6.0, y + STEP / 2.0 + 4.0, "tick", &number(shown(row)));
        }
        let bottom = top + STEP * self.rows.len() as f64;
        text(&mut drawing, WIDTH / 2.0, bottom + 18.0, "name middle", &self.x);
        let head = std::iter::once(self.x.clone()).chain(self.series.iter().cloned()).collect();
        let row = |(name, row): &(String, Vec<f64>)| -> Vec<String> {
            let cells =
                (0..self.series.len()).map(|s| number(row.get(s).copied().unwrap_or(f64::NAN)));
            std::iter::once(name.clone()).chain(cells).collect()
        };
        Chart::new(&self.title, drawing, bottom + 26.0, head, self.rows.iter().map(row).collect())
    }
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
