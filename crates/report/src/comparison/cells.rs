//! Finished cells on the disk, under their digests.

use crate::{Detail, Measured, Result, write_atomic};
use serde::{Deserialize, Serialize};
use std::path::{Path, PathBuf};

/// The folder `cells`: one file `DIGEST.json` per finished cell.
#[derive(Clone, Debug)]
pub struct CellStore {
    folder: PathBuf,
}

/// The content of a file: dataset, method and seed, for readers, and what was measured.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CellRecord {
    /// The dataset.
    pub dataset: String,
    /// The method with its boosts, as tables name it.
    pub method: String,
    /// The seed.
    pub seed: u64,
    /// What was measured.
    pub measured: Measured,
    /// Learning curve and diagnostics, if they were requested.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub detail: Option<Box<Detail>>,
}

/// The result of looking up a digest.
#[derive(Clone, Debug, PartialEq)]
pub enum StoredCell {
    /// A finished cell.
    Cell(Box<CellRecord>),
    /// No file.
    Nothing,
    /// A file that is truncated, damaged, of another cell or of another version, with the reason.
    Unusable(String),
}

#[derive(Serialize, Deserialize)]
struct File {
    version: u32,
    digest: String,
    /// BLAKE3 of `cell` as compact JSON. JSON keeps every number exactly, so the digest can be
    /// recomputed from the parsed cell.
    checksum: String,
    cell: CellRecord,
}

/// The version of the format.
const VERSION: u32 = 1;

impl CellStore {
    /// The name of the folder in that of a comparison.
    pub const FOLDER: &str = "cells";

    /// The cells in the folder of a comparison. Creates the folder if it is missing.
    ///
    /// # Errors
    /// If the folder cannot be created.
    pub fn open(comparison: &Path) -> Result<Self> {
        let folder = comparison.join(Self::FOLDER);
        boostfgl_disk::create_dir_all(&folder)?;
        Ok(Self { folder })
    }

    /// The cells in the folder of a comparison, read-only: no folder is created.
    pub fn at(comparison: &Path) -> Self {
        Self { folder: comparison.join(Self::FOLDER) }
    }

    /// Every finished cell, in the order of the digests.
    pub fn records(&self) -> Vec<CellRecord> {
        let entries = std::fs::read_dir(&self.folder).into_iter().flatten();
        let mut digests: Vec<String> = entries
            .filter_map(|entry| {
                Some(entry.ok()?.file_name().to_str()?.strip_suffix(".json")?.to_owned())
            })
            .collect();
        digests.sort_unstable();
        digests
            .iter()
            .filter_map(|digest| match self.find(digest) {
                StoredCell::Cell(record) => Some(*record),
                StoredCell::Nothing | StoredCell::Unusable(_) => None,
            })
            .collect()
    }

    fn path(&self, digest: &str) -> PathBuf {
        self.folder.join(format!("{digest}.json"))
    }

    /// Looks up the cell with this digest.
    pub fn find(&self, digest: &str) -> StoredCell {
        let path = self.path(digest);
        let parsed = match std::fs::read(&path) {
            Ok(text) => parse(&text, digest),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
                return StoredCell::Nothing;
            }
            Err(error) => Err(error.to_string()),
        };
        match parsed {
            Ok(cell) => StoredCell::Cell(Box::new(cell)),
            Err(reason) => StoredCell::Unusable(format!("{}: {reason}", path.display())),
        }
    }

    /// Writes a finished cell atomically.
    ///
    /// # Errors
    /// If the folder cannot be written.
    pub fn keep(&self, digest: &str, cell: CellRecord) -> Result<()> {
        let file =
            File { version: VERSION, digest: digest.to_owned(), checksum: checksum(&cell), cell };
        // A record holds numbers, strings and structures of them.
        let text = serde_json::to_string_pretty(&file).expect("a cell is representable as JSON");
        Ok(write_atomic(self.path(digest), format!("{text}\n").as_bytes())?)
    }
}

/// The cell with this digest from the text of its file, or why the file cannot be used.
fn parse(text: &[u8], digest: &str) -> Result<CellRecord, String> {
    let file: File = serde_json::from_slice(text)
        .map_err(|error| format!("expected a finished cell, found {error}"))?;
    if file.version != VERSION {
        return Err(format!("expected format version {VERSION}, found {}", file.version));
    }
    if file.digest != digest {
        return Err("expected the cell of its name, found that of another".to_owned());
    }
    if file.checksum != checksum(&file.cell) {
        return Err("expected the checksum of its content, found another".to_owned());
    }
    Ok(file.cell)
}

fn checksum(cell: &CellRecord) -> String {
    let text = serde_json::to_string(cell).expect("a cell is representable as JSON");
    blake3::hash(text.as_bytes()).to_hex().to_string()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::CellCost;
    use boostfgl_fairness::{GroupSizes, Readings, Scores};
    use proptest::prelude::*;

    fn record(value: f64) -> CellRecord {
        let accuracy = Readings { pooled: Some(value), present: None, client: Some(value / 3.0) };
        let measured = Measured {
            scores: Scores { accuracy, ..Scores::default() }.percent(),
            groups: GroupSizes::default(),
            round: 3,
            details: Default::default(),
            digest: "abc".into(),
            cost: CellCost { seconds: value / 7.0, ..CellCost::default() },
        };
        CellRecord {
            dataset: "demo".into(),
            method: "fedavg".into(),
            seed: 4,
            measured,
            detail: None,
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(40))]

        #[test]
        fn a_cell_is_read_back_exactly(value in 0.0..1.0f64) {
            let place = tempfile::tempdir().unwrap();
            let store = CellStore::open(place.path()).unwrap();
            store.keep("d", record(value)).unwrap();
            prop_assert_eq!(store.find("d"), StoredCell::Cell(Box::new(record(value))));
        }
    }

    #[test]
    fn damaged_or_foreign_files_are_unusable() {
        let place = tempfile::tempdir().unwrap();
        let store = CellStore::open(place.path()).unwrap();
        assert_eq!(store.find("d"), StoredCell::Nothing);
        store.keep("d", record(0.5)).unwrap();
        let path = place.path().join("cells/d.json");
        let good = std::fs::read_to_string(&path).unwrap();
        let cases = [
            (good[..good.len() / 2].to_owned(), "expected a finished cell"),
            (String::new(), "expected a finished cell"),
            (
                good.replace("\"version\": 1", "\"version\": 2"),
                "expected format version 1, found 2",
            ),
            (good.replace("\"digest\": \"d\"", "\"digest\": \"e\""), "found that of another"),
            (good.replace("50.0", "50.5"), "expected the checksum"),
        ];
        for (text, wanted) in cases {
            assert_ne!(text, good);
            std::fs::write(&path, text).unwrap();
            match store.find("d") {
                StoredCell::Unusable(reason) => assert!(reason.contains(wanted), "{reason}"),
                found => panic!("{found:?} for {wanted}"),
            }
        }
    }
}
