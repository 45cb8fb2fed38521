//! From files to graphs: readers of the formats in which graphs are published, and the catalogue of
//! datasets known by name.
//!
//! * [`readers`] — one file per format; from a path to a [`Graph`](boostfgl_graph::Graph).
//! * [`intake`] — from tables as other programs export them to a folder that the readers read.
//! * [`columns`] — `columns.toml`, which says what the columns of tables are.
//! * [`health`] — what is unusual about a graph: gaps, hubs, constant columns, rare classes.
//! * [`catalogue`] — the datasets known by name, with origin, checksum, licence and known flaws;
//!   finds their files on this machine or downloads them.
//!
//! Only programs that read files need this crate. The numeric core sees graphs alone, so what
//! decompression, tables and checksums depend on stays out of it. Errors are those of
//! [`boostfgl_graph`].

#![forbid(unsafe_code)]

pub mod catalogue;
pub mod columns;
pub mod health;
pub mod intake;
pub mod readers;
