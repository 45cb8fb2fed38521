//! Running cells on several threads.
//!
//! With at least as many cells as threads, each cell has one thread: cells are independent, so none
//! waits for another. With fewer, the threads are divided among the cells. Either way a cell runs in
//! a thread pool of its own, and the CPU time of its threads is that of the cell. Drawing a
//! partition, which cells share, is not counted.

use super::detail::CellCurve;
use super::{CellRecord, CellStore, FinishedCell, Grid, GridProgress, Job, Resources};
use crate::experiment::Experiment;
use crate::process::{self, Meter};
use crate::{Error, Result, memory};
use boostfgl_partition::Partition;
use boostfgl_report::{Cell, CellCost, Detail, Measured, Outcome};
use rayon::{ThreadPool, ThreadPoolBuilder};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc::{Sender, channel};
use std::sync::{Arc, Condvar, Mutex, OnceLock, PoisonError};

/// A message of a worker.
enum Event {
    /// A round has ended.
    Round { job: usize },
    /// A cell has ended.
    Cell { job: usize, finished: FinishedCell },
}

/// The number of threads of each worker.
pub(super) fn threads_per_cell(cells: usize, threads: usize) -> Vec<usize> {
    let workers = cells.min(threads);
    (0..workers).map(|at| threads / workers + usize::from(at < threads % workers)).collect()
}

/// Runs `jobs`, stores those that succeed, and fills in `cells`.
pub(super) fn run(
    grid: &Grid,
    jobs: &[Job],
    resources: Resources,
    store: &CellStore,
    progress: &mut dyn GridProgress,
    cells: &mut [Option<FinishedCell>],
) -> Result<()> {
    let threads = threads_per_cell(jobs.len(), resources.threads.get());
    let pools = threads.iter().map(|&threads| pool(threads)).collect::<Result<Vec<_>>>()?;
    let queue = Queue::new(grid, jobs, resources.memory, pools.len() == 1);
    let work = WorkDone::new(grid, jobs);
    let mut collector = Collector { grid, jobs, store, progress, work, ended: 0, cells };
    std::thread::scope(|scope| {
        let (sender, receiver) = channel();
        for pool in &pools {
            let (queue, sender) = (&queue, sender.clone());
            scope.spawn(move || queue.work(pool, &sender));
        }
        // Only workers hold senders now, so the loop ends when the last worker ends.
        drop(sender);
        for event in receiver {
            if let Err(error) = collector.collect(event) {
                // If results cannot be stored, further work would be lost.
                queue.stopped.store(true, Ordering::Relaxed);
                return Err(error);
            }
        }
        Ok(())
    })
}

/// Stores cells as they end, and reports progress.
struct Collector<'a> {
    grid: &'a Grid,
    jobs: &'a [Job],
    store: &'a CellStore,
    progress: &'a mut dyn GridProgress,
    work: WorkDone,
    /// Cells that have ended.
    ended: usize,
    cells: &'a mut [Option<FinishedCell>],
}

impl Collector<'_> {
    fn collect(&mut self, event: Event) -> Result<()> {
        match event {
            Event::Round { job } => {
                self.progress.round(self.work.round(job));
                Ok(())
            }
            Event::Cell { job, finished } => self.cell(job, finished),
        }
    }

    fn cell(&mut self, index: usize, finished: FinishedCell) -> Result<()> {
        self.ended += 1;
        let job = &self.jobs[index];
        self.grid.store(job, &finished, self.store)?;
        self.progress.round(self.work.cell(index));
        let cell = Cell { seed: job.seed, outcome: finished.outcome.clone(), peak_bytes: 0 };
        let (dataset, label) =
            (self.grid.block_name(job.dataset), self.grid.stacked[job.method].label());
        self.progress.cell(&dataset, &label, &cell, self.ended, self.jobs.len());
        self.cells[job.at] = Some(finished);
        Ok(())
    }
}

fn pool(threads: usize) -> Result<ThreadPool> {
    ThreadPoolBuilder::new().num_threads(threads).build().map_err(|error| {
        let reason = format!("the system refused to start the threads ({error})");
        Error::usage("--threads", reason, "Use fewer threads.")
    })
}

impl Grid {
    fn experiment(&self, job: &Job) -> &Experiment {
        &self.experiments[job.dataset][job.method]
    }

    /// The work of a cell in arbitrary units: rounds times what is propagated in each.
    fn work(&self, job: &Job) -> f64 {
        let experiment = self.experiment(job);
        let (graph, config) = (experiment.graph(), experiment.config());
        let touched = graph.len() + graph.adjacency().arcs() + graph.features().non_zeros();
        touched as f64
            * config.model.hidden as f64
            * config.fed.rounds as f64
            * config.fed.epochs as f64
    }

    /// Stores a cell that succeeded. One that failed is tried again next time.
    fn store(&self, job: &Job, finished: &FinishedCell, store: &CellStore) -> Result<()> {
        let Outcome::Done(measured) = &finished.outcome else { return Ok(()) };
        let record = CellRecord {
            dataset: self.experiment(job).graph().name().to_owned(),
            method: self.stacked[job.method].label(),
            seed: job.seed,
            measured: (**measured).clone(),
            detail: finished.detail.clone(),
        };
        Ok(store.keep(&job.digest, record)?)
    }
}

/// The partition of a dataset and seed, drawn by the first cell that needs it. An error is stored as
/// text, because every cell reports it.
type SharedPartition = OnceLock<std::result::Result<Arc<Partition>, String>>;

/// The cells to run, from which the workers take one after the other.
struct Queue<'a> {
    grid: &'a Grid,
    jobs: &'a [Job],
    /// Indexes into `jobs`, in the order in which they run.
    order: Vec<usize>,
    next: AtomicUsize,
    stopped: AtomicBool,
    /// By dataset and seed.
    partitions: Vec<Vec<SharedPartition>>,
    budget: MemoryBudget,
    /// Whether only one cell runs at a time, so that the memory of the process is the cell's.
    alone: bool,
}

impl<'a> Queue<'a> {
    fn new(grid: &'a Grid, jobs: &'a [Job], memory: Option<u64>, alone: bool) -> Self {
        let mut order: Vec<usize> = (0..jobs.len()).collect();
        // The longest first, so that no thread is idle for long at the end. The sort is stable:
        // cells that share a partition stay together.
        order.sort_by(|&one, &other| grid.work(&jobs[other]).total_cmp(&grid.work(&jobs[one])));
        let partitions = grid
            .experiments
            .iter()
            .map(|_| grid.seeds.iter().map(|_| OnceLock::new()).collect())
            .collect();
        Self {
            grid,
            jobs,
            order,
            next: AtomicUsize::new(0),
            stopped: AtomicBool::new(false),
            partitions,
            budget: MemoryBudget::new(memory),
            alone,
        }
    }

    fn work(&self, pool: &ThreadPool, events: &Sender<Event>) {
        while !self.stopped.load(Ordering::Relaxed) {
            let Some(&job) = self.order.get(self.next.fetch_add(1, Ordering::Relaxed)) else {
                return;
            };
            let finished = self.cell(job, pool, events);
            // Without a receiver the grid has failed already.
            let _ = events.send(Event::Cell { job, finished });
        }
    }

    /// Runs a cell, unless it needs more memory than the whole budget.
    fn cell(&self, job: usize, pool: &ThreadPool, events: &Sender<Event>) -> FinishedCell {
        let job_info = &self.jobs[job];
        let experiment = self.grid.experiment(job_info);
        let needed =
            memory::estimate(experiment.graph(), experiment.config(), pool.current_num_threads());
        let Some(_reserved) = self.budget.reserve(needed) else {
            let outcome = Outcome::OverBudget { needed, budget: self.budget.limit };
            return FinishedCell { outcome, detail: None };
        };
        let partition = self.partitions[job_info.dataset][job_info.seed_at].get_or_init(|| {
            let drawn = pool.install(|| experiment.partition(job_info.seed));
            drawn.map(Arc::new).map_err(|error| error.to_string())
        });
        let experiment = experiment.clone().with_diagnostics(job_info.diagnostics.clone());
        let measured = match partition {
            Ok(partition) => self
                .measure(job, &experiment, partition, pool, events)
                .map_err(|error| error.to_string()),
            Err(message) => Err(message.clone()),
        };
        measured.unwrap_or_else(|message| FinishedCell {
            outcome: Outcome::Failed { message },
            detail: None,
        })
    }

    /// Runs a cell on its partition, with its cost.
    fn measure(
        &self,
        job: usize,
        experiment: &Experiment,
        partition: &Arc<Partition>,
        pool: &ThreadPool,
        events: &Sender<Event>,
    ) -> Result<FinishedCell> {
        if self.alone {
            process::reset_peak_rss();
        }
        let (meter, before) = (Meter::start(), cpu_of(pool));
        let attackers = experiment.config().attack.attackers(partition.clients())?;
        let mut curve = CellCurve::new(attackers, || {
            let _ = events.send(Event::Round { job });
        });
        let (run, summary) =
            pool.install(|| experiment.run_seed(self.jobs[job].seed, partition, &mut curve))?;
        let CellCurve { client_rounds, points, hardest, .. } = curve;
        let detail = self.grid.examined.then(|| {
            let diagnostics =
                experiment.diagnostics().iter().map(|which| which.name().to_owned()).collect();
            Box::new(Detail {
                diagnostics,
                curve: points,
                diagnosis: run.diagnosis.unwrap_or_default(),
                hardest: Some(hardest),
            })
        });
        let measured = Measured {
            scores: summary.scores,
            groups: summary.groups,
            round: summary.round,
            details: summary.details,
            digest: summary.digest,
            cost: CellCost {
                seconds: meter.wall(),
                cpu_seconds: cpu_of(pool) - before,
                bytes_up: summary.bytes_up,
                bytes_down: summary.bytes_down,
                client_rounds,
                peak_rss_mib: self.alone.then(process::peak_rss_mib).filter(|mib| *mib > 0.0),
            },
        };
        Ok(FinishedCell { outcome: Outcome::Done(Box::new(measured)), detail })
    }
}

/// CPU seconds that the threads of a pool have used so far.
fn cpu_of(pool: &ThreadPool) -> f64 {
    pool.broadcast(|_| process::thread_cpu_seconds()).into_iter().sum()
}

/// The memory that the running cells may use together, by estimate.
struct MemoryBudget {
    limit: u64,
    reserved: Mutex<u64>,
    freed: Condvar,
}

/// A part of the budget, released on drop.
struct Reservation<'a> {
    budget: &'a MemoryBudget,
    bytes: u64,
}

impl MemoryBudget {
    fn new(limit: Option<u64>) -> Self {
        Self { limit: limit.unwrap_or(u64::MAX), reserved: Mutex::new(0), freed: Condvar::new() }
    }

    /// Waits until this many bytes are free; `None` if they exceed the limit.
    fn reserve(&self, bytes: u64) -> Option<Reservation<'_>> {
        if bytes > self.limit {
            return None;
        }
        let mut reserved = self.reserved.lock().unwrap_or_else(PoisonError::into_inner);
        while *reserved > self.limit - bytes {
            reserved = self.freed.wait(reserved).unwrap_or_else(PoisonError::into_inner);
        }
        *reserved += bytes;
        Some(Reservation { budget: self, bytes })
    }
}

impl Drop for Reservation<'_> {
    fn drop(&mut self) {
        *self.budget.reserved.lock().unwrap_or_else(PoisonError::into_inner) -= self.bytes;
        self.budget.freed.notify_all();
    }
}

/// The share of the work that is done.
struct WorkDone {
    /// Per cell its work per round, and how many rounds are left.
    left: Vec<(f64, usize)>,
    total: f64,
    done: f64,
}

impl WorkDone {
    fn new(grid: &Grid, jobs: &[Job]) -> Self {
        let mut left = Vec::with_capacity(jobs.len());
        for job in jobs {
            let rounds = grid.experiment(job).config().fed.rounds;
            left.push((grid.work(job) / rounds as f64, rounds));
        }
        let total = left.iter().map(|&(work, rounds)| work * rounds as f64).sum();
        Self { left, total, done: 0.0 }
    }

    /// Counts a round of a cell; rounds that a method adds are not counted.
    fn round(&mut self, job: usize) -> f64 {
        let (work, rounds) = &mut self.left[job];
        if *rounds > 0 {
            *rounds -= 1;
            self.done += *work;
        }
        self.done / self.total
    }

    /// Counts a cell that has ended, with the rounds that it had left.
    fn cell(&mut self, job: usize) -> f64 {
        let (work, rounds) = &mut self.left[job];
        self.done += *work * std::mem::take(rounds) as f64;
        self.done / self.total
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_thread_is_used_exactly_once() {
        assert_eq!(threads_per_cell(100, 4), [1; 4]);
        assert_eq!(threads_per_cell(2, 8), [4, 4]);
        assert_eq!(threads_per_cell(3, 8), [3, 3, 2]);
        assert!(threads_per_cell(0, 8).is_empty());
    }

    #[test]
    fn cells_wait_until_enough_memory_is_free() {
        let budget = MemoryBudget::new(Some(10));
        assert!(budget.reserve(11).is_none());
        let first = budget.reserve(6).unwrap();
        let entered = AtomicBool::new(false);
        std::thread::scope(|scope| {
            let waiting = scope.spawn(|| {
                let _second = budget.reserve(5).unwrap();
                entered.store(true, Ordering::SeqCst);
            });
            std::thread::sleep(std::time::Duration::from_millis(30));
            assert!(!entered.load(Ordering::SeqCst), "6 + 5 do not fit into 10");
            drop(first);
            waiting.join().unwrap();
        });
        assert!(entered.load(Ordering::SeqCst));
        assert_eq!(*budget.reserved.lock().unwrap(), 0);
    }
}
