//! The folder of a comparison or of a search: its place, and the files in it.

use crate::commands::run::unusable;
use anyhow::Result;
use boostfgl::disk::{self, Checksums};
use boostfgl::grid::CellStore;
use boostfgl::report::{Comparison, RunFolder, Style, name, write_atomic};
use boostfgl::{Error, Experiment};
use std::path::{Path, PathBuf};

/// Creates the folder, or finds that of an earlier comparison. By default it is `runs/KIND-DATA`.
pub(crate) fn prepare(out: Option<&Path>, kind: &str, names: &[String]) -> Result<PathBuf> {
    let folder = match out {
        Some(out) => out.to_path_buf(),
        None => {
            let names: Vec<String> = names.iter().map(|name| name::folder(name)).collect();
            Path::new("runs").join(format!("{kind}-{}", names.join("-")))
        }
    };
    if folder.exists() && !folder.join(CellStore::FOLDER).is_dir() {
        let first = folder.read_dir().and_then(|mut entries| entries.next().transpose());
        let first = first.map_err(|error| unusable(boostfgl::report::Error::io(&folder, error)))?;
        if let Some(first) = first {
            let found = first.file_name().to_string_lossy().into_owned();
            let reason =
                format!("expected an empty folder or an earlier comparison, found `{found}` in it");
            return Err(Error::usage(
                folder.display().to_string(),
                reason,
                "Choose another folder with --out.",
            )
            .into());
        }
    }
    disk::create_dir_all(&folder).map_err(unusable)?;
    Ok(folder)
}

/// Writes the resolved configuration of each dataset to config/.
pub(crate) fn write_configs(folder: &Path, datasets: &[Experiment]) -> Result<()> {
    let configs = folder.join("config");
    disk::create_dir_all(&configs).map_err(unusable)?;
    for dataset in datasets {
        let path = configs.join(format!("{}.toml", name::folder(dataset.graph().name())));
        write_atomic(path, dataset.config().to_toml().as_bytes()).map_err(Error::from)?;
    }
    Ok(())
}

/// Writes the comparison in every form, with further files of its own.
pub(crate) fn write_all(
    folder: &Path,
    comparison: &Comparison,
    further: &[(&str, String)],
) -> Result<()> {
    let mut forms = vec![
        ("comparison.txt", comparison.text(Style::Plain)),
        ("comparison.md", comparison.markdown()),
        ("comparison.csv", comparison.csv()),
        ("comparison-summary.csv", comparison.summary_csv()),
        ("comparison.tex", comparison.latex()),
        (Comparison::FILE, comparison.to_json()),
    ];
    forms.extend(comparison.varied_csv().map(|text| ("comparison-varied.csv", text)));
    forms.extend(further.iter().cloned());
    // Removed first: old checksums must never describe new files.
    Checksums::remove(folder).map_err(Error::from)?;
    for stale in Comparison::FORMS.into_iter().filter(|name| !is_among(name, &forms)) {
        if folder.join(stale).exists() {
            disk::remove_file(folder.join(stale)).map_err(Error::from)?;
        }
    }
    for (name, text) in &forms {
        write_atomic(folder.join(name), text.as_bytes()).map_err(Error::from)?;
    }
    let sums =
        Checksums::of(folder, forms.iter().map(|(name, _)| *name)).and_then(|sums| sums.write());
    Ok(sums.map_err(Error::from)?)
}

fn is_among(name: &str, forms: &[(&str, String)]) -> bool {
    forms.iter().any(|(form, _)| *form == name)
}

/// Writes the report and its line in the checksums of the comparison.
pub(crate) fn write_report(folder: &Path, html: &str) -> Result<()> {
    let written = Checksums::replace(&folder.join(RunFolder::REPORT), html.as_bytes(), true);
    Ok(written.map_err(Error::from)?)
}

/// An error if a cell failed: the tables are printed, but they are incomplete.
pub(crate) fn complete(comparison: &Comparison, cells: usize) -> Result<()> {
    let failures = comparison.failures();
    let Some((dataset, label, seed, message)) = failures.first() else { return Ok(()) };
    let first = format!("{label} on {dataset}, seed {seed}: {message}");
    Err(Error::Incomplete { failed: failures.len(), cells, first }.into())
}
