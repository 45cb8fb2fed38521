//! A table for the terminal.

use std::fmt::Write as _;

use super::{Mark, Marked, TextTable};
use crate::Style;

/// The maximum width of a line.
pub(crate) const WIDTH: usize = 100;
/// Spaces between columns.
const GAP: usize = 2;
/// The minimum width of the column of labels.
const LABEL: usize = 6;

impl TextTable {
    /// As text, at most 100 columns wide where the cells allow it, ending in a newline. `*` marks
    /// the best of a column, `'` the second and `!` the worst.
    pub(crate) fn text(&self, style: Style) -> String {
        let paint = Paint(style);
        let layout = Layout::of(self);
        let rule = paint.dim(&"─".repeat(layout.width()));
        let mut lines = vec![
            paint.bold(&shorten(&plain(&self.title), WIDTH)),
            String::new(),
            layout.heading(self.labels, self, 0),
            layout.heading("", self, 1),
            rule.clone(),
        ];
        for row in &self.rows {
            let label = wrap(&plain(&row.label), layout.free);
            for at in 0..label.len().max(row.cells.len()) {
                let mut content = pad_right(label.get(at).map_or("", String::as_str), layout.label);
                for (cell, width) in row.cells.get(at).into_iter().flatten().zip(&layout.columns) {
                    content.push_str(&paint.cell(cell, width + GAP));
                }
                lines.push(content);
            }
        }
        lines.push(rule);
        lines.extend(self.notes.iter().map(|note| paint.dim(note)));
        let mut text = String::new();
        for line in lines {
            text.push_str(line.trim_end());
            text.push('\n');
        }
        text
    }
}

/// Widths of columns.
struct Layout {
    /// The width available to labels.
    free: usize,
    /// The width of the widest label.
    label: usize,
    columns: Vec<usize>,
}

impl Layout {
    fn of(table: &TextTable) -> Self {
        let columns: Vec<usize> =
            (0..table.columns.len()).map(|at| column_width(table, at)).collect();
        let taken: usize = columns.iter().map(|width| width + GAP).sum();
        let free = WIDTH.saturating_sub(taken).max(LABEL);
        let lines = table.rows.iter().flat_map(|row| wrap(&plain(&row.label), free));
        let least = LABEL.max(width(table.labels));
        let label = lines.map(|line| width(&line)).fold(least, usize::max);
        Self { free, label, columns }
    }

    fn width(&self) -> usize {
        self.label + self.columns.iter().map(|width| width + GAP).sum::<usize>()
    }

    fn heading(&self, label: &str, table: &TextTable, line: usize) -> String {
        let mut text = pad_right(label, self.label);
        for (heading, width) in table.columns.iter().zip(&self.columns) {
            // Cells end in a mark or a space; headings are aligned with the numbers before it.
            let _ = write!(text, "{:>width$} ", heading[line], width = width + GAP - 1);
        }
        text
    }
}

/// The width of the widest cell or heading of a column.
fn column_width(table: &TextTable, at: usize) -> usize {
    let cells = table.rows.iter().flat_map(|row| &row.cells).filter_map(|cells| cells.get(at));
    // One more for the mark.
    let cells = cells.map(|cell| width(&cell.text) + 1);
    cells.chain(table.columns[at].iter().map(|text| width(text))).max().unwrap_or(0)
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

/// Decorates text if the style allows it.
struct Paint(Style);

impl Paint {
    fn styled(&self, style: anstyle::Style, text: &str) -> String {
        match self.0 {
            Style::Colour if !text.is_empty() => format!("{style}{text}{style:#}"),
            _ => text.to_owned(),
        }
    }

    fn bold(&self, text: &str) -> String {
        self.styled(anstyle::Style::new().bold(), text)
    }

    fn dim(&self, text: &str) -> String {
        self.styled(anstyle::Style::new().dimmed(), text)
    }

    /// A cell, right-aligned in `width`, with its mark. Escape codes have no width, so spaces are
    /// added outside.
    fn cell(&self, cell: &Marked, width: usize) -> String {
        let Marked { text, mark } = cell;
        let spaces = " ".repeat(width.saturating_sub(self::width(text) + 1));
        let green = anstyle::AnsiColor::Green.on_default();
        match mark {
            Mark::Best => format!("{spaces}{}", self.styled(green.bold(), &format!("{text}*"))),
            Mark::Second => format!("{spaces}{}", self.styled(green, &format!("{text}'"))),
            Mark::Worst => {
                let red = anstyle::AnsiColor::Red.on_default();
                format!("{spaces}{}", self.styled(red.bold(), &format!("{text}!")))
            }
            Mark::Plain => format!("{spaces}{text} "),
        }
    }
}

/// Text without control characters: names come from files, and must not control a terminal.
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
