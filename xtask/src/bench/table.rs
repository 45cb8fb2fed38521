//! The comparison as a Markdown table.

use serde_json::{Value, json};

use super::figures::Figures;

/// All runs on one dataset.
pub(crate) struct Compared {
    dataset: String,
    pub(crate) peer: Vec<Figures>,
    pub(crate) fedavg: Vec<Figures>,
    pub(crate) boostfgl: Vec<Figures>,
}

impl Compared {
    pub(crate) fn new(dataset: &str) -> Self {
        Self {
            dataset: dataset.to_owned(),
            peer: Vec::new(),
            fedavg: Vec::new(),
            boostfgl: Vec::new(),
        }
    }

    pub(crate) fn to_json(&self) -> Value {
        json!({
            "dataset": self.dataset,
            "peer": runs_to_json(&self.peer),
            "fedavg": runs_to_json(&self.fedavg),
            "boostfgl": runs_to_json(&self.boostfgl),
        })
    }
}

/// The runs of one program with their medians.
fn runs_to_json(runs: &[Figures]) -> Value {
    json!({
        "median": Figures::median(runs).to_json(),
        "runs": runs.iter().map(Figures::to_json).collect::<Vec<_>>(),
    })
}

/// One row of medians and ratios per dataset and program.
pub(crate) fn markdown(all: &[Compared]) -> String {
    let mut text = String::from(
        "| dataset | program | CPU s | of it training | wall s | peak MiB | peer ÷ this, CPU | \
         peer ÷ this, training \
         | this ÷ our FedAvg, CPU | accuracy % | macro-F1 % \
         |\n|---|---|---|---|---|---|---|---|---|---|---|\n",
    );
    for compared in all {
        let peer = Figures::median(&compared.peer);
        let fedavg = Figures::median(&compared.fedavg);
        let boostfgl = Figures::median(&compared.boostfgl);
        let overhead = times(boostfgl.cpu_seconds / fedavg.cpu_seconds);
        text += &row(&compared.dataset, "PyG FedAvg", &peer, [NONE; 3]);
        for (program, ours, overhead) in [
            ("boostfgl, FedAvg", &fedavg, NONE),
            ("boostfgl, BoostFGL", &boostfgl, overhead.as_str()),
        ] {
            let whole = times(peer.cpu_seconds / ours.cpu_seconds);
            text += &row(
                &compared.dataset,
                program,
                ours,
                [&whole, &training_ratio(&peer, ours), overhead],
            );
        }
    }
    text + &format!(
        "\nLargest spread of the CPU seconds of one row over its repeats: {:.0} % of the median. \
         Training leaves out \
         imports, reading and, here, the partition; ≥ compares the peer's training with our whole \
         process.\n",
        100.0
            * all
                .iter()
                .flat_map(|c| [&c.peer, &c.fedavg, &c.boostfgl])
                .map(|runs| spread(runs))
                .fold(0.0, f64::max)
    )
}

fn row(dataset: &str, program: &str, figures: &Figures, ratios: [&str; 3]) -> String {
    let training = figures
        .train_cpu_seconds
        .map_or_else(|| NONE.to_owned(), |seconds| format!("{seconds:.2}"));
    format!(
        "| {dataset} | {program} | {:.2} | {training} | {:.2} | {:.0} | {} | {:.1} | {:.1} |\n",
        figures.cpu_seconds,
        figures.wall_seconds,
        figures.peak_rss_mib,
        ratios.join(" | "),
        figures.accuracy,
        figures.overall_f1,
    )
}

/// The ratio of training times. Without ours, the time of our whole process gives a lower bound.
fn training_ratio(peer: &Figures, ours: &Figures) -> String {
    match (peer.train_cpu_seconds, ours.train_cpu_seconds) {
        (Some(peer), Some(ours)) => times(peer / ours),
        (Some(peer), None) => format!("≥ {}", times(peer / ours.cpu_seconds)),
        (None, _) => NONE.to_owned(),
    }
}

fn times(ratio: f64) -> String {
    format!("{ratio:.2}×")
}

/// (max − min) / median of the CPU seconds.
fn spread(runs: &[Figures]) -> f64 {
    let seconds: Vec<f64> = runs.iter().map(|run| run.cpu_seconds).collect();
    let low = seconds.iter().copied().fold(f64::INFINITY, f64::min);
    let high = seconds.iter().copied().fold(0.0, f64::max);
    (high - low) / super::figures::median(seconds)
}

const NONE: &str = "–";

#[cfg(test)]
mod tests {
    use super::*;

    fn figures(cpu_seconds: f64, train_cpu_seconds: Option<f64>) -> Figures {
        Figures {
            cpu_seconds,
            train_cpu_seconds,
            wall_seconds: cpu_seconds,
            peak_rss_mib: 100.0,
            accuracy: 82.0,
            overall_f1: 81.0,
        }
    }

    #[test]
    fn ratios_are_peer_over_ours_and_boostfgl_over_fedavg() {
        let compared = Compared {
            dataset: "cora".to_owned(),
            peer: vec![figures(12.0, Some(6.0)), figures(8.0, Some(4.0)), figures(10.0, Some(5.0))],
            fedavg: vec![figures(0.5, Some(0.25))],
            boostfgl: vec![figures(1.0, None)],
        };
        let text = markdown(&[compared]);
        let rows: Vec<&str> = text.lines().skip(2).take(3).collect();
        assert_eq!(
            rows[0],
            "| cora | PyG FedAvg | 10.00 | 5.00 | 10.00 | 100 | – | – | – | 82.0 | 81.0 |"
        );
        assert_eq!(
            rows[1],
            "| cora | boostfgl, FedAvg | 0.50 | 0.25 | 0.50 | 100 | 20.00× | 20.00× | – | 82.0 | \
             81.0 |"
        );
        assert_eq!(
            rows[2],
            "| cora | boostfgl, BoostFGL | 1.00 | – | 1.00 | 100 | 10.00× | ≥ 5.00× | 2.00× | \
             82.0 | 81.0 |"
        );
        assert!(text.contains("repeats: 40 % of the median"), "{text}");
    }
}
