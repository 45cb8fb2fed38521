//! The runs and comparisons below a folder. Nothing outside the folder is read.

mod compared;
mod files;
mod row;
mod search;

pub(crate) use files::{Files, Stamps};
pub(crate) use row::{Kind, ListRow, Status};

use crate::{Error, Result};
use boostfgl_report::page::Report;
use boostfgl_report::{ComparisonView, Depth, RunView};
use compared::CachedComparison;
use row::CachedRow;
use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// A folder with runs. What was read is cached until its files change.
#[derive(Debug)]
pub(crate) struct Library {
    /// Canonical (no links, no `..`), so that a prefix comparison decides what is inside.
    root: PathBuf,
    rows: Mutex<HashMap<String, CachedRow>>,
    comparisons: Mutex<HashMap<String, CachedComparison>>,
    reports: Mutex<Vec<CachedReport>>,
}

/// All runs and comparisons, newest first.
#[derive(Debug)]
pub(crate) struct Listing {
    pub(crate) runs: Vec<Arc<ListRow>>,
    /// Which folders are not listed and why, one sentence each.
    pub(crate) notes: Vec<String>,
}

/// A rendered report.
#[derive(Debug)]
struct CachedReport {
    names: Vec<String>,
    stamps: Vec<Stamps>,
    title: String,
    main: Arc<str>,
}

/// The number of cached reports: they take long to render, and are often opened again.
const CACHED_REPORTS: usize = 8;

impl Library {
    /// Opens a folder with runs.
    ///
    /// # Errors
    /// If it is not a folder, or cannot be read.
    pub(crate) fn open(path: &Path) -> Result<Self> {
        let root = path
            .read_dir()
            .and_then(|_| path.canonicalize())
            .map_err(|source| Error::Folder { path: path.to_path_buf(), source })?;
        Ok(Self {
            root,
            rows: Mutex::default(),
            comparisons: Mutex::default(),
            reports: Mutex::default(),
        })
    }

    /// Every run and comparison below the folder. Only folders that changed since the last time are
    /// read.
    pub(crate) fn list(&self) -> Listing {
        let found = search::search(&self.root);
        let mut runs = Vec::with_capacity(found.runs.len());
        let mut rows = lock(&self.rows);
        // The cache is rebuilt from the folders that exist: rows of removed ones are dropped.
        let mut cached = std::mem::take(&mut *rows);
        for run in found.runs {
            let mut row = cached.remove(&run.name).unwrap_or_default();
            runs.extend(row.refresh(&self.root, &run));
            rows.insert(run.name, row);
        }
        drop(rows);
        let mut comparisons = lock(&self.comparisons);
        let mut cached = std::mem::take(&mut *comparisons);
        for folder in found.comparisons {
            let mut row = cached.remove(&folder.name).unwrap_or_default();
            runs.extend(row.refresh(&self.root, &folder));
            comparisons.insert(folder.name, row);
        }
        drop(comparisons);
        runs.sort_by(|a, b| b.changed.cmp(&a.changed).then_with(|| a.name.cmp(&b.name)));
        Listing { runs, notes: found.notes }
    }

    /// The full path of a run, by its path below the folder; `None` if it is outside or no run.
    pub(crate) fn locate(&self, name: &str) -> Option<PathBuf> {
        self.resolve(name).filter(|path| search::is_run(path))
    }

    /// The full path of a comparison, by its path below the folder; `None` if it is outside or no
    /// comparison.
    pub(crate) fn locate_comparison(&self, name: &str) -> Option<PathBuf> {
        self.resolve(name).filter(|path| search::is_comparison(path))
    }

    fn resolve(&self, name: &str) -> Option<PathBuf> {
        let parts: Vec<&str> = if name.is_empty() { Vec::new() } else { name.split('/').collect() };
        if parts.len() > search::LEVELS || !parts.iter().all(|part| search::is_plain(part)) {
            return None;
        }
        let path = self.root.join(parts.iter().collect::<PathBuf>()).canonicalize().ok()?;
        path.starts_with(&self.root).then_some(path)
    }

    /// The metadata of the files of a run.
    pub(crate) fn files(&self, run: &Path) -> Files {
        Files::stat(&self.root, run, &files::ALL)
    }

    /// A run by its path below the folder.
    pub(crate) fn view(&self, name: &str, depth: Depth) -> Option<RunView> {
        let path = self.locate(name)?;
        let files = self.files(&path);
        if files.problems.is_empty() {
            RunView::read(path, depth).ok()
        } else {
            Some(unread(path, name, files.problems))
        }
    }

    /// Title and content of the report of these runs and comparisons; `None` if one of them does
    /// not exist.
    pub(crate) fn report(&self, names: &[String]) -> Option<(String, Arc<str>)> {
        let stamps: Vec<Stamps> =
            names.iter().map(|name| self.stamps(name)).collect::<Option<_>>()?;
        let cached = lock(&self.reports);
        let current = cached.iter().find(|report| report.names == names && report.stamps == stamps);
        if let Some(rendered) = current {
            return Some((rendered.title.clone(), Arc::clone(&rendered.main)));
        }
        // Rendering takes long; other threads must not wait for it.
        drop(cached);
        let report = self.build_report(names)?;
        let (title, main) = (report.title(), Arc::from(report.main()));
        let mut reports = lock(&self.reports);
        reports.retain(|rendered| rendered.names != names);
        if reports.len() >= CACHED_REPORTS {
            reports.remove(0);
        }
        reports.push(CachedReport {
            names: names.to_vec(),
            stamps,
            title: title.clone(),
            main: Arc::clone(&main),
        });
        Some((title, main))
    }
}

impl Library {
    /// The stamps of all files that a report of a run or a comparison is made from.
    fn stamps(&self, name: &str) -> Option<Stamps> {
        let files = match self.locate(name) {
            Some(path) => self.files(&path),
            None => Files::of_comparison(&self.root, &self.locate_comparison(name)?),
        };
        Some(files.stamps)
    }

    /// Reads everything that the report shows.
    fn build_report(&self, names: &[String]) -> Option<Report> {
        let (compared, runs): (Vec<&String>, Vec<&String>) =
            names.iter().partition(|name| self.locate_comparison(name).is_some());
        let mut views = runs
            .into_iter()
            .map(|name| self.view(name, Depth::Whole))
            .collect::<Option<Vec<_>>>()?;
        // The list has the newest run first; the base of the comparison must not depend on that.
        views.sort_by_key(|view| !view.is_base());
        let mut report = Report::new(views);
        for name in compared {
            let path = self.locate_comparison(name)?;
            let files = Files::of_comparison(&self.root, &path);
            // Links may point outside the folder, and reading a pipe may block: then nothing is
            // read.
            let read = files.problems.is_empty().then(|| ComparisonView::read(&path));
            let problems = match read {
                None => files.problems,
                Some(Ok(ComparisonView { comparison, courses, problems, .. })) => {
                    report.compare(comparison, &courses);
                    problems
                }
                Some(Err(error)) => vec![error.to_string()],
            };
            problems.into_iter().for_each(|problem| report.problem(format!("{name}: {problem}")));
        }
        Some(report)
    }
}

/// A run of which nothing is read, with the reason.
fn unread(path: PathBuf, name: &str, problems: Vec<String>) -> RunView {
    RunView {
        path,
        name: name.to_owned(),
        summary: None,
        settings: None,
        rounds: None,
        partition: None,
        predictions: None,
        diagnostics: None,
        problems,
    }
}

/// Locks a cache. A panic of another thread does no harm: every entry can be read again.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
