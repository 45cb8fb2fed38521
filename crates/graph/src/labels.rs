//! The class of each node, where it is known.

use crate::{Error, Result};

/// One class per node out of 0..C; some nodes may have none.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Labels {
    class: Vec<u32>,
    names: Vec<String>,
}

/// The stored value of an unlabelled node.
const UNLABELLED: u32 = u32::MAX;

impl Labels {
    /// Labels from one class per node; `names` gives each of the C classes its name.
    ///
    /// # Errors
    /// If a class is not below C.
    pub fn new(class: impl IntoIterator<Item = Option<u32>>, names: Vec<String>) -> Result<Self> {
        let classes = names.len().min(UNLABELLED as usize);
        let checked = class.into_iter().enumerate().map(|(v, class)| match class {
            Some(class) if class as usize >= classes => {
                Err(too_large(v, classes, i64::from(class)))
            }
            class => Ok(class.unwrap_or(UNLABELLED)),
        });
        Ok(Self { class: checked.collect::<Result<_>>()?, names })
    }

    /// Labels as published: integers, where −1 (or any negative number) means unlabelled. Classes
    /// are named by number.
    ///
    /// # Errors
    /// If a label is not below `classes`.
    pub fn from_integers(labels: &[i64], classes: usize) -> Result<Self> {
        Self::from_named_integers(labels, (0..classes).map(|c| c.to_string()).collect())
    }

    /// Labels as [`Labels::from_integers`] takes them, of classes with names.
    ///
    /// # Errors
    /// If a label is not below the number of names.
    pub fn from_named_integers(labels: &[i64], names: Vec<String>) -> Result<Self> {
        let large = labels.iter().position(|&y| y >= 0 && y as u64 >= names.len() as u64);
        if let Some(v) = large {
            return Err(too_large(v, names.len(), labels[v]));
        }
        Self::new(labels.iter().map(|&y| u32::try_from(y).ok()), names)
    }

    /// Number of nodes.
    pub fn len(&self) -> usize {
        self.class.len()
    }

    /// Whether there is no node at all.
    pub fn is_empty(&self) -> bool {
        self.class.is_empty()
    }

    /// Number of classes C.
    pub fn classes(&self) -> usize {
        self.names.len()
    }

    /// The names of the classes.
    pub fn names(&self) -> &[String] {
        &self.names
    }

    /// The class of node `v`.
    pub fn get(&self, v: usize) -> Option<u32> {
        Some(self.class[v]).filter(|&c| c != UNLABELLED)
    }

    /// The classes of all nodes.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = Option<u32>> + '_ {
        (0..self.len()).map(|v| self.get(v))
    }

    /// The labels of `nodes`, in that order; the classes stay the global ones.
    pub fn select(&self, nodes: &[u32]) -> Self {
        Self {
            class: nodes.iter().map(|&v| self.class[v as usize]).collect(),
            names: self.names.clone(),
        }
    }

    /// The number of `nodes` in each class.
    pub fn counts(&self, nodes: impl IntoIterator<Item = usize>) -> Vec<usize> {
        let mut counts = vec![0; self.classes()];
        for class in nodes.into_iter().filter_map(|v| self.get(v)) {
            counts[class as usize] += 1;
        }
        counts
    }
}

fn too_large(v: usize, classes: usize, class: i64) -> Error {
    Error::inconsistent(
        format!("label of node {v}"),
        format!("a class below {classes}"),
        class.to_string(),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn negative_means_unlabelled_and_large_is_refused() {
        let labels = Labels::from_integers(&[1, -1, 0], 2).unwrap();
        assert_eq!(labels.iter().collect::<Vec<_>>(), [Some(1), None, Some(0)]);
        assert_eq!(labels.counts(0..3), [1, 1]);
        let error = Labels::from_integers(&[0, 2], 2).unwrap_err().to_string();
        assert_eq!(error, "label of node 1: expected a class below 2, found 2");
    }

    #[test]
    fn the_number_that_means_unlabelled_is_no_class() {
        let error = Labels::from_integers(&[0, 4_294_967_295], 2).unwrap_err().to_string();
        assert_eq!(error, "label of node 1: expected a class below 2, found 4294967295");
        let error = Labels::from_integers(&[i64::MAX], 2).unwrap_err().to_string();
        assert_eq!(error, "label of node 0: expected a class below 2, found 9223372036854775807");
        assert!(Labels::new([Some(u32::MAX)], vec!["a".to_owned()]).is_err());
    }
}
