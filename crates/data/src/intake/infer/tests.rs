//! What columns are found to be.

use super::*;
use crate::intake;
use crate::readers::testing::Folder;
use boostfgl_graph::Result;

/// What a column of these values becomes, next to a column of numbers.
fn found(values: &[&str], delimiter: char, said: &Column, limits: &Limits) -> Result<Feature> {
    let folder = Folder::new();
    let rows: String = values.iter().map(|value| format!("7{delimiter}{value}\n")).collect();
    folder.write("t.csv", format!("other{delimiter}it\n{rows}").as_bytes());
    let reading = intake::Reading { delimiter: Some(delimiter as u8), encoding: None };
    let tables = Tables::read(&[folder.path("t.csv")], reading)?;
    let mut problems = tables.problems();
    let feature = feature(&tables, 1, Some(said), limits, &mut problems);
    problems.finish()?;
    Ok(feature.unwrap())
}

fn kind(values: &[&str]) -> Kind {
    inferred(values, ';').column.kind.unwrap()
}

fn inferred(values: &[&str], delimiter: char) -> Feature {
    found(values, delimiter, &Column::default(), &Limits::default()).unwrap()
}

fn reason(values: &[&str]) -> String {
    let found = found(values, ';', &Column::default(), &Limits::default());
    found.err().unwrap().to_string()
}

#[test]
fn kinds_are_found_by_content() {
    assert_eq!(kind(&["1", "2.5", "-", "1e3"]), Kind::Number);
    assert_eq!(kind(&["0", "1", "1"]), Kind::Number);
    assert_eq!(kind(&["2024-01-31", "NA", "2023-02-01T10:00"]), Kind::Date);
    assert_eq!(kind(&["31.1.2024", "1.12.2023"]), Kind::Date);
    assert_eq!(kind(&["yes", "no", "", "yes"]), Kind::Boolean);
    assert_eq!(kind(&["True", "True"]), Kind::Boolean);
    assert_eq!(kind(&["yes", "no", "maybe"]), Kind::Category);
    assert_eq!(kind(&["a", "b", "a"]), Kind::Category);
}

#[test]
fn commas_are_decimal_only_if_they_do_not_separate_fields() {
    let reading = |values: &[&str], delimiter| inferred(values, delimiter).notation;
    assert_eq!(reading(&["1,5", "2", "1.000,25"], ';'), Notation::Number(Decimal::Comma));
    assert_eq!(reading(&["1.5", "2", "1,000.25"], ';'), Notation::Number(Decimal::Point));
    assert_eq!(reading(&["1.5", "2"], '\t'), Notation::Number(Decimal::Point));
    // `1,5` is no number with a point, and `1.5` none with a comma.
    let message = reason(&["1,5", "2,5", "3,5", "4.5"]);
    assert!(message.contains("expected a number for `it`, found `4.5`"), "{message}");
}

#[test]
fn nearly_all_numbers_are_numbers_with_mistakes() {
    let message = reason(&["1", "2", "3", "4x"]);
    assert!(
        message.ends_with("t.csv, line 5, column 2: expected a number for `it`, found `4x`"),
        "{message}"
    );
    // As many texts as numbers are categories that happen to contain digits.
    assert_eq!(kind(&["1", "2", "A", "B"]), Kind::Category);
}

#[test]
fn dates_of_two_formats_or_two_readings_are_refused() {
    let message = reason(&["2024-01-31", "2024-02-01", "3.2.2024"]);
    let wanted = "line 4, column 2: expected one format of dates for `it`, year-month-day, found \
                  `3.2.2024`, day.month.year";
    assert!(message.ends_with(wanted), "{message}");
    let message = reason(&["03/04/2024", "05/06/2024"]);
    assert!(message.contains("dates that are day/month/year and month/day/year alike"));
    assert!(message.contains("set format = \"day/month/year\""), "{message}");
    assert_eq!(
        inferred(&["03/04/2024", "13/04/2024"], ';').notation,
        Notation::Date(DateFormat::DaySlashes)
    );
    // The same day in both readings.
    assert_eq!(kind(&["03/03/2024"]), Kind::Date);
    let said = Column { format: Some(DateFormat::MonthSlashes), ..Column::default() };
    let feature = found(&["03/04/2024"], ';', &said, &Limits::default()).unwrap();
    assert_eq!(feature.notation, Notation::Date(DateFormat::MonthSlashes));
}

#[test]
fn categories_have_at_most_so_many_levels() {
    let limits = |rest| Limits { max_levels: 2, rest, hash_buckets: 3, ..Limits::default() };
    let values = ["b", "a", "c", "b", "b", "d", "b", "a", "a"];
    let of = |rest| found(&values, ';', &Column::default(), &limits(rest)).unwrap().column;
    let other = of(Rest::Other);
    assert_eq!(other.levels.as_deref().unwrap(), ["a", "b"]);
    assert_eq!(other.feature_names("it"), ["it=a", "it=b", "it=(other)"]);
    let hashed = of(Rest::Hashed);
    assert_eq!(hashed.feature_names("it"), ["it=a", "it=b", "it#0", "it#1", "it#2"]);
    assert_eq!(of(Rest::Zeros).feature_names("it"), ["it=a", "it=b"]);
    // Numbers in the names are in the order of numbers.
    let said = Column { kind: Some(Kind::Category), ..Column::default() };
    let feature = found(&["10", "9"], ';', &said, &Limits::default()).unwrap();
    assert_eq!(feature.column.levels.unwrap(), ["9", "10"]);
}

#[test]
fn many_texts_are_hashed_and_ids_refused() {
    let words: Vec<String> = (0..200).map(|at| format!("w{}", at % 100)).collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let limits = Limits { max_levels: 10, ..Limits::default() };
    let feature = found(&words, ';', &Column::default(), &limits).unwrap();
    assert_eq!((feature.column.kind, feature.column.buckets), (Some(Kind::Hashed), Some(32)));
    let message = reason(&words[..100]);
    assert!(message.contains("found 100 distinct texts in 100 rows of `it`: --drop it"));
    let said = Column { kind: Some(Kind::Hashed), buckets: Some(4), ..Column::default() };
    let feature = found(&words[..100], ';', &said, &limits).unwrap();
    assert_eq!(feature.column.feature_names("it"), ["it#0", "it#1", "it#2", "it#3"]);
}

#[test]
fn what_is_said_is_checked_value_by_value() {
    let said = |kind| Column { kind: Some(kind), ..Column::default() };
    let reason = |kind, values: &[&str]| {
        found(values, ';', &said(kind), &Limits::default()).err().unwrap().to_string()
    };
    assert!(reason(Kind::Number, &["1", "a", "a"]).ends_with("found `a`, in 2 rows"));
    assert!(reason(Kind::Boolean, &["yes", "2"]).contains("expected yes or no, or true or false"));
    assert!(reason(Kind::Date, &["2024-01-01", "soon"]).contains("expected a date for `it`"));
    let said = Column {
        missing: Some(Missing::Indicator),
        standardise: Some(true),
        kind: Some(Kind::Category),
        ..Column::default()
    };
    let column = found(&["a", ""], ';', &said, &Limits::default()).unwrap().column;
    assert_eq!(column.feature_names("it"), ["it=a", "it=(missing)"]);
    assert_eq!((column.missing, column.standardise), (said.missing, said.standardise));
}
