//! The numbers that the paper prints, for comparison with ours.

/// Table 1 of the paper.
const TABLE1: &str = include_str!("../paper/table1.csv");
/// Table 2 of the paper.
const ABLATION: &str = include_str!("../paper/ablation.csv");

/// A mean and a standard deviation as printed, in percent.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Printed {
    /// The mean.
    pub mean: f64,
    /// The standard deviation.
    pub std: f64,
}

/// What the paper prints for a metric, method and dataset; `None` where it has no number (out of
/// memory) or no row.
///
/// ```
/// let printed = boostfgl_reproduce::paper::table1("overall_f1", "boostfgl", "cora").unwrap();
/// assert_eq!(printed.mean, 66.16);
/// ```
pub fn table1(metric: &str, method: &str, dataset: &str) -> Option<Printed> {
    find(TABLE1, [metric, method, dataset])
}

/// What the paper's ablation prints for a metric, a method with its boosts as tables name it, and a
/// dataset.
pub fn ablation(metric: &str, method: &str, dataset: &str) -> Option<Printed> {
    // The file writes boosts as the command line does.
    find(ABLATION, [metric, &method.replace(" + ", "+").replace(',', "+"), dataset])
}

fn find(table: &str, key: [&str; 3]) -> Option<Printed> {
    let mut fields = table.lines().skip(1).map(|line| line.split(',').collect::<Vec<&str>>());
    let row = fields.find(|fields| fields.len() == 5 && fields[..3] == key)?;
    Some(Printed { mean: row[3].parse().ok()?, std: row[4].parse().ok()? })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Numbers looked up by eye in the paper's LaTeX source.
    #[test]
    fn numbers_equal_those_of_the_paper() {
        let printed =
            |metric, method, dataset| table1(metric, method, dataset).map(|p| (p.mean, p.std));
        assert_eq!(printed("overall_f1", "fairfgl", "cora"), Some((63.87, 0.32)));
        assert_eq!(printed("overall_f1", "adafgl", "pubmed"), Some((70.05, 0.26)));
        assert_eq!(printed("overall_f1", "fedspray", "ogbn-arxiv"), Some((39.44, 0.61)));
        assert_eq!(printed("overall_f1", "fedgta", "ogbn-products"), None);
        let printed =
            |metric, method, dataset| ablation(metric, method, dataset).map(|p| (p.mean, p.std));
        assert_eq!(printed("hete_min_f1", "boostfgl", "chameleon"), Some((50.02, 0.21)));
        assert_eq!(printed("accuracy", "fedavg + topology,model", "cora"), Some((80.25, 0.52)));
        assert_eq!(printed("hete_f1", "fedavg + node,topology", "chameleon"), Some((60.19, 0.50)));
        assert_eq!(printed("accuracy", "fedavg", "cora"), None);
    }

    #[test]
    fn both_tables_are_complete() {
        assert_eq!(TABLE1.lines().count(), 1 + 4 * 9 * 9);
        assert_eq!(ABLATION.lines().count(), 1 + 4 * 4 * 2);
    }
}
