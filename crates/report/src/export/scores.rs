//! Predictions of a model as Parquet.

#[cfg(feature = "parquet")]
use super::records::{Column, Records};
#[cfg(not(feature = "parquet"))]
use crate::Error;
use crate::{Result, ScoreTable};
use std::path::Path;

/// Writes a table of predictions as one row group.
#[cfg(feature = "parquet")]
pub(crate) fn write_parquet(table: &ScoreTable<'_>, path: &Path) -> Result<()> {
    super::parquet::write(path, Box::new(std::iter::once(records(table))))
}

/// Without the feature there is no such file.
#[cfg(not(feature = "parquet"))]
pub(crate) fn write_parquet(_: &ScoreTable<'_>, _: &Path) -> Result<()> {
    Err(Error::NotBuiltIn { what: "Parquet", feature: "parquet" })
}

/// The columns of a table.
#[cfg(feature = "parquet")]
fn records<'a>(table: &'a ScoreTable<'_>) -> Records<'a> {
    let (nodes, classes) = (table.nodes, table.classes);
    let predicted = table.predicted.iter().map(|&class| Some(&classes[class as usize][..]));
    let probability = (0..nodes.len()).map(|v| Some(f64::from(table.probability(v))));
    let mut columns = vec![
        Column::text("node", nodes.iter().map(|node| Some(&node[..]))).required(),
        Column::text("prediction", predicted).required(),
        Column::number("probability", probability).required(),
    ];
    let logits = table.logits.as_ref().map(|logits| ("logit", logits));
    for (kind, values) in [("p", &table.probabilities)].into_iter().chain(logits) {
        for (number, class) in classes.iter().enumerate() {
            let of_class = values.iter().skip(number).step_by(classes.len());
            let of_class = of_class.map(|&x| Some(f64::from(x)));
            columns.push(Column::number(format!("{kind}:{class}"), of_class).required());
        }
    }
    Records { columns }
}
