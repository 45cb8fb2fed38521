//! Every call of the project that writes to the disk.
//!
//! * [`AtomicFile`], [`write_atomic`] — atomic replacement of a file: temporary file, fsync,
//!   rename.
//! * [`AppendFile`] — a file that is visible under its name while it grows.
//! * [`create_dir_all`], [`create_dir`], [`remove_file`], [`remove_dir`], [`remove_dir_all`],
//!   [`sync_folder`] — folders and directory entries, made durable.
//! * [`NewFolder`] — a folder that appears under its name when all of it is written.
//! * [`Checksums`] — the BLAKE3 checksums of the files of a folder.
//!
//! One place for all writes makes them testable: in builds with debug assertions, or with the
//! feature `faults`, the n-th call can meet a full disk, an I/O error, a crash or a power cut
//! (module `faults`). Other builds contain none of that code.

#![forbid(unsafe_code)]

mod append;
mod atomic;
mod checksums;
mod error;
#[cfg(not(any(debug_assertions, feature = "faults")))]
mod faultless;
#[cfg(any(debug_assertions, feature = "faults"))]
pub mod faults;
mod folder;
mod handle;
mod new_folder;

#[cfg(not(any(debug_assertions, feature = "faults")))]
use faultless as faults;

pub use append::AppendFile;
pub use atomic::{AtomicFile, UNFINISHED, write_atomic};
pub use checksums::Checksums;
pub use error::{Error, Result};
pub use folder::{
    create_dir, create_dir_all, remove_dir, remove_dir_all, remove_file, sync_folder,
};
pub use new_folder::NewFolder;

use std::path::Path;

/// One call that changes the disk, as it is about to be made.
#[derive(Clone, Copy, Debug)]
#[cfg_attr(
    not(any(debug_assertions, feature = "faults")),
    expect(dead_code, reason = "only faults look inside")
)]
enum Call<'a> {
    /// A new, empty file.
    Create(&'a Path),
    /// A write of that many bytes.
    Write(&'a Path, usize),
    /// A truncation to that length.
    Truncate(&'a Path, u64),
    /// An fsync of a file.
    Sync(&'a Path),
    /// A rename from the first path to the second, which may replace a file.
    Rename(&'a Path, &'a Path),
    /// The removal of a file.
    Remove(&'a Path),
    /// A new, empty folder.
    MakeFolder(&'a Path),
    /// The removal of an empty folder.
    RemoveFolder(&'a Path),
    /// An fsync of a folder, which makes its directory entries durable.
    SyncFolder(&'a Path),
}
