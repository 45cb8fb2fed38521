//! A table for papers.

use std::fmt::Write as _;

use super::{Mark, Marked, TextTable};

impl TextTable {
    /// As a LaTeX `table` with rules of the package booktabs, the best of each column in bold and
    /// the second underlined, ending in a newline.
    pub(crate) fn latex(&self, caption: &str) -> String {
        let mut text = format!(
            "\\begin{{table}}\n  \\centering\n  \\caption{{{}}}\n  \\begin{{tabular}}{{l{}}}\n    \\toprule\n    {}",
            escape(caption),
            "r".repeat(self.columns.len()),
            self.labels
        );
        for [title, _] in &self.columns {
            let _ = write!(text, " & {}", escape(title));
        }
        text.push_str(" \\\\\n   ");
        for [_, unit] in &self.columns {
            let _ = write!(text, " & {}", escape(unit));
        }
        text.push_str(" \\\\\n    \\midrule\n");
        for row in &self.rows {
            for (at, cells) in row.cells.iter().enumerate() {
                let label = if at == 0 { escape(&row.label) } else { String::new() };
                let cells: String =
                    cells.iter().map(|cell| format!(" & {}", emphasised(cell))).collect();
                let _ = writeln!(text, "    {label}{cells} \\\\");
            }
        }
        text.push_str("    \\bottomrule\n  \\end{tabular}\n\\end{table}\n");
        text
    }
}

/// A cell in bold, underlined or plain.
pub(crate) fn emphasised(cell: &Marked) -> String {
    let text = escape(&cell.text);
    match cell.mark {
        Mark::Best | Mark::Worst => format!("\\textbf{{{text}}}"),
        Mark::Second => format!("\\underline{{{text}}}"),
        Mark::Plain => text,
    }
}

/// Text without LaTeX commands: names come from files.
pub(crate) fn escape(text: &str) -> String {
    let mut safe = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' | '%' | '$' | '#' | '_' | '{' | '}' => {
                safe.push('\\');
                safe.push(c);
            }
            '\\' => safe.push_str("\\textbackslash{}"),
            '~' => safe.push_str("\\textasciitilde{}"),
            '^' => safe.push_str("\\textasciicircum{}"),
            // The default font encoding (OT1) prints other characters for these three.
            '<' => safe.push_str("\\textless{}"),
            '>' => safe.push_str("\\textgreater{}"),
            '|' => safe.push_str("\\textbar{}"),
            '±' => safe.push_str("$\\pm$"),
            '×' => safe.push_str("$\\times$"),
            '–' => safe.push_str("--"),
            // After \\ a bracket or a star would be read as its argument.
            '*' => safe.push_str("{*}"),
            '[' => safe.push_str("{[}"),
            ']' => safe.push_str("{]}"),
            c if c.is_control() => safe.push('?'),
            c => safe.push(c),
        }
    }
    safe
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn names_cannot_contain_commands() {
        assert_eq!(
            escape("a_b & 50% of \\x{}~^#$"),
            "a\\_b \\& 50\\% of \\textbackslash{}x\\{\\}\\textasciitilde{}\\textasciicircum{}\\#\\$"
        );
        // After \\ a bracket or a star would be read as its argument.
        assert_eq!(escape("1.0 ± 0.5 [0, 1]\n*"), "1.0 $\\pm$ 0.5 {[}0, 1{]}?{*}");
    }

    proptest! {
        /// Without the escape sequences, no character with a meaning in LaTeX is left.
        #[test]
        fn escaped_text_has_no_special_characters(text in "([\\\\&%$#_{}~^<>|±×*\\[\\]-]|\\PC|.){0,40}") {
            let mut rest = escape(&text);
            for known in ["\\textbackslash{}", "\\textasciitilde{}", "\\textasciicircum{}", "\\textless{}",
                "\\textgreater{}", "\\textbar{}", "$\\pm$", "$\\times$", "{*}", "{[}", "{]}", "\\&", "\\%",
                "\\$", "\\#", "\\_", "\\{", "\\}"]
            {
                // A space, so that the neighbours do not form a new sequence.
                rest = rest.replace(known, " ");
            }
            let special = |c: char| "\\&%$#_{}~^<>|±×*[]".contains(c) || c.is_control();
            prop_assert!(!rest.contains(special), "{:?} from {:?}", rest, text);
        }
    }
}
