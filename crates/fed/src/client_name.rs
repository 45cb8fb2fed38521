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
