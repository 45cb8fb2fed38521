//! The files of a stopped run: sealed with the right checksum, and as they are.

use std::cell::OnceCell;
use std::fs;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};

use boostfgl::checkpoint::UnfinishedRun;
use boostfgl::fairness::diagnostics::DiagnosticKind;
use boostfgl::report::RunFolder;
use boostfgl::{CheckpointOptions, CheckpointSchedule, Error, Experiment, Progress};

use super::{pieces, place};
use crate::SCISSORS;

/// The sealed files: the state of the run, of a finished seed, and of an unfinished one.
const FILES: [&str; 3] = ["run", "seed-00000.done", "seed-00001-round-000001.state"];

/// The first bytes of a sealed file.
const MARK: &[u8] = b"boostfgl state 1\n";

/// The length of its end: a length and a BLAKE3.
const END: usize = 8 + 32;

/// Replaces every digest in seeds. Digests of configuration, data and program change with every
/// version of the program, and those of rounds with the measured times.
const PLACEHOLDER: [u8; 64] = [b'?'; 64];

thread_local! {
    static STOPPED: OnceCell<Stopped> = const { OnceCell::new() };
}

/// A run that was stopped in the first round of its second seed.
struct Stopped {
    experiment: Experiment,
    config: Vec<u8>,
    rounds: Vec<u8>,
    /// The contents of the sealed files, without seals.
    contents: [Vec<u8>; 3],
}

impl Stopped {
    fn new() -> anyhow::Result<Self> {
        let tables = place("checkpoint-data");
        let nodes: String = (0..24).map(|v| format!("{v},{},{}\n", v / 12, v % 3)).collect();
        let edges: String = (0..24).map(|v| format!("{v},{}\n", (v + 1) % 24)).collect();
        fs::write(tables.join("nodes.csv"), format!("id,label,a\n{nodes}"))?;
        fs::write(tables.join("edges.csv"), format!("src,dst\n{edges}"))?;
        let experiment =
            Experiment::on(&tables.display().to_string()).method("fedavg").clients(2).seeds([0, 1]);
        let experiment = experiment.set("fed.rounds", 3).set("model.hidden", 2).build()?;
        let experiment = experiment.with_diagnostics(vec![DiagnosticKind::ALL[0]]);
        let folder = RunFolder::create(place("checkpoint-first").join("run"), true)?;
        let stop = AtomicBool::new(false);
        let options =
            CheckpointOptions { schedule: CheckpointSchedule::default(), stop: Some(&stop) };
        let stopped = experiment.run_with_checkpoints(&mut StopSecond(&stop), &folder, options);
        anyhow::ensure!(matches!(stopped, Err(Error::Stopped { .. })), "the run did not stop");
        let states = folder.file(RunFolder::CHECKPOINT);
        Ok(Self {
            experiment,
            config: fs::read(folder.file(RunFolder::CONFIG))?,
            rounds: fs::read(folder.file(RunFolder::ROUNDS))?,
            contents: [
                unsealed(&states.join(FILES[0]))?,
                unsealed(&states.join(FILES[1]))?,
                unsealed(&states.join(FILES[2]))?,
            ],
        })
    }

    /// Writes the folder of the run, with these files as its state.
    fn write(&self, folder: &Path, files: &[Option<Vec<u8>>]) -> std::io::Result<()> {
        drop(fs::remove_dir_all(folder));
        let states = folder.join(RunFolder::CHECKPOINT);
        fs::create_dir_all(&states)?;
        fs::write(folder.join(RunFolder::CONFIG), &self.config)?;
        fs::write(folder.join(RunFolder::ROUNDS), &self.rounds)?;
        let present =
            FILES.iter().zip(files).filter_map(|(name, bytes)| Some((name, bytes.as_ref()?)));
        for (name, bytes) in present {
            fs::write(states.join(name), bytes)?;
            if *name == FILES[0] {
                // This file has a copy, which gets the same damage.
                fs::write(states.join("run.copy"), bytes)?;
            }
        }
        Ok(())
    }

    /// Opens the run and resumes it for a round.
    fn resume(&self, folder: &Path) -> String {
        let run = match UnfinishedRun::open(folder) {
            Ok(run) => run,
            Err(error) => return error.to_string(),
        };
        let stop = AtomicBool::new(false);
        let mut notes = Notes { messages: Vec::new(), stop: &stop };
        let options =
            CheckpointOptions { schedule: CheckpointSchedule::default(), stop: Some(&stop) };
        match self.experiment.resume(&mut notes, run.folder(), options) {
            Ok(_) | Err(Error::Stopped { .. }) if notes.messages.is_empty() => "ok".to_owned(),
            Ok(_) | Err(Error::Stopped { .. }) => notes.messages.join("; "),
            Err(error) => error.to_string(),
        }
    }
}

/// Stops the run when its second seed begins.
struct StopSecond<'a>(&'a AtomicBool);

impl Progress for StopSecond<'_> {
    fn seed(&mut self, index: usize, _of: usize, _seed: u64) {
        self.0.store(index == 1, Ordering::SeqCst);
    }
}

/// Collects notes, and stops the run when a seed begins: by then its state has been restored.
struct Notes<'a> {
    messages: Vec<String>,
    stop: &'a AtomicBool,
}

impl Progress for Notes<'_> {
    fn note(&mut self, text: &str) {
        self.messages.push(text.to_owned());
    }

    fn seed(&mut self, _index: usize, _of: usize, _seed: u64) {
        self.stop.store(true, Ordering::SeqCst);
    }
}

/// Each piece as the content of a sealed file, so that the reader accepts the checksum and parses
/// the content; then as the file itself.
pub(crate) fn checkpoint(input: &[u8]) -> String {
    STOPPED.with(|stopped| {
        let stopped = stopped.get_or_init(|| Stopped::new().expect("a small run can be stopped"));
        let folder = place("checkpoint").join("run");
        let pieces = pieces(input);
        let (mut sealed, mut unsealed) = (Vec::new(), Vec::new());
        for (at, content) in stopped.contents.iter().enumerate() {
            let piece = pieces.get(at).copied();
            sealed.push(piece.map(|piece| seal(&with_digests(piece, content))));
            unsealed.push(piece.map(<[u8]>::to_vec));
        }
        let mut messages = [sealed, unsealed].map(|files| {
            stopped.write(&folder, &files).expect("the folder for the input can be written");
            stopped.resume(&folder)
        });
        std::mem::take(&mut messages[0])
    })
}

/// The positions of digests in a content: every text of 64 hexadecimal digits.
fn digests(content: &[u8]) -> Vec<usize> {
    let (mut found, mut at) = (Vec::new(), 0);
    while let Some(text) = content.get(at..at + PLACEHOLDER.len()) {
        let is_digest = text.iter().all(u8::is_ascii_hexdigit);
        found.extend(is_digest.then_some(at));
        at += if is_digest { PLACEHOLDER.len() } else { 1 };
    }
    found
}

/// The piece with its placeholders replaced by the digests of a content.
fn with_digests(piece: &[u8], content: &[u8]) -> Vec<u8> {
    let mut bytes = piece.to_vec();
    for digest in digests(content) {
        let Some(at) = bytes.windows(PLACEHOLDER.len()).position(|window| window == PLACEHOLDER)
        else {
            break;
        };
        bytes[at..at + PLACEHOLDER.len()]
            .copy_from_slice(&content[digest..digest + PLACEHOLDER.len()]);
    }
    bytes
}

/// The content with mark, length and checksum, as the program writes it.
fn seal(content: &[u8]) -> Vec<u8> {
    let mut bytes = [MARK, content, &(content.len() as u64).to_le_bytes()].concat();
    let hash = blake3::hash(&bytes);
    bytes.extend(hash.as_bytes());
    bytes
}

/// The content of a sealed file.
fn unsealed(path: &Path) -> anyhow::Result<Vec<u8>> {
    let sealed = fs::read(path)?;
    Ok(sealed[MARK.len()..sealed.len() - END].to_vec())
}

/// The contents of the sealed files of a stopped run, with placeholders for digests.
pub(crate) fn contents() -> anyhow::Result<Vec<u8>> {
    Ok(Stopped::new()?.contents.map(with_placeholders).join(SCISSORS))
}

/// The content with its digests replaced by placeholders.
fn with_placeholders(mut content: Vec<u8>) -> Vec<u8> {
    for at in digests(&content) {
        content[at..at + PLACEHOLDER.len()].copy_from_slice(&PLACEHOLDER);
    }
    content
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Inputs refused by the checksum are distinguished from those that reach the content.
    #[test]
    fn damaged_contents_with_a_right_checksum_are_parsed() {
        let _alone = crate::alone();
        let whole = contents().unwrap();
        assert_eq!(checkpoint(&whole), "ok");
        let pieces = pieces(&whole);
        let cut = [pieces[0], &pieces[1][..pieces[1].len() - 1], pieces[2]].join(SCISSORS);
        let message = checkpoint(&cut);
        assert!(
            message.contains("seed-00000.done") && message.contains("seed 0 is trained again"),
            "{message}"
        );
        assert!(!message.contains("BLAKE3"), "{message}");
        // The state of the seed under way is read when the seed begins.
        let cut = [pieces[0], pieces[1], &pieces[2][..pieces[2].len() - 1]].join(SCISSORS);
        let message = checkpoint(&cut);
        assert!(
            message.contains("seed-00001-round-000001.state") && !message.contains("BLAKE3"),
            "{message}"
        );
        assert!(checkpoint(b"").contains("checkpoint"), "{}", checkpoint(b""));
    }
}
