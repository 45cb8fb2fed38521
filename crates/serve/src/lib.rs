//! A live, read-only page over run folders.
//!
//! [`Server`] lists every run below a folder, shows each one (a finished run as its report, another
//! as its curves so far, which grow while one looks) and puts several side by side. Runs are files
//! that others write: this crate only reads them, and what is half-written or broken is shown as
//! far as it goes, with what is wrong.
//!
//! | Address            | What                                                        |
//! |--------------------|-------------------------------------------------------------|
//! | `/`                | all runs, newest first                                      |
//! | `/run/NAME`        | one run; NAME is its path below the folder                  |
//! | `/compare?run=…`   | several runs side by side                                   |
//! | `/events/list`     | the rows of the list whenever they change (server-sent)     |
//! | `/events/run/NAME` | the curves of a run whenever they change (server-sent)      |
//!
//! Who may look: programs on this machine. Another address than loopback needs a [`Token`]. A page
//! elsewhere cannot read ours through a visitor's browser: the `Host` must be this machine (a name
//! that somebody else resolves to 127.0.0.1 is refused), requests from other sites are refused, and
//! no page runs or loads anything but our own files. Only rendered pages leave the server, never a
//! file as it is, and only from below the folder.

#![forbid(unsafe_code)]

mod access;
mod connections;
mod date;
mod error;
mod events;
mod follow;
mod html;
mod library;
mod list;
mod pages;
mod server;

pub use access::Token;
pub use error::{Error, Result};
pub use server::Server;
