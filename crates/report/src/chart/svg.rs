//! SVG by hand: elements, attributes, escaped text.

use std::fmt::{Display, Write as _};

/// Text of which nothing is markup.
pub(crate) fn escaped(text: &str) -> String {
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
            c => out.push(c),
        }
    }
    out
}

/// A place or length on a drawing: a tenth of a unit is more than an eye can tell.
pub(crate) fn place(x: f64) -> String {
    let text = format!("{x:.1}");
    text.strip_suffix(".0").map_or_else(|| text.clone(), str::to_owned)
}

/// A drawing that grows element by element.
#[derive(Debug, Default)]
pub(crate) struct Drawing {
    body: String,
}

impl Drawing {
    /// An element without content.
    pub(crate) fn element(&mut self, name: &str, attributes: &[(&str, &dyn Display)]) {
        self.open(name, attributes);
        self.body.truncate(self.body.len() - 1);
        self.body.push_str("/>");
    }

    /// The start of an element; [`Drawing::close`] ends it.
    pub(crate) fn open(&mut self, name: &str, attributes: &[(&str, &dyn Display)]) {
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
    pub(crate) fn text(&mut self, name: &str, attributes: &[(&str, &dyn Display)], text: &str) {
        self.open(name, attributes);
        self.body.push_str(&escaped(text));
        self.close(name);
    }

    /// The whole drawing; `title` is what a screen reader says.
    pub(crate) fn finish(self, width: f64, height: f64, title: &str) -> String {
        let (width, height, title) = (place(width), place(height), escaped(title));
        format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width} {height}\" role=\"img\" aria-label=\"{title}\">\
             {}</svg>",
            self.body
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_and_attributes_are_escaped() {
        let mut drawing = Drawing::default();
        drawing.text("text", &[("x", &1.5), ("class", &"a\"b")], "<script>&'\u{1}");
        let svg = drawing.finish(10.0, 2.25, "a < b");
        assert!(svg.contains("<text x=\"1.5\" class=\"a&quot;b\">&lt;script&gt;&amp;&#39;\u{fffd}</text>"), "{svg}");
        assert!(svg.contains("viewBox=\"0 0 10 2.2\"") && svg.contains("aria-label=\"a &lt; b\""), "{svg}");
    }
}
