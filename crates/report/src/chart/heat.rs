//! A number for every pair of two settings, as colour and in print.

use super::Chart;
use super::svg::{Drawing, place};

/// A heat map.
#[derive(Clone, Debug, PartialEq)]
pub struct Heat {
    /// What the chart shows, with unit.
    pub title: String,
    /// What columns and rows are.
    pub x: String,
    /// What rows are.
    pub y: String,
    /// Names of columns.
    pub columns: Vec<String>,
    /// Names of rows with a number per column; what is not finite is left blank.
    pub rows: Vec<(String, Vec<f64>)>,
}

const WIDTH: f64 = 640.0;
const CELL: f64 = 30.0;

impl Heat {
    /// Draws it.
    pub fn chart(&self) -> Chart {
        let numbers = || self.rows.iter().flat_map(|(_, row)| row).copied().filter(|x| x.is_finite());
        let (low, high) = (numbers().fold(f64::INFINITY, f64::min), numbers().fold(f64::NEG_INFINITY, f64::max));
        let left = 110.0;
        let wide = (WIDTH - left - 8.0) / self.columns.len().max(1) as f64;
        let top = 24.0;
        let mut drawing = Drawing::default();
        for (c, name) in self.columns.iter().enumerate() {
            let x = place(left + (c as f64 + 0.5) * wide);
            drawing.text("text", &[("x", &x), ("y", &place(top - 8.0)), ("class", &"tick middle")], name);
        }
        for (r, (name, row)) in self.rows.iter().enumerate() {
            let y = top + r as f64 * CELL;
            drawing.text(
                "text",
                &[("x", &place(left - 8.0)), ("y", &place(y + CELL / 2.0 + 4.0)), ("class", &"tick end")],
                name,
            );
            for (c, &number) in row.iter().enumerate().filter(|(_, number)| number.is_finite()) {
                let share = if high > low { (number - low) / (high - low) } else { 0.5 };
                let what = format!(
                    "{} {name}, {} {}: {number:.2}",
                    self.y,
                    self.x,
                    self.columns.get(c).map_or("", |c| &c[..])
                );
                cell(&mut drawing, [left + c as f64 * wide, y, wide], share, number, &what);
            }
        }
        let bottom = top + CELL * self.rows.len() as f64;
        drawing.text(
            "text",
            &[("x", &place(left + (WIDTH - left) / 2.0)), ("y", &place(bottom + 18.0)), ("class", &"name middle")],
            &self.x,
        );
        drawing.text("text", &[("x", &"4"), ("y", &place(top - 8.0)), ("class", &"name")], &self.y);
        let head = std::iter::once(format!("{} \\ {}", self.y, self.x)).chain(self.columns.iter().cloned()).collect();
        let number = |x: &f64| if x.is_finite() { format!("{x:.2}") } else { "–".to_owned() };
        let row =
            |(name, row): &(String, Vec<f64>)| std::iter::once(name.clone()).chain(row.iter().map(number)).collect();
        Chart {
            title: self.title.clone(),
            svg: drawing.finish(WIDTH, bottom + 26.0, &self.title),
            head,
            rows: self.rows.iter().map(row).collect(),
        }
    }
}

/// One cell: darker for more, from 0 to 1, with its number in print.
fn cell(drawing: &mut Drawing, [x, y, wide]: [f64; 3], share: f64, number: f64, what: &str) {
    let opacity = format!("{:.2}", 0.08 + 0.84 * share);
    drawing.open("g", &[]);
    drawing.text("title", &[], what);
    let (x0, y0, w, h) = (place(x + 1.0), place(y + 1.0), place(wide - 2.0), place(CELL - 2.0));
    drawing.element(
        "rect",
        &[("x", &x0), ("y", &y0), ("width", &w), ("height", &h), ("class", &"heat"), ("fill-opacity", &opacity)],
    );
    let class = if share > 0.55 { "tick middle inverse" } else { "tick middle" };
    let (x, y) = (place(x + wide / 2.0), place(y + CELL / 2.0 + 4.0));
    drawing.text("text", &[("x", &x), ("y", &y), ("class", &class)], &format!("{number:.1}"));
    drawing.close("g");
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_largest_is_darkest_and_gaps_are_blank() {
        let heat = Heat {
            title: "F1".into(),
            x: "τ".into(),
            y: "budget".into(),
            columns: vec!["0.5".into(), "1".into()],
            rows: vec![("0.1".into(), vec![1.0, f64::NAN]), ("0.2".into(), vec![2.0, 3.0])],
        };
        let chart = heat.chart();
        assert_eq!(chart.svg.matches("<rect").count(), 3);
        assert!(
            chart.svg.contains("fill-opacity=\"0.92\"") && chart.svg.contains("budget 0.2, τ 1: 3.00"),
            "{}",
            chart.svg
        );
        assert_eq!(chart.rows[0], ["0.1", "1.00", "–"]);
    }
}
