//! Tables of comparisons: one row per cell, per metric of a method, or per round of a cell.

use super::Parts;
use super::records::{Column, Records, column, readings};
use crate::{Block, BlockRow, Cell, ComparisonView, Contender, Measured, MetricSummary, Point};
use boostfgl_fairness::{HEADLINES, Reading};

/// A comparison under a distinct name.
#[derive(Debug)]
pub(super) struct Named<'a> {
    pub(super) view: &'a ComparisonView,
    pub(super) name: String,
}

/// Gives the comparisons distinct names: `NAME`, `NAME-2` and so on.
pub(super) fn named(views: &[ComparisonView]) -> Vec<Named<'_>> {
    let names = super::runs::distinct(views.iter().map(|view| &view.name[..]));
    views.iter().zip(names).map(|(view, name)| Named { view, name }).collect()
}

/// A method on a dataset of a comparison.
#[derive(Clone, Copy)]
struct Place<'a> {
    comparison: &'a Named<'a>,
    block: &'a Block,
    method: Option<&'a Contender>,
    row: &'a BlockRow,
    /// The position of the method.
    at: usize,
}

/// Every method on every dataset, and with `pooled` on all datasets together.
fn places<'a>(all: &'a [Named<'a>], pooled: bool) -> Vec<Place<'a>> {
    let mut places = Vec::new();
    for named in all {
        let comparison = &named.view.comparison;
        let together = comparison.pooled.iter().filter(|_| pooled);
        for block in comparison.datasets.iter().chain(together) {
            let methods = comparison.methods.iter().map(Some).chain(std::iter::repeat(None));
            let rows = block.rows.iter().zip(methods).enumerate();
            places.extend(rows.map(|(at, (row, method))| Place {
                comparison: named,
                block,
                method,
                row,
                at,
            }));
        }
    }
    places
}

/// The columns with which every table begins.
fn keys<'a>(places: impl Iterator<Item = Place<'a>> + Clone) -> Vec<Column<'a>> {
    vec![
        Column::text("comparison", places.clone().map(|place| Some(&place.comparison.name[..])))
            .required(),
        Column::text("dataset", places.clone().map(|place| Some(&place.block.name[..]))).required(),
        Column::text("method", places.clone().map(|place| Some(&place.row.label[..]))).required(),
        Column::text("evaluated", places.map(|place| Some(&place.method?.evaluated[..]))),
    ]
}

/// One row per cell: its scores and its cost.
pub(super) fn cells<'a>(all: &'a [Named<'a>]) -> Parts<'a> {
    let places = places(all, false);
    let rows: Vec<(Place<'a>, &'a Cell)> = places
        .into_iter()
        .flat_map(|place| place.row.cells.iter().map(move |cell| (place, cell)))
        .collect();
    let measured: Vec<Option<&Measured>> = rows.iter().map(|(_, cell)| cell.measured()).collect();
    let mut columns = keys(rows.iter().map(|(place, _)| *place));
    columns.push(Column::seed("seed", rows.iter().map(|(_, cell)| Some(cell.seed))).required());
    columns.push(
        Column::text("state", rows.iter().map(|(_, cell)| Some(cell.outcome.word()))).required(),
    );
    for (headline, reading) in readings() {
        let values = measured.iter().map(|found| (*found)?.scores.0.get(headline).get(reading));
        columns.push(Column::number(column(headline, reading), values));
    }
    columns.push(count(&measured, "round", |found| found.round as u64));
    columns.push(number(&measured, "seconds", |found| Some(found.cost.seconds)));
    columns.push(number(&measured, "cpu_seconds", |found| Some(found.cost.cpu_seconds)));
    columns.push(number(&measured, "peak_rss_mib", |found| found.cost.peak_rss_mib));
    columns.push(count(&measured, "bytes_up", |found| found.cost.bytes_up));
    columns.push(count(&measured, "bytes_down", |found| found.cost.bytes_down));
    columns.push(Column::text(
        "digest",
        measured.iter().map(|found| found.map(|found| &found.digest[..])),
    ));
    Box::new(std::iter::once(Records { columns }))
}

/// A column of measured values, empty for cells that did not finish.
fn number<'a>(
    cells: &[Option<&Measured>],
    name: &str,
    value: fn(&Measured) -> Option<f64>,
) -> Column<'a> {
    Column::number(name, cells.iter().map(|found| value((*found)?)))
}

/// A column of counts, empty for cells that did not finish.
fn count<'a>(cells: &[Option<&Measured>], name: &str, value: fn(&Measured) -> u64) -> Column<'a> {
    Column::count(name, cells.iter().map(|found| found.map(value)))
}

/// A method on a dataset with one of its metrics.
type MetricRow<'a> = (Place<'a>, &'a str, &'a MetricSummary);

/// One row per dataset, method and metric: mean, standard deviation, difference to the base. All
/// datasets together come last, without mean and standard deviation, which are not defined there.
pub(super) fn differences<'a>(all: &'a [Named<'a>]) -> Parts<'a> {
    let rows: Vec<MetricRow<'a>> = places(all, true)
        .into_iter()
        .flat_map(|place| {
            place.row.metrics.iter().map(move |(metric, found)| (place, &metric[..], found))
        })
        .collect();
    let mut columns = keys(rows.iter().map(|(place, _, _)| *place));
    columns
        .push(Column::text("metric", rows.iter().map(|(_, metric, _)| Some(*metric))).required());
    columns.push(Column::text(
        "base",
        rows.iter().map(|(place, _, _)| Some(&place.comparison.view.comparison.base[..])),
    ));
    columns.push(Column::number(
        "mean",
        rows.iter().map(|(place, _, found)| found.mean.filter(|_| place.is_dataset())),
    ));
    columns.push(Column::number(
        "std",
        rows.iter().map(|(place, _, found)| found.std.filter(|_| place.is_dataset())),
    ));
    columns.push(metric_number(&rows, "difference", |found| Some(found.difference?.mean)));
    columns.push(metric_number(&rows, "lo", |found| Some(found.difference?.interval?.lo)));
    columns.push(metric_number(&rows, "hi", |found| Some(found.difference?.interval?.hi)));
    let pairs = rows.iter().map(|(_, _, found)| Some(found.difference?.pairs as u64));
    columns.push(Column::count("pairs", pairs));
    columns.push(metric_number(&rows, "p", |found| found.difference?.p));
    columns.push(metric_number(&rows, "p_holm", |found| found.difference?.p_holm));
    let ranks = rows.iter().map(|(place, metric, _)| place.rank(metric));
    columns.push(Column::number("rank", ranks));
    Box::new(std::iter::once(Records { columns }))
}

/// A column of values of metrics.
fn metric_number<'a>(
    rows: &[MetricRow<'_>],
    name: &str,
    value: fn(&MetricSummary) -> Option<f64>,
) -> Column<'a> {
    Column::number(name, rows.iter().map(|(_, _, found)| value(found)))
}

impl Place<'_> {
    /// Whether its block is a dataset, not all datasets together.
    fn is_dataset(&self) -> bool {
        self.comparison.view.comparison.datasets.iter().any(|own| own.name == self.block.name)
    }

    /// The mean rank of the method in a metric.
    fn rank(&self, metric: &str) -> Option<f64> {
        self.block.ranks.get(metric)?.ranks.get(self.at).copied().flatten()
    }
}

/// The evaluated rounds of a cell.
pub(super) struct CellCurve<'a> {
    place: Place<'a>,
    pub(super) seed: u64,
    pub(super) points: &'a [Point],
}

impl<'a> CellCurve<'a> {
    /// The comparison of the cell.
    pub(super) fn comparison(&self) -> &'a Named<'a> {
        self.place.comparison
    }

    /// The dataset of the cell.
    pub(super) fn dataset(&self) -> &'a str {
        &self.place.block.name
    }

    /// The label of the method of the cell.
    pub(super) fn method(&self) -> &'a str {
        &self.place.row.label
    }
}

/// The curves of all cells whose rounds were kept.
pub(super) fn cell_curves<'a>(all: &'a [Named<'a>]) -> Vec<CellCurve<'a>> {
    let mut found = Vec::new();
    for place in places(all, false) {
        let of_dataset = place
            .comparison
            .view
            .courses
            .iter()
            .filter(|(dataset, _)| *dataset == place.block.name);
        let of_method = of_dataset
            .flat_map(|(_, curves)| curves)
            .filter(|curve| curve.label == place.row.label);
        for (seed, points) in of_method.flat_map(|curve| &curve.seeds) {
            found.push(CellCurve { place, seed: *seed, points });
        }
    }
    found
}

/// One row per evaluated round of a cell.
pub(super) fn curves<'a>(all: &'a [Named<'a>]) -> Parts<'a> {
    let rows: Vec<(Place<'a>, u64, &'a Point)> = cell_curves(all)
        .into_iter()
        .flat_map(|curve| curve.points.iter().map(move |point| (curve.place, curve.seed, point)))
        .collect();
    if rows.is_empty() {
        return Box::new(std::iter::empty());
    }
    let mut columns = keys(rows.iter().map(|(place, _, _)| *place));
    columns.push(Column::seed("seed", rows.iter().map(|(_, seed, _)| Some(*seed))).required());
    columns.push(
        Column::count("round", rows.iter().map(|(_, _, point)| Some(point.round as u64)))
            .required(),
    );
    let losses = rows.iter().map(|(_, _, point)| Some(point.loss));
    columns.push(Column::number("loss", losses));
    for headline in HEADLINES.iter() {
        let values = rows.iter().map(|(_, _, point)| *point.scores.get(headline));
        columns.push(Column::number(column(headline, Reading::Pooled), values));
    }
    Box::new(std::iter::once(Records { columns }))
}
