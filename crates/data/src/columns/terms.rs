//! The words of `columns.toml`: roles, kinds, what becomes of other values, formats of dates.

use boostfgl_graph::{Error, Result};
use serde::{Serialize, Serializer};

/// An enum whose values have names in files.
macro_rules! named {
    (
        $(#[$doc:meta])* $name:ident, $what:literal:
        $($(#[$of:meta])* $value:ident => $text:literal,)+
    ) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub enum $name {
            $($(#[$of])* $value,)+
        }

        impl $name {
            /// Every value.
            pub const ALL: &'static [Self] = &[$(Self::$value,)+];

            /// The name in files.
            pub fn name(self) -> &'static str {
                match self {
                    $(Self::$value => $text,)+
                }
            }

            /// The value of that name.
            ///
            /// # Errors
            /// If there is none; the nearest name is suggested.
            pub fn named(name: &str) -> Result<Self> {
                let all = Self::ALL.iter().copied();
                all.clone().find(|value| value.name() == name).ok_or_else(|| {
                    Error::unknown($what, name, all.map(Self::name))
                })
            }
        }

        impl Serialize for $name {
            fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
                to.serialize_str(self.name())
            }
        }
    };
}

named! {
    /// What a column is for.
    Role, "role":
    /// The name of the node.
    Id => "id",
    /// Its class.
    Label => "label",
    /// Its role in training.
    Split => "split",
    /// A grouping for evaluation, which training does not see.
    Group => "group",
    /// One or several features.
    Feature => "feature",
    /// The name of the node where an edge begins.
    Src => "src",
    /// The name of the node where it ends.
    Dst => "dst",
    /// Its weight.
    Weight => "weight",
    /// Left out.
    Drop => "drop",
}

named! {
    /// How the texts of a feature column become numbers.
    Kind, "kind of column":
    /// As they are.
    Number => "number",
    /// Days since 1970.
    Date => "date",
    /// 1 for yes and true, 0 for no and false.
    Boolean => "boolean",
    /// A feature of 0 and 1 for each level.
    Category => "category",
    /// A few features of 0 and 1 that all values share.
    Hashed => "hashed",
}

named! {
    /// What becomes of values of a category that are no level.
    Rest, "treatment of other values":
    /// All features are 0.
    Zeros => "zeros",
    /// They share one feature.
    Other => "other",
    /// They share a few features.
    Hashed => "hashed",
}

named! {
    /// The order and separator of day, month and year; years have four digits.
    DateFormat, "format of dates":
    /// 2024-12-31, as ISO 8601 writes it.
    Iso => "year-month-day",
    /// 31.12.2024.
    Dots => "day.month.year",
    /// 31/12/2024.
    DaySlashes => "day/month/year",
    /// 12/31/2024.
    MonthSlashes => "month/day/year",
    /// 2024/12/31.
    YearSlashes => "year/month/day",
    /// 31-12-2024.
    DayDashes => "day-month-year",
}

impl Role {
    /// Whether only one column of a table can have it.
    pub fn is_single(self) -> bool {
        !matches!(self, Self::Group | Self::Feature | Self::Drop)
    }

    /// The roles of columns of node tables.
    pub const OF_NODES: &'static [Self] =
        &[Self::Id, Self::Label, Self::Split, Self::Group, Self::Feature, Self::Drop];
    /// The roles of columns of edge tables.
    pub const OF_EDGES: &'static [Self] = &[Self::Src, Self::Dst, Self::Weight, Self::Drop];
}

/// Names in a message: `a, b or c`.
pub(crate) fn one_of(names: &[&str]) -> String {
    match names {
        [] => "nothing".to_owned(),
        [only] => (*only).to_owned(),
        [first @ .., last] => format!("{} or {last}", first.join(", ")),
    }
}
