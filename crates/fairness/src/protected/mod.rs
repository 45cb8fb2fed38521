//! Rates of a positive class by protected attribute: what fairness audits ask for.
//!
//! The positive class is the event that predictions select for, such as fraud. A protected attribute
//! is a group column of the data, such as sex or region. Nothing here is seen in training.
//!
//! * [`BinaryCounts`] — one class against all others.
//! * [`GroupRates`] — the rates of one group, with intervals.
//! * [`Disparities`] — how far the rates of groups are apart: demographic parity and equalised odds.
//! * [`Audit`] — the question about a model; its answer is [`FairnessScores`].
//! * [`GroupTally`] — the same from counts and histograms that clients send.
//! * [`thresholds`] — other thresholds for each group, and what they cost.

mod audit;
mod counts;
mod disparity;
mod grouped;
mod rates;
mod scores;
mod tallies;
pub mod thresholds;

pub use audit::{Audit, MOST_VALUES, positive_class};
pub use counts::BinaryCounts;
pub use disparity::{Disparities, Disparity, EqualisedOdds, LeftOut};
pub use rates::{GroupRates, Share};
pub use scores::{AttributeScores, ClassDisparity, ClassRates, FairnessScores, PositiveClass};
pub use tallies::GroupTally;
