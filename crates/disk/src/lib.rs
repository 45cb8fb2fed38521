//! Every call of the project that writes to the disk.
//!
//! * [`AtomicFile`], [`write_atomic`] — a file that gets its name only when it is whole.
//! * [`AppendFile`] — a file that has its name while it grows.
//! * [`create_dir_all`], [`create_dir`], [`remove_file`], [`remove_dir`], [`remove_dir_all`],
//!   [`sync_folder`] — what happens to names.
//! * [`Checksums`] — what the files of a folder should be.
//!
//! That all of it goes through one place is what makes it testable: builds with debug assertions,
//! or with the feature `faults`, can have the n-th call meet a full disk, a read error, a crash or
//! a power cut (module `faults`). Other builds have none of that code.

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

#[cfg(not(any(debug_assertions, feature = "faults")))]
use faultless as faults;

pub use append::AppendFile;
pub use atomic::{AtomicFile, UNFINISHED, write_atomic};
pub use checksums::Checksums;
pub use error::{Error, Result};
pub use folder::{
    create_dir, create_dir_all, remove_dir, remove_dir_all, remove_file, sync_folder,
};

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
    /// That many bytes to a file.
    Write(&'a Path, usize),
    /// A file is cut to that length.
    Cut(&'a Path, u64),
    /// A file's content is brought to the disk.
    Sync(&'a Path),
    /// A file takes another name, which another file may have had.
    Rename(&'a Path, &'a Path),
    /// A file loses its name.
    Remove(&'a Path),
    /// A new, empty folder.
    MakeFolder(&'a Path),
    /// An empty folder goes.
    RemoveFolder(&'a Path),
    /// The names in a folder are brought to the disk.
    SyncFolder(&'a Path),
}
