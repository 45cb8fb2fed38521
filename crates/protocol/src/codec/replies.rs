//! The encoding of replies.

use super::Wire;
use super::reader::Reader;
use super::tasks::{TEXT, count_bytes, message_bytes, params_bytes, read_state, write_state};
use super::values::{read_list, read_numbers, write_list, write_numbers};
use super::writer::Writer;
use crate::{
    Answer, Claims, Conclusion, Enrolment, Evaluation, Exchanged, Failure, Fault, GroupCounts,
    Reply, Result, Revealed, Schema, Summary, Update,
};
use boostfgl_nn::Real;

const ENROLLED: u8 = 1;
const EXCHANGED: u8 = 2;
const UPDATE: u8 = 3;
const EVALUATED: u8 = 4;
const CONCLUDED: u8 = 5;
const STATE: u8 = 6;
const DONE: u8 = 7;
const FAILED: u8 = 8;
/// An evaluation with counts by protected attribute. Others are as long as without any.
const EVALUATED_BY_GROUP: u8 = 9;

impl<T: Real> Wire<T> for Reply<T> {
    fn write(&self, out: &mut Writer) {
        match self {
            Self::Enrolled(enrolment) => {
                out.byte(ENROLLED);
                Wire::<T>::write(enrolment, out);
            }
            Self::Exchanged(exchanged) => {
                out.byte(EXCHANGED);
                exchanged.write(out);
            }
            Self::Update(update) => {
                out.byte(UPDATE);
                update.write(out);
            }
            Self::Evaluated(evaluation) if evaluation.groups.is_empty() => {
                out.byte(EVALUATED);
                evaluation.write(out);
            }
            Self::Evaluated(evaluation) => {
                out.byte(EVALUATED_BY_GROUP);
                evaluation.write(out);
                write_groups(&evaluation.groups, out);
            }
            Self::Concluded(conclusion) => {
                out.byte(CONCLUDED);
                out.bytes(&conclusion.digest);
            }
            Self::State(state) => {
                out.byte(STATE);
                write_state(state, out);
            }
            Self::Done => out.byte(DONE),
            Self::Failed(failure) => {
                out.byte(FAILED);
                out.text(&failure.reason);
                out.text(&failure.advice);
            }
        }
    }

    fn read(input: &mut Reader<'_, T>) -> Result<Self> {
        Ok(match input.byte()? {
            ENROLLED => Self::Enrolled(Wire::<T>::read(input)?),
            EXCHANGED => Self::Exchanged(Exchanged::read(input)?),
            UPDATE => Self::Update(Update::read(input)?),
            EVALUATED => Self::Evaluated(Evaluation::read(input)?),
            EVALUATED_BY_GROUP => {
                let evaluation = Evaluation::read(input)?;
                Self::Evaluated(Evaluation { groups: read_groups(input)?, ..evaluation })
            }
            CONCLUDED => Self::Concluded(Conclusion { digest: input.array()? }),
            STATE => Self::State(read_state(input)?),
            DONE => Self::Done,
            FAILED => Self::Failed(Failure { reason: input.text()?, advice: input.text()? }),
            other => return Err(input.malformed("the tag of a reply", other)),
        })
    }
}

impl<T: Real> Wire<T> for Enrolment {
    fn write(&self, out: &mut Writer) {
        out.text(&self.name);
        out.u64(self.nodes);
        out.u64(self.training);
        out.u64(self.validation);
        out.u64(self.test);
        out.u64(self.arcs);
        Wire::<T>::write(&self.schema, out);
        out.bytes(&self.settings);
        write_numbers(&self.class_counts, out);
        write_numbers(&self.moments, out);
        write_numbers(&self.group_counts, out);
    }

    fn read(input: &mut Reader<'_, T>) -> Result<Self> {
        Ok(Self {
            name: input.text()?,
            nodes: input.u64()?,
            training: input.u64()?,
            validation: input.u64()?,
            test: input.u64()?,
            arcs: input.u64()?,
            schema: Wire::<T>::read(input)?,
            settings: input.array()?,
            class_counts: read_numbers(input)?,
            moments: read_numbers(input)?,
            group_counts: read_numbers(input)?,
        })
    }
}

impl<T: Real> Wire<T> for Schema {
    fn write(&self, out: &mut Writer) {
        out.u32(self.features);
        write_list::<T, _>(&self.columns, out);
        write_list::<T, _>(&self.classes, out);
        out.bool(self.is_fixed);
        out.text(&self.file);
    }

    fn read(input: &mut Reader<'_, T>) -> Result<Self> {
        Ok(Self {
            features: input.u32()?,
            columns: read_list(input, TEXT)?,
            classes: read_list(input, TEXT)?,
            is_fixed: input.bool()?,
            file: input.text()?,
        })
    }
}

impl<T: Real> Wire<T> for Evaluation<T> {
    fn write(&self, out: &mut Writer) {
        out.u64(self.hits);
        out.u64(self.validated);
        write_numbers(&self.counts, out);
        self.revealed.write(out);
    }

    fn read(input: &mut Reader<'_, T>) -> Result<Self> {
        Ok(Self {
            hits: input.u64()?,
            validated: input.u64()?,
            counts: read_numbers(input)?,
            groups: Vec::new(),
            revealed: Wire::<T>::read(input)?,
        })
    }
}

fn write_groups(groups: &[GroupCounts], out: &mut Writer) {
    out.length(groups.len());
    for group in groups {
        out.text(&group.attribute);
        out.text(&group.value);
        out.u64(group.right);
        group.outcomes.iter().for_each(|&count| out.u64(count));
        write_numbers(&group.positives, out);
        write_numbers(&group.negatives, out);
    }
}

/// At least one group: an evaluation without any has another tag, so that each has one encoding.
fn read_groups<T: Real>(input: &mut Reader<'_, T>) -> Result<Vec<GroupCounts>> {
    let count = input.length(GROUP)?;
    if count == 0 {
        return Err(input.malformed("a group", "none"));
    }
    let mut groups = Vec::with_capacity(count);
    for _ in 0..count {
        groups.push(GroupCounts {
            attribute: input.text()?,
            value: input.text()?,
            right: input.u64()?,
            outcomes: [input.u64()?, input.u64()?, input.u64()?, input.u64()?],
            positives: read_numbers(input)?,
            negatives: read_numbers(input)?,
        });
    }
    Ok(groups)
}

impl<T: Real> Wire<T> for Revealed<T> {
    fn write(&self, out: &mut Writer) {
        write_numbers(&self.predictions, out);
        self.probabilities.write(out);
        self.model.write(out);
    }

    fn read(input: &mut Reader<'_, T>) -> Result<Self> {
        Ok(Self {
            predictions: read_numbers(input)?,
            probabilities: Wire::<T>::read(input)?,
            model: Wire::<T>::read(input)?,
        })
    }
}

impl<T: Real> Wire<T> for Update<T> {
    fn write(&self, out: &mut Writer) {
        Wire::<T>::write(&self.claims, out);
        self.model.write(out);
        self.message.write(out);
    }

    fn read(input: &mut Reader<'_, T>) -> Result<Self> {
        Ok(Self {
            claims: Wire::<T>::read(input)?,
            model: Wire::<T>::read(input)?,
            message: Wire::<T>::read(input)?,
        })
    }
}

impl<T: Real> Wire<T> for Claims {
    fn write(&self, out: &mut Writer) {
        out.f64(self.loss);
        Wire::<T>::write(&self.size, out);
        Wire::<T>::write(&self.norms, out);
        Wire::<T>::write(&self.summary, out);
        out.f64(self.seconds);
    }

    fn read(input: &mut Reader<'_, T>) -> Result<Self> {
        Ok(Self {
            loss: input.f64()?,
            size: Wire::<T>::read(input)?,
            norms: Wire::<T>::read(input)?,
            summary: Wire::<T>::read(input)?,
            seconds: input.f64()?,
        })
    }
}

impl<T: Real> Wire<T> for Summary {
    fn write(&self, out: &mut Writer) {
        out.f64(self.gap);
        out.f64(self.minority_difficulty);
    }

    fn read(input: &mut Reader<'_, T>) -> Result<Self> {
        Ok(Self { gap: input.f64()?, minority_difficulty: input.f64()? })
    }
}

const QUESTION: u8 = 1;
const ANSWERS: u8 = 2;
const RECEIVED: u8 = 3;
const FINISHED: u8 = 4;

impl<T: Real> Wire<T> for Exchanged<T> {
    fn write(&self, out: &mut Writer) {
        match self {
            Self::Question(question) => {
                out.byte(QUESTION);
                question.write(out);
            }
            Self::Answers(answers) => {
                out.byte(ANSWERS);
                write_list(answers, out);
            }
            Self::Received(faults) => {
                out.byte(RECEIVED);
                write_list::<T, _>(faults, out);
            }
            Self::Finished => out.byte(FINISHED),
        }
    }

    fn read(input: &mut Reader<'_, T>) -> Result<Self> {
        Ok(match input.byte()? {
            QUESTION => Self::Question(Wire::<T>::read(input)?),
            ANSWERS => Self::Answers(read_list(input, ANSWER)?),
            RECEIVED => Self::Received(read_list::<T, _>(input, FAULT)?),
            FINISHED => Self::Finished,
            other => return Err(input.malformed("the tag of a step", other)),
        })
    }
}

/// Bytes of the shortest answer: a bool, a client's number and an empty text.
const ANSWER: usize = 9;
/// Bytes of a group without names and counts.
const GROUP: usize = 56;

/// Bytes of a client's number and two empty texts.
const FAULT: usize = 12;

impl<T: Real> Wire<T> for Fault {
    fn write(&self, out: &mut Writer) {
        out.u32(self.client);
        out.text(&self.kind);
        out.text(&self.reason);
    }

    fn read(input: &mut Reader<'_, T>) -> Result<Self> {
        Ok(Self { client: input.u32()?, kind: input.text()?, reason: input.text()? })
    }
}

impl<T: Real> Wire<T> for Answer<T> {
    fn write(&self, out: &mut Writer) {
        out.bool(matches!(self, Self::Given(..)));
        match self {
            Self::Given(client, answer) => {
                out.u32(*client);
                answer.write(out);
            }
            Self::Failed(client, reason) => {
                out.u32(*client);
                out.text(reason);
            }
        }
    }

    fn read(input: &mut Reader<'_, T>) -> Result<Self> {
        let is_given = input.bool()?;
        let client = input.u32()?;
        Ok(match is_given {
            true => Self::Given(client, Wire::<T>::read(input)?),
            false => Self::Failed(client, input.text()?),
        })
    }
}

impl<T: Real> Update<T> {
    /// Bytes of the numbers of model, message, size and summary.
    pub fn payload(&self) -> u64 {
        let Claims { size, summary, .. } = &self.claims;
        let numbers = usize::from(size.is_some()) + 2 * usize::from(summary.is_some());
        let model = self.model.as_ref().map_or(0, |model| params_bytes(model));
        model + message_bytes(&self.message) + (numbers * size_of::<f64>()) as u64
    }
}

/// Bytes of what a method sends in a reply: models, messages, sizes, summaries, and the class counts
/// and moments of features that some settings need. Losses, seconds and norms are facts about the training, and count with the frame.
pub(super) fn payload<T: Real>(reply: &Reply<T>) -> u64 {
    match reply {
        Reply::Update(update) => update.payload(),
        Reply::Enrolled(enrolment) => {
            count_bytes(&enrolment.class_counts) + count_bytes(&enrolment.moments)
        }
        Reply::Exchanged(Exchanged::Question(Some(question))) => message_bytes(question),
        Reply::Exchanged(Exchanged::Answers(answers)) => answers
            .iter()
            .map(|answer| match answer {
                Answer::Given(_, message) => message_bytes(message),
                Answer::Failed(..) => 0,
            })
            .sum(),
        _ => 0,
    }
}
