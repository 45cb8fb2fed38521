//! A table for the terminal.

use std::fmt::Write as _;

use super::{Column, Style, Table};

/// No line is wider.
const WIDTH: usize = 100;
/// Spaces between columns.
const GAP: usize = 2;
/// Where explanations begin.
const NAME: usize = 22;
/// The narrowest column of labels: the width of its heading.
const LABEL: usize = 6;

impl Table {
    /// The table as text for a terminal, at most 100 columns wide, ending in a newline.
    ///
    /// `*` marks the best of each column, in every style. Below stand the unit, a line on what each column means, and
    /// the sizes of the groups.
    pub fn text(&self, style: Style) -> String {
        let paint = Paint(style);
        let layout = Layout::of(self);
        let mut text = String::new();
        let mut line = |content: &str| {
            text.push_str(content.trim_end());
            text.push('\n');
        };
        line(&paint.bold(&shorten(&plain(&self.title), WIDTH)));
        line("");
        line(&layout.heading("Method", |column| column.title));
        line(&layout.heading("", |column| column.unit));
        let rule = "─".repeat(layout.width());
        line(&paint.dim(&rule));
        for (at, row) in self.rows.iter().enumerate() {
            let mut label = wrap(&plain(&row.label), layout.free).into_iter();
            let mut content = pad_right(&label.next().unwrap_or_default(), layout.label);
            for ((column, width), best) in layout.columns.iter().zip(&layout.best) {
                content.push_str(&paint.cell(&Self::cell(column, row), best[at], width + GAP));
            }
            line(&content);
            label.for_each(|rest| line(&rest));
        }
        line(&paint.dim(&rule));
        for content in self.notes() {
            line(&paint.dim(&content));
        }
        text
    }

    /// What stands below the table.
    fn notes(&self) -> Vec<String> {
        let marked = self.columns().any(|column| self.best(column).contains(&true));
        let mark = if marked { "; * best of its column" } else { "" };
        let lone = self.rows.iter().any(|row| row.groups.len() == 1);
        let spread = if lone { "; one seed has no spread (–)" } else { "" };
        let unit = format!("Percent, mean ± standard deviation over {}{spread}{mark}.", self.seeds());
        let mut notes = vec![unit, String::new()];
        for column in self.columns() {
            let name = format!("{}, {}", column.title, column.unit);
            notes.push(format!("{name:<NAME$}{}", column.meaning));
        }
        let mut sizes = format!("{:<NAME$}", "Test nodes");
        for (at, part) in self.sizes().into_iter().enumerate() {
            if at > 0 {
                sizes.push_str(", ");
            }
            // One more for the comma that may follow.
            if width(&sizes) + width(&part) + 1 > WIDTH {
                notes.push(std::mem::replace(&mut sizes, " ".repeat(NAME)));
            }
            sizes.push_str(&part);
        }
        notes.push(sizes);
        notes
    }
}

/// Widths of columns.
struct Layout {
    /// What labels may take.
    free: usize,
    /// What they take.
    label: usize,
    columns: Vec<(&'static Column, usize)>,
    best: Vec<Vec<bool>>,
}

impl Layout {
    fn of(table: &Table) -> Self {
        let width = |column: &Column| {
            // One more for the mark.
            let cells = table.rows.iter().map(|row| width(&Table::cell(column, row)) + 1);
            cells.chain([width(column.title), width(column.unit)]).max().unwrap_or(0)
        };
        let columns: Vec<_> = table.columns().map(|column| (column, width(column))).collect();
        let taken: usize = columns.iter().map(|(_, width)| width + GAP).sum();
        let free = WIDTH.saturating_sub(taken).max(LABEL);
        let lines = table.rows.iter().flat_map(|row| wrap(&plain(&row.label), free));
        let label = lines.map(|line| self::width(&line)).fold(LABEL, usize::max);
        Self { free, label, best: columns.iter().map(|(column, _)| table.best(column)).collect(), columns }
    }

    fn width(&self) -> usize {
        self.label + self.columns.iter().map(|(_, width)| width + GAP).sum::<usize>()
    }

    fn heading(&self, label: &str, of: fn(&Column) -> &'static str) -> String {
        let mut line = pad_right(label, self.label);
        for (column, width) in &self.columns {
            // Cells end in a mark or a space; headings end where the numbers do.
            let _ = write!(line, "{:>width$} ", of(column), width = width + GAP - 1);
        }
        line
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

    /// A cell, right-aligned in `width`, with its mark. Escape codes have no width, so spaces are added outside.
    fn cell(&self, text: &str, best: bool, width: usize) -> String {
        let spaces = " ".repeat(width.saturating_sub(self::width(text) + 1));
        if best {
            let green = anstyle::AnsiColor::Green.on_default().bold();
            format!("{spaces}{}", self.with(green, &format!("{text}*")))
        } else {
            format!("{spaces}{text} ")
        }
    }
}

/// Names come from files: control characters in them must not reach a terminal.
pub(super) fn plain(name: &str) -> String {
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
fn width(text: &str) -> usize {
    text.chars().count()
}
