//! Lines of keys in a TOML file, for error messages.

use std::path::Path;

/// A place in a file, in words.
pub(super) fn at_line(path: &Path, text: &str, offset: usize) -> String {
    format!("{}, line {}", path.display(), line_of(text, offset))
}

/// The line of a byte, from 1.
pub(super) fn line_of(text: &str, offset: usize) -> usize {
    text[..offset.min(text.len())].matches('\n').count() + 1
}

/// The byte at which the key of that path begins; of a path that is not there, its nearest parent.
pub(super) fn offset_of(text: &str, path: &str) -> usize {
    let Ok(table) = toml::de::DeTable::parse(text) else { return 0 };
    let mut table = table.get_ref();
    let mut offset = 0;
    for part in path.split('.') {
        let Some((key, value)) = table.iter().find(|(key, _)| key.get_ref() == part) else { break };
        offset = key.span().start;
        match value.get_ref() {
            toml::de::DeValue::Table(inner) => table = inner,
            _ => break,
        }
    }
    offset
}
