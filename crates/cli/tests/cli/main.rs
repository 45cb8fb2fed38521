//! Tests that run the program, each in its own temporary folder and without the network.

mod bad_input;
mod clients;
mod commands;
mod common;
mod compare;
mod config;
mod data;
mod diagnose;
mod digests;
mod fairness;
#[cfg(debug_assertions)]
mod faults;
mod fetch;
mod folder;
mod intake;
mod methods;
mod names;
mod own_data;
mod predict;
mod progress;
mod report;
mod reproduce;
mod resume;
mod run;
mod serve;
mod stream;
mod tune;
mod vary;
mod verdicts;
