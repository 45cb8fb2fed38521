//! The encoding of tasks.

use super::Wire;
use super::reader::Reader;
use super::values::{read_list, read_numbers, write_list, write_numbers};
use super::writer::Writer;
use crate::{Broadcast, Discard, Exchange, Message, Result, Roster, Task, Trial};
use boostfgl_nn::Real;

const ENROLL: u8 = 1;
const BEGIN: u8 = 2;
const EXCHANGE: u8 = 3;
const TRAIN: u8 = 4;
const DISCARD: u8 = 5;
const EVALUATE: u8 = 6;
const KEEP: u8 = 7;
const CONCLUDE: u8 = 8;
const SAVE: u8 = 9;
const RESTORE: u8 = 10;

impl<T: Real> Wire<T> for Task<T> {
    fn write(&self, out: &mut Writer) {
        match self {
            Self::Enroll => out.byte(ENROLL),
            Self::Begin(roster) => {
                out.byte(BEGIN);
                Wire::<T>::write(roster, out);
            }
            Self::Exchange(exchange) => {
                out.byte(EXCHANGE);
                exchange.write(out);
            }
            Self::Train(broadcast) => {
                out.byte(TRAIN);
                broadcast.write(out);
            }
            Self::Discard(Discard { numeric, model }) => {
                out.byte(DISCARD);
                out.bool(*numeric);
                model.write(out);
            }
            Self::Evaluate(Trial { rounds_done, model, starts_next }) => {
                out.byte(EVALUATE);
                out.u32(*rounds_done);
                model.write(out);
                out.bool(*starts_next);
            }
            Self::Keep { rounds_done } => {
                out.byte(KEEP);
                out.u32(*rounds_done);
            }
            Self::Conclude => out.byte(CONCLUDE),
            Self::Save => out.byte(SAVE),
            Self::Restore(state) => {
                out.byte(RESTORE);
                write_state(state, out);
            }
        }
    }

    fn read(input: &mut Reader<'_, T>) -> Result<Self> {
        Ok(match input.byte()? {
            ENROLL => Self::Enroll,
            BEGIN => Self::Begin(Wire::<T>::read(input)?),
            EXCHANGE => Self::Exchange(Exchange::read(input)?),
            TRAIN => Self::Train(Broadcast::read(input)?),
            DISCARD => {
                Self::Discard(Discard { numeric: input.bool()?, model: Wire::<T>::read(input)? })
            }
            EVALUATE => Self::Evaluate(Trial {
                rounds_done: input.u32()?,
                model: Wire::<T>::read(input)?,
                starts_next: input.bool()?,
            }),
            KEEP => Self::Keep { rounds_done: input.u32()? },
            CONCLUDE => Self::Conclude,
            SAVE => Self::Save,
            RESTORE => Self::Restore(read_state(input)?),
            other => return Err(input.malformed("the tag of a task", other)),
        })
    }
}

impl<T: Real> Wire<T> for Broadcast<T> {
    fn write(&self, out: &mut Writer) {
        out.u32(self.rounds_done);
        self.model.write(out);
        self.message.write(out);
    }

    fn read(input: &mut Reader<'_, T>) -> Result<Self> {
        Ok(Self {
            rounds_done: input.u32()?,
            model: Wire::<T>::read(input)?,
            message: Wire::<T>::read(input)?,
        })
    }
}

impl<T: Real> Wire<T> for Roster {
    fn write(&self, out: &mut Writer) {
        out.u32(self.client);
        out.length(self.able.len());
        self.able.iter().for_each(|able| out.bool(*able));
        write_list::<T, _>(&self.classes, out);
        write_numbers(&self.class_counts, out);
        write_numbers(&self.moments, out);
    }

    fn read(input: &mut Reader<'_, T>) -> Result<Self> {
        let client = input.u32()?;
        let clients = input.length(1)?;
        let able = (0..clients).map(|_| input.bool()).collect::<Result<Vec<_>>>()?;
        let (classes, class_counts) = (read_list(input, TEXT)?, read_numbers(input)?);
        Ok(Self { client, able, classes, class_counts, moments: read_numbers(input)? })
    }
}

const ASK: u8 = 1;
const ANSWER: u8 = 2;
const RECEIVE: u8 = 3;
const FINISH: u8 = 4;

impl<T: Real> Wire<T> for Exchange<T> {
    fn write(&self, out: &mut Writer) {
        match self {
            Self::Ask { number } => {
                out.byte(ASK);
                out.u32(*number);
            }
            Self::Answer { number, questions } => {
                out.byte(ANSWER);
                out.u32(*number);
                write_list::<T, _>(questions, out);
            }
            Self::Receive { number, answers } => {
                out.byte(RECEIVE);
                out.u32(*number);
                write_list::<T, _>(answers, out);
            }
            Self::Finish => out.byte(FINISH),
        }
    }

    fn read(input: &mut Reader<'_, T>) -> Result<Self> {
        Ok(match input.byte()? {
            ASK => Self::Ask { number: input.u32()? },
            ANSWER => {
                Self::Answer { number: input.u32()?, questions: read_list(input, NAMED_MESSAGE)? }
            }
            RECEIVE => {
                Self::Receive { number: input.u32()?, answers: read_list(input, NAMED_MESSAGE)? }
            }
            FINISH => Self::Finish,
            other => return Err(input.malformed("the tag of a step", other)),
        })
    }
}

/// Bytes of a client's number and an empty message.
pub(super) const NAMED_MESSAGE: usize = 16;

/// Bytes of an empty text.
pub(super) const TEXT: usize = 4;

pub(super) fn write_state(state: &[u8], out: &mut Writer) {
    out.u64(state.len() as u64);
    out.bytes(state);
}

pub(super) fn read_state<T: Real>(input: &mut Reader<'_, T>) -> Result<Vec<u8>> {
    let length = input.u64()?;
    match usize::try_from(length) {
        Ok(length) if length <= input.left() => Ok(input.take(length)?.to_vec()),
        _ => Err(input.malformed(format!("a state of at most {} bytes", input.left()), length)),
    }
}

/// Bytes of what a method sends in a task: models and messages of training and exchanges, and the
/// class counts and moments of all clients. The evaluation of a model is no part of a method.
pub(super) fn payload<T: Real>(task: &Task<T>) -> u64 {
    match task {
        Task::Train(broadcast) => broadcast.payload(),
        Task::Begin(roster) => count_bytes(&roster.class_counts) + count_bytes(&roster.moments),
        Task::Exchange(Exchange::Answer { questions, .. }) => {
            questions.iter().map(|(_, question)| message_bytes(question)).sum()
        }
        Task::Exchange(Exchange::Receive { answers, .. }) => {
            answers.iter().map(|(_, answer)| message_bytes(answer)).sum()
        }
        _ => 0,
    }
}

/// Bytes of counts or moments.
pub(super) fn count_bytes<N>(counts: &[N]) -> u64 {
    size_of_val(counts) as u64
}

impl<T: Real> Broadcast<T> {
    /// Bytes of the numbers of model and message.
    pub fn payload(&self) -> u64 {
        let model = self.model.as_ref().map_or(0, |model| params_bytes(model.params()));
        model + self.message.as_ref().map_or(0, |message| message_bytes(message))
    }
}

impl<T: Real> Message<T> {
    /// Bytes of its numbers, without lengths and shapes.
    pub fn payload(&self) -> u64 {
        message_bytes(self)
    }
}

/// Bytes of the numbers of a model.
pub(super) fn params_bytes<T: Real>(params: &boostfgl_nn::Params<T>) -> u64 {
    (params.count() * size_of::<T>()) as u64
}

/// Bytes of the numbers of a message, without lengths and shapes.
pub(super) fn message_bytes<T: Real>(message: &Message<T>) -> u64 {
    let mut count = Writer::counting();
    message.write(&mut count);
    // Three lists with a length each, and the shape of every tensor.
    count.count() - 12 - 8 * message.tensors.len() as u64
}
