//! Reading `rounds.jsonl`, also of a run that still goes on.

use super::Round;
use crate::{Error, Result};
use std::fs::File;
use std::io::{Read as _, Seek as _, SeekFrom};
use std::path::{Path, PathBuf};

/// The rounds of a run so far. [`Rounds::follow`] reads what has been added since the last look.
///
/// The file grows line by line, so what is behind the last newline is not there yet. A line that is
/// not a round is named once in [`Rounds::problems`] and passed over: the others are worth showing.
#[derive(Debug)]
pub struct Rounds {
    path: PathBuf,
    /// The rounds, in the order of the file.
    pub rounds: Vec<Round>,
    /// What is wrong with the file, one sentence each.
    pub problems: Vec<String>,
    /// Bytes read so far: up to and with the last newline.
    read: u64,
    lines: usize,
    /// Whether something stands behind it.
    cut: bool,
}

/// More broken lines than anybody wants to read about.
const MOST_PROBLEMS: usize = 5;

impl Rounds {
    /// Reads what is there.
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

    /// Reads what has been added since, and says how many rounds that was. A file that has become
    /// shorter is another one: it is read from the start.
    ///
    /// # Errors
    /// If the file cannot be read.
    pub fn follow(&mut self) -> Result<usize> {
        let mut more = Vec::new();
        let mut take = || -> std::io::Result<()> {
            let mut file = File::open(&self.path)?;
            if file.metadata()?.len() < self.read {
                self.rounds.clear();
                self.problems.clear();
                (self.read, self.lines) = (0, 0);
            }
            file.seek(SeekFrom::Start(self.read))?;
            file.read_to_end(&mut more)?;
            Ok(())
        };
        take().map_err(|source| Error::io(&self.path, source))?;
        let before = self.rounds.len();
        let whole = more.iter().rposition(|byte| *byte == b'\n').map_or(0, |at| at + 1);
        for line in more[..whole].split_inclusive(|byte| *byte == b'\n') {
            self.lines += 1;
            self.line(line.trim_ascii());
        }
        self.read += whole as u64;
        self.cut = whole < more.len();
        Ok(self.rounds.len().saturating_sub(before))
    }

    fn line(&mut self, line: &[u8]) {
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

    /// Whether the file ends in the middle of a line: a run writes it now, or it was cut off.
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
    fn a_growing_file_is_followed_line_by_line() {
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
        assert_eq!(rounds.rounds.len(), 1, "a shorter file is another one");
    }

    #[test]
    fn broken_lines_are_named_and_the_others_read() {
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
