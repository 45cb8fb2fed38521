//! The formats of exports.

use crate::{Error, Result};

/// A format of an export.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Format {
    /// Comma-separated values, for spreadsheets and R.
    Csv,
    /// A list of objects, one per row.
    Json,
    /// Typed columns, for data frames; needs the feature `parquet`.
    Parquet,
    /// Tables for papers, with rules of the package booktabs.
    Latex,
    /// Tables for documents.
    Markdown,
    /// Event files with the curves of each seed.
    Tensorboard,
}

impl Format {
    /// All of them.
    pub const ALL: [Self; 6] =
        [Self::Csv, Self::Json, Self::Parquet, Self::Latex, Self::Markdown, Self::Tensorboard];

    /// The name on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Self::Csv => "csv",
            Self::Json => "json",
            Self::Parquet => "parquet",
            Self::Latex => "latex",
            Self::Markdown => "markdown",
            Self::Tensorboard => "tensorboard",
        }
    }

    /// The name in a sentence.
    pub fn title(self) -> &'static str {
        match self {
            Self::Csv => "CSV",
            Self::Json => "JSON",
            Self::Parquet => "Parquet",
            Self::Latex => "LaTeX",
            Self::Markdown => "Markdown",
            Self::Tensorboard => "TensorBoard",
        }
    }

    /// Whether the program was built with it.
    pub fn is_built_in(self) -> bool {
        self != Self::Parquet || cfg!(feature = "parquet")
    }

    /// Parses a list such as `csv,parquet`. `all` means every format that is built in, `tex` and
    /// `md` are short for `latex` and `markdown`.
    ///
    /// ```
    /// use boostfgl_report::export::Format;
    ///
    /// assert_eq!(Format::parse("md, csv,csv")?, [Format::Csv, Format::Markdown]);
    /// let error = Format::parse("jsn").unwrap_err().to_string();
    /// assert!(error.starts_with("unknown format `jsn` (did you mean `json`?); there are csv, json,"));
    /// # Ok::<(), boostfgl_report::Error>(())
    /// ```
    ///
    /// # Errors
    /// If a name is unknown; the error suggests the nearest.
    pub fn parse(list: &str) -> Result<Vec<Self>> {
        let mut found = Vec::new();
        for name in list.split(',').map(str::trim).filter(|name| !name.is_empty()) {
            match name {
                "all" => found.extend(Self::ALL.into_iter().filter(|format| format.is_built_in())),
                "tex" => found.push(Self::Latex),
                "md" => found.push(Self::Markdown),
                _ => {
                    let known = Self::ALL.into_iter().find(|format| format.name() == name);
                    found.push(known.ok_or_else(|| {
                        Error::unknown("format", name, &Self::ALL.map(Self::name))
                    })?);
                }
            }
        }
        found.sort_unstable();
        found.dedup();
        Ok(found)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_are_sets_and_unknown_names_get_the_nearest() {
        assert_eq!(
            Format::parse("tensorboard, tex,latex").unwrap(),
            [Format::Latex, Format::Tensorboard]
        );
        assert!(Format::parse("").unwrap().is_empty());
        let all = Format::parse("all").unwrap();
        assert_eq!(all.contains(&Format::Parquet), cfg!(feature = "parquet"));
        let error = Format::parse("csv,tensorbord").unwrap_err().to_string();
        assert!(error.contains("`tensorbord` (did you mean `tensorboard`?)"), "{error}");
        let error = Format::parse("excel").unwrap_err().to_string();
        assert!(!error.contains("did you mean"), "{error}");
    }
}
