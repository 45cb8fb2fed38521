//! Streams: what trackers of experiments read while a run goes on.
//!
//! A stream has the rounds of `rounds.jsonl` in another format. It stands in the folder `stream` of
//! a run and may be deleted. A resumed run writes it anew from the rounds that it kept, so that no
//! round is in it twice.

mod history;

use crate::export::tensorboard::LiveEvents;
use crate::{Error, Result, Round, Rounds, RunFolder};
use history::History;
use std::path::PathBuf;
use std::time::{SystemTime, UNIX_EPOCH};

/// A format of streams.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StreamKind {
    /// Event files of TensorBoard, in `stream/tensorboard/seedN/`.
    TensorBoard,
    /// One JSON object per round, in `stream/history.jsonl`.
    Jsonl,
}

impl StreamKind {
    /// Every kind.
    pub const ALL: [Self; 2] = [Self::TensorBoard, Self::Jsonl];

    /// Its name on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Self::TensorBoard => "tensorboard",
            Self::Jsonl => "jsonl",
        }
    }

    /// Reads a list such as `tensorboard,jsonl`.
    ///
    /// ```
    /// use boostfgl_report::StreamKind;
    ///
    /// assert_eq!(StreamKind::parse("jsonl, tensorboard").unwrap().len(), 2);
    /// let error = StreamKind::parse("json").unwrap_err().to_string();
    /// assert_eq!(
    ///     error,
    ///     "unknown stream `json` (did you mean `jsonl`?); there are tensorboard, jsonl"
    /// );
    /// ```
    ///
    /// # Errors
    /// If a name is unknown; the nearest is suggested.
    pub fn parse(list: &str) -> Result<Vec<Self>> {
        let mut kinds = Vec::new();
        for name in list.split(',').map(str::trim).filter(|name| !name.is_empty()) {
            let kind = Self::ALL.into_iter().find(|kind| kind.name() == name);
            let kind =
                kind.ok_or_else(|| Error::unknown("stream", name, &Self::ALL.map(Self::name)))?;
            if !kinds.contains(&kind) {
                kinds.push(kind);
            }
        }
        Ok(kinds)
    }

    /// Where it is in the folder of a run. The path exists while the stream is on.
    fn path(self, folder: &RunFolder) -> PathBuf {
        let name = match self {
            Self::TensorBoard => "tensorboard",
            Self::Jsonl => "history.jsonl",
        };
        folder.file(RunFolder::STREAM).join(name)
    }
}

/// The streams of a run.
#[derive(Debug, Default)]
pub struct Streams {
    events: Option<LiveEvents>,
    history: Option<History>,
}

impl Streams {
    /// Switches streams on for the run in a folder, also for when it is resumed.
    ///
    /// # Errors
    /// If the system refuses.
    pub fn switch_on(folder: &RunFolder, kinds: &[StreamKind]) -> Result<()> {
        for kind in kinds {
            let path = kind.path(folder);
            match kind {
                StreamKind::TensorBoard => boostfgl_disk::create_dir_all(path)?,
                StreamKind::Jsonl => {
                    boostfgl_disk::create_dir_all(folder.file(RunFolder::STREAM))?;
                    boostfgl_disk::write_atomic(path, b"")?;
                }
            }
        }
        Ok(())
    }

    /// Starts the streams that are on, with the rounds that `rounds.jsonl` has already.
    ///
    /// # Errors
    /// If the rounds cannot be read, or the system refuses.
    pub fn start(folder: &RunFolder) -> Result<Self> {
        let mut streams = Self::default();
        let [events, history] = StreamKind::ALL.map(|kind| kind.path(folder));
        if events.is_dir() {
            boostfgl_disk::remove_dir_all(&events)?;
            boostfgl_disk::create_dir_all(&events)?;
            streams.events = Some(LiveEvents::new(&events));
        }
        if history.is_file() {
            boostfgl_disk::remove_file(&history)?;
            streams.history = Some(History::create(&history)?);
        }
        if streams.events.is_some() || streams.history.is_some() {
            for round in &Rounds::read(folder.file(RunFolder::ROUNDS))?.rounds {
                streams.round(round)?;
            }
        }
        Ok(streams)
    }

    /// Appends a round that has just ended.
    ///
    /// # Errors
    /// If the system refuses.
    pub fn round(&mut self, round: &Round) -> Result<()> {
        let time =
            SystemTime::now().duration_since(UNIX_EPOCH).map_or(0.0, |now| now.as_secs_f64());
        if let Some(events) = &mut self.events {
            events.round(round, time)?;
        }
        if let Some(history) = &mut self.history {
            history.round(round, time)?;
        }
        Ok(())
    }
}
