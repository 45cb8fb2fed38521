//! Comparisons: one row per cell, per metric of a method, per round of a cell.

use super::Parts;
use super::records::{Column, Records, column, readings};
use crate::comparison::state;
use crate::{Block, BlockRow, Cell, ComparisonView, Contender, Measured, MetricSummary, Point};
use boostfgl_fairness::{HEADLINES, Reading};

/// A comparison under the name that tells it from others.
#[derive(Debug)]
pub(super) struct Named<'a> {
    pub(super) view: &'a ComparisonView,
    pub(super) name: String,
}

/// Names the comparisons: the first of a name keeps it, others become `NAME-2` and so on.
pub(super) fn named(views: &[ComparisonView]) -> Vec<Named<'_>> {
    let names = super::runs::distinct(views.iter().map(|view| &view.name[..]));
    views.iter().zip(names).map(|(view, name)| Named { view, name }).collect()
}

/// A method on a dataset of a comparison.
#[derive(Clone, Copy)]
struct Place<'a> {
    of: &'a Named<'a>,
    block: &'a Block,
    method: Option<&'a Contender>,
    row: &'a BlockRow,
    /// Which of the methods.
    at: usize,
}

fn places<'a>(all: &'a [Named<'a>], pooled: bool) -> Vec<Place<'a>> {
    let mut places = Vec::new();
    for of in all {
        let comparison = &of.view.comparison;
        let together = comparison.pooled.iter().filter(|_| pooled);
        for block in comparison.datasets.iter().chain(together) {
            let methods = comparison.methods.iter().map(Some).chain(std::iter::repeat(None));
            let rows = block.rows.iter().zip(methods).enumerate();
            places.extend(rows.map(|(at, (row, method))| Place { of, block, method, row, at }));
        }
    }
    places
}

fn keys<'a>(places: impl Iterator<Item = Place<'a>> + Clone) -> Vec<Column<'a>> {
    vec![
        Column::text("comparison", places.clone().map(|place| Some(&place.of.name[..]))).required(),
        Column::text("dataset", places.clone().map(|place| Some(&place.block.name[..]))).required(),
        Column::text("method", places.clone().map(|place| Some(&place.row.label[..]))).required(),
        Column::text("evaluated", places.map(|place| Some(&place.method?.evaluated[..]))),
    ]
}

/// One row per cell: what it reached and what it cost.
pub(super) fn cells<'a>(all: &'a [Named<'a>]) -> Parts<'a> {
    let places = places(all, false);
    let rows: Vec<(Place<'a>, &'a Cell)> = places
        .into_iter()
        .flat_map(|place| place.row.cells.iter().map(move |cell| (place, cell)))
        .collect();
    let measured = || rows.iter().map(|(_, cell)| cell.measured());
    let mut columns = keys(rows.iter().map(|(place, _)| *place));
    columns.push(Column::seed("seed", rows.iter().map(|(_, cell)| Some(cell.seed))).required());
    columns.push(
        Column::text("state", rows.iter().map(|(_, cell)| Some(state(&cell.outcome)))).required(),
    );
    for (headline, reading) in readings() {
        let values = measured().map(|found| found?.scores.0.get(headline).get(reading));
        columns.push(Column::number(column(headline, reading), values));
    }
    let number = |name: &str, value: fn(&Measured) -> Option<f64>| {
        Column::number(name, measured().map(|found| value(found?)))
    };
    let count = |name: &str, value: fn(&Measured) -> u64| {
        Column::count(name, measured().map(|found| Some(value(found?))))
    };
    columns.push(count("round", |found| found.round as u64));
    columns.push(number("seconds", |found| Some(found.cost.seconds)));
    columns.push(number("cpu_seconds", |found| Some(found.cost.cpu_seconds)));
    columns.push(number("peak_rss_mib", |found| found.cost.peak_rss_mib));
    columns.push(count("bytes_up", |found| found.cost.bytes_up));
    columns.push(count("bytes_down", |found| found.cost.bytes_down));
    columns.push(Column::text("digest", measured().map(|found| Some(&found?.digest[..]))));
    Box::new(std::iter::once(Records { columns }))
}

/// One row per dataset, method and metric: mean, spread, difference to the base. All datasets
/// together come last, without mean and spread, which mean nothing there.
pub(super) fn differences<'a>(all: &'a [Named<'a>]) -> Parts<'a> {
    let rows: Vec<(Place<'a>, &'a str, &'a MetricSummary)> = places(all, true)
        .into_iter()
        .flat_map(|place| {
            place.row.metrics.iter().map(move |(metric, found)| (place, &metric[..], found))
        })
        .collect();
    let own = |place: &Place<'_>| {
        place.of.view.comparison.datasets.iter().any(|block| block.name == place.block.name)
    };
    let rank = |place: &Place<'_>, metric: &str| {
        place.block.ranks.get(metric)?.ranks.get(place.at).copied().flatten()
    };
    let number = |name: &str, value: fn(&MetricSummary) -> Option<f64>| {
        Column::number(name, rows.iter().map(|(_, _, found)| value(found)))
    };
    let mut columns = keys(rows.iter().map(|(place, _, _)| *place));
    columns
        .push(Column::text("metric", rows.iter().map(|(_, metric, _)| Some(*metric))).required());
    columns.push(Column::text(
        "base",
        rows.iter().map(|(place, _, _)| Some(&place.of.view.comparison.base[..])),
    ));
    columns.push(Column::number(
        "mean",
        rows.iter().map(|(place, _, found)| found.mean.filter(|_| own(place))),
    ));
    columns.push(Column::number(
        "std",
        rows.iter().map(|(place, _, found)| found.std.filter(|_| own(place))),
    ));
    columns.push(number("difference", |found| Some(found.difference?.mean)));
    columns.push(number("lo", |found| Some(found.difference?.interval?.lo)));
    columns.push(number("hi", |found| Some(found.difference?.interval?.hi)));
    let pairs = rows.iter().map(|(_, _, found)| Some(found.difference?.pairs as u64));
    columns.push(Column::count("pairs", pairs));
    columns.push(number("p", |found| found.difference?.p));
    columns.push(number("p_holm", |found| found.difference?.p_holm));
    columns.push(Column::number("rank", rows.iter().map(|(place, metric, _)| rank(place, metric))));
    Box::new(std::iter::once(Records { columns }))
}

/// A cell with its curve.
type Course<'a> = (Place<'a>, u64, &'a [Point]);

/// The curves of the cells, where they were kept.
pub(super) fn courses<'a>(
    all: &'a [Named<'a>],
) -> Vec<(&'a Named<'a>, &'a str, &'a str, u64, &'a [Point])> {
    let of = |(place, seed, points): Course<'a>| {
        (place.of, &place.block.name[..], &place.row.label[..], seed, points)
    };
    kept(all).into_iter().map(of).collect()
}

fn kept<'a>(all: &'a [Named<'a>]) -> Vec<Course<'a>> {
    let mut found = Vec::new();
    for place in places(all, false) {
        let curves =
            place.of.view.courses.iter().filter(|(dataset, _)| *dataset == place.block.name);
        let own =
            curves.flat_map(|(_, curves)| curves).filter(|curve| curve.label == place.row.label);
        found.extend(
            own.flat_map(|curve| &curve.seeds).map(|(seed, points)| (place, *seed, &points[..])),
        );
    }
    found
}

/// One row per evaluated round of a cell.
pub(super) fn curves<'a>(all: &'a [Named<'a>]) -> Parts<'a> {
    let rows: Vec<(Place<'a>, u64, &'a Point)> = kept(all)
        .into_iter()
        .flat_map(|(place, seed, points)| points.iter().map(move |point| (place, seed, point)))
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
