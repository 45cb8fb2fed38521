//! Charts as inline SVG, each with the table of its numbers.
//!
//! A chart is a value: series in, one self-contained `<figure>` out. Marks carry their numbers as
//! `<title>` (shown on hover, read by screen readers), and a table below the picture has the same
//! numbers. Colours are CSS classes of the page, `c0` to `c7` (the palette of Okabe and Ito, safe
//! for colour-blind readers), so that light and dark pages share one picture.

mod axes;
mod bars;
mod dots;
mod heat;
mod levels;
mod lines;
mod points;
mod ranks;
mod ring;
mod scale;

pub use bars::Bars;
pub use dots::{Dot, Dots};
pub use heat::Heat;
pub use levels::Levels;
pub use lines::{Line, Lines};
pub use points::{Cloud, Points};
pub use ranks::Ranks;
pub use ring::{Ring, Slices};

use crate::markup::{Markup, escaped};

/// Number of colours. Further series repeat them with another dash pattern.
pub const COLOURS: usize = 8;

/// The width of every drawing, in its own units.
const WIDTH: f64 = 640.0;

/// A drawing and the numbers behind it.
#[derive(Clone, Debug, PartialEq)]
pub struct Chart {
    /// What the chart shows, with unit.
    pub title: String,
    /// How to read it, in a sentence or two; may be empty.
    pub note: String,
    /// One `<svg>` element.
    pub svg: String,
    /// Column heads of the table.
    pub head: Vec<String>,
    /// Rows of the table, one cell per column.
    pub rows: Vec<Vec<String>>,
}

impl Chart {
    /// Appends a sentence to the note.
    #[must_use]
    pub fn noted(mut self, note: impl AsRef<str>) -> Self {
        let note = note.as_ref();
        let gap = if self.note.is_empty() || note.is_empty() { "" } else { " " };
        self.note = format!("{}{gap}{note}", self.note);
        self
    }

    /// A `<figure>` with the picture and the folded table.
    pub fn html(&self) -> String {
        let mut markup = Markup::default();
        markup.open("figure", &[("class", &"chart")]);
        markup.text("figcaption", &[], &self.title);
        markup.raw("<div class=\"picture\">");
        markup.raw(&self.svg);
        markup.raw("</div>");
        if !self.note.is_empty() {
            markup.text("p", &[("class", &"note")], &self.note);
        }
        markup.raw("<details><summary>Numbers</summary>");
        markup.table(&self.head, &self.rows);
        markup.raw("</details>");
        markup.close("figure");
        markup.finish()
    }

    /// The table as CSV.
    pub fn csv(&self) -> String {
        let mut writer = csv::WriterBuilder::new().flexible(true).from_writer(Vec::new());
        for row in std::iter::once(&self.head).chain(&self.rows) {
            // The writer is flexible, and its sink is a `Vec`, whose writes never fail.
            writer.write_record(row).expect("writing to memory does not fail");
        }
        String::from_utf8(writer.into_inner().unwrap_or_default()).unwrap_or_default()
    }

    fn new(
        title: &str,
        drawing: Markup,
        height: f64,
        head: Vec<String>,
        rows: Vec<Vec<String>>,
    ) -> Self {
        let (width, height, label) = (place(WIDTH), place(height), escaped(title));
        let svg = format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width} {height}\" \
             role=\"img\" aria-label=\"{label}\">\
             {}</svg>",
            drawing.finish()
        );
        Self { title: title.to_owned(), note: String::new(), svg, head, rows }
    }
}

/// A coordinate or length with one decimal: finer differences are invisible.
fn place(x: f64) -> String {
    let text = format!("{x:.1}");
    match text.strip_suffix(".0") {
        Some("-0") => "0".to_owned(),
        Some(whole) => whole.to_owned(),
        None => text,
    }
}

/// A number in a table or a title, with about five digits.
fn number(x: f64) -> String {
    match x.abs() {
        _ if !x.is_finite() => "–".to_owned(),
        0.0 => "0".to_owned(),
        size if !(1e-4..1e7).contains(&size) => format!("{x:.3e}"),
        size if size >= 1000.0 => format!("{x:.0}"),
        size if size >= 1.0 => trimmed(&format!("{x:.3}")),
        _ => trimmed(&format!("{x:.5}")),
    }
}

/// Removes trailing zeros after the decimal point.
fn trimmed(text: &str) -> String {
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

/// The CSS classes of series number `i`.
fn colour(i: usize) -> String {
    let dash = i / COLOURS;
    if dash == 0 { format!("c{i}") } else { format!("c{} dash{}", i % COLOURS, dash.min(3)) }
}

/// The approximate width of a text. The exact one depends on the font of the reader.
fn text_width(text: &str) -> f64 {
    6.4 * text.chars().count() as f64
}

/// The text, cut to at most `most` characters.
fn shortened(text: &str, most: usize) -> String {
    if text.chars().count() <= most {
        text.to_owned()
    } else {
        text.chars().take(most - 1).chain(['…']).collect()
    }
}

/// Draws the names of the series above the plot, wrapped into lines, and returns the height taken.
/// The first name has colour number `first`. A single series needs no legend.
fn legend(drawing: &mut Markup, names: &[&str], left: f64, first: usize) -> f64 {
    const LINE: f64 = 17.0;
    if names.len() < 2 {
        return 8.0;
    }
    let (mut x, mut y) = (left, LINE / 2.0 + 2.0);
    for (i, name) in names.iter().enumerate() {
        let name = shortened(name, 40);
        let width = 34.0 + text_width(&name);
        if x + width > WIDTH && x > left {
            (x, y) = (left, y + LINE);
        }
        let (from, to, height) = (place(x), place(x + 16.0), place(y));
        let class = format!("line {}", colour(i + first));
        drawing.element(
            "line",
            &[("x1", &from), ("x2", &to), ("y1", &height), ("y2", &height), ("class", &class)],
        );
        drawing.text(
            "text",
            &[("x", &place(x + 21.0)), ("y", &place(y + 4.0)), ("class", &"legend")],
            &name,
        );
        x += width;
    }
    y + LINE / 2.0 + 6.0
}

/// A row of a table: its name, then one number for each of `columns` columns. A column without a
/// number shows a dash.
fn named_row((name, values): &(String, Vec<f64>), columns: usize) -> Vec<String> {
    let mut row = vec![name.clone()];
    row.extend((0..columns).map(|at| number(values.get(at).copied().unwrap_or(f64::NAN))));
    row
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_short_and_exact_enough() {
        let shown = [81.7351, 0.0, -0.25, 12345.6, 0.000001, 2.0, f64::NAN].map(number);
        assert_eq!(shown, ["81.735", "0", "-0.25", "12346", "1.000e-6", "2", "–"]);
        assert_eq!([place(1.04), place(-0.01), place(2.26)], ["1", "0", "2.3"]);
    }

    #[test]
    fn a_figure_has_its_table_behind_it() {
        let mut drawing = Markup::default();
        drawing.text("text", &[], "x");
        let chart = Chart::new(
            "a < b",
            drawing,
            10.0,
            vec!["p,q".into(), "v".into()],
            vec![vec!["1".into(), "2".into()]],
        );
        let html = chart.clone().noted("so & so").html();
        assert!(
            html.contains("<figcaption>a &lt; b</figcaption>") && html.contains("so &amp; so"),
            "{html}"
        );
        assert!(html.contains("<th scope=\"row\">1</th><td>2</td>"), "{html}");
        assert_eq!(chart.csv(), "\"p,q\",v\n1,2\n");
    }
}
