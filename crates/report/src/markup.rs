//! HTML and SVG by hand: elements, attributes, escaped text.

use std::fmt::{Display, Write as _};

/// Text of which nothing is markup.
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
            // What XML cannot hold at all.
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

    /// Markup that is finished already.
    pub(crate) fn raw(&mut self, markup: &str) {
        self.body.push_str(markup);
    }

    /// A table: heads, then rows; the first cell of a row is its head.
    pub(crate) fn table(&mut self, head: &[String], rows: &[Vec<String>]) {
        self.open("div", &[("class", &"scroll")]);
        self.open("table", &[]);
        self.open("thead", &[]);
        self.open("tr", &[]);
        let words = |at: usize| {
            rows.first()
                .and_then(|row| row.get(at))
                .is_some_and(|c| c.starts_with(char::is_alphabetic))
        };
        for (at, name) in head.iter().enumerate() {
            let class = if words(at) { "text" } else { "number" };
            self.text("th", &[("scope", &"col"), ("class", &class)], name);
        }
        self.close("tr");
        self.close("thead");
        self.open("tbody", &[]);
        for row in rows {
            self.open("tr", &[]);
            for (at, cell) in row.iter().enumerate() {
                // Numbers stand below each other by their last digit, words by their first letter.
                let word = cell.starts_with(char::is_alphabetic);
                let (name, attributes): (_, &Attributes<'_>) = match (at, word) {
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

    /// All of it.
    pub(crate) fn finish(self) -> String {
        self.body
    }
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
        fn nothing_that_is_escaped_ends_a_text_or_an_attribute(text in "\\PC*") {
            let escaped = escaped(&text);
            prop_assert!(!escaped.contains(['<', '>', '"', '\'']));
            let back = escaped.replace("&lt;", "<").replace("&gt;", ">").replace("&quot;", "\"").replace("&#39;", "'");
            prop_assert_eq!(back.replace("&amp;", "&"), text.replace(['\u{fffe}', '\u{ffff}'], "\u{fffd}"));
        }
    }
}
