//! Cells over the cores.
//!
//! With at least as many cells as threads, each cell has one thread: cells are independent, so this
//! is the cut without any waiting. With fewer, threads are divided among them. Either way a cell
//! works in a pool of its own, whose threads' processor time is then exactly the cell's; drawing
//! the partition, which cells share, is not counted.

use super::detail::Course;
use super::{CellRecord, CellStore, Finished, Grid, GridProgress, Job, Resources};
use crate::experiment::Experiment;
use crate::process::{self, Meter};
use crate::{Error, Result, memory};
use boostfgl_partition::Partition;
use boostfgl_report::{Cell, CellCost, Detail, Hardest, Measured, Outcome};
use rayon::{ThreadPool, ThreadPoolBuilder};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc::{Sender, channel};
use std::sync::{Arc, Condvar, Mutex, OnceLock, PoisonError};

/// What a worker tells.
enum Event {
    /// A round has ended.
    Round { job: usize },
    /// A cell has ended.
    Cell { job: usize, finished: Finished },
}

/// How many threads each of the workers gets.
pub(super) fn threads_per_cell(cells: usize, threads: usize) -> Vec<usize> {
    let workers = cells.min(threads);
    (0..workers).map(|at| threads / workers + usize::from(at < threads % workers)).collect()
}

/// Runs `jobs`, keeps what ends well and fills in `finished_cells`.
pub(super) fn run(
    grid: &Grid,
    jobs: &[Job],
    resources: Resources,
    store: &CellStore,
    progress: &mut dyn GridProgress,
    finished_cells: &mut [Option<Finished>],
) -> Result<()> {
    let mut order: Vec<usize> = (0..jobs.len()).collect();
    // The longest first, so that nobody waits long for the last; cells that share a partition stay
    // together.
    order.sort_by(|&one, &other| grid.work(&jobs[other]).total_cmp(&grid.work(&jobs[one])));
    let plan = threads_per_cell(jobs.len(), resources.threads.get());
    let pools = plan.iter().map(|&threads| pool(threads)).collect::<Result<Vec<_>>>()?;
    let floor = Floor {
        grid,
        jobs,
        order: &order,
        next: AtomicUsize::new(0),
        stopped: AtomicBool::new(false),
        partitions: grid
            .experiments
            .iter()
            .map(|_| grid.seeds.iter().map(|_| OnceLock::new()).collect())
            .collect(),
        budget: Budget::new(resources.memory),
        alone: pools.len() == 1,
    };
    std::thread::scope(|scope| {
        let (sender, receiver) = channel();
        for pool in &pools {
            let (floor, sender) = (&floor, sender.clone());
            scope.spawn(move || floor.work(pool, &sender));
        }
        drop(sender);
        let mut share = Share::new(grid, jobs);
        let mut done = 0;
        for event in receiver {
            match event {
                Event::Round { job } => progress.round(share.round(job)),
                Event::Cell { job, finished } => {
                    done += 1;
                    let job_info = &jobs[job];
                    if let Err(error) = grid.keep(job_info, &finished, store) {
                        // Without a place to keep results, further work would be lost.
                        floor.stopped.store(true, Ordering::Relaxed);
                        return Err(error);
                    }
                    progress.round(share.cell(job));
                    let cell = Cell {
                        seed: job_info.seed,
                        outcome: finished.outcome.clone(),
                        peak_bytes: 0,
                    };
                    let dataset = grid.block_name(job_info.dataset);
                    progress.cell(
                        &dataset,
                        &grid.stacked[job_info.method].label(),
                        &cell,
                        done,
                        jobs.len(),
                    );
                    finished_cells[job_info.at] = Some(finished);
                }
            }
        }
        Ok(())
    })
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

    /// How much there is to do for a cell, in no particular unit: rounds times what is propagated
    /// in each.
    fn work(&self, job: &Job) -> f64 {
        let experiment = self.experiment(job);
        let (graph, config) = (experiment.graph(), experiment.config());
        let touched = graph.len() + graph.adjacency().arcs() + graph.features().non_zeros();
        touched as f64
            * config.model.hidden as f64
            * config.fed.rounds as f64
            * config.fed.epochs as f64
    }

    fn keep(&self, job: &Job, finished: &Finished, store: &CellStore) -> Result<()> {
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

/// The partition of a dataset and seed, drawn by whoever comes first. An error is kept as text:
/// every cell reports it.
type Shared = OnceLock<std::result::Result<Arc<Partition>, String>>;

/// Where workers take cells from.
struct Floor<'a> {
    grid: &'a Grid,
    jobs: &'a [Job],
    order: &'a [usize],
    next: AtomicUsize,
    stopped: AtomicBool,
    /// By dataset and seed.
    partitions: Vec<Vec<Shared>>,
    budget: Budget,
    /// Whether only one cell runs at a time, so that the memory of the program is the cell's.
    alone: bool,
}

impl Floor<'_> {
    fn work(&self, pool: &ThreadPool, events: &Sender<Event>) {
        while !self.stopped.load(Ordering::Relaxed) {
            let Some(&job) = self.order.get(self.next.fetch_add(1, Ordering::Relaxed)) else {
                return;
            };
            let finished = self.cell(job, pool, events);
            // If nobody listens any more, the grid has failed already.
            let _ = events.send(Event::Cell { job, finished });
        }
    }

    fn cell(&self, job: usize, pool: &ThreadPool, events: &Sender<Event>) -> Finished {
        let job_info = &self.jobs[job];
        let experiment = self.grid.experiment(job_info);
        let needed =
            memory::estimate(experiment.graph(), experiment.config(), pool.current_num_threads());
        let Some(_held) = self.budget.enter(needed) else {
            let outcome = Outcome::OverBudget { needed, budget: self.budget.limit };
            return Finished { outcome, detail: None };
        };
        let partition = self.partitions[job_info.dataset][job_info.seed_at].get_or_init(|| {
            let drawn = pool.install(|| experiment.partition(job_info.seed));
            drawn.map(Arc::new).map_err(|error| error.to_string())
        });
        let measured = partition.clone().and_then(|partition| {
            let experiment = experiment.clone().with_diagnostics(job_info.diagnostics.clone());
            let done = self.measure(job, &experiment, &partition, pool, events);
            done.map_err(|error| error.to_string())
        });
        measured.unwrap_or_else(|message| Finished {
            outcome: Outcome::Failed { message },
            detail: None,
        })
    }

    fn measure(
        &self,
        job: usize,
        experiment: &Experiment,
        partition: &Arc<Partition>,
        pool: &ThreadPool,
        events: &Sender<Event>,
    ) -> Result<Finished> {
        if self.alone {
            process::reset_peak_rss();
        }
        let (meter, before) = (Meter::start(), cpu_of(pool));
        let ended = || {
            let _ = events.send(Event::Round { job });
        };
        let attackers = experiment.config().attack.attackers(partition.clients())?;
        let mut course = Course {
            ended,
            client_rounds: 0,
            curve: Vec::new(),
            attackers,
            hardest: Hardest::default(),
        };
        let (run, summary) =
            pool.install(|| experiment.run_seed(self.jobs[job].seed, partition, &mut course))?;
        let Course { client_rounds, curve, hardest, .. } = course;
        let detail = self.grid.examined.then(|| {
            let diagnostics =
                experiment.diagnostics().iter().map(|which| which.name().to_owned()).collect();
            Box::new(Detail {
                diagnostics,
                curve,
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
        Ok(Finished { outcome: Outcome::Done(Box::new(measured)), detail })
    }
}

/// Processor seconds that the threads of a pool have used so far.
fn cpu_of(pool: &ThreadPool) -> f64 {
    pool.broadcast(|_| process::thread_cpu_seconds()).into_iter().sum()
}

/// How much memory the cells at work are estimated to hold together.
struct Budget {
    limit: u64,
    held: Mutex<u64>,
    freed: Condvar,
}

/// A part of the budget, given back when it is dropped.
struct Held<'a> {
    budget: &'a Budget,
    bytes: u64,
}

impl Budget {
    fn new(limit: Option<u64>) -> Self {
        Self { limit: limit.unwrap_or(u64::MAX), held: Mutex::new(0), freed: Condvar::new() }
    }

    /// Waits until so much is free; `None` if it never will be.
    fn enter(&self, bytes: u64) -> Option<Held<'_>> {
        if bytes > self.limit {
            return None;
        }
        let mut held = self.held.lock().unwrap_or_else(PoisonError::into_inner);
        while *held > self.limit - bytes {
            held = self.freed.wait(held).unwrap_or_else(PoisonError::into_inner);
        }
        *held += bytes;
        Some(Held { budget: self, bytes })
    }
}

impl Drop for Held<'_> {
    fn drop(&mut self) {
        *self.budget.held.lock().unwrap_or_else(PoisonError::into_inner) -= self.bytes;
        self.budget.freed.notify_all();
    }
}

/// Which share of the work is done.
struct Share {
    /// Per cell its work per round and its rounds left.
    left: Vec<(f64, usize)>,
    total: f64,
    done: f64,
}

impl Share {
    fn new(grid: &Grid, jobs: &[Job]) -> Self {
        let cell = |job: &Job| {
            let rounds = grid.experiment(job).config().fed.rounds;
            (grid.work(job) / rounds as f64, rounds)
        };
        let left: Vec<(f64, usize)> = jobs.iter().map(cell).collect();
        let total = left.iter().map(|(work, rounds)| work * *rounds as f64).sum();
        Self { left, total, done: 0.0 }
    }

    fn round(&mut self, job: usize) -> f64 {
        let (work, rounds) = &mut self.left[job];
        if *rounds > 0 {
            *rounds -= 1;
            self.done += *work;
        }
        self.done / self.total
    }

    /// A cell is over, however many rounds it had left.
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
    fn all_threads_are_used_and_none_twice() {
        assert_eq!(threads_per_cell(100, 4), [1; 4]);
        assert_eq!(threads_per_cell(2, 8), [4, 4]);
        assert_eq!(threads_per_cell(3, 8), [3, 3, 2]);
        assert!(threads_per_cell(0, 8).is_empty());
    }

    #[test]
    fn cells_wait_until_there_is_room() {
        let budget = Budget::new(Some(10));
        assert!(budget.enter(11).is_none());
        let first = budget.enter(6).unwrap();
        let entered = AtomicBool::new(false);
        std::thread::scope(|scope| {
            let waiting = scope.spawn(|| {
                let _second = budget.enter(5).unwrap();
                entered.store(true, Ordering::SeqCst);
            });
            std::thread::sleep(std::time::Duration::from_millis(30));
            assert!(!entered.load(Ordering::SeqCst), "6 + 5 do not fit into 10");
            drop(first);
            waiting.join().unwrap();
        });
        assert!(entered.load(Ordering::SeqCst));
        assert_eq!(*budget.held.lock().unwrap(), 0);
    }
}
