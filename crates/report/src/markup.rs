//! Writing HTML and SVG: elements, attributes, escaped text.

use std::fmt::{Display, Write as _};

/// Text with all characters of markup escaped.
///
/// ```
/// assert_eq!(boostfgl_report::escaped("<b> & \"c\""), "&lt;b&gt; &amp; &quot;c&quot;");
/// ```
pub fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            // Characters that XML does not allow, even escaped.
            c if c.is_control() && !matches!(c, '\n' | '\t') => out.push('\u{fffd}'),
            '\u{fffe}' | '\u{ffff}' => out.push('\u{fffd}'),
            c => out.push(c),
        }
    }
    out
}

/// Attributes of an element.
pub(crate) type Attributes<'a> = [(&'a str, &'a dyn Display)];

/// Markup that grows element by element; every text and every attribute is escaped.
#[derive(Debug, Default)]
pub(crate) struct Markup {
    body: String,
}

impl Markup {
    /// An element without content.
    pub(crate) fn element(&mut self, name: &str, attributes: &Attributes<'_>) {
        self.open(name, attributes);
        self.body.truncate(self.body.len() - 1);
        self.body.push_str("/>");
    }

    /// The start of an element; [`Markup::close`] ends it.
    pub(crate) fn open(&mut self, name: &str, attributes: &Attributes<'_>) {
        self.body.push('<');
        self.body.push_str(name);
        for (key, value) in attributes {
            let _ = write!(self.body, " {key}=\"{}\"", escaped(&value.to_string()));
        }
        self.body.push('>');
    }

    pub(crate) fn close(&mut self, name: &str) {
        let _ = write!(self.body, "</{name}>");
    }

    /// An element with text.
    pub(crate) fn text(&mut self, name: &str, attributes: &Attributes<'_>, text: &str) {
        self.open(name, attributes);
        self.body.push_str(&escaped(text));
        self.close(name);
    }

    /// Appends markup without escaping.
    pub(crate) fn raw(&mut self, markup: &str) {
        self.body.push_str(markup);
    }

    /// A table: heads, then rows; the first cell of a row is its head.
    pub(crate) fn table(&mut self, head: &[String], rows: &[Vec<String>]) {
        self.open("div", &[("class", &"scroll")]);
        self.open("table", &[]);
        self.open("thead", &[]);
        self.open("tr", &[]);
        for (at, name) in head.iter().enumerate() {
            // A heading is aligned like the first cell below it.
            let first = rows.first().and_then(|row| row.get(at));
            let class = if first.is_some_and(|cell| is_word(cell)) { "text" } else { "number" };
            self.text("th", &[("scope", &"col"), ("class", &class)], name);
        }
        self.close("tr");
        self.close("thead");
        self.open("tbody", &[]);
        for row in rows {
            self.open("tr", &[]);
            for (at, cell) in row.iter().enumerate() {
                let (name, attributes): (_, &Attributes<'_>) = match (at, is_word(cell)) {
                    (0, _) => ("th", &[("scope", &"row")]),
                    (_, true) => ("td", &[("class", &"text")]),
                    (_, false) => ("td", &[]),
                };
                self.text(name, attributes, cell);
            }
            self.close("tr");
        }
        self.close("tbody");
        self.close("table");
        self.close("div");
    }

    /// The markup as text.
    pub(crate) fn finish(self) -> String {
        self.body
    }
}

fn is_word(cell: &str) -> bool {
    cell.starts_with(char::is_alphabetic)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn text_and_attributes_are_escaped() {
        let mut markup = Markup::default();
        markup.text("text", &[("x", &1.5), ("class", &"a\"b")], "<script>&'\u{1}");
        markup.element("br", &[]);
        let text = markup.finish();
        assert_eq!(
            text,
            "<text x=\"1.5\" class=\"a&quot;b\">&lt;script&gt;&amp;&#39;\u{fffd}</text><br/>"
        );
    }

    proptest! {
        #[test]
        fn escaped_text_cannot_end_an_element_or_attribute(text in "\\PC*") {
            let escaped = escaped(&text);
            prop_assert!(!escaped.contains(['<', '>', '"', '\'']));
            let back = escaped.replace("&lt;", "<").replace("&gt;", ">").replace("&quot;", "\"").replace("&#39;", "'");
            prop_assert_eq!(back.replace("&amp;", "&"), text.replace(['\u{fffe}', '\u{ffff}'], "\u{fffd}"));
        }
    }
}
