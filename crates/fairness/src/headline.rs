//! The headline metrics: one table, which every file and every view of results iterates.

use serde::{Deserialize, Serialize};

use crate::metrics::{Accuracy, MacroF1};
use crate::{Group, Metric, Reading};

/// A metric on a group of nodes that every run reports.
pub struct Headline {
    /// The key in files and on the command line, for example `hete_min_f1`.
    pub key: &'static str,
    /// The heading of a column, for example `Hete-min-F1`.
    pub title: &'static str,
    /// What the pooled reading means, in one line below a table.
    pub meaning: &'static str,
    /// What the reading over present classes means, where it stands next to the pooled one in the
    /// main table; elsewhere it is among the other readings.
    pub present: Option<&'static str>,
    /// The nodes that are evaluated.
    pub group: Group,
    /// What is computed on them.
    pub metric: &'static dyn Metric,
    /// Its column in tables, by reading: see [`Headline::column`].
    columns: [&'static str; 3],
    /// The position in the table, which is the position of its value in [`PerHeadline`].
    index: usize,
}

impl Headline {
    /// The key of a column that shows one reading, for example `hete_min_f1_present`; the pooled
    /// one has the key of the metric itself.
    pub fn column(&self, reading: Reading) -> &'static str {
        self.columns[reading as usize]
    }

    /// The headline metric with that key.
    ///
    /// ```
    /// use boostfgl_fairness::Headline;
    /// assert_eq!(Headline::find("hete_f1").unwrap().title, "Hete-F1");
    /// assert!(Headline::find("auc").is_none());
    /// ```
    pub fn find(key: &str) -> Option<&'static Self> {
        HEADLINES.iter().find(|headline| headline.key == key)
    }
}

/// Makes [`PerHeadline`] and [`HEADLINES`] from one list, so that they cannot disagree.
macro_rules! headlines {
    ($(
        $(#[$attribute:meta])*
        $key:ident, $title:literal, $metric:expr, $group:ident, $meaning:literal
        $(, present $present:literal)?;
    )+) => {
        /// One value of type `T` for every headline metric. Files have them under their keys.
        #[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
        pub struct PerHeadline<T> {
            $($(#[$attribute])* pub $key: T,)+
        }

        /// How many headline metrics there are.
        const COUNT: usize = [$(stringify!($key)),+].len();

        /// Every headline metric, in the order of tables and files.
        pub static HEADLINES: PerHeadline<Headline> = {
            let mut count = 0;
            PerHeadline {
                $($key: Headline {
                    key: stringify!($key),
                    title: $title,
                    meaning: $meaning,
                    present: headlines!(@optional $($present)?),
                    group: Group::$group,
                    metric: &$metric,
                    columns: [
                        stringify!($key),
                        concat!(stringify!($key), "_present"),
                        concat!(stringify!($key), "_client"),
                    ],
                    index: {
                        count += 1;
                        count - 1
                    },
                },)+
            }
        };

        impl<T> PerHeadline<T> {
            /// The value that `make` gives for each headline metric.
            pub fn from_fn(mut make: impl FnMut(&'static Headline) -> T) -> Self {
                Self { $($key: make(&HEADLINES.$key),)+ }
            }

            /// The values in the order of the table.
            pub fn iter(&self) -> impl Iterator<Item = &T> {
                self.values().into_iter()
            }

            fn values(&self) -> [&T; COUNT] {
                [$(&self.$key),+]
            }
        }
    };
    (@optional) => { None };
    (@optional $value:literal) => { Some($value) };
}

impl<T> PerHeadline<T> {
    /// The value of one headline metric.
    pub fn get(&self, headline: &Headline) -> &T {
        self.values()[headline.index]
    }
}

// A metric that is added later needs `#[serde(default)]`, since older files do not have it.
headlines! {
    /// Accuracy on all evaluated nodes.
    accuracy, "Accuracy", Accuracy, All,
        "share of test nodes predicted right";
    /// Macro-F1 on all evaluated nodes.
    overall_f1, "Overall-F1", MacroF1::EXACT, All,
        "macro-F1 on all test nodes: every class counts the same";
    /// Macro-F1 on the heterophilous ones.
    hete_f1, "Hete-F1", MacroF1::EXACT, Heterophilous,
        "macro-F1 on heterophilous nodes: at most half the neighbours share the class";
    /// Macro-F1 on the heterophilous ones of minority classes. Few classes are present there, so
    /// the pooled reading cannot reach 1 and the one over present classes stands next to it.
    hete_min_f1, "Hete-min-F1", MacroF1::EXACT, HeteMin,
        "macro-F1 on heterophilous nodes of minority classes; absent classes add 0",
        present "the same, averaged over the classes present among them";
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_value_is_found_by_its_headline() {
        let keys = PerHeadline::from_fn(|headline| headline.key);
        assert_eq!(keys.iter().count(), COUNT);
        for headline in HEADLINES.iter() {
            assert_eq!(*keys.get(headline), headline.key);
            assert!(std::ptr::eq(Headline::find(headline.key).unwrap(), headline));
        }
    }

    #[test]
    fn files_have_the_values_under_the_keys_in_the_order_of_the_table() {
        let titles = PerHeadline::from_fn(|headline| headline.title);
        assert_eq!(
            serde_json::to_string(&titles).unwrap(),
            r#"{"accuracy":"Accuracy","overall_f1":"Overall-F1","hete_f1":"Hete-F1","#.to_owned()
                + r#""hete_min_f1":"Hete-min-F1"}"#
        );
    }
}
