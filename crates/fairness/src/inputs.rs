//! Checks of what describes nodes one by one: lengths, evaluated nodes and predicted classes.

use crate::{Error, Result};
use boostfgl_graph::Labels;

/// Fails unless every list has one entry for each of `n` nodes.
pub(crate) fn check_lengths<'a>(
    n: usize,
    lengths: impl IntoIterator<Item = (&'a str, usize)>,
) -> Result<()> {
    match lengths.into_iter().find(|(_, length)| *length != n) {
        None => Ok(()),
        Some((what, length)) => {
            Err(Error::inconsistent(what, format!("{n} entries, one per node"), &length))
        }
    }
}

/// Fails unless every evaluated node exists and its prediction is a class. `prediction` has one
/// entry per node.
pub(crate) fn check_nodes(nodes: &[u32], truth: &Labels, prediction: &[u32]) -> Result<()> {
    let (n, classes) = (truth.len(), truth.classes());
    for &node in nodes {
        let Some(&class) = prediction.get(node as usize) else {
            return Err(Error::inconsistent("evaluated node", format!("a node below {n}"), &node));
        };
        if class as usize >= classes {
            let what = format!("prediction of node {node}");
            return Err(Error::inconsistent(what, format!("a class below {classes}"), &class));
        }
    }
    Ok(())
}
