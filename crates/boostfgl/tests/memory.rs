//! The estimate of memory compared with the peak of a run. The only test of its binary: the memory
//! of others would be counted.

use boostfgl::{Experiment, memory};

/// The resident memory of this process in MiB; `None` if the system does not report it.
fn held() -> Option<f64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"))?;
    Some(line.trim().trim_end_matches("kB").trim().parse::<f64>().ok()? / 1024.0)
}

#[test]
fn the_estimate_is_within_a_factor_of_three_of_the_peak() {
    let Some(before) = held() else {
        eprintln!("skipped: this system does not report the memory of a process");
        return;
    };
    let pool = rayon::ThreadPoolBuilder::new().num_threads(2).build().unwrap();
    let (peak, estimate) = pool.install(|| {
        let experiment = Experiment::on("demo")
            .method("boostfgl")
            .set("fed.rounds", 5)
            .seeds([0])
            .build()
            .unwrap();
        let estimate = memory::estimate(experiment.graph(), experiment.config(), 2) as f64
            / f64::from(1 << 20);
        (experiment.run().unwrap().summary.peak_rss_mib - before, estimate)
    });
    assert!(
        estimate < 3.0 * peak && peak < 3.0 * estimate,
        "estimated {estimate:.1} MiB, measured {peak:.1} MiB"
    );
}
