//! Rates of the positive class by protected attribute, over the seeds of a run: for the terminal and
//! for the report.

mod rate;
mod text;
mod view;

pub(crate) use rate::Rate;
pub use text::FairnessTable;
pub(crate) use view::{AttributeView, GroupView, ThresholdView};
