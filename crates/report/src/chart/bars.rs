//! Parts of wholes: one bar per row, cut into series.

use super::svg::{Drawing, place};
use super::{Chart, colour, legend};

/// Stacked bars.
#[derive(Clone, Debug, PartialEq)]
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

const WIDTH: f64 = 640.0;
const STEP: f64 = 24.0;

impl Bars {
    /// Draws them.
    pub fn chart(&self) -> Chart {
        let mut drawing = Drawing::default();
        let names: Vec<&str> = self.series.iter().map(|name| &name[..]).collect();
        let top = legend(&mut drawing, &names, 8.0, WIDTH) + 6.0;
        let longest = self.rows.iter().map(|(name, _)| name.chars().count()).max().unwrap_or(0);
        let left = (16.0 + 6.6 * longest as f64).clamp(60.0, WIDTH / 2.0);
        let total = |row: &[f64]| row.iter().filter(|x| x.is_finite() && **x > 0.0).sum::<f64>();
        let largest = self.rows.iter().map(|(_, row)| total(row)).fold(0.0, f64::max);
        let unit = if largest > 0.0 { (WIDTH - left - 60.0) / largest } else { 0.0 };
        for (r, (name, row)) in self.rows.iter().enumerate() {
            let y = top + STEP * r as f64;
            let middle = place(y + STEP / 2.0 + 4.0);
            drawing.text("text", &[("x", &place(left - 8.0)), ("y", &middle), ("class", &"tick end")], name);
            let mut x = left;
            for (s, &length) in row.iter().enumerate().filter(|(_, x)| x.is_finite() && **x > 0.0) {
                let (width, class) = (length * unit, format!("part {}", colour(s)));
                let (x0, y0, w, h) = (place(x), place(y + 3.0), place(width), place(STEP - 6.0));
                drawing.open("rect", &[("x", &x0), ("y", &y0), ("width", &w), ("height", &h), ("class", &class)]);
                drawing.text("title", &[], &format!("{name}, {}: {length}", names.get(s).unwrap_or(&"")));
                drawing.close("rect");
                x += width;
            }
            drawing.text(
                "text",
                &[("x", &place(x + 6.0)), ("y", &middle), ("class", &"tick")],
                &format!("{}", total(row)),
            );
        }
        let bottom = top + STEP * self.rows.len() as f64;
        drawing.text(
            "text",
            &[("x", &place(WIDTH / 2.0)), ("y", &place(bottom + 16.0)), ("class", &"name middle")],
            &self.x,
        );
        let head = std::iter::once(String::new()).chain(self.series.iter().cloned()).collect();
        let row = |(name, row): &(String, Vec<f64>)| {
            std::iter::once(name.clone()).chain(row.iter().map(f64::to_string)).collect()
        };
        Chart {
            title: self.title.clone(),
            svg: drawing.finish(WIDTH, bottom + 24.0, &self.title),
            head,
            rows: self.rows.iter().map(row).collect(),
        }
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
        assert!(chart.svg.contains("client 0, b: 30"), "{}", chart.svg);
        assert_eq!(chart.rows[1], ["client 1", "0", "20"]);
    }
}
