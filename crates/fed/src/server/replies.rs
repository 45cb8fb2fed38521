//! Which reply belongs to which task.

use crate::ClientName;
use crate::screen::Reason;
use crate::transport::{Arrival, Ask, Undelivered};
use boostfgl_nn::Real;
use boostfgl_protocol::{
    Error, Failure, Frame, Header, Reply, ReplyFrame, Revealed, RunId, Task, Traffic, measure,
};
use std::collections::BTreeMap;
use std::time::Duration;

/// Tasks of one kind for several clients.
pub(super) struct Batch<T: Real> {
    pub(super) kind: Kind,
    /// In client order.
    pub(super) tasks: Vec<(usize, Task<T>)>,
}

/// What is done with the replies to a batch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Enroll,
    Begin,
    Prepare,
    Discard,
    Train,
    Evaluate,
    Keep,
    Conclude,
}

impl Kind {
    /// Whether refused replies are reported with the round, or end the run.
    fn is_reported(self) -> bool {
        matches!(self, Self::Enroll | Self::Train | Self::Evaluate)
    }
}

/// The reply of one client to one task.
pub(super) struct Heard<T: Real> {
    pub(super) client: usize,
    /// The round that it claims to be for.
    pub(super) round: usize,
    /// Seconds until it arrived.
    pub(super) seconds: f64,
    /// Bytes of the frame with the task.
    pub(super) down: Traffic,
    /// Bytes of the frame with the reply.
    pub(super) up: Traffic,
    /// The reply, or why it cannot be used.
    pub(super) reply: Result<Reply<T>, Reason>,
}

/// The replies to one batch.
pub(super) type HeardBatch<T> = (Kind, Vec<Heard<T>>);

impl<T: Real> Heard<T> {
    /// The reply, if the client did the task.
    pub(super) fn done(self) -> Result<Reply<T>, NotDone> {
        match self.reply {
            Ok(Reply::Failed(failure)) => Err(NotDone::Failed(failure)),
            Ok(reply) => Ok(reply),
            Err(reason) => Err(NotDone::Refused(reason)),
        }
    }
}

impl<T: Real> Heard<T> {
    /// Whether the client confirmed that it did the task.
    pub(super) fn confirmed(self) -> Result<(), NotDone> {
        match self.done()? {
            Reply::Done => Ok(()),
            other => Err(NotDone::Refused(unexpected("a confirmation", &other))),
        }
    }
}

/// Why a task was not done.
#[derive(Clone)]
pub(super) enum NotDone {
    /// The client says why.
    Failed(Failure),
    /// Its reply cannot be used.
    Refused(Reason),
}

impl NotDone {
    /// The reason for a refusal.
    pub(super) fn reason(self) -> Reason {
        match self {
            Self::Failed(failure) => Reason::Failed(failure.reason),
            Self::Refused(reason) => reason,
        }
    }

    /// The error where the run depends on the task.
    pub(super) fn error(self, client: ClientName, stage: &'static str) -> crate::Error {
        match self {
            Self::Failed(Failure { reason, advice }) => {
                crate::Error::Failed { client, reason, advice }
            }
            Self::Refused(reason) => crate::Error::Lost { client, stage, reason },
        }
    }
}

/// The reason for a reply of another kind.
pub(super) fn unexpected<T: Real>(expected: &str, found: &Reply<T>) -> Reason {
    Reason::Message { expected: expected.to_owned(), found: found.name().to_owned() }
}

/// What the server has asked and not heard yet.
#[derive(Default)]
pub(super) struct Outstanding {
    /// The kinds of the batches, in order.
    kinds: Vec<Kind>,
    /// For each client: header and size of its frame, and the kinds of its tasks in order.
    frames: BTreeMap<usize, (Header, Traffic, Vec<Kind>)>,
}

impl Outstanding {
    /// Puts the tasks of each client into one frame.
    pub(super) fn ask<T: Real>(
        &mut self,
        batches: Vec<Batch<T>>,
        (run, round): (RunId, usize),
        quorum: usize,
        deadline: Option<f64>,
    ) -> Ask<T> {
        *self = Self::default();
        let mut items: BTreeMap<usize, Vec<Task<T>>> = BTreeMap::new();
        for Batch { kind, tasks } in batches {
            self.kinds.push(kind);
            for (client, task) in tasks {
                items.entry(client).or_default().push(task);
                let entry = self.frames.entry(client).or_default();
                entry.2.push(kind);
            }
        }
        let mut frames = Vec::with_capacity(items.len());
        for (client, items) in items {
            let header = Header { run, round: round as u32, client: client as u32 };
            let frame = Frame { header, items };
            if let Some(entry) = self.frames.get_mut(&client) {
                (entry.0, entry.1) = (header, measure(&frame));
            }
            frames.push(frame);
        }
        Ask { frames, quorum, deadline: deadline.map(Duration::from_secs_f64) }
    }

    /// Bytes of all frames that were asked.
    pub(super) fn down(&self) -> Traffic {
        self.frames.values().fold(Traffic::default(), |sum, (_, bytes, _)| sum + *bytes)
    }

    /// Sorts replies by batch, each in client order, and adds up the bytes of their frames. A client
    /// that did not reply, or whose reply does not fit, is in every batch with the reason.
    pub(super) fn hear<T: Real>(
        &mut self,
        mut arrivals: Vec<Arrival<T>>,
    ) -> (Traffic, Vec<HeardBatch<T>>) {
        arrivals.sort_by_key(|arrival| arrival.client);
        let Self { kinds, frames } = std::mem::take(self);
        let mut batches: Vec<HeardBatch<T>> =
            kinds.into_iter().map(|kind| (kind, Vec::new())).collect();
        let mut arrivals = arrivals.into_iter().peekable();
        // Once per frame, however many replies it has.
        let mut up = Traffic::default();
        for (client, asked) in frames {
            // Replies of clients that were asked nothing are dropped.
            while arrivals.next_if(|arrival| arrival.client < client).is_some() {}
            let mut heard = false;
            while let Some(arrival) = arrivals.next_if(|arrival| arrival.client == client) {
                up += sort(arrival, &asked, heard, &mut batches);
                heard = true;
            }
            if !heard {
                let frame = Err(Undelivered::Missing("nothing arrived".to_owned()));
                sort(Arrival { client, frame, seconds: 0.0 }, &asked, false, &mut batches);
            }
        }
        (up, batches)
    }
}

/// Adds the replies of one arrival to the batches that they belong to, and returns the bytes of its
/// frame. Of several from one client the first counts: the others are refused where that is
/// reported (`is_reported`), and dropped elsewhere.
fn sort<T: Real>(
    arrival: Arrival<T>,
    (header, down, kinds): &(Header, Traffic, Vec<Kind>),
    is_repeated: bool,
    batches: &mut [HeardBatch<T>],
) -> Traffic {
    let Arrival { client, frame, seconds } = arrival;
    let (round, up, replies) = match readable(frame, header, kinds.len()) {
        Ok(mut frame) => {
            let up = traffic(&mut frame);
            (frame.header.round, up, frame.items.into_iter().map(Ok).collect())
        }
        Err(reason) => {
            let replies: Vec<_> = kinds.iter().map(|_| Err(reason.clone())).collect();
            (header.round, Traffic::default(), replies)
        }
    };
    for (kind, reply) in kinds.iter().zip(replies) {
        // Whether an update is for this round is the screen's to decide.
        let late = round != header.round && *kind != Kind::Train;
        if is_repeated && !kind.is_reported() {
            continue;
        }
        let reply = reply.and_then(|reply: Reply<T>| match late {
            _ if is_repeated => Err(Reason::Duplicate),
            true => {
                Err(Reason::WrongRound { expected: header.round as usize, found: round as usize })
            }
            false => Ok(reply),
        });
        if let Some((_, batch)) = batches.iter_mut().find(|(of, _)| of == kind) {
            let (round, down) = (round as usize, *down);
            batch.push(Heard { client, round, seconds, down, up, reply });
        }
    }
    up
}

/// The frame, if it is a reply to the one with this header.
fn readable<T: Real>(
    frame: Result<ReplyFrame<T>, Undelivered>,
    header: &Header,
    tasks: usize,
) -> Result<ReplyFrame<T>, Reason> {
    let frame = frame.map_err(|error| match error {
        Undelivered::Missing(reason) => Reason::Missing(reason),
        Undelivered::Unreadable(Error::Shapes { expected, found }) => {
            Reason::Shape { expected, found }
        }
        Undelivered::Unreadable(error) => Reason::Unreadable(error.to_string()),
    })?;
    let same_round = Header { round: header.round, ..frame.header };
    if let Err(error) = header.check_reply(&same_round) {
        return Err(Reason::Unreadable(error.to_string()));
    }
    if frame.items.len() != tasks {
        let found = frame.items.len();
        return Err(Reason::Unreadable(format!("{tasks} replies were due, {found} arrived")));
    }
    Ok(frame)
}

/// The bytes of a frame without what only a simulation reveals.
fn traffic<T: Real>(frame: &mut ReplyFrame<T>) -> Traffic {
    let revealed: Vec<_> = frame.items.iter_mut().map(|reply| take_revealed(reply)).collect();
    let traffic = measure(frame);
    for (reply, revealed) in frame.items.iter_mut().zip(revealed) {
        if let Reply::Evaluated(evaluation) = reply {
            evaluation.revealed = revealed;
        }
    }
    traffic
}

fn take_revealed<T: Real>(reply: &mut Reply<T>) -> Option<Revealed<T>> {
    match reply {
        Reply::Evaluated(evaluation) => evaluation.revealed.take(),
        _ => None,
    }
}
