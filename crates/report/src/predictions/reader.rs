//! Reading `predictions.csv`.

use std::collections::HashMap;
use std::fs::File;
use std::io::{Read as _, Seek as _, SeekFrom};
use std::path::Path;
use std::sync::Arc;

use boostfgl_graph::{Role, nearest};

use super::HEADER;
use crate::{Error, Result};

/// The content of a `predictions.csv`, seed by seed.
///
/// ```
/// use boostfgl_report::Predictions;
///
/// let place = tempfile::tempdir()?;
/// let path = place.path().join("predictions.csv");
/// let header = "seed,node,client,split,label,prediction,minority,heterophilous";
/// std::fs::write(&path, format!("{header}\n0,anna,3,test,blue,red,1,0\n"))?;
/// let predictions = Predictions::read(&path)?;
/// assert_eq!(&*predictions.seeds[0].rows[0].prediction, "red");
///
/// std::fs::write(&path, format!("{header}\n0,anna,3,tes"))?;
/// let error = Predictions::read(&path).unwrap_err().to_string();
/// assert!(error.ends_with("line 2: expected 8 fields, found 4: the file may have been cut off"));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Predictions {
    /// The seeds, in the order of the file.
    pub seeds: Vec<SeedPredictions>,
}

/// The rows of one seed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SeedPredictions {
    /// The seed.
    pub seed: u64,
    /// One row per node, in the order of the file.
    pub rows: Vec<SavedPrediction>,
}

/// One row, without its seed. Names of classes are shared between rows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SavedPrediction {
    /// The name of the node in its source.
    pub node: String,
    /// The client that owns it.
    pub client: u32,
    /// The part of the split it is in.
    pub split: Role,
    /// The name of its class, if known.
    pub label: Option<Arc<str>>,
    /// The name of the predicted class.
    pub prediction: Arc<str>,
    /// Whether its class is a minority class; `None` if it is in neither group.
    pub minority: Option<bool>,
    /// Whether it is heterophilous; `None` for an empty field: no neighbour has a label.
    pub heterophilous: Option<bool>,
}

impl Predictions {
    /// Reads a file that [`PredictionsWriter`](crate::PredictionsWriter) wrote. Columns are found
    /// by name; unknown columns are ignored.
    ///
    /// # Errors
    /// If the file cannot be read, a column is missing, a row has another number of fields than the
    /// header, or a field does not hold what it should. Messages name file, line and column.
    pub fn read(path: impl AsRef<Path>) -> Result<Self> {
        let path = path.as_ref();
        let mut file = File::open(path).map_err(|source| Error::io(path, source))?;
        let ends = ends_in_newline(&mut file).map_err(|source| Error::io(path, source))?;
        // `flexible`, because rows of another length get an error of our own below. Fields are not
        // trimmed: names may begin or end with spaces.
        let mut reader = csv::ReaderBuilder::new().flexible(true).from_reader(file);
        let header = reader.headers().map_err(|error| unreadable(path, error))?.clone();
        let columns = find_columns(path, &header)?;
        let mut predictions = Self { seeds: Vec::new() };
        let mut names = Names::default();
        let mut record = csv::StringRecord::new();
        // The position of the last row, if its last field is empty.
        let mut unknown = None;
        while reader.read_record(&mut record).map_err(|error| unreadable(path, error))? {
            let row = Row { path, columns: &columns, record: &record };
            if record.len() != header.len() {
                let cut = if record.len() < header.len() {
                    ": the file may have been cut off"
                } else {
                    ""
                };
                let found = format!("{}{cut}", record.len());
                return Err(expected(
                    path,
                    record.position(),
                    "",
                    &format!("{} fields", header.len()),
                    &found,
                ));
            }
            let seed = row.number(0, "a seed, 0 or a larger integer")?;
            let saved = row.parse(&mut names)?;
            unknown = saved.heterophilous.is_none().then(|| record.position().cloned());
            predictions.rows_of(seed).push(saved);
        }
        // A group column is the last one of newer files. Its field is a text, which may be cut off
        // anywhere.
        if !ends && header.iter().next_back().is_some_and(|name| name.starts_with("group:")) {
            let found = "none: the file may have been cut off";
            return Err(expected(path, None, "", "a newline at the end", found));
        }
        match unknown {
            // Without a final newline, the empty field is a truncated one.
            Some(position) if !ends => {
                Err(expected(path, position.as_ref(), ", column heterophilous", "0 or 1", "``"))
            }
            _ => Ok(predictions),
        }
    }

    /// The rows of `seed` so far.
    fn rows_of(&mut self, seed: u64) -> &mut Vec<SavedPrediction> {
        // Rows of a seed are contiguous, so the last seed is tried first.
        let at = self.seeds.iter().rposition(|known| known.seed == seed).unwrap_or_else(|| {
            self.seeds.push(SeedPredictions { seed, rows: Vec::new() });
            self.seeds.len() - 1
        });
        &mut self.seeds[at].rows
    }
}

/// Whether a file ends in a newline, as complete files do; an empty one counts as complete.
fn ends_in_newline(file: &mut File) -> std::io::Result<bool> {
    if file.metadata()?.len() == 0 {
        return Ok(true);
    }
    let mut last = [0];
    file.seek(SeekFrom::End(-1))?;
    file.read_exact(&mut last)?;
    file.rewind()?;
    Ok(last == *b"\n")
}

/// The index of each column of [`HEADER`].
fn find_columns(path: &Path, header: &csv::StringRecord) -> Result<[usize; 8]> {
    let mut columns = [0; 8];
    for (column, name) in columns.iter_mut().zip(HEADER) {
        *column = header.iter().position(|title| title == name).ok_or_else(|| {
            let near = nearest(name, header.iter()).filter(|near| !HEADER.contains(near));
            let near = near.map(|near| format!(" but `{near}`")).unwrap_or_default();
            let wanted = format!(
                "line 1: expected the columns {}, found no `{name}`{near}",
                HEADER.join(",")
            );
            Error::malformed(path, wanted)
        })?;
    }
    Ok(columns)
}

/// Names of classes, each allocated once.
#[derive(Default)]
struct Names(HashMap<String, Arc<str>>);

impl Names {
    fn share(&mut self, name: &str) -> Arc<str> {
        if let Some(known) = self.0.get(name) {
            return Arc::clone(known);
        }
        let shared: Arc<str> = name.into();
        self.0.insert(name.to_owned(), Arc::clone(&shared));
        shared
    }
}

/// A row of the file. Columns are numbered as in [`HEADER`].
struct Row<'a> {
    path: &'a Path,
    columns: &'a [usize; 8],
    record: &'a csv::StringRecord,
}

impl Row<'_> {
    fn parse(&self, names: &mut Names) -> Result<SavedPrediction> {
        let role = Role::from_name(self.field(3)).filter(|_| !self.field(3).is_empty());
        let label = self.field(4);
        Ok(SavedPrediction {
            node: self.field(1).to_owned(),
            client: self.number(2, "a client number, 0 or larger")?,
            split: role.ok_or_else(|| self.error(3, "train, val, test or none"))?,
            label: (!label.is_empty()).then(|| names.share(label)),
            prediction: names.share(self.field(5)),
            minority: self.flag(6)?,
            heterophilous: self.flag(7)?,
        })
    }

    /// Rows are as long as the header, so the field exists.
    fn field(&self, column: usize) -> &str {
        self.record.get(self.columns[column]).unwrap_or_default()
    }

    fn number<T: std::str::FromStr>(&self, column: usize, wanted: &str) -> Result<T> {
        self.field(column).parse().map_err(|_| self.error(column, wanted))
    }

    fn flag(&self, column: usize) -> Result<Option<bool>> {
        match self.field(column) {
            "" => Ok(None),
            "0" => Ok(Some(false)),
            "1" => Ok(Some(true)),
            _ => Err(self.error(column, "0, 1 or nothing")),
        }
    }

    fn error(&self, column: usize, wanted: &str) -> Error {
        let place = format!(", column {}", HEADER[column]);
        // A damaged file can contain a field of any length.
        let found: String = self.field(column).chars().take(60).collect();
        expected(self.path, self.record.position(), &place, wanted, &format!("`{found}`"))
    }
}

fn expected(
    path: &Path,
    position: Option<&csv::Position>,
    place: &str,
    wanted: &str,
    found: &str,
) -> Error {
    Error::malformed(
        path,
        format!("{}{place}: expected {wanted}, found {found}", line(path, position)),
    )
}

/// `line 3`. The csv crate counts lines wrongly after a blank line and after `\r\n`, so the lines
/// up to the first byte of the record are counted here.
fn line(path: &Path, position: Option<&csv::Position>) -> String {
    let Some(position) = position else { return "end".to_owned() };
    let Ok(text) = std::fs::read(path) else { return format!("line {}", position.line()) };
    let start = usize::try_from(position.byte()).map_or(text.len(), |byte| byte.min(text.len()));
    let blank = text[start..].iter().take_while(|byte| matches!(byte, b'\r' | b'\n')).count();
    let ends = text[..start + blank].iter().filter(|byte| **byte == b'\n').count();
    format!("line {}", ends + 1)
}

fn unreadable(path: &Path, error: csv::Error) -> Error {
    match error.kind() {
        csv::ErrorKind::Utf8 { pos, .. } => {
            expected(path, pos.as_ref(), "", "UTF-8 text", "other bytes")
        }
        _ => Error::io(path, error.into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Prediction, PredictionsWriter};

    const HEAD: &str = "seed,node,client,split,label,prediction,minority,heterophilous";

    fn parse(text: &[u8]) -> Result<Predictions> {
        let place = tempfile::tempdir().unwrap();
        let path = place.path().join("predictions.csv");
        std::fs::write(&path, text).unwrap();
        Predictions::read(&path)
    }

    #[test]
    fn what_is_written_is_read_back() {
        let place = tempfile::tempdir().unwrap();
        let path = place.path().join("predictions.csv");
        let mut writer = PredictionsWriter::create(&path).unwrap();
        let rows = [
            (4, " a,\"b\"\nc", Role::None, None),
            (4, "d", Role::Val, Some("x")),
            (9, "d", Role::Test, Some("y")),
        ];
        for (seed, node, split, label) in rows {
            let (minority, heterophilous) =
                (label.map(|_| seed == 9), label.map(|label| label == "x"));
            let row = Prediction {
                seed,
                node,
                client: 2,
                split,
                label,
                prediction: "x",
                minority,
                heterophilous,
            };
            writer.write(&row).unwrap();
        }
        writer.finish().unwrap();
        let read = Predictions::read(&path).unwrap();
        assert_eq!(
            read.seeds.iter().map(|seed| (seed.seed, seed.rows.len())).collect::<Vec<_>>(),
            [(4, 2), (9, 1)]
        );
        let saved =
            |node: &str, split, label: Option<&str>, minority, heterophilous| SavedPrediction {
                node: node.into(),
                client: 2,
                split,
                label: label.map(Into::into),
                prediction: "x".into(),
                minority,
                heterophilous,
            };
        assert_eq!(read.seeds[0].rows[0], saved(" a,\"b\"\nc", Role::None, None, None, None));
        assert_eq!(
            read.seeds[0].rows[1],
            saved("d", Role::Val, Some("x"), Some(false), Some(true))
        );
        assert_eq!(
            read.seeds[1].rows[0],
            saved("d", Role::Test, Some("y"), Some(true), Some(false))
        );
    }

    #[test]
    fn errors_name_file_and_line() {
        let reason = |rows: &str| {
            parse(format!("{HEAD}\n0,a,0,test,x,x,0,0\n{rows}").as_bytes()).unwrap_err().to_string()
        };
        for (rows, wanted) in [
            (
                "0,b,0,test,x",
                "predictions.csv: line 3: expected 8 fields, found 5: the file may have been cut \
                 off",
            ),
            ("0,b,0,test,x,x,0,", "line 3, column heterophilous: expected 0 or 1, found ``"),
            (
                "0,b,0,test,x,\"x,0,0\n",
                "line 3: expected 8 fields, found 6: the file may have been cut off",
            ),
            ("0,b,0,test,x,x,0,0,9\n", "line 3: expected 8 fields, found 9"),
            (
                "\r\n\n-1,b,0,test,x,x,0,0\n",
                "line 5, column seed: expected a seed, 0 or a larger integer, found `-1`",
            ),
            (
                "0,b,x,test,x,x,0,0\n",
                "line 3, column client: expected a client number, 0 or larger, found `x`",
            ),
            (
                "0,b,0,tset,x,x,0,0\n",
                "line 3, column split: expected train, val, test or none, found `tset`",
            ),
            (
                "0,b,0,,x,x,0,0\n",
                "line 3, column split: expected train, val, test or none, found ``",
            ),
            (
                "0,b,0,test,x,x,true,0\n",
                "line 3, column minority: expected 0, 1 or nothing, found `true`",
            ),
        ] {
            assert!(reason(rows).contains(wanted), "{}\n{wanted}", reason(rows));
        }
        let bytes = parse(&[HEAD.as_bytes(), b"\n0,\xff,0,test,x,x,0,0\n"].concat())
            .unwrap_err()
            .to_string();
        assert!(bytes.ends_with("line 2: expected UTF-8 text, found other bytes"), "{bytes}");
        let header = parse(HEAD.replace("client", "clients").as_bytes()).unwrap_err().to_string();
        assert!(
            header.ends_with(
                "line 1: expected the columns \
            seed,node,client,split,label,prediction,minority,heterophilous, found no `client` but \
            `clients`"
            ),
            "{header}"
        );
        assert!(parse(b"").unwrap_err().to_string().ends_with("found no `seed`"));
        assert!(matches!(Predictions::read("/nowhere/at/all"), Err(Error::Io { .. })));
    }

    #[test]
    fn columns_may_be_in_any_order_and_unknown_ones_are_ignored() {
        let moved = "note,heterophilous,minority,prediction,label,split,client,node,seed\nhm,1,0,x,,none,7,a,3\n";
        let read = parse(moved.as_bytes()).unwrap();
        let row = &read.seeds[0].rows[0];
        assert_eq!((read.seeds[0].seed, row.client, row.label.as_deref()), (3, 7, None));
        assert!(row.heterophilous == Some(true) && row.minority == Some(false));
        assert_eq!(parse(format!("{HEAD}\n").as_bytes()).unwrap().seeds, []);
    }

    #[test]
    fn whether_a_node_is_heterophilous_may_be_unknown() {
        let read = parse(
            format!("{HEAD}\n0,a,0,test,x,x,0,\n0,b,0,test,x,x,0,1\n0,c,0,test,x,x,0,\n")
                .as_bytes(),
        )
        .unwrap();
        let found: Vec<Option<bool>> =
            read.seeds[0].rows.iter().map(|row| row.heterophilous).collect();
        assert_eq!(found, [None, Some(true), None]);
        let odd =
            parse(format!("{HEAD}\n0,a,0,test,x,x,0,maybe\n").as_bytes()).unwrap_err().to_string();
        assert!(
            odd.ends_with("line 2, column heterophilous: expected 0, 1 or nothing, found `maybe`"),
            "{odd}"
        );
    }
}
