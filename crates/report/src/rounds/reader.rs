//! Reading `rounds.jsonl`, also while a run appends to it.

use super::Round;
use crate::{Error, Result};
use std::fs::File;
use std::io::{Read as _, Seek as _, SeekFrom};
use std::path::{Path, PathBuf};

/// The rounds of a run so far. [`Rounds::follow`] reads the lines that were appended since.
///
/// The file grows line by line, so text after the last newline is ignored until its line is
/// complete. A line that is not a round is reported once in [`Rounds::problems`] and skipped; the
/// other lines are still used.
#[derive(Debug)]
pub struct Rounds {
    path: PathBuf,
    /// The rounds, in the order of the file.
    pub rounds: Vec<Round>,
    /// The defects of the file, one sentence each.
    pub problems: Vec<String>,
    /// Bytes read so far, including the last newline.
    read: u64,
    lines: usize,
    /// Whether there is text after the last newline.
    cut: bool,
}

/// The maximum number of reported lines.
const MOST_PROBLEMS: usize = 5;

impl Rounds {
    /// Reads all complete lines.
    ///
    /// # Errors
    /// If the file cannot be read.
    pub fn read(path: impl Into<PathBuf>) -> Result<Self> {
        let mut rounds = Self {
            path: path.into(),
            rounds: Vec::new(),
            problems: Vec::new(),
            read: 0,
            lines: 0,
            cut: false,
        };
        rounds.follow()?;
        Ok(rounds)
    }

    /// Where the file is.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Reads the lines that were appended since, and returns the number of new rounds. A file that
    /// has become shorter was replaced: it is read from the start.
    ///
    /// # Errors
    /// If the file cannot be read.
    pub fn follow(&mut self) -> Result<usize> {
        let more = self.read_appended().map_err(|source| Error::io(&self.path, source))?;
        let before = self.rounds.len();
        let whole = more.iter().rposition(|byte| *byte == b'\n').map_or(0, |at| at + 1);
        for line in more[..whole].split_inclusive(|byte| *byte == b'\n') {
            self.lines += 1;
            self.add_line(line.trim_ascii());
        }
        self.read += whole as u64;
        self.cut = whole < more.len();
        Ok(self.rounds.len().saturating_sub(before))
    }

    /// The bytes after those that were read; all of them if the file was replaced.
    fn read_appended(&mut self) -> std::io::Result<Vec<u8>> {
        let mut file = File::open(&self.path)?;
        if file.metadata()?.len() < self.read {
            self.rounds.clear();
            self.problems.clear();
            (self.read, self.lines) = (0, 0);
        }
        file.seek(SeekFrom::Start(self.read))?;
        let mut more = Vec::new();
        file.read_to_end(&mut more)?;
        Ok(more)
    }

    fn add_line(&mut self, line: &[u8]) {
        if line.is_empty() {
            return;
        }
        match serde_json::from_slice(line) {
            Ok(round) => self.rounds.push(round),
            Err(error) if self.problems.len() < MOST_PROBLEMS => {
                self.problems.push(format!("line {}: expected a round, found {error}", self.lines));
            }
            Err(_) => {}
        }
    }

    /// Whether the file ends in the middle of a line: a run is writing it, or it was truncated.
    pub fn is_cut(&self) -> bool {
        self.cut
    }

    /// The seeds that have rounds, in order of appearance.
    pub fn seeds(&self) -> Vec<u64> {
        let mut seeds = Vec::new();
        for round in &self.rounds {
            if seeds.last() != Some(&round.seed) && !seeds.contains(&round.seed) {
                seeds.push(round.seed);
            }
        }
        seeds
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write as _;

    fn line(round: usize) -> String {
        format!(
            "{{\"seed\":3,\"round\":{round},\"loss\":1.5,\"val_accuracy\":null,\"metrics\":null,\"clients\":[],\
             \"bytes_up\":1,\"bytes_down\":2,\"seconds\":0.25}}\n"
        )
    }

    #[test]
    fn appended_lines_are_read() {
        let place = tempfile::tempdir().unwrap();
        let path = place.path().join("rounds.jsonl");
        let mut file = File::create(&path).unwrap();
        let (first, second) = (line(1), line(2));
        file.write_all(&[first.as_bytes(), &second.as_bytes()[..20]].concat()).unwrap();
        let mut rounds = Rounds::read(&path).unwrap();
        assert_eq!((rounds.rounds.len(), rounds.rounds[0].round), (1, 1));
        assert_eq!(rounds.follow().unwrap(), 0);
        file.write_all(&second.as_bytes()[20..]).unwrap();
        assert_eq!(rounds.follow().unwrap(), 1);
        assert_eq!((rounds.rounds[1].round, rounds.seeds()), (2, vec![3]));
        std::fs::write(&path, &first).unwrap();
        assert_eq!(rounds.follow().unwrap(), 1);
        assert_eq!(rounds.rounds.len(), 1, "a shorter file is read from the start");
    }

    #[test]
    fn broken_lines_are_reported_and_skipped() {
        let place = tempfile::tempdir().unwrap();
        let path = place.path().join("rounds.jsonl");
        std::fs::write(&path, format!("{}nonsense\n{}{}", line(1), "\u{0}\n".repeat(9), line(2)))
            .unwrap();
        let rounds = Rounds::read(&path).unwrap();
        assert_eq!(rounds.rounds.len(), 2);
        assert_eq!(rounds.problems.len(), MOST_PROBLEMS);
        assert!(
            rounds.problems[0].starts_with("line 2: expected a round, found"),
            "{:?}",
            rounds.problems
        );
        assert!(matches!(Rounds::read("/nowhere/at/all"), Err(Error::Io { .. })));
    }
}
