//! A comparison converted to results, from which the figures of an experiment are drawn.

use super::{Detail, Origin, ResultRow, Results};
use crate::{Cell, ComparisonView, Point};

impl Results {
    /// The results of the experiment `name` from the cells of a comparison: one row per dataset,
    /// method and seed.
    pub fn of_comparison(name: &str, view: &ComparisonView) -> Self {
        let origin = Origin { command: "boostfgl compare".to_owned(), ..Origin::default() };
        let (columns, rows, left_out) = (Vec::new(), Vec::new(), Vec::new());
        let mut results =
            Self { version: Self::VERSION, name: name.to_owned(), origin, left_out, columns, rows };
        let mut cells = Vec::new();
        for block in &view.comparison.datasets {
            for row in &block.rows {
                let known = ResultRow {
                    dataset: block.name.clone(),
                    method: row.label.clone(),
                    ..ResultRow::default()
                };
                for cell in &row.cells {
                    let curve = curve(view, &known, cell);
                    let detail = Detail { curve, ..Detail::default() };
                    let row = ResultRow { seed: cell.seed, ..known.clone() };
                    cells.push((row, Some((cell.outcome.clone(), Some(Box::new(detail))))));
                }
            }
        }
        results.fill(cells);
        results
    }
}

/// The evaluated rounds of a cell, where they were kept.
fn curve(view: &ComparisonView, row: &ResultRow, cell: &Cell) -> Vec<Point> {
    let methods =
        view.courses.iter().find(|(dataset, _)| *dataset == row.dataset).map(|(_, curves)| curves);
    let method = methods.and_then(|curves| curves.iter().find(|curve| curve.label == row.method));
    let seed = method.and_then(|curve| curve.seeds.iter().find(|(seed, _)| *seed == cell.seed));
    seed.map(|(_, points)| points.clone()).unwrap_or_default()
}
