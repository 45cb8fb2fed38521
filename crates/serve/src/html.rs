//! Writing HTML: escaped text, URLs, and the frame of every page.

use std::fmt::{self, Display, Write as _};
use std::hash::{DefaultHasher, Hash as _, Hasher as _};

/// Escaped text, for the content of an element or a quoted attribute.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Text<'a>(pub(crate) &'a str);

impl Display for Text<'_> {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        for c in self.0.chars() {
            match c {
                '&' => out.write_str("&amp;")?,
                '<' => out.write_str("&lt;")?,
                '>' => out.write_str("&gt;")?,
                '"' => out.write_str("&quot;")?,
                '\'' => out.write_str("&#39;")?,
                c if c.is_control() && !matches!(c, '\n' | '\t') => out.write_char('\u{fffd}')?,
                c => out.write_char(c)?,
            }
        }
        Ok(())
    }
}

/// A path below the folder as part of a URL, percent-encoded except for letters, digits, `-._~` and
/// `/`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Address<'a>(pub(crate) &'a str);

impl Display for Address<'_> {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        for byte in self.0.bytes() {
            match byte {
                b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' | b'/' => {
                    out.write_char(char::from(byte))?;
                }
                byte => write!(out, "%{byte:02X}")?,
            }
        }
        Ok(())
    }
}

/// The inverse of [`Address`]; `None` if it is not percent-encoded UTF-8.
pub(crate) fn decoded(address: &str) -> Option<String> {
    let mut bytes = address.bytes();
    let mut out = Vec::with_capacity(address.len());
    while let Some(byte) = bytes.next() {
        out.push(if byte == b'%' {
            16 * digit(bytes.next()?)? + digit(bytes.next()?)?
        } else {
            byte
        });
    }
    String::from_utf8(out).ok()
}

fn digit(byte: u8) -> Option<u8> {
    char::from(byte).to_digit(16).and_then(|digit| u8::try_from(digit).ok())
}

/// A whole page.
pub(crate) fn page(title: &str, main: &str) -> String {
    format!(
        "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\
         <meta name=\"color-scheme\" content=\"light dark\"><title>{} – boostfgl</title>\
         <link rel=\"icon\" href=\"data:,\"><link rel=\"stylesheet\" href=\"/style.css\">\
         <script src=\"/hover.js\" defer></script><script src=\"/live.js\" defer></script></head>\
         <body><nav class=\"serve-nav\" aria-label=\"Site\"><a href=\"/\">All runs</a>\
         <span id=\"connection\" role=\"status\"></span></nav>\
         <main>{main}</main></body></html>\n",
        Text(title)
    )
}

/// A page with a short message.
pub(crate) fn notice(title: &str, text: &str) -> String {
    page(title, &format!("<h1>{}</h1><p>{}</p>", Text(title), Text(text)))
}

/// The section that lists problems; empty without any.
pub(crate) fn problems(problems: &[String]) -> String {
    if problems.is_empty() {
        return String::new();
    }
    let items: String =
        problems.iter().map(|problem| format!("<li>{}</li>", Text(problem))).collect();
    format!("<section class=\"serve-wrong\"><h2>What is wrong</h2><ul>{items}</ul></section>")
}

/// A hash of a part of a page, by which a client detects changes.
pub(crate) fn mark(piece: &str) -> String {
    let mut hasher = DefaultHasher::new();
    piece.hash(&mut hasher);
    format!("{:016x}", hasher.finish())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_is_escaped() {
        assert_eq!(
            Text("<b a=\"'&\u{0}\r").to_string(),
            "&lt;b a=&quot;&#39;&amp;\u{fffd}\u{fffd}"
        );
    }

    #[test]
    fn decoding_inverts_encoding() {
        for name in ["demo-fedavg", "a/b c", "100%", "Umlaut ä/<x>?&#+\"'", "a:b"] {
            assert_eq!(decoded(&Address(name).to_string()).as_deref(), Some(name));
        }
        assert_eq!(Address("a b/%ä").to_string(), "a%20b/%25%C3%A4");
        for wrong in ["%", "%2", "%zz", "%+1", "%ff"] {
            assert_eq!(decoded(wrong), None, "{wrong}");
        }
    }
}
