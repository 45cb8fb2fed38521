//! What a field of an exported table says: nothing, a number, a date, yes or no.

use crate::columns::DateFormat;

/// The character between the whole and the fraction of a number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Decimal {
    Point,
    Comma,
}

/// Whether a field says that there is no value.
pub(crate) fn is_missing(text: &str) -> bool {
    text.len() <= 4 && MISSING.iter().any(|word| text.eq_ignore_ascii_case(word))
}

/// The words for no value, in any case.
const MISSING: [&str; 7] = ["", "na", "n/a", "nan", "null", "-", "?"];

/// A finite number, also with a separator between groups of three digits.
pub(crate) fn number(text: &str, decimal: Decimal) -> Option<f32> {
    let (group, point) = match decimal {
        Decimal::Point => (',', '.'),
        Decimal::Comma => ('.', ','),
    };
    let (whole, fraction) = match text.split_once(point) {
        Some((whole, fraction)) => (whole, Some(fraction)),
        None => (text, None),
    };
    if fraction.is_some_and(|fraction| fraction.contains([group, point])) {
        return None;
    }
    let whole = if whole.contains(group) { ungrouped(whole, group)? } else { whole.to_owned() };
    let plain = fraction.map_or(whole.clone(), |fraction| format!("{whole}.{fraction}"));
    // Words such as `inf` are numbers to the parser and none in a table.
    let is_numeric = plain.bytes().any(|byte| byte.is_ascii_digit());
    plain.parse().ok().filter(|number: &f32| is_numeric && number.is_finite())
}

/// The same number without groups and with a decimal point, digit by digit.
pub(crate) fn plain(text: &str, decimal: Decimal) -> String {
    match decimal {
        Decimal::Point => text.replace(',', ""),
        Decimal::Comma => text.replace('.', "").replace(',', "."),
    }
}

/// The digits of a whole number in groups of three.
fn ungrouped(text: &str, group: char) -> Option<String> {
    let digits = text.trim_start_matches(['-', '+']);
    let mut groups = digits.split(group);
    let first = groups.next()?;
    let is_grouped = (1..=3).contains(&first.len())
        && groups.all(|group| group.len() == 3)
        && digits.chars().all(|c| c.is_ascii_digit() || c == group);
    is_grouped.then(|| text.replace(group, ""))
}

/// Days since 1 January 1970, with the time of day as a fraction.
pub(crate) fn date(text: &str, format: DateFormat) -> Option<f64> {
    let (day, time) = match text.split_once(['T', ' ']) {
        Some((day, time)) => (day, Some(time)),
        None => (text, None),
    };
    let (year, month, day) = parts(day, format)?;
    let fraction = time.map_or(Some(0.0), |time| time_of_day(time.trim()))?;
    Some(days_since_1970(year, month, day) as f64 + fraction)
}

/// The same date as ISO 8601 writes it; the time stays as it is.
pub(crate) fn iso(text: &str, format: DateFormat) -> Option<String> {
    let day = text.split(['T', ' ']).next()?;
    let (year, month, number) = parts(day, format)?;
    Some(format!("{year:04}-{month:02}-{number:02}{}", &text[day.len()..]))
}

/// Year, month and day of a date that exists.
fn parts(text: &str, format: DateFormat) -> Option<(i64, i64, i64)> {
    let (separator, order) = match format {
        DateFormat::Iso => ('-', [0, 1, 2]),
        DateFormat::YearSlashes => ('/', [0, 1, 2]),
        DateFormat::Dots => ('.', [2, 1, 0]),
        DateFormat::DaySlashes => ('/', [2, 1, 0]),
        DateFormat::DayDashes => ('-', [2, 1, 0]),
        DateFormat::MonthSlashes => ('/', [2, 0, 1]),
    };
    let fields: Vec<&str> = text.split(separator).collect();
    let [_, _, _] = fields[..] else { return None };
    let [year, month, day] = order.map(|at| fields[at]);
    let lengths = year.len() == 4 && (1..=2).contains(&month.len()) && (1..=2).contains(&day.len());
    let is_digits = text.chars().all(|c| c.is_ascii_digit() || c == separator);
    if !lengths || !is_digits {
        return None;
    }
    let [year, month, day] = [year, month, day].map(|field| field.parse().unwrap_or(0));
    ((1..=12).contains(&month) && (1..=days_of(year, month)).contains(&day))
        .then_some((year, month, day))
}

/// The number of days of a month.
fn days_of(year: i64, month: i64) -> i64 {
    let leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
    match month {
        2 => 28 + i64::from(leap),
        4 | 6 | 9 | 11 => 30,
        _ => 31,
    }
}

/// Days from 1 January 1970 in the Gregorian calendar. Years are counted from March, so that the
/// leap day is the last of a year.
fn days_since_1970(year: i64, month: i64, day: i64) -> i64 {
    let year = if month <= 2 { year - 1 } else { year };
    let months_since_march = (month + 9) % 12;
    // 153 days are five months from March on; 719,468 days lie between 1 March 0 and 1970.
    let day_of_year = (153 * months_since_march + 2) / 5 + day - 1;
    365 * year + year.div_euclid(4) - year.div_euclid(100) + year.div_euclid(400) + day_of_year
        - 719_468
}

/// The date of a day counted from 1970, as ISO 8601 writes it.
#[cfg_attr(not(any(feature = "parquet", test)), expect(dead_code, reason = "only Parquet counts"))]
pub(crate) fn iso_of_days(days: i64) -> String {
    // Years are counted from March, in cycles of 400 years, which have 146,097 days.
    let days = days + 719_468;
    let (cycle, day) = (days.div_euclid(146_097), days.rem_euclid(146_097));
    let year = (day - day / 1460 + day / 36_524 - day / 146_096) / 365;
    let of_year = day - (365 * year + year / 4 - year / 100);
    let months_since_march = (5 * of_year + 2) / 153;
    let day = of_year - (153 * months_since_march + 2) / 5 + 1;
    let month = (months_since_march + 2) % 12 + 1;
    let year = 400 * cycle + year + i64::from(month <= 2);
    format!("{year:04}-{month:02}-{day:02}")
}

/// `HH:MM`, `HH:MM:SS` or with a fraction, in UTC if `Z` or an offset follows: the share of a day.
fn time_of_day(text: &str) -> Option<f64> {
    let text = text.strip_suffix('Z').unwrap_or(text);
    let (text, offset) = match text.rfind(['+', '-']) {
        Some(at) => {
            let sign = if text[at..].starts_with('+') { 1.0 } else { -1.0 };
            (&text[..at], sign * clock(&text[at + 1..])?)
        }
        None => (text, 0.0),
    };
    Some((clock(text)? - offset) / 86_400.0)
}

/// Seconds since midnight.
fn clock(text: &str) -> Option<f64> {
    let fields: Vec<&str> = text.split(':').collect();
    let (hours, minutes, seconds) = match fields[..] {
        [hours, minutes] => (hours, minutes, "0"),
        [hours, minutes, seconds] => (hours, minutes, seconds),
        _ => return None,
    };
    if !fields.iter().all(|field| field.starts_with(|c: char| c.is_ascii_digit())) {
        return None;
    }
    let (hours, minutes): (u32, u32) = (hours.parse().ok()?, minutes.parse().ok()?);
    let seconds: f64 = seconds.parse().ok()?;
    (hours < 24 && minutes < 60 && seconds < 61.0)
        .then(|| f64::from(hours * 3600 + minutes * 60) + seconds)
}

/// Whether a word says yes or no.
pub(crate) fn boolean(text: &str) -> Option<bool> {
    let is = |words: &[&str]| words.iter().any(|word| text.eq_ignore_ascii_case(word));
    if is(&["true", "t", "yes", "y", "ja", "j", "oui", "si", "1"]) {
        Some(true)
    } else if is(&["false", "f", "no", "n", "nein", "non", "0"]) {
        Some(false)
    } else {
        None
    }
}

/// The number of the feature that a text shares with others: its 64-bit FNV-1a modulo `buckets`.
pub(crate) fn bucket(text: &str, buckets: u32) -> u32 {
    let hash = text.bytes().fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    });
    (hash % u64::from(buckets.max(1))) as u32
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn numbers_may_have_groups_and_a_comma() {
        for (text, point, comma) in [
            ("1.5", Some(1.5), None),
            ("1,5", None, Some(1.5)),
            ("-1,234.5", Some(-1234.5), None),
            ("1.234.567,5", None, Some(1_234_567.5)),
            ("1.234", Some(1.234), Some(1234.0)),
            ("1e3", Some(1000.0), Some(1000.0)),
            ("12", Some(12.0), Some(12.0)),
            ("1,23,456", None, None),
            ("inf", None, None),
            ("1e99", None, None),
            ("12x", None, None),
            (".", None, None),
        ] {
            assert_eq!(number(text, Decimal::Point), point, "{text}");
            assert_eq!(number(text, Decimal::Comma), comma, "{text}");
            for (decimal, value) in [(Decimal::Point, point), (Decimal::Comma, comma)] {
                if value.is_some() {
                    assert_eq!(plain(text, decimal).parse().ok(), value, "{text}");
                }
            }
        }
    }

    #[test]
    fn dates_are_days_since_1970() {
        for (text, format, days) in [
            ("1970-01-01", DateFormat::Iso, 0.0),
            ("2000-03-01", DateFormat::Iso, 11017.0),
            ("31.12.1969", DateFormat::Dots, -1.0),
            ("12/31/2024", DateFormat::MonthSlashes, 20088.0),
            ("31/12/2024", DateFormat::DaySlashes, 20088.0),
            ("2024/12/31", DateFormat::YearSlashes, 20088.0),
            ("31-12-2024", DateFormat::DayDashes, 20088.0),
            ("1970-01-02T12:00:00Z", DateFormat::Iso, 1.5),
            ("1970-01-02 06:00", DateFormat::Iso, 1.25),
            ("1970-01-02T12:00:00.5+06:00", DateFormat::Iso, 1.25 + 0.5 / 86_400.0),
        ] {
            let found = date(text, format).unwrap();
            assert!((found - days).abs() < 1e-9, "{text}: {found}");
        }
        for text in ["2023-02-29", "2024-13-01", "24-01-01", "2024-1-", "2024-01-01T25:00", "x"] {
            assert_eq!(date(text, DateFormat::Iso), None, "{text}");
        }
        assert_eq!(iso("3.1.2024 10:00", DateFormat::Dots).unwrap(), "2024-01-03 10:00");
    }

    #[test]
    fn words_for_nothing_and_for_yes_and_no() {
        for word in ["", "NA", "NaN", "null", "NULL", "-", "?", "n/a"] {
            assert!(is_missing(word), "{word}");
        }
        assert!(!is_missing("none") && !is_missing("0") && !is_missing("n"));
        assert_eq!(["Yes", "no", "TRUE", "nein", "maybe"].map(boolean), YES_AND_NO);
    }

    const YES_AND_NO: [Option<bool>; 5] = [Some(true), Some(false), Some(true), Some(false), None];

    /// The first is the published test vector of FNV-1a with 64 bits.
    #[test]
    fn buckets_are_those_of_fnv_1a() {
        assert_eq!(bucket("a", u32::MAX), (0xaf63_dc4c_8601_ec8c_u64 % 0xffff_ffff) as u32);
        assert_eq!(bucket("anything", 1), 0);
    }

    proptest! {
        #[test]
        fn every_day_is_one_more_than_the_day_before(days in -300_000i64..300_000) {
            // Finds the date of a day by search from a year that is not too late.
            let mut year = 1970 + days.div_euclid(366) - 2;
            while days_since_1970(year + 1, 1, 1) <= days {
                year += 1;
            }
            let mut month = 12;
            while days_since_1970(year, month, 1) > days {
                month -= 1;
            }
            let day = days - days_since_1970(year, month, 1) + 1;
            prop_assert!((1..=days_of(year, month)).contains(&day));
            prop_assume!((0..10_000).contains(&year));
            let text = format!("{day:02}.{month:02}.{year:04}");
            prop_assert_eq!(date(&text, DateFormat::Dots), Some(days as f64));
            let written = iso(&text, DateFormat::Dots).unwrap();
            prop_assert_eq!(&iso_of_days(days), &written);
            prop_assert_eq!(date(&written, DateFormat::Iso), Some(days as f64));
        }

        #[test]
        fn no_text_panics(text in ".{0,20}") {
            is_missing(&text);
            number(&text, Decimal::Comma);
            number(&text, Decimal::Point);
            for format in DateFormat::ALL {
                date(&text, *format);
                iso(&text, *format);
            }
        }
    }
}
