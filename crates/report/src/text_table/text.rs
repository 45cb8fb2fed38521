//! A table for the terminal.

use std::fmt::Write as _;

use super::{Mark, Marked, TextTable};
use crate::Style;

/// No line is wider.
pub(crate) const WIDTH: usize = 100;
/// Spaces between columns.
const GAP: usize = 2;
/// The narrowest column of labels.
const LABEL: usize = 6;

impl TextTable {
    /// As text, at most 100 columns wide where the cells allow it, ending in a newline. `*` marks
    /// the best of a column, `'` the second and `!` the worst.
    pub(crate) fn text(&self, style: Style) -> String {
        let paint = Paint(style);
        let layout = Layout::of(self);
        let mut text = String::new();
        let mut line = |content: &str| {
            text.push_str(content.trim_end());
            text.push('\n');
        };
        line(&paint.bold(&shorten(&plain(&self.title), WIDTH)));
        line("");
        line(&layout.heading(self.labels, self, 0));
        line(&layout.heading("", self, 1));
        let rule = "─".repeat(layout.width());
        line(&paint.dim(&rule));
        for row in &self.rows {
            let label = wrap(&plain(&row.label), layout.free);
            for at in 0..label.len().max(row.cells.len()) {
                let mut content = pad_right(label.get(at).map_or("", String::as_str), layout.label);
                for (cell, width) in row.cells.get(at).into_iter().flatten().zip(&layout.columns) {
                    content.push_str(&paint.cell(cell, width + GAP));
                }
                line(&content);
            }
        }
        line(&paint.dim(&rule));
        for content in &self.notes {
            line(&paint.dim(content));
        }
        text
    }
}

/// Widths of columns.
struct Layout {
    /// What labels may take.
    free: usize,
    /// What they take.
    label: usize,
    columns: Vec<usize>,
}

impl Layout {
    fn of(table: &TextTable) -> Self {
        let width = |(at, heading): (usize, &[String; 2])| {
            // One more for the mark.
            let cells =
                table.rows.iter().flat_map(|row| &row.cells).filter_map(|cells| cells.get(at));
            let cells = cells.map(|cell| width(&cell.text) + 1);
            cells.chain(heading.iter().map(|text| width(text))).max().unwrap_or(0)
        };
        let columns: Vec<usize> = table.columns.iter().enumerate().map(width).collect();
        let taken: usize = columns.iter().map(|width| width + GAP).sum();
        let free = WIDTH.saturating_sub(taken).max(LABEL);
        let lines = table.rows.iter().flat_map(|row| wrap(&plain(&row.label), free));
        let least = LABEL.max(self::width(table.labels));
        let label = lines.map(|line| self::width(&line)).fold(least, usize::max);
        Self { free, label, columns }
    }

    fn width(&self) -> usize {
        self.label + self.columns.iter().map(|width| width + GAP).sum::<usize>()
    }

    fn heading(&self, label: &str, table: &TextTable, line: usize) -> String {
        let mut text = pad_right(label, self.label);
        for (heading, width) in table.columns.iter().zip(&self.columns) {
            // Cells end in a mark or a space; headings end where the numbers do.
            let _ = write!(text, "{:>width$} ", heading[line], width = width + GAP - 1);
        }
        text
    }
}

/// The lines of a label: if it is wider than `free`, boosts go to a line of their own.
fn wrap(label: &str, free: usize) -> Vec<String> {
    match label.split_once(" + ") {
        Some((method, boosts)) if width(label) > free => {
            vec![shorten(method, free), shorten(&format!(" + {boosts}"), free)]
        }
        _ => vec![shorten(label, free)],
    }
}

/// Decorates text, or does not.
struct Paint(Style);

impl Paint {
    fn with(&self, style: anstyle::Style, text: &str) -> String {
        match self.0 {
            Style::Colour if !text.is_empty() => format!("{style}{text}{style:#}"),
            _ => text.to_owned(),
        }
    }

    fn bold(&self, text: &str) -> String {
        self.with(anstyle::Style::new().bold(), text)
    }

    fn dim(&self, text: &str) -> String {
        self.with(anstyle::Style::new().dimmed(), text)
    }

    /// A cell, right-aligned in `width`, with its mark. Escape codes have no width, so spaces are
    /// added outside.
    fn cell(&self, cell: &Marked, width: usize) -> String {
        let Marked { text, mark } = cell;
        let spaces = " ".repeat(width.saturating_sub(self::width(text) + 1));
        let green = anstyle::AnsiColor::Green.on_default();
        match mark {
            Mark::Best => format!("{spaces}{}", self.with(green.bold(), &format!("{text}*"))),
            Mark::Second => format!("{spaces}{}", self.with(green, &format!("{text}'"))),
            Mark::Worst => {
                let red = anstyle::AnsiColor::Red.on_default();
                format!("{spaces}{}", self.with(red.bold(), &format!("{text}!")))
            }
            Mark::Plain => format!("{spaces}{text} "),
        }
    }
}

/// Names come from files: control characters in them must not reach a terminal.
pub(crate) fn plain(name: &str) -> String {
    name.chars().map(|c| if c.is_control() { '�' } else { c }).collect()
}

fn shorten(text: &str, width: usize) -> String {
    if self::width(text) <= width {
        return text.to_owned();
    }
    text.chars().take(width.saturating_sub(1)).chain(['…']).collect()
}

fn pad_right(text: &str, width: usize) -> String {
    format!("{text}{}", " ".repeat(width.saturating_sub(self::width(text))))
}

/// Columns on the screen. Every character the program itself prints is one column wide.
pub(crate) fn width(text: &str) -> usize {
    text.chars().count()
}
