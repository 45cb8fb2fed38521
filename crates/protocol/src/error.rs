//! Why bytes are not a frame.

use thiserror::Error;

/// Why bytes are not a frame of this protocol.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum Error {
    /// The bytes end too early, or a length does not fit what follows.
    #[error(
        "a frame of {length} bytes: expected {expected} at byte {at}, found {found}; it was \
         truncated or changed on its way"
    )]
    Malformed {
        /// Bytes of the frame.
        length: usize,
        /// The position in it.
        at: usize,
        /// What should be there.
        expected: String,
        /// What is there.
        found: String,
    },
    /// Another version of the protocol.
    #[error(
        "a frame of protocol version {found}: expected version {expected}; use the same version of \
         boostfgl on both sides"
    )]
    Version {
        /// The version of this program.
        expected: u16,
        /// The version of the frame.
        found: u16,
    },
    /// A frame of another run, round or client.
    #[error("a frame of {what} {found}: expected {what} {expected}; it is late or misdirected")]
    Misdirected {
        /// What differs: run, round, client.
        what: &'static str,
        /// Whose frame was expected.
        expected: String,
        /// Whose it is.
        found: String,
    },
    /// A model of other shapes than those of the run's network.
    #[error(
        "a model: expected tensors of shapes {expected}, found {found}; both sides need the same \
         network, features and classes"
    )]
    Shapes {
        /// Shapes of the network.
        expected: String,
        /// Shapes of the model.
        found: String,
    },
}

/// A result of this crate.
pub type Result<T> = std::result::Result<T, Error>;
