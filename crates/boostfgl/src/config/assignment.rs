//! One key with a value, as `--set` and `--vary` give it.

use super::dotted::{insert, merge};
use super::lookup::{check_key, full_path, in_plain_words, is_known, last, unknown_key};
use super::{Checked, Config, renamed};
use crate::{Error, Result};
use toml::{Table, Value};

/// A key with a value.
#[derive(Clone, Debug, PartialEq)]
pub struct Assignment {
    /// The dotted path of the key.
    key: String,
    value: Value,
    /// The end of the path by which the key was given, if it was not given by all of it.
    short: Option<String>,
}

impl Assignment {
    /// Reads a key, by its path or the end of it, and a value in TOML; what is not TOML is a
    /// string. `flag` is for messages.
    ///
    /// ```
    /// use boostfgl::config::Assignment;
    ///
    /// let rate = Assignment::parse("lr", "0.01", "--vary").unwrap();
    /// assert_eq!((rate.key(), rate.named()), ("optimizer.learning_rate", "learning_rate=0.01".to_owned()));
    /// let error = Assignment::parse("learnin_rate", "1", "--vary").unwrap_err().to_string();
    /// assert!(error.contains("did you mean `optimizer.learning_rate`?"), "{error}");
    /// ```
    ///
    /// # Errors
    /// If the key is unknown; the nearest is suggested.
    pub fn parse(key: &str, value: &str, flag: &str) -> Result<Self> {
        let wrong = |reason| Error::Config { place: flag.to_owned(), reason };
        let value = parse_value(key, value);
        let (key, value) = renamed::resolve(key.trim(), value).map_err(wrong)?;
        let path = full_path(&key).ok_or_else(|| wrong(unknown_key(&key)))?;
        let mut table = Table::new();
        insert(&mut table, &path, value.clone());
        check_key(&table, &path).map_err(wrong)?;
        let short = (path != key).then_some(key);
        Ok(Self { key: path, value, short })
    }

    /// The dotted path of the key.
    pub fn key(&self) -> &str {
        &self.key
    }

    /// The value without quotes.
    pub fn shown(&self) -> String {
        self.value.as_str().map_or_else(|| self.value.to_string(), str::to_owned)
    }

    /// The key, as short as it is unambiguous, and the value: `learning_rate=0.01`.
    pub fn named(&self) -> String {
        format!("{}={}", self.short_key(), self.shown())
    }

    /// The last part of the key where no other key ends in it, else more of it.
    pub fn short_key(&self) -> &str {
        match full_path(last(&self.key)) {
            Some(meant) if meant == self.key => last(&self.key),
            _ => self.key.strip_prefix("methods.").unwrap_or(&self.key),
        }
    }

    /// Refuses a key that was given by its last part if a method has one of that name too, since
    /// either may be meant.
    ///
    /// # Errors
    /// Names both keys.
    pub(crate) fn check_for(&self, method: &str) -> Result<()> {
        let Some(short) = &self.short else { return Ok(()) };
        let own = format!("methods.{method}.{short}");
        if own == self.key || !is_known(&own) {
            return Ok(());
        }
        let reason = format!(
            "`{short}` is ambiguous with the method {method}: expected one of {}, {own}",
            self.key
        );
        Err(Error::Config { place: "--vary".to_owned(), reason })
    }

    /// Whether the key has an effect on a method with boosts: it is not a setting of another method
    /// or of a boost that is off.
    pub(crate) fn concerns(&self, method: &str, boosts: &[&str]) -> bool {
        let mut parts = self.key.split('.');
        match (parts.next(), parts.next()) {
            (Some("methods"), Some(other)) => other == method,
            (Some("boost"), Some(boost)) => boosts.contains(&boost),
            _ => true,
        }
    }
}

/// A value in TOML; what is not, is a string.
pub(super) fn parse_value(key: &str, text: &str) -> Value {
    let text = text.trim();
    // `nan` and `inf` are numbers in TOML, and words where they name an attack.
    let word = full_path(key.trim()).is_some_and(|path| path == "attack.kind");
    let parsed =
        toml::from_str::<Table>(&format!("v = {text}")).ok().and_then(|mut t| t.remove("v"));
    let parsed = parsed.filter(|value| !(word && value.is_float()));
    parsed.unwrap_or_else(|| Value::String(text.to_owned()))
}

impl Config {
    /// The same configuration with other values of some keys.
    ///
    /// # Errors
    /// If a value has the wrong type or is out of range.
    pub fn with(&self, settings: &[Assignment]) -> Result<Checked<Self>> {
        // Every field is a number, a string, a list or a table, which TOML can hold.
        let mut table = Table::try_from(self).expect("a configuration is representable as TOML");
        for Assignment { key, value, .. } in settings {
            let mut one = Table::new();
            insert(&mut one, key, value.clone());
            merge(&mut table, &one);
        }
        let config: Self =
            serde_path_to_error::deserialize(Value::Table(table)).map_err(|error| {
                let place = error.path().to_string();
                Error::Config { place, reason: in_plain_words(error.into_inner().message()) }
            })?;
        config.checked()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn assignment(key: &str, value: &str) -> Assignment {
        Assignment::parse(key, value, "--vary").unwrap()
    }

    #[test]
    fn a_changed_configuration_equals_one_that_is_set_so() {
        let settings = [assignment("lr", "1"), assignment("backbone", "sage")];
        let config = Config::default().with(&settings).unwrap();
        let mut wanted = Config::default();
        wanted.optimizer.learning_rate = 1.0;
        assert_eq!(config.to_toml(), wanted.with(&settings[1..]).unwrap().to_toml());
        assert!(config.to_toml().contains("backbone = \"sage\""), "{}", config.to_toml());
    }

    #[test]
    fn wrong_values_are_refused_with_their_key() {
        let message = |key: &str, value: &str| {
            Config::default().with(&[assignment(key, value)]).unwrap_err().to_string()
        };
        let error = message("rounds", "0");
        assert!(error.contains("fed.rounds: expected at least 1, found 0"), "{error}");
        let error = message("lr", "fast");
        assert!(error.contains("optimizer.learning_rate: expected a number"), "{error}");
    }

    #[test]
    fn settings_of_other_methods_and_boosts_do_not_concern_a_method() {
        let mu = assignment("fedprox.mu", "0.1");
        assert!(mu.concerns("fedprox", &[]) && !mu.concerns("fedavg", &[]));
        assert_eq!(mu.named(), "fedprox.mu=0.1");
        let edges = assignment("lambda_e", "0.1");
        assert!(edges.concerns("fedavg", &["topology"]) && !edges.concerns("fedavg", &["node"]));
        assert!(assignment("lr", "0.1").concerns("fedavg", &[]));
    }
}
