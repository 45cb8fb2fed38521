//! How messages call a client.

use std::fmt;

/// A client in a message: by its name if it has one, by its number otherwise.
///
/// ```
/// use boostfgl_fed::ClientName;
///
/// assert_eq!(ClientName::new(3, "").to_string(), "client 3");
/// assert_eq!(ClientName::new(3, "north").to_string(), "client north");
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClientName {
    /// Its number, from 0.
    pub number: usize,
    /// Its name; empty if it has none, as in a simulation.
    pub name: String,
}

impl ClientName {
    /// Why a client cannot be called so, in the words of an error's `expected`; `None` if it can.
    /// Names go into tables, messages and the names of folders.
    ///
    /// ```
    /// use boostfgl_fed::ClientName;
    ///
    /// assert!(ClientName::objection("St. Mary's, Ulm").is_none());
    /// assert!(ClientName::objection("..").is_some());
    /// ```
    pub fn objection(name: &str) -> Option<&'static str> {
        if name.trim().is_empty() || name.len() > 120 {
            Some("a name of 1 to 120 bytes")
        } else if name.chars().any(char::is_control) {
            Some("a name without control characters")
        } else if name.contains(['/', '\\']) || name.starts_with('.') {
            Some("a name without `/` and `\\` that does not start with a dot")
        } else {
            None
        }
    }

    /// The client of this number and name.
    pub fn new(number: usize, name: impl Into<String>) -> Self {
        Self { number, name: name.into() }
    }
}

impl fmt::Display for ClientName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.name.as_str() {
            "" => write!(f, "client {}", self.number),
            name => write!(f, "client {name}"),
        }
    }
}
