//! Steps that several formats share on the way from numbers to a graph.

use std::path::Path;

use boostfgl_graph::{Adjacency, Error, Features, Graph, Labels, Result, Role, SparseRows, Split};

/// A sparse matrix as files hold it: three arrays and a shape.
#[derive(Debug, PartialEq)]
pub(super) struct Csr {
    pub(super) rows: usize,
    pub(super) columns: usize,
    pub(super) offsets: Vec<usize>,
    pub(super) indices: Vec<u32>,
    pub(super) values: Vec<f32>,
}

impl Csr {
    /// Checks that the matrix can be indexed: lengths agree, offsets rise, columns exist.
    pub(super) fn check(&self, path: &Path, place: &str) -> Result<()> {
        match self.defect() {
            Some((expected, found)) => Err(Error::malformed(path, place, expected, found)),
            None => Ok(()),
        }
    }

    /// Expected and found, for the first defect.
    fn defect(&self) -> Option<(String, String)> {
        if self.rows.checked_add(1) != Some(self.offsets.len()) {
            let found = format!("{} row offsets", self.offsets.len());
            return Some((format!("{} rows", self.rows), found));
        }
        if self.columns > u32::MAX as usize {
            return Some(("fewer than 2^32 columns".to_owned(), self.columns.to_string()));
        }
        let rising = self.offsets.windows(2).all(|w| w[0] <= w[1]);
        if self.offsets.first() != Some(&0)
            || self.offsets.last() != Some(&self.indices.len())
            || !rising
        {
            let expected = "row offsets rising from 0 to the number of indices";
            return Some((expected.to_owned(), "other offsets".to_owned()));
        }
        if self.indices.len() != self.values.len() {
            let found = format!("{} indices, {} values", self.indices.len(), self.values.len());
            return Some(("as many values as indices".to_owned(), found));
        }
        let column = self.indices.iter().find(|column| **column as usize >= self.columns)?;
        Some((format!("column indices below {}", self.columns), column.to_string()))
    }

    /// The indices of one row.
    pub(super) fn row(&self, v: usize) -> &[u32] {
        &self.indices[self.offsets[v]..self.offsets[v + 1]]
    }

    /// Takes the matrix as features.
    pub(super) fn features(&self, path: &Path) -> Result<Features> {
        check_columns(path, ", features", self.columns)?;
        let rows = SparseRows::new(self.columns, &self.offsets, &self.indices, &self.values);
        rows.map(Features::Sparse).map_err(|e| in_file(path, e))
    }
}

/// Refuses features of more columns than a model can be trained on.
pub(super) fn check_columns(path: &Path, place: &str, columns: usize) -> Result<()> {
    if columns <= MAX_COLUMNS {
        return Ok(());
    }
    Err(Error::malformed(
        path,
        place,
        format!("at most {MAX_COLUMNS} feature columns"),
        columns.to_string(),
    ))
}

/// Refuses graphs with more features or classes than a model can be trained on, in any format.
pub(super) fn check_size(path: &Path, graph: &Graph) -> Result<()> {
    check_columns(path, ", features", graph.features().columns())?;
    match graph.classes() {
        classes if classes <= MAX_CLASSES => Ok(()),
        classes => {
            let expected = format!("at most {MAX_CLASSES} classes");
            Err(Error::malformed(
                path,
                ", labels",
                expected,
                format!("{classes}: are labels ids of nodes?"),
            ))
        }
    }
}

/// Names the file in an error about parts that do not fit together.
pub(super) fn in_file(path: &Path, error: Error) -> Error {
    match error {
        Error::Inconsistent { what, expected, found } => {
            Error::malformed(path, format!(", {what}"), expected, found)
        }
        other => other,
    }
}

/// The name of a dataset: of the folder, or of the file without its ending.
pub(super) fn name_of(path: &Path) -> String {
    let full = path.canonicalize().unwrap_or_else(|_| path.to_path_buf());
    let name = if full.is_dir() { full.file_name() } else { full.file_stem() };
    name.map_or_else(|| "graph".to_owned(), |name| name.to_string_lossy().into_owned())
}

/// Undirected edges without weights, which is how every published dataset is used.
pub(super) fn undirected(path: &Path, nodes: usize, edges: &[(u32, u32)]) -> Result<Adjacency> {
    let (adjacency, _) =
        Adjacency::from_edges(nodes, edges, None, false).map_err(|e| in_file(path, e))?;
    Ok(adjacency)
}

/// Labels as integers, where a negative one means none; classes run from 0 to the largest.
pub(super) fn labels(path: &Path, labels: &[i64]) -> Result<Labels> {
    let largest = labels.iter().copied().max().unwrap_or(-1).max(-1);
    if largest >= MAX_CLASSES as i64 {
        let expected = format!("classes below {MAX_CLASSES}");
        return Err(Error::malformed(path, ", labels", expected, largest.to_string()));
    }
    Labels::from_integers(labels, (largest + 1) as usize).map_err(|e| in_file(path, e))
}

/// A split from the list of nodes of each role; each list comes with its name in the file.
pub(super) fn split(path: &Path, nodes: usize, lists: &[(Role, &str, &[u32])]) -> Result<Split> {
    let mut roles = vec![Role::None; nodes];
    for &(role, name, list) in lists {
        for &v in list {
            let (expected, found) = match roles.get_mut(v as usize) {
                Some(free @ Role::None) => {
                    *free = role;
                    continue;
                }
                Some(taken) => (
                    "every node in one role".to_owned(),
                    format!("node {v} twice, also as {}", taken.name()),
                ),
                None => (format!("node indices below {nodes}"), v.to_string()),
            };
            return Err(Error::malformed(path, format!(", {name}"), expected, found));
        }
    }
    Ok(Split::new(roles))
}

/// A matrix as sparse rows if less than a quarter of it is not zero, dense otherwise.
pub(super) fn compact(
    path: &Path,
    rows: usize,
    columns: usize,
    values: Vec<f32>,
) -> Result<Features> {
    let non_zeros = values.iter().filter(|x| **x != 0.0).count();
    if values.is_empty() || non_zeros >= values.len().div_ceil(4) {
        return Features::dense(rows, columns, values).map_err(|e| in_file(path, e));
    }
    let mut csr = Csr { rows, columns, offsets: vec![0], indices: Vec::new(), values: Vec::new() };
    for row in values.chunks_exact(columns) {
        for (column, &value) in row.iter().enumerate().filter(|(_, value)| **value != 0.0) {
            csr.indices.push(column as u32);
            csr.values.push(value);
        }
        csr.offsets.push(csr.indices.len());
    }
    csr.features(path)
}

/// More classes than any dataset has. Without a bound, one wrong label would allocate that many
/// class names.
pub(crate) const MAX_CLASSES: usize = 1 << 16;

/// A hundred times more feature columns than any published dataset has. In a sparse matrix a column
/// takes no byte of the file, but the first layer of every client has a row of weights for it:
/// without a bound, a file of a kilobyte could require terabytes.
pub(crate) const MAX_COLUMNS: usize = 1 << 20;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_quarter_of_non_zeros_is_dense() {
        let path = Path::new("f");
        assert!(matches!(
            compact(path, 2, 2, vec![0.0, 1.0, 0.0, 0.0]).unwrap(),
            Features::Dense { .. }
        ));
        let sparse = compact(path, 1, 5, vec![0.0, 0.0, 0.0, 3.0, 0.0]).unwrap();
        let Features::Sparse(matrix) = sparse else { panic!("one of five is sparse") };
        assert_eq!(matrix.row(0), (&[3][..], &[3.0][..]));
        assert!(compact(path, 1, 5, vec![0.0, 0.0, 0.0, f32::NAN, 0.0]).is_err());
    }

    #[test]
    fn roles_must_not_overlap() {
        let path = Path::new("f");
        let overlap =
            split(path, 3, &[(Role::Train, "train", &[0, 1]), (Role::Test, "test", &[1])])
                .unwrap_err();
        assert_eq!(
            overlap.to_string(),
            "f, test: expected every node in one role, found node 1 twice, also as train"
        );
        assert!(split(path, 3, &[(Role::Train, "train", &[3])]).is_err());
    }

    #[test]
    fn columns_that_no_model_can_hold_are_refused() {
        let features = |columns| {
            Csr { rows: 1, columns, offsets: vec![0, 1], indices: vec![0], values: vec![1.0] }
                .features(Path::new("f"))
        };
        assert_eq!(features(1 << 20).unwrap().columns(), 1 << 20);
        let message = features(u32::MAX as usize).unwrap_err().to_string();
        assert_eq!(
            message,
            "f, features: expected at most 1048576 feature columns, found 4294967295"
        );
    }

    #[test]
    fn absurd_labels_allocate_nothing() {
        assert!(labels(Path::new("f"), &[0, i64::MAX]).is_err());
        assert_eq!(labels(Path::new("f"), &[i64::MIN, 2]).unwrap().classes(), 3);
        assert_eq!(labels(Path::new("f"), &[]).unwrap().classes(), 0);
    }
}
