//! Names that differ only by spaces or case, which are mostly one name written in two ways.

use std::collections::HashMap;

/// A name without spaces and case.
pub(super) fn key(name: &str) -> String {
    name.chars().filter(|c| !c.is_whitespace()).flat_map(char::to_lowercase).collect()
}

/// Names by what is left without spaces and case.
#[derive(Default)]
pub(super) struct Similar<'a> {
    first: HashMap<String, &'a str>,
}

impl<'a> Similar<'a> {
    /// An earlier name that differs from this one only by spaces or case.
    pub(super) fn earlier(&mut self, name: &'a str) -> Option<&'a str> {
        let first = *self.first.entry(key(name)).or_insert(name);
        (first != name).then_some(first)
    }

    /// The name that this one is without spaces and case.
    pub(super) fn known(&self, name: &str) -> Option<&'a str> {
        self.first.get(&key(name)).copied()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_that_differ_by_spaces_or_case_are_similar() {
        let mut names = Similar::default();
        assert_eq!(names.earlier("A 1"), None);
        assert_eq!(names.earlier("A 1"), None);
        assert_eq!(names.earlier("a1"), Some("A 1"));
        assert_eq!(names.earlier("A2"), None);
        assert_eq!(names.known("A1"), Some("A 1"));
        assert_eq!(names.known("B"), None);
        assert_eq!(key("Ä\u{a0}b"), "äb");
    }
}
