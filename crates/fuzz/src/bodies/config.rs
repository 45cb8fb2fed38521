//! Configurations, as files and as assignments.

use std::path::Path;

use boostfgl::Layers;

use super::message;

/// The text as a file; then each of its lines as a value of `--set`.
pub(crate) fn config(input: &[u8]) -> String {
    let text = String::from_utf8_lossy(input);
    let mut layers = Layers::new();
    let file = message(layers.text(&text, Path::new("c.toml")).and_then(|()| layers.resolve()));
    for line in text.lines().take(8) {
        let mut layers = Layers::new();
        message(layers.assignment(line).and_then(|()| layers.resolve()));
    }
    file
}
