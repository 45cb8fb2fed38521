//! Names of runs: method, boosts and changed settings, or the name given by the user.

use crate::Summary;
use boostfgl_fed::boost::Boost;

/// The longest name that can be given to a run, in characters.
pub const LONGEST: usize = 80;

/// The longest name of a folder that is made from a name, in bytes. Longer ones end in a part of
/// their BLAKE3.
const LONGEST_FOLDER: usize = 80;

/// The method with its boosts: `fedavg`, `fedgta + all`, `fedavg + node,model`.
pub fn label(method: &str, boost: &[String]) -> String {
    let all = Boost::ALL.iter().all(|wanted| boost.iter().any(|boost| boost == wanted.name()));
    match (method, boost) {
        // The name `boostfgl` alone means that all boosts are on.
        ("boostfgl", []) => "boostfgl + none".to_owned(),
        (method, []) => method.to_owned(),
        ("boostfgl", _) if all => "boostfgl".to_owned(),
        (method, _) if all => format!("{method} + all"),
        (method, some) => format!("{method} + {}", some.join(",")),
    }
}

/// A label with the settings that were changed: `fedavg + topology, edge_score=reliability`.
pub fn composed(label: &str, changed: &[String]) -> String {
    std::iter::once(label).chain(changed.iter().map(String::as_str)).collect::<Vec<_>>().join(", ")
}

/// The defect of a name that the user gives to a run, worded as what was expected; `None` for a
/// valid name.
///
/// ```
/// use boostfgl_report::name::objection;
/// assert_eq!(objection("edge scores, 2nd try"), None);
/// assert!(objection("a/b").is_some() && objection(" ").is_some());
/// ```
pub fn objection(name: &str) -> Option<String> {
    if name.trim().is_empty() {
        return Some("a name that is not empty".to_owned());
    }
    if name.contains(['/', '\\']) {
        return Some("a name without / and \\, since it is not a path (--out is)".to_owned());
    }
    if name.chars().any(char::is_control) {
        return Some("a name on one line".to_owned());
    }
    if folder(name).is_empty() {
        return Some("a name with a letter or a digit".to_owned());
    }
    (name.chars().count() > LONGEST).then(|| format!("a name of at most {LONGEST} characters"))
}

/// A name as the name of a folder: letters, digits and `-_.+,=` only, of bounded length,
/// deterministic.
///
/// ```
/// use boostfgl_report::name::folder;
/// assert_eq!(folder("fedavg + topology, edge_score=reliability"), "fedavg+topology,edge_score=reliability");
/// assert_eq!(folder("ogbn-arxiv (planted features)"), "ogbn-arxiv-planted-features");
/// ```
pub fn folder(name: &str) -> String {
    let tight = name.replace(" + ", "+").replace(", ", ",");
    let plain: String = tight.chars().map(|c| if is_safe(c) { c } else { '-' }).collect();
    let joined = plain.split('-').filter(|part| !part.is_empty()).collect::<Vec<_>>().join("-");
    let trimmed = joined.trim_matches(['.', ',', '+', '=', '-']);
    if trimmed.len() <= LONGEST_FOLDER {
        return trimmed.to_owned();
    }
    let digest = blake3::hash(name.as_bytes()).to_hex();
    let kept = trimmed[..LONGEST_FOLDER - 9].trim_end_matches(['.', ',', '+', '=', '-']);
    format!("{kept}-{}", &digest[..8])
}

/// Whether a character is allowed in the name of a folder.
fn is_safe(c: char) -> bool {
    c.is_ascii_alphanumeric() || "-_.+,=".contains(c)
}

impl Summary {
    /// The name of the run: that given by the user, or method, boosts and changed settings.
    pub fn called(&self) -> String {
        self.name.clone().unwrap_or_else(|| composed(&self.label(), &self.changed))
    }

    /// The name of the run where no other run of its method is shown: that given by the user, or
    /// method and boosts.
    pub fn called_alone(&self) -> String {
        self.name.clone().unwrap_or_else(|| self.label())
    }
}

/// Labels of runs in one table: the name that the user gave, or the method with the changed settings
/// that not all runs share. All changed settings are named where that is still ambiguous.
pub fn distinct_labels<'a>(runs: impl IntoIterator<Item = &'a Summary>) -> Vec<String> {
    let runs: Vec<&Summary> = runs.into_iter().collect();
    let mut short = Vec::with_capacity(runs.len());
    for run in &runs {
        let own: Vec<String> =
            run.changed.iter().filter(|change| !shared(change, &runs)).cloned().collect();
        short.push(run.name.clone().unwrap_or_else(|| composed(&run.label(), &own)));
    }
    let mut labels = Vec::with_capacity(runs.len());
    for (run, label) in runs.iter().zip(&short) {
        let is_unique = short.iter().filter(|other| *other == label).count() == 1;
        labels.push(if is_unique { label.clone() } else { run.called() });
    }
    labels
}

/// Whether all runs have a changed setting.
fn shared(change: &String, runs: &[&Summary]) -> bool {
    runs.iter().all(|run| run.changed.contains(change))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn folders_are_safe_bounded_and_distinct() {
        for (name, wanted) in [
            ("fedavg", "fedavg"),
            ("fedavg + node,model, rounds=3", "fedavg+node,model,rounds=3"),
            ("../../etc", "etc"),
            ("..", ""),
            ("a b\tc:d*e?ä", "a-b-c-d-e"),
            ("file=runs/a/partition.csv", "file=runs-a-partition.csv"),
        ] {
            assert_eq!(folder(name), wanted, "{name}");
        }
        let long = |last: char| {
            composed("fedavg", &vec!["some_key=0.125".to_owned(); 30]) + &last.to_string()
        };
        let (one, other) = (folder(&long('1')), folder(&long('2')));
        assert!(one.len() <= LONGEST_FOLDER && one.starts_with("fedavg,some_key=0.125,"), "{one}");
        assert!(one != other && one == folder(&long('1')), "{one}, {other}");
    }

    #[test]
    fn invalid_names_are_refused() {
        for bad in ["", " ", "a/b", "a\\b", "a\nb", "..", "-", &"x".repeat(LONGEST + 1)] {
            assert!(objection(bad).is_some(), "{bad:?}");
        }
        for good in ["a", "second try", "γ = 0.5", &"x".repeat(LONGEST)] {
            assert_eq!(objection(good), None, "{good:?}");
        }
    }
}
