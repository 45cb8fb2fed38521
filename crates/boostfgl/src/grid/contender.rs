//! The list of methods to compare, such as `fedavg,fedgta,fedgta+all`.

use super::Stacked;
use crate::config::Assignment;
use crate::{Error, Result};
use boostfgl_fed::boost::Boost;
use boostfgl_fed::methods::{self, Layout, METHODS, MethodInfo};
use boostfgl_report::{Contender, name};

/// Reads a list such as `fedavg,fedgta+all,fedavg+node+model`; `all` means every method.
///
/// An item without boosts of its own gets `boosts`, or those of the method if that is `None`;
/// `+none` switches all off.
///
/// # Errors
/// If the list is empty, a name is unknown (the nearest is suggested), or an item is listed twice.
///
/// ```
/// let found = boostfgl::grid::contenders("fedavg,fedavg+node+model,boostfgl", None)?;
/// let labels: Vec<String> = found.iter().map(|s| s.label()).collect();
/// assert_eq!(labels, ["fedavg", "fedavg + node,model", "boostfgl"]);
/// # Ok::<(), boostfgl::Error>(())
/// ```
pub fn contenders(list: &str, boosts: Option<&[Boost]>) -> Result<Vec<Stacked>> {
    let mut found: Vec<Stacked> = Vec::new();
    let items: Vec<&str> = list.split(',').map(str::trim).filter(|item| !item.is_empty()).collect();
    for item in items {
        let new = match item {
            "all" => METHODS
                .iter()
                .map(|method| Stacked::new(method, boosts.map(<[Boost]>::to_vec)))
                .collect(),
            item => vec![stacked(item, boosts)?],
        };
        for stacked in new {
            if found.iter().any(|other| other.same(&stacked)) {
                let reason =
                    format!("expected every method once, found `{}` twice", stacked.label());
                return Err(Error::usage(
                    "--methods",
                    reason,
                    "Leave one of them out, or give it other boosts.",
                ));
            }
            found.push(stacked);
        }
    }
    if found.is_empty() {
        let advice = "For example --methods fedavg,boostfgl; `boostfgl methods` lists them.";
        return Err(Error::usage("--methods", "expected at least one method, found none", advice));
    }
    Ok(found)
}

/// The place of `item` among the contenders, written as in the list or as tables name it. A method
/// alone is the first of its settings.
///
/// # Errors
/// If it is unknown, or not among them.
pub fn find(item: &str, boosts: Option<&[Boost]>, among: &[Stacked]) -> Result<usize> {
    if let Some(at) = among.iter().position(|other| other.label() == item) {
        return Ok(at);
    }
    let wanted = stacked(item, boosts)?;
    let is_wanted = |other: &Stacked| other.under(&[]).same(&wanted);
    among.iter().position(is_wanted).ok_or_else(|| {
        let labels: Vec<String> = among.iter().map(Stacked::label).collect();
        let reason =
            format!("expected one of the methods compared ({}), found `{item}`", labels.join("; "));
        Error::usage("--base", reason, "Add it to --methods, or choose another base.")
    })
}

/// `fedavg`, or `fedavg+node+model`.
fn stacked(item: &str, boosts: Option<&[Boost]>) -> Result<Stacked> {
    let (name, own) = match item.split_once('+') {
        Some((name, own)) => (name.trim(), Some(Boost::parse(&own.replace('+', ","))?)),
        None => (item.trim(), boosts.map(<[Boost]>::to_vec)),
    };
    Ok(Stacked::new(methods::find(name)?, own))
}

impl Stacked {
    /// A method with boosts, or with its own if none are given.
    pub fn new(method: &'static MethodInfo, boosts: Option<Vec<Boost>>) -> Self {
        let mut boosts = boosts.unwrap_or_else(|| method.boosts.to_vec());
        boosts.sort_unstable();
        boosts.dedup();
        Self { method, boosts, settings: Vec::new() }
    }

    pub(crate) fn same(&self, other: &Self) -> bool {
        self.method.name == other.method.name
            && self.boosts == other.boosts
            && self.settings == other.settings
    }

    /// Whether a setting has an effect on it.
    pub(super) fn is_changed_by(&self, setting: &Assignment) -> bool {
        let boosts: Vec<&str> = self.boosts.iter().map(|boost| boost.name()).collect();
        setting.concerns(self.method.name, &boosts)
    }

    /// The same method under those of the settings that have an effect on it.
    #[must_use]
    pub fn under(&self, settings: &[Assignment]) -> Self {
        let settings = settings.iter().filter(|setting| self.is_changed_by(setting));
        Self { settings: settings.cloned().collect(), ..self.clone() }
    }

    /// Its name in tables: the method alone if it has its default boosts, else with them; then its
    /// settings.
    pub fn label(&self) -> String {
        let settings: Vec<String> = self.settings.iter().map(Assignment::named).collect();
        name::composed(&self.method_label(), &settings)
    }

    /// Its name without settings.
    pub fn method_label(&self) -> String {
        let mut own = self.method.boosts.to_vec();
        own.sort_unstable();
        let boosts: Vec<&str> = self.boosts.iter().map(|boost| boost.name()).collect();
        match boosts.as_slice() {
            _ if self.boosts == own => self.method.name.to_owned(),
            [] => format!("{} + none", self.method.name),
            all if all.len() == Boost::ALL.len() => format!("{} + all", self.method.name),
            some => format!("{} + {}", self.method.name, some.join(",")),
        }
    }

    /// Its description in reports.
    pub fn contender(&self) -> Contender {
        Contender {
            label: self.label(),
            method: self.method.name.to_owned(),
            boost: self.boosts.iter().map(|boost| boost.name().to_owned()).collect(),
            evaluated: evaluated_model(self.method).to_owned(),
            settings: self
                .settings
                .iter()
                .map(|setting| (setting.key().to_owned(), setting.shown()))
                .collect(),
        }
    }
}

/// Which model is evaluated, in a word.
fn evaluated_model(method: &MethodInfo) -> &'static str {
    match method.layout {
        Layout::Whole => "central",
        Layout::Federated => method.evaluated_model.name(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn message(list: &str) -> String {
        contenders(list, None).unwrap_err().to_string()
    }

    #[test]
    fn items_select_boosts() {
        let labels = |list: &str, boosts: Option<&[Boost]>| -> Vec<String> {
            contenders(list, boosts).unwrap().iter().map(Stacked::label).collect()
        };
        assert_eq!(
            labels("fedavg,boostfgl", Some(&[Boost::Node])),
            ["fedavg + node", "boostfgl + node"]
        );
        assert_eq!(
            labels("fedavg, fedavg+all,fedavg+model+node", None),
            ["fedavg", "fedavg + all", "fedavg + node,model"]
        );
        assert_eq!(labels("boostfgl+none,boostfgl", None), ["boostfgl + none", "boostfgl"]);
        let all = labels("all", None);
        assert_eq!(all, METHODS.iter().map(|method| method.name).collect::<Vec<_>>());
    }

    #[test]
    fn lists_with_mistakes_are_refused() {
        assert_eq!(message("fedavgg"), "unknown method `fedavgg` (did you mean `fedavg`?)");
        assert_eq!(message("fedavg+nodes"), "unknown boost `nodes` (did you mean `node`?)");
        assert_eq!(message(" , "), "--methods: expected at least one method, found none");
        assert_eq!(
            message("fedavg,fedavg+none"),
            "--methods: expected every method once, found `fedavg` twice"
        );
        let among = contenders("fedavg,boostfgl", None).unwrap();
        assert_eq!(find("boostfgl+all", None, &among).unwrap(), 1);
        let error = find("fedavg+all", None, &among).unwrap_err().to_string();
        assert_eq!(
            error,
            "--base: expected one of the methods compared (fedavg; boostfgl), found `fedavg+all`"
        );
    }

    #[test]
    fn the_evaluated_model_is_named_in_a_word() {
        let word = |name: &str| evaluated_model(methods::find(name).unwrap());
        assert_eq!(["fedavg", "isolated", "central"].map(word), ["global", "personal", "central"]);
    }
}
