//! Charts as inline SVG, each with the table of its numbers.
//!
//! A chart is a value: series in, one self-contained `<figure>` out. Marks carry their numbers as `<title>` (shown on
//! hover and read aloud) and the same numbers stand in a table behind the picture. Colours come from classes of the page,
//! `c0` to `c7` (Okabe and Ito, told apart by colour-blind readers), so that a dark page needs no other picture.

mod bars;
mod dots;
mod heat;
mod lines;
mod scale;
mod svg;

pub use bars::Bars;
pub use dots::{Dot, Dots};
pub use heat::Heat;
pub use lines::{Line, Lines};

use svg::{Drawing, escaped, place};

/// Number of colours; further series begin again, with another dash.
const COLOURS: usize = 8;

/// A drawing and the numbers behind it.
#[derive(Clone, Debug, PartialEq)]
pub struct Chart {
    /// What the chart shows, with unit.
    pub title: String,
    /// One `<svg>` element.
    pub svg: String,
    /// Column heads and rows of the table.
    pub head: Vec<String>,
    /// As many cells as there are heads.
    pub rows: Vec<Vec<String>>,
}

impl Chart {
    /// `<figure>` with the picture and, folded, the table.
    pub fn html(&self) -> String {
        let cells = |tag: &str, cells: &[String]| -> String {
            let each = cells.iter().map(|cell| format!("<{tag}>{}</{tag}>", escaped(cell)));
            format!("<tr>{}</tr>", each.collect::<String>())
        };
        let rows: String = self.rows.iter().map(|row| cells("td", row)).collect();
        format!(
            "<figure class=\"chart\"><figcaption>{}</figcaption>{}<details><summary>Numbers</summary>\
             <table><thead>{}</thead><tbody>{rows}</tbody></table></details></figure>",
            escaped(&self.title),
            self.svg,
            cells("th", &self.head),
        )
    }
}

/// The room around the part of a drawing where marks stand.
#[derive(Clone, Copy, Debug)]
struct Margins {
    left: f64,
    right: f64,
    top: f64,
    bottom: f64,
}

/// Names of series with their colours, from left to right and line by line above a drawing; returns the height taken.
fn legend(drawing: &mut Drawing, names: &[&str], left: f64, width: f64) -> f64 {
    const LINE: f64 = 16.0;
    let (mut x, mut y) = (left, LINE / 2.0 + 2.0);
    for (i, name) in names.iter().enumerate() {
        // About the width of a letter at this size; a legend need not be exact.
        let room = 24.0 + 6.6 * name.chars().count() as f64;
        if x + room > width && x > left {
            (x, y) = (left, y + LINE);
        }
        let class = format!("line {}", colour(i));
        drawing.element(
            "line",
            &[("x1", &place(x)), ("x2", &place(x + 12.0)), ("y1", &place(y)), ("y2", &place(y)), ("class", &class)],
        );
        drawing.text("text", &[("x", &place(x + 16.0)), ("y", &place(y + 4.0)), ("class", &"legend")], name);
        x += room;
    }
    y + LINE / 2.0
}

/// The classes of series number `i`.
fn colour(i: usize) -> String {
    let dash = i / COLOURS;
    if dash == 0 { format!("c{i}") } else { format!("c{} dash{}", i % COLOURS, dash.min(3)) }
}
