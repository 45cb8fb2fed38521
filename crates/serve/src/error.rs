//! Errors of starting the server.

use std::net::SocketAddr;
use std::path::PathBuf;

/// Shorthand for results of this crate.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// Errors of the server. Each message names the place, what was expected and what was
/// found.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// There is no such folder.
    #[error("{}: expected a folder with runs, found: {source}", path.display())]
    Folder {
        /// The folder.
        path: PathBuf,
        /// The system's reason.
        source: std::io::Error,
    },

    /// Other machines could reach the address, and there is no token.
    #[error(
        "{address}: expected a loopback address or a token, found an address that other machines can reach"
    )]
    Exposed {
        /// The address.
        address: SocketAddr,
    },

    /// Another program uses the port.
    #[error("{address}: expected a free port, found one in use")]
    Taken {
        /// The address.
        address: SocketAddr,
    },

    /// The address cannot be bound.
    #[error("{address}: expected an address to listen on, found: {source}")]
    Listen {
        /// The address.
        address: SocketAddr,
        /// The system's reason.
        source: std::io::Error,
    },
}

impl Error {
    /// What the user can do about it, in one sentence.
    pub fn advice(&self) -> &'static str {
        match self {
            Self::Folder { .. } => {
                "Start a run first (`boostfgl run`), or name the folder that holds your runs."
            }
            Self::Exposed { .. } => "Serve on 127.0.0.1, or require a token.",
            Self::Taken { .. } => "Choose another port with --port, or --port 0 for any free one.",
            Self::Listen { .. } => {
                "Choose an address of this machine with --host and a port above 1023 with --port."
            }
        }
    }
}
