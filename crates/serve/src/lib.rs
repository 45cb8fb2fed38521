//! A live, read-only page over run folders.
//!
//! [`Server`] lists every run below a folder and shows each one: a finished run as its report,
//! another one as its curves so far, which are updated while the page is open. It also shows
//! several runs side by side. This crate only reads run folders. Of one that is unfinished or
//! damaged it shows what can be read, and lists the problems.
//!
//! | Address            | What                                                        |
//! |--------------------|-------------------------------------------------------------|
//! | `/`                | all runs, newest first                                      |
//! | `/run/NAME`        | one run; NAME is its path below the folder                  |
//! | `/compare?run=…`   | several runs side by side                                   |
//! | `/events/list`     | the rows of the list whenever they change (server-sent)     |
//! | `/events/run/NAME` | the curves of a run whenever they change (server-sent)      |
//!
//! Access: only programs on this machine, unless there is a [`Token`]; any other address than
//! loopback requires one. Another web site cannot read the pages through a visitor's browser: the
//! `Host` must be this machine (which prevents DNS rebinding), requests from other sites are refused,
//! and the content security policy allows nothing but our own files. The server sends rendered
//! pages, never a file of a run, and reads nothing outside the folder.

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
