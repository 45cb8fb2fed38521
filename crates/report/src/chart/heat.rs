//! Heat maps: a number for every pair of two settings.

use super::axes::text;
use super::{Chart, WIDTH, named_row, number, place, shortened, text_width};
use crate::markup::{Attributes, Markup};

/// A heat map.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Heat {
    /// What the chart shows, with unit.
    pub title: String,
    /// What columns are.
    pub x: String,
    /// What rows are.
    pub y: String,
    /// Names of columns.
    pub columns: Vec<String>,
    /// Names of rows with a number per column; what is not finite is left blank.
    pub rows: Vec<(String, Vec<f64>)>,
}

/// The height of a cell.
const CELL: f64 = 30.0;

impl Heat {
    /// Draws the chart.
    pub fn chart(&self) -> Chart {
        let low = self.numbers().fold(f64::INFINITY, f64::min);
        let high = self.numbers().fold(f64::NEG_INFINITY, f64::max);
        // The name of the rows stands above them, in the same column.
        let names = self.rows.iter().map(|(name, _)| name).chain([&self.y]);
        let longest = names.map(|name| text_width(&shortened(name, 30))).fold(0.0, f64::max);
        let left = (20.0 + longest).clamp(90.0, WIDTH / 2.0);
        let wide = (WIDTH - left - 8.0) / self.columns.len().max(1) as f64;
        let top = 44.0;
        let mut drawing = Markup::default();
        text(&mut drawing, left + (WIDTH - left) / 2.0, 14.0, "name middle", &self.x);
        text(&mut drawing, left - 8.0, top - 8.0, "name end", &shortened(&self.y, 30));
        for (c, name) in self.columns.iter().enumerate() {
            let most = ((wide / 6.4) as usize).max(3);
            text(
                &mut drawing,
                left + (c as f64 + 0.5) * wide,
                top - 8.0,
                "tick middle",
                &shortened(name, most),
            );
        }
        for (r, (name, row)) in self.rows.iter().enumerate() {
            let y = top + r as f64 * CELL;
            text(&mut drawing, left - 8.0, y + CELL / 2.0 + 4.0, "tick end", &shortened(name, 30));
            for (c, &number) in row.iter().enumerate().filter(|(_, number)| number.is_finite()) {
                let share = if high > low { (number - low) / (high - low) } else { 0.5 };
                let column = self.columns.get(c).map_or("", |c| &c[..]);
                cell(
                    &mut drawing,
                    [left + c as f64 * wide, y, wide],
                    share,
                    number,
                    &self.cell_title(name, column, number),
                );
            }
        }
        let head = std::iter::once(format!("{} \\ {}", self.y, self.x))
            .chain(self.columns.iter().cloned())
            .collect();
        let rows = self.rows.iter().map(|row| named_row(row, self.columns.len())).collect();
        let bottom = top + CELL * self.rows.len() as f64;
        Chart::new(&self.title, drawing, bottom + 8.0, head, rows)
    }

    /// All finite numbers.
    fn numbers(&self) -> impl Iterator<Item = f64> {
        self.rows.iter().flat_map(|(_, row)| row).copied().filter(|x| x.is_finite())
    }

    /// The text shown on hover.
    fn cell_title(&self, row: &str, column: &str, value: f64) -> String {
        format!("{} {row}, {} {column}: {}", self.y, self.x, number(value))
    }
}

/// Draws one cell with its number. `share` from 0 to 1 sets the opacity, and `title` is shown on
/// hover.
fn cell(drawing: &mut Markup, [x, y, wide]: [f64; 3], share: f64, value: f64, title: &str) {
    let opacity = format!("{:.2}", 0.08 + 0.84 * share);
    drawing.open("g", &[]);
    drawing.text("title", &[], title);
    let (x0, y0, w, h) = (place(x + 1.0), place(y + 1.0), place(wide - 2.0), place(CELL - 2.0));
    let attributes: &Attributes<'_> = &[
        ("x", &x0),
        ("y", &y0),
        ("width", &w),
        ("height", &h),
        ("class", &"heat"),
        ("fill-opacity", &opacity),
    ];
    drawing.element("rect", attributes);
    let class = if share > 0.55 { "tick middle inverse" } else { "tick middle" };
    let printed = if value.abs() >= 10.0 { format!("{value:.1}") } else { format!("{value:.2}") };
    text(drawing, x + wide / 2.0, y + CELL / 2.0 + 4.0, class, &printed);
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
            chart.svg.contains("fill-opacity=\"0.92\"") && chart.svg.contains("budget 0.2, τ 1: 3"),
            "{}",
            chart.svg
        );
        assert_eq!(chart.rows[0], ["0.1", "1", "–"]);
        assert!(!Heat::default().chart().svg.contains("NaN"));
    }
}
