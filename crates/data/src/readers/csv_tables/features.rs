//! The feature columns of `nodes.csv`: numbers, or what `columns.toml` says.

use std::collections::HashMap;
use std::path::Path;

use boostfgl_graph::{
    ColumnPreparation, Features, Missing, Preparation, Problems, Result, nearest,
};

use super::super::parts::{self, Csr};
use super::super::table::Table;
use super::super::text::{malformed, quoted};
use crate::columns::{Column, Columns, DateFormat, Kind, Rest};
use crate::intake::values;

/// The feature columns while rows are read.
pub(super) enum FeatureColumns {
    /// Every column is a number, and none is missing.
    Plain { positions: Vec<usize>, names: Vec<String>, values: Vec<f32> },
    /// As `columns.toml` says.
    Prepared(Prepared),
}

/// Columns that become features as `columns.toml` says.
pub(super) struct Prepared {
    expansions: Vec<Expansion>,
    names: Vec<String>,
    preparation: Vec<ColumnPreparation>,
    missing: Vec<(u32, u32)>,
    rows: Csr,
}

/// One column of the table and the features that it becomes.
struct Expansion {
    /// Its position in the table.
    at: usize,
    kind: Kind,
    /// Its first feature.
    first: u32,
    /// The number of its features that a missing value leaves open.
    width: u32,
    /// The feature of each level, counted from the first.
    levels: HashMap<String, u32>,
    rest: Rest,
    /// The number of features that hashed values share.
    buckets: u32,
    /// The feature that says that a value of a category is missing.
    indicator: Option<u32>,
    /// What stands in for a missing value.
    policy: Missing,
}

impl FeatureColumns {
    /// The columns of a table that have no other role.
    pub(super) fn new(
        table: &Table,
        positions: Vec<usize>,
        columns: Option<&Columns>,
    ) -> Result<Self> {
        if positions.is_empty() {
            let found = table.header.len();
            return Err(malformed(table.path, 1, found, "at least one feature column", "none"));
        }
        let Some(columns) = columns else {
            let names = positions.iter().map(|&at| table.header[at].clone()).collect();
            return Ok(Self::Plain { positions, names, values: Vec::new() });
        };
        Prepared::new(table, &positions, columns).map(Self::Prepared)
    }

    /// Adds the features of the row that was read last.
    pub(super) fn push(&mut self, table: &Table, problems: &mut Problems<'_>) {
        match self {
            Self::Plain { positions, values, .. } => {
                // The default for an invalid field is never used, since any problem ends in an
                // error.
                let row = positions.iter().map(|&at| table.feature(at, problems).unwrap_or(0.0));
                values.extend(row);
            }
            Self::Prepared(prepared) => prepared.push(table, problems),
        }
    }

    /// The features of all rows, and how they are to be prepared.
    pub(super) fn finish(self, path: &Path, rows: usize) -> Result<Finished> {
        match self {
            Self::Plain { names, values, .. } => {
                let features = parts::compact(path, rows, names.len(), values)?;
                Ok(Finished { names, features, preparation: None })
            }
            Self::Prepared(prepared) => prepared.finish(path),
        }
    }
}

/// Features with their names and preparation.
pub(super) struct Finished {
    pub(super) names: Vec<String>,
    pub(super) features: Features,
    pub(super) preparation: Option<Preparation>,
}

impl Prepared {
    fn new(table: &Table, positions: &[usize], columns: &Columns) -> Result<Self> {
        let mut prepared = Self {
            expansions: Vec::new(),
            names: Vec::new(),
            preparation: Vec::new(),
            missing: Vec::new(),
            rows: Csr {
                rows: 0,
                columns: 0,
                offsets: vec![0],
                indices: Vec::new(),
                values: Vec::new(),
            },
        };
        let entries = &columns.nodes;
        for &at in positions {
            let name = &table.header[at];
            let Some(column) = entries.get(name) else {
                let near = nearest(name, entries.keys().map(String::as_str));
                let near = near.map(|near| format!(" (did you mean `{near}`?)"));
                let found = format!("{}{}", quoted(name), near.unwrap_or_default());
                let expected = format!("a column of {}", Columns::FILE);
                return Err(malformed(table.path, 1, at + 1, expected, found));
            };
            prepared.add(at, name, column);
        }
        let mut expected = entries.iter().filter(|(_, column)| column.is_feature());
        if let Some((name, _)) = expected.find(|(name, _)| table.column(name).is_none()) {
            let expected = format!("the column {} of {}", quoted(name), Columns::FILE);
            return Err(malformed(table.path, 1, 1, expected, "none of that name"));
        }
        prepared.rows.columns = prepared.names.len();
        parts::check_columns(table.path, ", features", prepared.names.len())?;
        Ok(prepared)
    }

    fn add(&mut self, at: usize, name: &str, column: &Column) {
        let kind = column.kind.unwrap_or(Kind::Number);
        let names = column.feature_names(name);
        let is_text = matches!(kind, Kind::Category | Kind::Hashed);
        let default = if is_text { Missing::Zero } else { Missing::Mean };
        let policy = column.missing.unwrap_or(default);
        let has_indicator = is_text && policy == Missing::Indicator;
        let first = self.names.len() as u32;
        let width = names.len() as u32 - u32::from(has_indicator);
        // The indicator of a category is a feature like its levels, so nothing is left to prepare.
        let prepared = ColumnPreparation {
            missing: if has_indicator { Missing::Zero } else { policy },
            standardise: column.standardise.unwrap_or(false),
        };
        self.preparation.extend(names.iter().map(|_| prepared));
        self.names.extend(names);
        let levels = column.levels.iter().flatten().cloned().zip(0..).collect();
        self.expansions.push(Expansion {
            at,
            kind,
            first,
            width,
            levels,
            rest: column.rest.unwrap_or(Rest::Zeros),
            buckets: column.buckets.unwrap_or(0),
            indicator: has_indicator.then_some(first + width),
            policy,
        });
    }

    fn push(&mut self, table: &Table, problems: &mut Problems<'_>) {
        let node = self.rows.rows as u32;
        for expansion in &self.expansions {
            let text = table.field(expansion.at);
            if text.is_empty() {
                expansion.push_missing(node, &mut self.missing, &mut self.rows);
                continue;
            }
            match expansion.entry(text) {
                Ok(Some((column, value))) if value != 0.0 => self.rows.put(column, value),
                Ok(_) => {}
                Err(expected) => table.problem(problems, expansion.at, || {
                    let name = quoted(&table.header[expansion.at]);
                    (format!("{expected} for {name}"), quoted(text))
                }),
            }
        }
        self.rows.rows += 1;
        self.rows.offsets.push(self.rows.indices.len());
    }

    fn finish(self, path: &Path) -> Result<Finished> {
        let (rows, columns) = (self.rows.rows, self.rows.columns);
        let dense = self.rows.values.len() >= (rows * columns).div_ceil(4);
        let features = self.rows.features(path)?;
        let features = if dense { features.stored(false) } else { features };
        let preparation = Preparation::new(self.preparation, self.missing)?;
        Ok(Finished { names: self.names, features, preparation: Some(preparation) })
    }
}

impl Csr {
    /// Adds a value to the row that is not finished.
    fn put(&mut self, column: u32, value: f32) {
        self.indices.push(column);
        self.values.push(value);
    }
}

impl Expansion {
    /// The feature of a value and its number; none if all of its features are 0.
    fn entry(&self, text: &str) -> Result<Option<(u32, f32)>, &'static str> {
        match self.kind {
            Kind::Number => {
                let number = text.parse().ok().filter(|number: &f32| number.is_finite());
                number.map(|number| Some((self.first, number))).ok_or("a finite number")
            }
            Kind::Date => {
                let days = values::date(text, DateFormat::Iso);
                let days = days.ok_or("a date (year-month-day)")?;
                Ok(Some((self.first, days as f32)))
            }
            Kind::Boolean => {
                let yes = values::boolean(text).ok_or("yes or no, or true or false")?;
                Ok(Some((self.first, f32::from(yes))))
            }
            Kind::Category => Ok(self.level(text).map(|column| (column, 1.0))),
            Kind::Hashed => Ok(Some((self.first + values::bucket(text, self.buckets), 1.0))),
        }
    }

    /// The feature of a value of a category.
    fn level(&self, text: &str) -> Option<u32> {
        let after = self.first + self.levels.len() as u32;
        match (self.levels.get(text), self.rest) {
            (Some(level), _) => Some(self.first + level),
            (None, Rest::Zeros) => None,
            (None, Rest::Other) => Some(after),
            (None, Rest::Hashed) => Some(after + values::bucket(text, self.buckets)),
        }
    }

    /// A missing value: its features have none, or those of a category are 0.
    fn push_missing(&self, node: u32, missing: &mut Vec<(u32, u32)>, rows: &mut Csr) {
        let is_text = matches!(self.kind, Kind::Category | Kind::Hashed);
        if let Some(indicator) = self.indicator {
            rows.put(indicator, 1.0);
        } else if !is_text || self.policy == Missing::Mean {
            missing.extend((self.first..self.first + self.width).map(|column| (node, column)));
        }
    }
}
