//! How feature columns are to be prepared, as two arrays of the project's own npz.

use boostfgl_graph::{ColumnPreparation, Error, Missing, Preparation, Result};

use super::super::npz::Npz;
use super::super::parts;
use crate::readers::npz_writer::NpzWriter;

/// Two numbers per column: the policy for missing values, and 1 if it is to be standardised.
const COLUMNS: &str = "preparation";
/// Node and column of each cell without a value.
const MISSING: &str = "missing_cells";

/// Adds the arrays.
pub(super) fn write(npz: &mut NpzWriter, preparation: &Preparation) -> Result<()> {
    let columns = preparation.columns();
    let numbers = columns.iter().flat_map(|it| [policy(it.missing), u8::from(it.standardise)]);
    npz.array(COLUMNS, &[columns.len() as u64, 2], numbers)?;
    let cells = preparation.missing();
    let numbers = cells.iter().flat_map(|&(node, column)| [node, column]);
    npz.array(MISSING, &[cells.len() as u64, 2], numbers)
}

/// Reads the arrays; `None` if the file has none.
pub(super) fn read(npz: &mut Npz) -> Result<Option<Preparation>> {
    if !npz.has(COLUMNS) {
        return Ok(None);
    }
    let (_, numbers) = pairs::<u8>(npz, COLUMNS)?;
    let columns: Option<Vec<ColumnPreparation>> = numbers.iter().map(column).collect();
    let columns = columns.ok_or_else(|| {
        let expected = "a policy from 0 to 2 and a flag of 0 or 1 per column";
        Error::malformed(npz.path(), format!(", array {COLUMNS}"), expected, "other numbers")
    })?;
    let (_, cells) = pairs::<u32>(npz, MISSING)?;
    let cells = cells.iter().map(|[node, column]| (*node, *column)).collect();
    let preparation = Preparation::new(columns, cells);
    preparation.map(Some).map_err(|error| parts::in_file(npz.path(), error))
}

/// The rows of an array of two columns.
fn pairs<T: super::super::dtype::Element>(
    npz: &mut Npz,
    name: &str,
) -> Result<(usize, Vec<[T; 2]>)> {
    let (rows, columns, values) = npz.matrix::<T>(name)?;
    if columns != 2 {
        return Err(npz.wrong_shape(name, "two columns", &[rows, columns]));
    }
    Ok((rows, values.chunks_exact(2).map(|pair| [pair[0], pair[1]]).collect()))
}

/// The number of a policy in the file.
fn policy(missing: Missing) -> u8 {
    match missing {
        Missing::Mean => 0,
        Missing::Zero => 1,
        Missing::Indicator => 2,
    }
}

fn column(&[number, flag]: &[u8; 2]) -> Option<ColumnPreparation> {
    let missing = Missing::ALL.into_iter().find(|missing| policy(*missing) == number)?;
    (flag <= 1).then_some(ColumnPreparation { missing, standardise: flag == 1 })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::readers::flat_npz;
    use crate::readers::testing::Folder;
    use boostfgl_graph::{Adjacency, Features, Graph, Labels};

    fn graph() -> Graph {
        let (adjacency, _) = Adjacency::from_edges(2, &[(0, 1)], None, false).unwrap();
        let features = Features::dense(2, 3, vec![1.0, 0.0, 3.0, 0.0, 5.0, 6.0]).unwrap();
        let column = |missing, standardise| ColumnPreparation { missing, standardise };
        let columns = vec![
            column(Missing::Zero, true),
            column(Missing::Indicator, false),
            column(Missing::Mean, true),
        ];
        let preparation = Preparation::new(columns, vec![(1, 0), (0, 1)]).unwrap();
        Graph::new("g", adjacency, features, Labels::from_integers(&[0, 1], 2).unwrap())
            .and_then(|graph| graph.with_preparation(preparation))
            .unwrap()
    }

    #[test]
    fn a_preparation_is_read_back() {
        let folder = Folder::new();
        let path = folder.path("g.npz");
        flat_npz::write(&graph(), &path).unwrap();
        assert_eq!(flat_npz::read(&path).unwrap(), graph());
    }

    #[test]
    fn other_numbers_are_refused() {
        let folder = Folder::new();
        let reason = |columns: &[u8], cells: &[u32]| {
            let path = folder.path("p.npz");
            let mut npz = NpzWriter::create(&path).unwrap();
            npz.array(COLUMNS, &[columns.len() as u64 / 2, 2], columns.to_vec()).unwrap();
            npz.array(MISSING, &[cells.len() as u64 / 2, 2], cells.to_vec()).unwrap();
            npz.finish().unwrap();
            read(&mut Npz::open(&path).unwrap()).unwrap_err().to_string()
        };
        assert!(reason(&[3, 0], &[]).contains("array preparation: expected a policy from 0 to 2"));
        assert!(reason(&[0, 2], &[]).contains("a flag of 0 or 1"));
        assert!(reason(&[0, 0], &[0, 1]).contains("missing values: expected columns below 1"));
    }
}
