//! A real server on this machine and requests over HTTP; every test has a folder of its own.

mod access;
mod broken;
mod common;
#[path = "../../../report/tests/common/compared.rs"]
mod compared;
mod comparisons;
mod list;
mod live;
mod paths;
