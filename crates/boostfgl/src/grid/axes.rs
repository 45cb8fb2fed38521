//! Keys that are varied, and the combinations of their values.

use super::Stacked;
use crate::config::Assignment;
use crate::{Config, Error, Result};

/// A key with the values that it takes.
#[derive(Clone, Debug, PartialEq)]
pub struct Axis {
    values: Vec<Assignment>,
}

/// Several keys with their values: a grid of settings.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Axes(Vec<Axis>);

/// Keys that are not varied, with where they are given.
const GIVEN_OTHERWISE: [(&str, &str); 6] = [
    ("dataset", "Name several datasets as arguments."),
    ("client_data", "Run the clients of each folder on their own."),
    ("method", "Name several methods in --methods."),
    ("boosts", "Stack boosts on methods: --methods fedavg,fedavg+node."),
    ("name", "Leave it out: a comparison names runs by their methods."),
    ("seeds", "Use --seeds: every setting runs under every seed."),
];

/// Sections of keys that decide what pairs are made of: another value is other data to compare on.
const OF_PAIRS: [&str; 3] = ["partition.", "split.", "groups."];

impl Axis {
    /// Reads `learning_rate=0.005,0.01`. Commas inside brackets and quotes do not separate values.
    ///
    /// # Errors
    /// If there is no `=` or no value, the key is unknown or cannot be varied, or a value is given
    /// twice.
    pub fn parse(text: &str) -> Result<Self> {
        let flag = format!("--vary {text}");
        let Some((key, list)) = text.split_once('=') else {
            let reason = "expected KEY=VALUE,VALUE, found no `=`";
            return Err(Error::usage(flag, reason, "For example --vary lr=0.005,0.01,0.02."));
        };
        let mut values: Vec<Assignment> = Vec::new();
        for value in separated(list) {
            let value = Assignment::parse(key, &value, &flag)?;
            if values.contains(&value) {
                let reason = format!("expected every value once, found {} twice", value.shown());
                return Err(Error::usage(flag, reason, "Leave one of them out."));
            }
            values.push(value);
        }
        let Some(first) = values.first() else {
            // An unknown key is the more useful message.
            Assignment::parse(key, "0", &flag)?;
            let advice = "For example --vary lr=0.005,0.01,0.02.";
            return Err(Error::usage(flag, "expected at least one value, found none", advice));
        };
        if let Some((key, advice)) = GIVEN_OTHERWISE.iter().find(|(key, _)| *key == first.key()) {
            let reason = format!("expected a key that is not given otherwise, found `{key}`");
            return Err(Error::usage(flag, reason, *advice));
        }
        Ok(Self { values })
    }

    /// The dotted path of the key.
    pub fn key(&self) -> &str {
        self.values[0].key()
    }

    /// Whether other values make other partitions, splits or groups, whose runs are no pairs.
    fn divides(&self) -> bool {
        OF_PAIRS.iter().any(|section| self.key().starts_with(section))
    }
}

/// The parts between commas that are outside of brackets and quotes, without those that are empty.
fn separated(list: &str) -> Vec<String> {
    let (mut parts, mut depth, mut quoted) = (vec![String::new()], 0usize, false);
    for c in list.chars() {
        match c {
            '"' => quoted = !quoted,
            '[' | '{' if !quoted => depth += 1,
            ']' | '}' if !quoted => depth = depth.saturating_sub(1),
            _ => {}
        }
        match (c, parts.last_mut()) {
            (',', _) if depth == 0 && !quoted => parts.push(String::new()),
            (c, Some(part)) => part.push(c),
            (_, None) => {}
        }
    }
    parts.iter().map(|part| part.trim().to_owned()).filter(|part| !part.is_empty()).collect()
}

impl Axes {
    /// Reads one axis of every flag.
    ///
    /// # Errors
    /// Names everything that is wrong with the flags.
    pub fn parse(flags: &[String]) -> Result<Self> {
        let (mut axes, mut problems) = (Vec::<Axis>::new(), Vec::new());
        for flag in flags {
            match Axis::parse(flag) {
                Ok(axis) if axes.iter().any(|other| other.key() == axis.key()) => {
                    let reason = format!("expected every key once, found {} twice", axis.key());
                    let advice = "Give all values of a key in one --vary.";
                    problems.push(Error::usage(format!("--vary {flag}"), reason, advice));
                }
                Ok(axis) => axes.push(axis),
                Err(error) => problems.push(error),
            }
        }
        match problems.len() {
            0 => Ok(Self(axes)),
            1 => Err(problems.remove(0)),
            _ => {
                let all: Vec<String> = problems.iter().map(Error::to_string).collect();
                let advice = "`boostfgl config show` lists every key with its meaning.";
                Err(Error::usage("--vary", all.join("; "), advice))
            }
        }
    }

    /// Whether nothing is varied.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The dotted paths of the keys.
    pub fn keys(&self) -> Vec<String> {
        self.0.iter().map(|axis| axis.key().to_owned()).collect()
    }

    /// The axes whose values make pairs, and those that make other partitions, splits or groups.
    pub fn divided(self) -> (Self, Self) {
        let (divides, pairs) = self.0.into_iter().partition(Axis::divides);
        (Self(pairs), Self(divides))
    }

    /// Refuses keys that make other partitions, splits or groups: settings are chosen for one task,
    /// and these make another.
    ///
    /// # Errors
    /// Names the first such key.
    pub fn check_of_pairs(&self) -> Result<()> {
        let Some(axis) = self.0.iter().find(|axis| axis.divides()) else { return Ok(()) };
        let reason = format!(
            "expected a key of training, found `{}`, with which every value is another task",
            axis.key()
        );
        Err(Error::usage("--vary", reason, "`boostfgl compare --vary` shows its values apart."))
    }

    /// Checks every value on its own, so that one message names all that are wrong.
    ///
    /// # Errors
    /// If a value has the wrong type or is out of range.
    pub fn check(&self, config: &Config) -> Result<()> {
        let values = self.0.iter().flat_map(|axis| &axis.values);
        let mut wrong: Vec<Error> =
            values.filter_map(|value| config.with(std::slice::from_ref(value)).err()).collect();
        match wrong.len() {
            0 => Ok(()),
            1 => Err(wrong.remove(0)),
            _ => {
                let all: Vec<String> = wrong.iter().map(Error::to_string).collect();
                let advice = "`boostfgl config show` lists every key with its meaning.";
                Err(Error::usage("--vary", all.join("; "), advice))
            }
        }
    }

    /// The number of combinations.
    pub fn len(&self) -> usize {
        self.0.iter().fold(1, |count: usize, axis| count.saturating_mul(axis.values.len()))
    }

    /// Combination number `at` of [`Axes::combinations`].
    pub fn combination(&self, mut at: usize) -> Vec<Assignment> {
        let mut settings = Vec::with_capacity(self.0.len());
        for axis in self.0.iter().rev() {
            settings.push(axis.values[at % axis.values.len()].clone());
            at /= axis.values.len();
        }
        settings.reverse();
        settings
    }

    /// Every combination of values, the last key changing fastest; one without settings if nothing
    /// is varied.
    pub fn combinations(&self) -> Vec<Vec<Assignment>> {
        let mut all = vec![Vec::new()];
        for axis in &self.0 {
            let mut longer = Vec::with_capacity(all.len() * axis.values.len());
            for settings in &all {
                for value in &axis.values {
                    longer.push(settings.iter().chain([value]).cloned().collect());
                }
            }
            all = longer;
        }
        all
    }
}

/// Every method under every combination of settings. Settings without an effect on a method are left
/// out, so that it runs once for all their values.
///
/// # Errors
/// If a key has no effect on any of the methods, or its short name may mean another key of one.
pub fn under(stacked: &[Stacked], combinations: &[Vec<Assignment>]) -> Result<Vec<Stacked>> {
    for setting in combinations.first().into_iter().flatten() {
        stacked.iter().try_for_each(|one| setting.check_for(one.method.name))?;
        if !stacked.iter().any(|one| one.is_changed_by(setting)) {
            let labels: Vec<String> = stacked.iter().map(Stacked::label).collect();
            let reason = format!(
                "expected a key that one of the methods has ({}), found `{}`",
                labels.join("; "),
                setting.key()
            );
            return Err(Error::usage("--vary", reason, "Add that method or boost to --methods."));
        }
    }
    let mut all: Vec<Stacked> = Vec::new();
    for one in stacked {
        for settings in combinations {
            let one = one.under(settings);
            if !all.iter().any(|other| other.same(&one)) {
                all.push(one);
            }
        }
    }
    Ok(all)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::grid::contenders;

    fn axes(flags: &[&str]) -> Result<Axes> {
        Axes::parse(&flags.iter().map(|&flag| flag.to_owned()).collect::<Vec<_>>())
    }

    fn message(flags: &[&str]) -> String {
        axes(flags).unwrap_err().to_string()
    }

    #[test]
    fn combinations_are_a_grid_with_the_last_key_fastest() {
        let axes = axes(&["lr=0.1,0.2", "model.backbone=gcn, sage"]).unwrap();
        let named = |settings: &Vec<Assignment>| {
            settings.iter().map(Assignment::named).collect::<Vec<_>>().join(" ")
        };
        assert_eq!(
            axes.combinations().iter().map(named).collect::<Vec<_>>(),
            [
                "learning_rate=0.1 backbone=gcn",
                "learning_rate=0.1 backbone=sage",
                "learning_rate=0.2 backbone=gcn",
                "learning_rate=0.2 backbone=sage"
            ]
        );
        assert_eq!(Axes::default().combinations(), [Vec::new()]);
        let by_number: Vec<_> = (0..axes.len()).map(|at| axes.combination(at)).collect();
        assert_eq!(by_number, axes.combinations());
    }

    #[test]
    fn commas_in_lists_and_quotes_do_not_separate() {
        assert_eq!(separated("[1, 2],[3]"), ["[1, 2]", "[3]"]);
        assert_eq!(separated("\"a,b\", c,"), ["\"a,b\"", "c"]);
    }

    #[test]
    fn keys_that_cannot_be_varied_are_refused() {
        for (flags, wanted) in [
            (vec!["lr"], "expected KEY=VALUE,VALUE, found no `=`"),
            (vec!["lr="], "expected at least one value, found none"),
            (vec!["lr=1,1"], "expected every value once, found 1 twice"),
            (vec!["lrr=1"], "unknown key `lrr`"),
            (vec!["seeds=1,2"], "found `seeds`"),
            (vec!["lr=1", "learning_rate=2"], "found optimizer.learning_rate twice"),
        ] {
            let message = message(&flags);
            assert!(message.contains(wanted), "{message}");
        }
        let both = message(&["lrr=1", "rond=2"]);
        assert!(both.contains("`lrr`") && both.contains("`rond`"), "{both}");
    }

    #[test]
    fn a_method_runs_once_for_values_without_effect_on_it() {
        let stacked = contenders("fedavg,fedprox", None).unwrap();
        let combinations = axes(&["fedprox.mu=0.1,1.5"]).unwrap().combinations();
        let labels: Vec<String> =
            under(&stacked, &combinations).unwrap().iter().map(Stacked::label).collect();
        assert_eq!(labels, ["fedavg", "fedprox, fedprox.mu=0.1", "fedprox, fedprox.mu=1.5"]);
        let error = under(&stacked[..1], &combinations).unwrap_err().to_string();
        assert!(error.contains("found `methods.fedprox.mu`"), "{error}");
        let short = axes(&["mu=0.1,1.5"]).unwrap().combinations();
        let error = under(&stacked, &short).unwrap_err().to_string();
        assert!(
            error.contains("ambiguous with the method fedprox")
                && error.contains("boost.node.mu, methods.fedprox.mu"),
            "{error}"
        );
    }
}
