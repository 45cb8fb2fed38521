//! A real server on this machine, asked as a browser would ask, each time over a folder of its own.

mod access;
mod broken;
mod common;
mod list;
mod live;
mod paths;
