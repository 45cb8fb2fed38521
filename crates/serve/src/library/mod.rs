//! The runs and comparisons below a folder: where they are, what they hold, and nothing outside.

mod compared;
mod files;
mod glance;
mod search;

pub(crate) use files::{Files, Stamps};
pub(crate) use glance::{Glance, Kind, Standing};

use crate::{Error, Result};
use boostfgl_report::page::Report;
use boostfgl_report::{ComparisonView, Depth, RunView};
use compared::Compared;
use glance::Remembered;
use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// A folder with runs. What was read is remembered until the files it came from change.
#[derive(Debug)]
pub(crate) struct Library {
    /// Without links and `..`, so that what is inside can be told from what is not.
    root: PathBuf,
    glances: Mutex<HashMap<String, Remembered>>,
    compared: Mutex<HashMap<String, Compared>>,
    reports: Mutex<Vec<Rendered>>,
}

/// All runs and comparisons, newest first.
#[derive(Debug)]
pub(crate) struct Shelf {
    pub(crate) runs: Vec<Arc<Glance>>,
    /// What is not in the list, one sentence each.
    pub(crate) notes: Vec<String>,
}

/// A report that has been put together.
#[derive(Debug)]
struct Rendered {
    names: Vec<String>,
    stamps: Vec<Stamps>,
    title: String,
    main: Arc<str>,
}

/// A report takes long to put together and is asked for again when somebody goes back to it.
const REMEMBERED_REPORTS: usize = 8;

impl Library {
    /// Looks at a folder.
    ///
    /// # Errors
    /// If it is not one.
    pub(crate) fn open(path: &Path) -> Result<Self> {
        let open = || -> std::io::Result<PathBuf> {
            path.read_dir()?;
            path.canonicalize()
        };
        let root = open().map_err(|source| Error::Folder { path: path.to_path_buf(), source })?;
        Ok(Self {
            root,
            glances: Mutex::default(),
            compared: Mutex::default(),
            reports: Mutex::default(),
        })
    }

    /// Every run and comparison below the folder. Only folders that changed since the last look are
    /// read.
    pub(crate) fn shelf(&self) -> Shelf {
        let found = search::search(&self.root);
        let mut remembered = lock(&self.glances);
        let mut known = std::mem::take(&mut *remembered);
        let mut runs = Vec::with_capacity(found.runs.len());
        for run in found.runs {
            let mut glance = known.remove(&run.name).unwrap_or_default();
            runs.extend(glance.refresh(&self.root, &run));
            remembered.insert(run.name, glance);
        }
        drop(remembered);
        let mut compared = lock(&self.compared);
        let mut known = std::mem::take(&mut *compared);
        for folder in found.comparisons {
            let mut glance = known.remove(&folder.name).unwrap_or_default();
            runs.extend(glance.refresh(&self.root, &folder));
            compared.insert(folder.name, glance);
        }
        drop(compared);
        runs.sort_by(|a, b| b.changed.cmp(&a.changed).then_with(|| a.name.cmp(&b.name)));
        Shelf { runs, notes: found.notes }
    }

    /// Where a run is, by its path below the folder; nothing if that leads elsewhere or to no run.
    pub(crate) fn locate(&self, name: &str) -> Option<PathBuf> {
        self.place(name).filter(|path| search::is_run(path))
    }

    /// Where a comparison is, by its path below the folder; nothing if that leads elsewhere or to
    /// no comparison.
    pub(crate) fn locate_comparison(&self, name: &str) -> Option<PathBuf> {
        self.place(name).filter(|path| search::is_comparison(path))
    }

    fn place(&self, name: &str) -> Option<PathBuf> {
        let parts: Vec<&str> = if name.is_empty() { Vec::new() } else { name.split('/').collect() };
        if parts.len() > search::LEVELS || !parts.iter().all(|part| search::is_plain(part)) {
            return None;
        }
        let path = self.root.join(parts.iter().collect::<PathBuf>()).canonicalize().ok()?;
        path.starts_with(&self.root).then_some(path)
    }

    /// What the files of a run look like from outside.
    pub(crate) fn files(&self, run: &Path) -> Files {
        Files::look(&self.root, run, &files::ALL)
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

    /// The report of these runs and comparisons, its title first; nothing if one of them is not
    /// there.
    pub(crate) fn report(&self, names: &[String]) -> Option<(String, Arc<str>)> {
        let stamps: Vec<Stamps> =
            names.iter().map(|name| self.stamps(name)).collect::<Option<_>>()?;
        let same = |rendered: &Rendered| rendered.names == names && rendered.stamps == stamps;
        if let Some(rendered) = lock(&self.reports).iter().find(|rendered| same(rendered)) {
            return Some((rendered.title.clone(), Arc::clone(&rendered.main)));
        }
        let report = self.put_together(names)?;
        let (title, main) = (report.title(), Arc::from(report.main()));
        let mut reports = lock(&self.reports);
        reports.retain(|rendered| rendered.names != names);
        if reports.len() >= REMEMBERED_REPORTS {
            reports.remove(0);
        }
        reports.push(Rendered {
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
        let of_run = self.locate(name).map(|path| self.files(&path));
        let of_comparison =
            || Some(Files::of_comparison(&self.root, &self.locate_comparison(name)?));
        Some(of_run.or_else(of_comparison)?.stamps)
    }

    fn put_together(&self, names: &[String]) -> Option<Report> {
        let (compared, runs): (Vec<&String>, Vec<&String>) =
            names.iter().partition(|name| self.locate_comparison(name).is_some());
        let mut views = runs
            .into_iter()
            .map(|name| self.view(name, Depth::Whole))
            .collect::<Option<Vec<_>>>()?;
        // The list has the newest run first; what others are compared with must not depend on that.
        views.sort_by_key(|view| !view.is_base());
        let mut report = Report::new(views);
        for name in compared {
            let path = self.locate_comparison(name)?;
            let files = Files::of_comparison(&self.root, &path);
            // A link may lead elsewhere, and a pipe would keep its reader waiting: nothing is read
            // then.
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
        divisions: None,
        predictions: None,
        diagnoses: None,
        problems,
    }
}

/// What is remembered can be read again at any time, so a panic while it was held does no harm.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
