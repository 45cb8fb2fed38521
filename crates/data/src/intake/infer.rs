//! What the values of a feature column are: found by content, or checked against what is said.

use std::collections::HashMap;

use boostfgl_graph::{Missing, in_order};

use super::Limits;
use super::tables::{TableProblems, Tables};
use super::values::{self, Decimal};
use crate::columns::{Column, DateFormat, Kind, Rest, Role};
use crate::readers::text::quoted;

/// A feature column and what becomes of it.
pub(super) struct Feature {
    /// Its position in the tables.
    pub(super) at: usize,
    /// What `columns.toml` says of it.
    pub(super) column: Column,
    /// How its fields are to be read.
    pub(super) notation: Notation,
    pub(super) facts: Facts,
}

/// How a field of a table becomes one of `nodes.csv`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Notation {
    AsItIs,
    Number(Decimal),
    Date(DateFormat),
}

/// Facts on a column, for the table that an import prints.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Facts {
    pub(super) distinct: usize,
    pub(super) missing: usize,
    pub(super) example: String,
}

/// A value of a column: how often it occurs, and the first row that has it.
#[derive(Clone, Copy)]
struct Occurrence {
    count: usize,
    first: usize,
}

/// The values of one column that are there, by their first row.
pub(super) struct Values<'a> {
    distinct: Vec<(&'a str, Occurrence)>,
    filled: usize,
    missing: usize,
}

impl<'a> Values<'a> {
    pub(super) fn of(tables: &'a Tables, column: usize) -> Self {
        let mut position: HashMap<&str, usize> = HashMap::new();
        let mut values = Self { distinct: Vec::new(), filled: 0, missing: 0 };
        for (row, text) in tables.column(column).enumerate() {
            if values::is_missing(text) {
                values.missing += 1;
                continue;
            }
            values.filled += 1;
            let at = *position.entry(text).or_insert_with(|| {
                values.distinct.push((text, Occurrence { count: 0, first: row }));
                values.distinct.len() - 1
            });
            values.distinct[at].1.count += 1;
        }
        values
    }

    pub(super) fn facts(&self) -> Facts {
        Facts {
            distinct: self.distinct.len(),
            missing: self.missing,
            example: self.distinct.first().map(|value| value.0.to_owned()).unwrap_or_default(),
        }
    }

    /// The distinct values, by their first row.
    pub(super) fn texts(&self) -> impl Iterator<Item = &'a str> + '_ {
        self.distinct.iter().map(|value| value.0)
    }

    /// The distinct values with their first row, and the number of rows that have each.
    pub(super) fn places(&self) -> impl Iterator<Item = (&'a str, usize, usize)> + '_ {
        self.distinct.iter().map(|(text, it)| (*text, it.first, it.count))
    }

    /// The number of rows with a value.
    pub(super) fn filled(&self) -> usize {
        self.filled
    }

    /// Whether nearly every row has a value of its own, as ids have.
    pub(super) fn are_like_ids(&self) -> bool {
        self.filled >= FEW && self.distinct.len() * 10 > self.filled * 9
    }

    /// The number of rows whose value is readable.
    fn readable(&self, reads: impl Fn(&str) -> bool) -> usize {
        let readable = self.distinct.iter().filter(|(text, _)| reads(text));
        readable.map(|(_, occurrence)| occurrence.count).sum()
    }

    /// Whether so many rows are readable that the others are mistakes.
    fn nearly_all(&self, readable: usize) -> bool {
        let others = self.filled - readable;
        others > 0 && (others * 10 <= self.filled || (others == 1 && readable >= 3))
    }

    /// Adds each value that is not readable once, with its first row.
    fn refuse(
        &self,
        column: usize,
        problems: &mut TableProblems<'_>,
        expected: &str,
        reads: impl Fn(&str) -> bool,
    ) {
        for (text, Occurrence { count, first }) in &self.distinct {
            if !reads(text) {
                problems.add(*first, column, || {
                    (expected.to_owned(), format!("{}{}", quoted(text), in_rows(*count)))
                });
            }
        }
    }
}

/// `, in 3 rows`, if it is more than one.
pub(super) fn in_rows(count: usize) -> String {
    if count > 1 { format!(", in {count} rows") } else { String::new() }
}

/// Fewer rows say nothing about whether values are ids.
const FEW: usize = 10;

/// What a column is found to be.
struct Found {
    kind: Kind,
    notation: Notation,
}

/// Finds what a feature column is; what does not fit is a problem. `None` if it has no value at
/// all and nothing is said about it.
pub(super) fn feature(
    tables: &Tables,
    at: usize,
    said: Option<&Column>,
    limits: &Limits,
    problems: &mut TableProblems<'_>,
) -> Option<Feature> {
    let values = Values::of(tables, at);
    let said = said.cloned().unwrap_or_default();
    if values.distinct.is_empty() && said.kind.is_none() {
        return None;
    }
    let context = Context { tables, at, values: &values, said: &said, limits };
    let found = match said.kind {
        Some(kind) => context.checked(kind, problems),
        None => context.inferred(problems),
    };
    let facts = values.facts();
    let column = context.resolved(&found);
    Some(Feature { at, column, notation: found.notation, facts })
}

/// One column on the way to what it becomes.
struct Context<'a> {
    tables: &'a Tables,
    at: usize,
    values: &'a Values<'a>,
    said: &'a Column,
    limits: &'a Limits,
}

impl Context<'_> {
    fn name(&self) -> &str {
        &self.tables.header[self.at]
    }

    /// The decimal separator with which most values are numbers, and their number.
    fn decimal(&self) -> (Decimal, usize) {
        let point = self.readable_numbers(Decimal::Point);
        if !self.tables.may_have_decimal_commas() {
            return (Decimal::Point, point);
        }
        // Of a column without any comma both read the same, unless points may group digits.
        let commas = self.values.texts().any(|text| text.contains(','));
        let comma = self.readable_numbers(Decimal::Comma);
        if commas && comma >= point { (Decimal::Comma, comma) } else { (Decimal::Point, point) }
    }

    fn readable_numbers(&self, decimal: Decimal) -> usize {
        self.values.readable(|text| values::number(text, decimal).is_some())
    }

    /// The formats in which every value, or nearly every value, is a date.
    fn formats(&self) -> (Vec<DateFormat>, usize) {
        let count = |format: DateFormat| self.values.readable(|text| is_date(text, format));
        let best = DateFormat::ALL.iter().map(|format| count(*format)).max().unwrap_or(0);
        let fitting = DateFormat::ALL.iter().copied().filter(|format| count(*format) == best);
        (fitting.collect(), best)
    }

    fn inferred(&self, problems: &mut TableProblems<'_>) -> Found {
        let filled = self.values.filled;
        let (_, numbers) = self.decimal();
        if numbers == filled || self.values.nearly_all(numbers) {
            return self.checked(Kind::Number, problems);
        }
        let (formats, dates) = self.formats();
        let any = self.values.readable(|text| DateFormat::ALL.iter().any(|it| is_date(text, *it)));
        if dates > 0 && (any == filled || self.values.nearly_all(any)) {
            return self.dates(&formats, problems);
        }
        // A word for yes and one for no, as in `yes` and `no`.
        if self.values.distinct.len() <= 2
            && self.values.texts().all(|text| values::boolean(text).is_some())
        {
            return Found { kind: Kind::Boolean, notation: Notation::AsItIs };
        }
        if self.values.are_like_ids() {
            problems.of_column(
                self.at,
                "categories, numbers or dates",
                format!(
                    "{} distinct texts in {filled} rows of {}: --drop it if it is an id, or set \
                     kind = \"hashed\" in columns.toml",
                    self.values.distinct.len(),
                    quoted(self.name())
                ),
            );
        }
        let kind = if self.is_concentrated() { Kind::Category } else { Kind::Hashed };
        Found { kind, notation: Notation::AsItIs }
    }

    /// Whether the most frequent values, as many as there may be levels, are half of all.
    fn is_concentrated(&self) -> bool {
        let mut counts: Vec<usize> = self.values.distinct.iter().map(|it| it.1.count).collect();
        counts.sort_unstable_by_key(|count| std::cmp::Reverse(*count));
        let covered: usize = counts.iter().take(self.limits.max_levels).sum();
        covered * 2 >= self.values.filled
    }

    /// The kind that is said, with every value that does not fit as a problem.
    fn checked(&self, kind: Kind, problems: &mut TableProblems<'_>) -> Found {
        let (at, name) = (self.at, quoted(self.name()));
        let notation = match kind {
            Kind::Number => {
                let (decimal, _) = self.decimal();
                let expected = format!("a number for {name}");
                self.values.refuse(at, problems, &expected, |text| {
                    values::number(text, decimal).is_some()
                });
                Notation::Number(decimal)
            }
            Kind::Date => {
                let formats = match self.said.format {
                    Some(format) => vec![format],
                    None => self.formats().0,
                };
                return self.dates(&formats, problems);
            }
            Kind::Boolean => {
                let expected = format!("yes or no, or true or false, for {name}");
                self.values.refuse(at, problems, &expected, |text| values::boolean(text).is_some());
                Notation::AsItIs
            }
            Kind::Category | Kind::Hashed => Notation::AsItIs,
        };
        Found { kind, notation }
    }

    /// Dates in one of the formats, of which several may fit all values.
    fn dates(&self, formats: &[DateFormat], problems: &mut TableProblems<'_>) -> Found {
        let (at, name) = (self.at, quoted(self.name()));
        let format = self.said.format.or(formats.first().copied()).unwrap_or(DateFormat::Iso);
        if formats.len() > 1 && self.said.format.is_none() && self.is_ambiguous(formats) {
            let names: Vec<&str> = formats.iter().map(|format| format.name()).collect();
            let expected = format!("dates of one reading for {name}");
            let found = format!(
                "dates that are {} alike: set format = \"{}\" or the other in columns.toml",
                names.join(" and "),
                names[0]
            );
            problems.of_column(at, expected, found);
        }
        for &other in DateFormat::ALL.iter().filter(|other| **other != format) {
            self.other_dates(format, other, problems);
        }
        let expected = format!("a date for {name} ({})", format.name());
        self.values.refuse(at, problems, &expected, |text| {
            DateFormat::ALL.iter().any(|format| is_date(text, *format))
        });
        Found { kind: Kind::Date, notation: Notation::Date(format) }
    }

    /// Adds once that some dates have another format than the others.
    fn other_dates(&self, format: DateFormat, other: DateFormat, problems: &mut TableProblems<'_>) {
        // Of the formats that fit a value, the first is taken to be meant.
        let is_other = |text: &str| {
            let first = DateFormat::ALL.iter().find(|format| is_date(text, **format));
            !is_date(text, format) && first == Some(&other)
        };
        let count = self.values.readable(is_other);
        let Some((text, it)) = self.values.distinct.iter().find(|it| is_other(it.0)) else {
            return;
        };
        problems.add(it.first, self.at, || {
            let name = quoted(self.name());
            let expected = format!("one format of dates for {name}, {}", format.name());
            (expected, format!("{}{}, {}", quoted(text), in_rows(count), other.name()))
        });
    }

    /// Whether two formats read a value as different days.
    fn is_ambiguous(&self, formats: &[DateFormat]) -> bool {
        self.values.texts().any(|text| {
            let mut days = formats.iter().filter_map(|format| values::date(text, *format));
            let first = days.next();
            days.any(|day| Some(day) != first)
        })
    }

    /// Everything that the reader of `nodes.csv` needs to know about the column.
    fn resolved(&self, found: &Found) -> Column {
        let said = self.said;
        let is_number = matches!(found.kind, Kind::Number | Kind::Date);
        let is_text = matches!(found.kind, Kind::Category | Kind::Hashed);
        let default = if is_text { Missing::Zero } else { self.limits.missing };
        let mut column = Column {
            role: Some(Role::Feature),
            kind: Some(found.kind),
            missing: Some(said.missing.unwrap_or(default)),
            standardise: Some(said.standardise.unwrap_or(is_number && self.limits.standardise)),
            ..Column::default()
        };
        match found.kind {
            Kind::Category => {
                let (levels, rest) = self.levels();
                column.levels = Some(levels);
                column.rest = Some(rest);
                column.buckets = (rest == Rest::Hashed).then(|| self.buckets());
            }
            Kind::Hashed => column.buckets = Some(self.buckets()),
            _ => {}
        }
        column
    }

    fn buckets(&self) -> u32 {
        self.said.buckets.unwrap_or(self.limits.hash_buckets)
    }

    /// The levels that are said; otherwise all values, or the most frequent ones if there are too
    /// many.
    fn levels(&self) -> (Vec<String>, Rest) {
        if let Some(levels) = &self.said.levels {
            return (levels.clone(), self.said.rest.unwrap_or(Rest::Zeros));
        }
        let mut frequent = self.values.distinct.clone();
        if frequent.len() <= self.limits.max_levels {
            let rest = self.said.rest.unwrap_or(Rest::Zeros);
            return (in_order(frequent.iter().map(|value| value.0)), rest);
        }
        // Of values that occur equally often the first in the alphabet, so that the order of rows
        // does not matter.
        frequent.sort_unstable_by_key(|(text, it)| (std::cmp::Reverse(it.count), *text));
        frequent.truncate(self.limits.max_levels);
        let levels = in_order(frequent.iter().map(|value| value.0));
        (levels, self.said.rest.unwrap_or(self.limits.rest))
    }
}

fn is_date(text: &str, format: DateFormat) -> bool {
    values::date(text, format).is_some()
}

#[cfg(test)]
mod tests;
