//! One file per command.

mod check;
pub(crate) mod compare;
pub(crate) mod completions;
pub(crate) mod config;
pub(crate) mod data;
pub(crate) mod diagnose;
mod import;
pub(crate) mod methods;
pub(crate) mod partition;
pub(crate) mod predict;
pub(crate) mod report;
pub(crate) mod reproduce;
pub(crate) mod resume;
pub(crate) mod run;
pub(crate) mod serve;
pub(crate) mod tune;
