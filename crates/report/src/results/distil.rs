//! Reduces a cell to the few numbers that an experiment is about.

use super::Detail;
use crate::{CellCost, Measured};
use boostfgl_fairness::diagnostics::attribution::Attribution;
use boostfgl_fairness::diagnostics::dilution::{Dilution, DilutionRound};
use boostfgl_fairness::diagnostics::epr::Epr;
use boostfgl_fairness::diagnostics::gsd::{Gsd, Ratio, Weighting};
use boostfgl_fairness::diagnostics::hardness::Hardness;
use boostfgl_fairness::diagnostics::khop::{Hop, KhopCurve};
use boostfgl_fairness::{HEADLINES, Headline, Reading, mean, sample_std};
use std::collections::BTreeMap;

/// Numbers by name.
pub(super) type Values = BTreeMap<String, f64>;
/// Series of numbers, such as one per round, by name.
pub(super) type Series = BTreeMap<String, Vec<Option<f64>>>;

/// Minority ratios of the experiment that varies them.
pub const RATIOS: [f64; 9] = [0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9];

/// ε of the dilution ratio, as in the diagnostic.
const EPSILON: f64 = 1e-12;

/// The number of bins of the histogram of cosines, from −1 to 1.
pub const BINS: usize = 20;

/// The numbers of one cell of the experiment `name`.
pub(super) fn distil(name: &str, measured: &Measured, detail: Option<&Detail>) -> (Values, Series) {
    let mut distilled = Distilled::default();
    distilled.scores(measured, name == "table1");
    if matches!(name, "table1" | "runtime") {
        distilled.cost(measured);
    }
    if let Some(detail) = detail {
        distilled.detail(name, detail);
    }
    (distilled.values, distilled.series)
}

/// One of the three dilution ratios of a round.
type PickRatio = fn(&DilutionRound) -> Option<f64>;

/// The numbers collected so far. Values that are not finite are left out.
#[derive(Default)]
struct Distilled {
    values: Values,
    series: Series,
}

impl Distilled {
    /// Adds one number.
    fn put(&mut self, name: impl Into<String>, value: Option<f64>) {
        if let Some(value) = value.filter(|value| value.is_finite()) {
            self.values.insert(name.into(), short(value));
        }
    }

    /// Adds a series.
    fn series(&mut self, name: impl Into<String>, values: impl IntoIterator<Item = Option<f64>>) {
        let values = values
            .into_iter()
            .map(|value| value.filter(|value| value.is_finite()).map(short))
            .collect();
        self.series.insert(name.into(), values);
    }

    /// The headline metrics; for table 1 in all readings, and at the best validation round, too.
    fn scores(&mut self, measured: &Measured, all_readings: bool) {
        if let Some(best) = measured.details.best_val.as_ref().filter(|_| all_readings) {
            for headline in HEADLINES.iter() {
                let readings = best.scores.0.get(headline);
                self.put(format!("best.{}", headline.key), readings.pooled);
            }
            self.put("best.round", Some(best.round as f64));
        }
        for headline in HEADLINES.iter() {
            let readings = measured.scores.0.get(headline);
            self.put(headline.key, readings.pooled);
            if all_readings {
                for reading in [Reading::Present, Reading::Client] {
                    let name = format!("{}.{}", headline.key, reading.name());
                    self.put(name, readings.get(reading));
                }
            }
        }
    }

    fn cost(&mut self, measured: &Measured) {
        let cost = &measured.cost;
        self.put("cpu_seconds", Some(cost.cpu_seconds));
        self.put("bytes_up", per_client_round(cost, cost.bytes_up));
        self.put("bytes_down", per_client_round(cost, cost.bytes_down));
        self.put("peak_rss_mib", cost.peak_rss_mib);
    }

    fn detail(&mut self, name: &str, detail: &Detail) {
        let diagnosis = &detail.diagnosis;
        match name {
            "convergence" => {
                for headline in [&HEADLINES.overall_f1, &HEADLINES.accuracy] {
                    self.series(headline.key, by_round(detail, headline));
                }
            }
            "robustness" => {
                if let Some(hardest) = detail.hardest.filter(|hardest| hardest.rounds > 0) {
                    let rounds = hardest.rounds as f64;
                    self.put("silenced", Some(100.0 * (hardest.silenced as f64 / rounds)));
                    self.put("weight", Some(hardest.weight / rounds));
                }
            }
            "gsd" => diagnosis.gsd.iter().for_each(|gsd| self.gsd(gsd)),
            "gsd-q" => diagnosis.gsd.iter().for_each(|gsd| self.gsd_by_ratio(gsd)),
            "epr" => diagnosis.epr.iter().for_each(|epr| self.epr(epr)),
            "khop" => {
                let curves = diagnosis.khop.iter().flat_map(|khop| &khop.curves);
                curves.for_each(|curve| self.khop(curve));
            }
            "attribution" => diagnosis.attribution.iter().for_each(|found| self.attribution(found)),
            "hardness" => diagnosis.hardness.iter().for_each(|found| self.hardness(found)),
            "alignment" => diagnosis.dilution.iter().for_each(|found| self.alignment(found)),
            "dilution" => diagnosis.dilution.iter().for_each(|found| self.dilution(found)),
            _ => {}
        }
    }

    fn gsd(&mut self, gsd: &Gsd) {
        for (name, weighting) in [("gsd", Weighting::Plain), ("gsd.boosted", Weighting::Boosted)] {
            let rounds: Vec<Option<Ratio>> = (0..gsd.rounds.len())
                .map(|at| gsd.pooled(at, &gsd.minority(), weighting))
                .collect();
            let per_node: Vec<Option<f64>> =
                rounds.iter().map(|ratio| ratio.as_ref().map(|ratio| ratio.per_node)).collect();
            self.put(format!("{name}.mean"), mean_over_rounds(&rounds, |ratio| ratio.per_node));
            self.put(format!("{name}.mass.mean"), mean_over_rounds(&rounds, |ratio| ratio.mass));
            self.put(format!("{name}.first"), per_node.first().copied().flatten());
            self.put(format!("{name}.last"), per_node.last().copied().flatten());
            self.put(
                format!("{name}.sampling_error"),
                mean_over_rounds(&rounds, |ratio| ratio.error),
            );
            self.series(name, per_node);
        }
    }

    /// GSD in the last round for every definition of the minority in [`RATIOS`].
    fn gsd_by_ratio(&mut self, gsd: &Gsd) {
        let Some(last) = gsd.rounds.len().checked_sub(1) else { return };
        for (name, weighting) in [("gsd", Weighting::Plain), ("gsd.boosted", Weighting::Boosted)] {
            for q in RATIOS {
                let ratio = gsd.pooled(last, &gsd.minority_at(q), weighting);
                self.put(format!("{name}.q{q}"), ratio.map(|ratio| ratio.per_node));
            }
        }
    }

    fn epr(&mut self, epr: &Epr) {
        for group in &epr.groups {
            self.put(
                format!("negative.{}", group.group),
                group.negative_share.map(|share| 100.0 * share),
            );
            self.put(
                format!("negative.{}.error", group.group),
                group.sampling_error.map(|error| 100.0 * error),
            );
            self.put(format!("mean.{}", group.group), group.mean);
            self.series(
                format!("quantiles.{}", group.group),
                group.quantiles.iter().map(|&q| Some(q)),
            );
        }
        self.put("gap.minority", harm_gap(epr, "minority", "majority"));
        self.put("gap.heterophilous", harm_gap(epr, "heterophilous", "homophilous"));
    }

    fn khop(&mut self, curve: &KhopCurve) {
        self.series(
            format!("error.{}", curve.from),
            curve
                .hops
                .iter()
                .map(|hop| (hop.nodes > 0).then(|| 100.0 * hop.errors as f64 / hop.nodes as f64)),
        );
        self.series(
            format!("nodes.{}", curve.from),
            curve.hops.iter().map(|hop| Some(hop.nodes as f64)),
        );
        self.put(format!("slope.{}", curve.from), slope(&curve.hops));
    }

    fn attribution(&mut self, found: &Attribution) {
        for (name, share) in [
            ("share_of_decrease", found.share_of_decrease),
            ("share_of_nodes", found.share_of_nodes),
            ("share_of_initial_loss", found.share_of_initial_loss),
        ] {
            self.put(name, share.map(|share| 100.0 * share));
        }
        self.put(
            "excess",
            found.share_of_decrease.zip(found.share_of_nodes).map(|(d, n)| 100.0 * (d - n)),
        );
        self.put("normalised.minority", found.minority.normalised_decrease);
        self.put("normalised.majority", found.majority.normalised_decrease);
    }

    fn hardness(&mut self, found: &Hardness) {
        self.put("correlation", found.correlation);
        self.series("hardness", found.clients.iter().map(|client| Some(client.hardness)));
        self.series("gsd", found.clients.iter().map(|client| client.gsd));
        self.series("gsd.boosted", found.clients.iter().map(|client| client.weighted_gsd));
        let skews: Vec<f64> =
            found.clients.iter().filter_map(|client| client.weighted_gsd).collect();
        self.put("gsd.boosted.mean", mean(&skews));
        self.put("gsd.boosted.spread", sample_std(&skews));
    }

    fn alignment(&mut self, dilution: &Dilution) {
        let clients = dilution.rounds.iter().flat_map(|round| &round.clients);
        let cosines: Vec<f64> = clients.clone().filter_map(|client| client.whole.cosine).collect();
        let negative = cosines.iter().filter(|cosine| **cosine < 0.0).count();
        self.put(
            "negative",
            (!cosines.is_empty()).then(|| 100.0 * negative as f64 / cosines.len() as f64),
        );
        self.put("cosine.mean", mean(&cosines));
        let mut counts = vec![0.0; BINS];
        for cosine in &cosines {
            counts[(((cosine + 1.0) / 2.0 * BINS as f64) as usize).min(BINS - 1)] += 1.0;
        }
        self.series("histogram", counts.into_iter().map(Some));
        for (at, layer) in dilution.layers.iter().enumerate() {
            let of_layer: Vec<f64> =
                clients.clone().filter_map(|client| client.layers.get(at)?.cosine).collect();
            self.put(format!("cosine.{layer}"), mean(&of_layer));
        }
    }

    /// DR over all rounds in three ways: mean and median of the ratios of the rounds, and pooled,
    /// the sum of the numerators over that of the denominators. Where no update helps the minority,
    /// the denominator of a round is ε, and its ratio is meaningless: mean and median leave it out.
    /// The pooled ratio includes it, since there it adds its numerator and next to nothing to the
    /// denominator.
    fn dilution(&mut self, dilution: &Dilution) {
        let kinds: [(&str, PickRatio); 3] = [
            ("dr", |round| round.dr),
            ("dr.size", |round| round.dr_size),
            ("dr.uniform", |round| round.dr_uniform),
        ];
        for (name, pick) in kinds {
            self.put(format!("{name}.pooled"), pooled_ratio(&dilution.rounds, pick));
            let ratios: Vec<Option<f64>> =
                dilution.rounds.iter().map(|round| pick(round).filter(|_| round.helps())).collect();
            let mut known: Vec<f64> = ratios.iter().flatten().copied().collect();
            self.series(name, ratios);
            self.put(format!("{name}.mean"), mean(&known));
            known.sort_by(f64::total_cmp);
            // An even number of values has two middle ones, whose mean is the median.
            let middle = known.len().saturating_sub(1) / 2..(known.len() / 2 + 1).min(known.len());
            self.put(format!("{name}.median"), mean(&known[middle]));
        }
        let helpless = dilution.rounds.iter().filter(|round| !round.helps()).count();
        self.put("helpless_rounds", Some(helpless as f64));
    }
}

/// Bytes per client and round; `None` if no client took part.
fn per_client_round(cost: &CellCost, bytes: u64) -> Option<f64> {
    (cost.client_rounds > 0).then(|| bytes as f64 / cost.client_rounds as f64)
}

fn mean_over_rounds(rounds: &[Option<Ratio>], pick: fn(&Ratio) -> f64) -> Option<f64> {
    mean(&rounds.iter().flatten().map(pick).collect::<Vec<f64>>())
}

/// The difference of the shares of harmful messages into two groups, in points.
fn harm_gap(epr: &Epr, worse: &str, better: &str) -> Option<f64> {
    Some(100.0 * (negative_share(epr, worse)? - negative_share(epr, better)?))
}

/// The share of harmful messages into a group.
fn negative_share(epr: &Epr, name: &str) -> Option<f64> {
    epr.groups.iter().rfind(|group| group.group == name)?.negative_share
}

/// Σ numerators / Σ denominators of a dilution ratio over rounds. A round stores only the ratio, so
/// its numerator is the ratio times the denominator.
fn pooled_ratio(rounds: &[DilutionRound], pick: PickRatio) -> Option<f64> {
    let known: Vec<(f64, f64)> = rounds
        .iter()
        .filter_map(|round| Some((pick(round)? * mean_help(round), mean_help(round))))
        .collect();
    let (numerator, denominator) =
        known.iter().fold((0.0, 0.0), |sum, round| (sum.0 + round.0, sum.1 + round.1));
    (!known.is_empty()).then(|| numerator / denominator)
}

/// The denominator of the dilution ratio: the mean over clients of max(0, ⟨update, g_min⟩), plus ε.
fn mean_help(round: &DilutionRound) -> f64 {
    let positive: f64 = round.clients.iter().map(|client| client.whole.projection.max(0.0)).sum();
    positive / round.clients.len().max(1) as f64 + EPSILON
}

/// The slope of the error over hops, in points per hop, by least squares with the number of nodes
/// as weights; `None` with nodes at a single distance.
fn slope(hops: &[Hop]) -> Option<f64> {
    // Number of nodes n, hops k, error e in percent.
    let points: Vec<(f64, f64, f64)> = hops
        .iter()
        .enumerate()
        .filter(|(_, hop)| hop.nodes > 0)
        .map(|(k, hop)| (hop.nodes as f64, k as f64, 100.0 * hop.errors as f64 / hop.nodes as f64))
        .collect();
    let total: f64 = points.iter().map(|(n, _, _)| n).sum();
    let mean_hop = points.iter().map(|(n, k, _)| n * k).sum::<f64>() / total;
    let mean_error = points.iter().map(|(n, _, e)| n * e).sum::<f64>() / total;
    let variance: f64 = points.iter().map(|(n, k, _)| n * (k - mean_hop) * (k - mean_hop)).sum();
    let covariance: f64 =
        points.iter().map(|(n, k, e)| n * (k - mean_hop) * (e - mean_error)).sum();
    (total > 0.0 && variance > 0.0).then(|| covariance / variance)
}

/// A metric of every round from the first on; `None` for rounds that were not evaluated.
fn by_round(detail: &Detail, headline: &Headline) -> Vec<Option<f64>> {
    let rounds = detail.curve.iter().map(|point| point.round).max().unwrap_or(0).min(MOST_ROUNDS);
    let mut values = vec![None; rounds];
    for point in &detail.curve {
        if let Some(value) = point.round.checked_sub(1).and_then(|at| values.get_mut(at)) {
            *value = *point.scores.get(headline);
        }
    }
    values
}

/// A larger round number comes from a damaged file and must not decide the length of a vector.
const MOST_ROUNDS: usize = 1_000_000;

/// Rounded to six significant digits: files stay small, and no claim needs the seventh.
fn short(value: f64) -> f64 {
    format!("{value:.5e}").parse().unwrap_or(value)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_slope_is_that_of_the_weighted_line() {
        let hop = |nodes, errors| Hop { nodes, errors };
        // 10 %, 20 %, 30 %: ten points per hop, whatever the weights.
        assert!((slope(&[hop(10, 1), hop(100, 20), hop(10, 3)]).unwrap() - 10.0).abs() < 1e-12);
        assert_eq!(slope(&[hop(10, 1)]), None);
        assert_eq!(slope(&[hop(0, 0), hop(5, 1)]), None);
        assert_eq!(slope(&[]), None);
    }

    #[test]
    fn six_digits_are_kept() {
        assert_eq!(short(81.234567), 81.2346);
        assert_eq!(short(-0.000012345678), -1.23457e-5);
        assert_eq!(short(0.0), 0.0);
    }
}
