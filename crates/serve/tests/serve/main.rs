//! A real server on this machine, asked as a browser would ask, each time over a folder of its own.

mod access;
mod broken;
mod common;
#[path = "../../../report/tests/common/compared.rs"]
mod compared;
mod comparisons;
mod list;
mod live;
mod paths;
