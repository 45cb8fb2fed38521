//! From what a cell knows to the few numbers that an experiment is about.

use super::{Detail, Hardest};
use crate::Measured;
use boostfgl_fairness::diagnostics::dilution::{Dilution, DilutionRound};
use boostfgl_fairness::diagnostics::gsd::{Gsd, Weighting};
use boostfgl_fairness::diagnostics::khop::{Hop, KhopCurve};
use boostfgl_fairness::{HEADLINES, Headline, Reading, mean};
use std::collections::BTreeMap;

/// Numbers by name.
pub(super) type Values = BTreeMap<String, f64>;
/// Rows of numbers by name.
pub(super) type Series = BTreeMap<String, Vec<Option<f64>>>;

/// Minority ratios of the experiment that varies them.
pub const RATIOS: [f64; 9] = [0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9];

/// ε of the dilution ratio.
const EPSILON: f64 = 1e-12;

/// Cosines are counted in so many bins from −1 to 1.
pub const BINS: usize = 20;

/// The numbers of one cell of the experiment `name`.
pub(super) fn distil(name: &str, measured: &Measured, detail: Option<&Detail>) -> (Values, Series) {
    let mut found = Distilled::default();
    found.scores(measured, name == "table1");
    if matches!(name, "table1" | "runtime") {
        found.cost(measured);
    }
    if let Some(detail) = detail {
        found.detail(name, detail);
    }
    (found.values, found.series)
}

/// One of the ratios of a round.
type Pick = fn(&DilutionRound) -> Option<f64>;

#[derive(Default)]
struct Distilled {
    values: Values,
    series: Series,
}

impl Distilled {
    fn put(&mut self, name: impl Into<String>, value: Option<f64>) {
        if let Some(value) = value.filter(|value| value.is_finite()) {
            self.values.insert(name.into(), short(value));
        }
    }

    fn line(&mut self, name: impl Into<String>, values: impl IntoIterator<Item = Option<f64>>) {
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
        let per_round =
            |bytes: u64| (cost.client_rounds > 0).then(|| bytes as f64 / cost.client_rounds as f64);
        self.put("cpu_seconds", Some(cost.cpu_seconds));
        self.put("bytes_up", per_round(cost.bytes_up));
        self.put("bytes_down", per_round(cost.bytes_down));
        self.put("peak_rss_mib", cost.peak_rss_mib);
    }

    fn detail(&mut self, name: &str, detail: &Detail) {
        let found = &detail.diagnosis;
        match name {
            "convergence" => {
                for headline in [&HEADLINES.overall_f1, &HEADLINES.accuracy] {
                    self.line(headline.key, by_round(detail, headline));
                }
            }
            "robustness" => {
                let hardest = detail.hardest.filter(|hardest| hardest.rounds > 0);
                let share = |part: f64, hardest: Hardest| part / hardest.rounds as f64;
                self.put(
                    "silenced",
                    hardest.map(|hardest| 100.0 * share(hardest.silenced as f64, hardest)),
                );
                self.put("weight", hardest.map(|hardest| share(hardest.weight, hardest)));
            }
            "gsd" => found.gsd.iter().for_each(|gsd| self.gsd(gsd)),
            "gsd-q" => found.gsd.iter().for_each(|gsd| self.ratios(gsd)),
            "epr" => self.epr(detail),
            "khop" => {
                found.khop.iter().flat_map(|khop| &khop.curves).for_each(|curve| self.khop(curve));
            }
            "attribution" => self.attribution(detail),
            "hardness" => self.hardness(detail),
            "alignment" => found.dilution.iter().for_each(|dilution| self.alignment(dilution)),
            "dilution" => found.dilution.iter().for_each(|dilution| self.dilution(dilution)),
            _ => {}
        }
    }

    fn gsd(&mut self, gsd: &Gsd) {
        for (name, weighting) in [("gsd", Weighting::Plain), ("gsd.boosted", Weighting::Boosted)] {
            let rounds: Vec<_> = (0..gsd.rounds.len())
                .map(|at| gsd.pooled(at, &gsd.minority(), weighting))
                .collect();
            let of = |pick: fn(&boostfgl_fairness::diagnostics::gsd::Ratio) -> f64| {
                rounds.iter().flatten().map(pick).collect::<Vec<f64>>()
            };
            self.put(format!("{name}.mean"), mean(&of(|ratio| ratio.per_node)));
            self.put(format!("{name}.mass.mean"), mean(&of(|ratio| ratio.mass)));
            self.put(
                format!("{name}.first"),
                rounds.first().copied().flatten().map(|ratio| ratio.per_node),
            );
            self.put(
                format!("{name}.last"),
                rounds.last().copied().flatten().map(|ratio| ratio.per_node),
            );
            self.put(format!("{name}.sampling_error"), mean(&of(|ratio| ratio.error)));
            self.line(name, rounds.iter().map(|ratio| ratio.as_ref().map(|ratio| ratio.per_node)));
        }
    }

    fn ratios(&mut self, gsd: &Gsd) {
        let Some(last) = gsd.rounds.len().checked_sub(1) else { return };
        for (name, weighting) in [("gsd", Weighting::Plain), ("gsd.boosted", Weighting::Boosted)] {
            let ratios = RATIOS.map(|q| {
                gsd.pooled(last, &gsd.minority_at(q), weighting).map(|ratio| ratio.per_node)
            });
            for (q, ratio) in RATIOS.iter().zip(ratios) {
                self.put(format!("{name}.q{q}"), ratio);
            }
        }
    }

    fn epr(&mut self, detail: &Detail) {
        let Some(epr) = &detail.diagnosis.epr else { return };
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
            self.line(
                format!("quantiles.{}", group.group),
                group.quantiles.iter().map(|&q| Some(q)),
            );
        }
        let harmful = epr.groups.iter().map(|group| (group.group.as_str(), group.negative_share));
        let harmful: BTreeMap<&str, Option<f64>> = harmful.collect();
        let gap = |worse: &str, better: &str| {
            let of = |group| harmful.get(group).copied().flatten();
            Some(100.0 * (of(worse)? - of(better)?))
        };
        self.put("gap.minority", gap("minority", "majority"));
        self.put("gap.heterophilous", gap("heterophilous", "homophilous"));
    }

    fn khop(&mut self, curve: &KhopCurve) {
        let error =
            |hop: &Hop| (hop.nodes > 0).then(|| 100.0 * hop.errors as f64 / hop.nodes as f64);
        self.line(format!("error.{}", curve.from), curve.hops.iter().map(error));
        self.line(
            format!("nodes.{}", curve.from),
            curve.hops.iter().map(|hop| Some(hop.nodes as f64)),
        );
        self.put(format!("slope.{}", curve.from), slope(&curve.hops));
    }

    fn attribution(&mut self, detail: &Detail) {
        let Some(found) = &detail.diagnosis.attribution else { return };
        let percent = |share: Option<f64>| share.map(|share| 100.0 * share);
        self.put("share_of_decrease", percent(found.share_of_decrease));
        self.put("share_of_nodes", percent(found.share_of_nodes));
        self.put("share_of_initial_loss", percent(found.share_of_initial_loss));
        self.put(
            "excess",
            found.share_of_decrease.zip(found.share_of_nodes).map(|(d, n)| 100.0 * (d - n)),
        );
        self.put("normalised.minority", found.minority.normalised_decrease);
        self.put("normalised.majority", found.majority.normalised_decrease);
    }

    fn hardness(&mut self, detail: &Detail) {
        let Some(found) = &detail.diagnosis.hardness else { return };
        self.put("correlation", found.correlation);
        self.line("hardness", found.clients.iter().map(|client| Some(client.hardness)));
        self.line("gsd", found.clients.iter().map(|client| client.gsd));
        self.line("gsd.boosted", found.clients.iter().map(|client| client.weighted_gsd));
        let skews: Vec<f64> =
            found.clients.iter().filter_map(|client| client.weighted_gsd).collect();
        self.put("gsd.boosted.mean", mean(&skews));
        self.put("gsd.boosted.spread", boostfgl_fairness::sample_std(&skews));
    }

    fn alignment(&mut self, dilution: &Dilution) {
        let clients = || dilution.rounds.iter().flat_map(|round| &round.clients);
        let cosines: Vec<f64> = clients().filter_map(|client| client.whole.cosine).collect();
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
        self.line("histogram", counts.into_iter().map(Some));
        for (at, layer) in dilution.layers.iter().enumerate() {
            let of_layer: Vec<f64> =
                clients().filter_map(|client| client.layers.get(at)?.cosine).collect();
            self.put(format!("cosine.{layer}"), mean(&of_layer));
        }
    }

    /// DR over all rounds in three ways: mean and median of the rounds' own ratios, and pooled, the
    /// sum of the numerators over that of the denominators. Where no update helps the minority, a
    /// round's own ratio is a number over ε and says nothing: mean and median leave it out, pooled
    /// it counts as what it is, a loss.
    fn dilution(&mut self, dilution: &Dilution) {
        let helped = |round: &DilutionRound| {
            let positive: f64 =
                round.clients.iter().map(|client| client.whole.projection.max(0.0)).sum();
            positive / round.clients.len().max(1) as f64 + EPSILON
        };
        let kinds: [(&str, Pick); 3] = [
            ("dr", |round| round.dr),
            ("dr.size", |round| round.dr_size),
            ("dr.uniform", |round| round.dr_uniform),
        ];
        for (name, pick) in kinds {
            let rounds: Vec<(f64, f64)> = dilution
                .rounds
                .iter()
                .filter_map(|round| Some((pick(round)? * helped(round), helped(round))))
                .collect();
            let (survived, there) =
                rounds.iter().fold((0.0, 0.0), |sum, round| (sum.0 + round.0, sum.1 + round.1));
            self.put(format!("{name}.pooled"), (!rounds.is_empty()).then(|| survived / there));
            let shown = |round: &DilutionRound| pick(round).filter(|_| round.helps());
            let mut alone: Vec<f64> = dilution.rounds.iter().filter_map(shown).collect();
            self.line(name, dilution.rounds.iter().map(shown));
            self.put(format!("{name}.mean"), mean(&alone));
            alone.sort_by(f64::total_cmp);
            let middle = alone.len().saturating_sub(1) / 2..(alone.len() / 2 + 1).min(alone.len());
            self.put(format!("{name}.median"), mean(&alone[middle]));
        }
        let helpless = dilution.rounds.iter().filter(|round| !round.helps()).count();
        self.put("helpless_rounds", Some(helpless as f64));
    }
}

/// The slope of the error over hops, in points per hop, by least squares with the number of nodes
/// as weights; `None` with nodes at a single distance.
fn slope(hops: &[Hop]) -> Option<f64> {
    let points = || {
        let nonempty = hops.iter().enumerate().filter(|(_, hop)| hop.nodes > 0);
        nonempty.map(|(k, hop)| {
            (hop.nodes as f64, k as f64, 100.0 * hop.errors as f64 / hop.nodes as f64)
        })
    };
    let total: f64 = points().map(|(n, _, _)| n).sum();
    let mean_hop = points().map(|(n, k, _)| n * k).sum::<f64>() / total;
    let mean_error = points().map(|(n, _, e)| n * e).sum::<f64>() / total;
    let spread: f64 = points().map(|(n, k, _)| n * (k - mean_hop) * (k - mean_hop)).sum();
    let joint: f64 = points().map(|(n, k, e)| n * (k - mean_hop) * (e - mean_error)).sum();
    (total > 0.0 && spread > 0.0).then(|| joint / spread)
}

/// A metric of every round from the first on; rounds that were not evaluated have none.
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

/// A round with a larger number comes from a damaged file.
const MOST_ROUNDS: usize = 1_000_000;

/// Six digits: files stay small, and no claim hangs on the seventh.
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
