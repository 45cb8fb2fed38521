//! Starts the real program, as a user would, each time in a folder of its own and never over the
//! network.

mod bad_input;
mod commands;
mod common;
mod compare;
mod config;
mod data;
mod diagnose;
mod digests;
#[cfg(debug_assertions)]
mod faults;
mod fetch;
mod folder;
mod methods;
mod names;
mod own_data;
mod report;
mod reproduce;
mod resume;
mod run;
mod serve;
mod verdicts;
