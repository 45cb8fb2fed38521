//! The client's side of a method: hooks around preparation, local training and evaluation.
//!
//! ```text
//!  PreparationHooks, once    │ TrainingHooks, every round                │ PersonalModel
//!                            │                                           │
//!  question                  │ broadcast_form, begin                     │ deploy
//!     │                      │   │  ┌─────────── E epochs ────────────┐  │   │
//!     ▼                      │   ▼  │ reparametrise, effective        │  │   ▼
//!  answer (other clients)    │ train│ forward pass, extra             │  │ predict
//!     │                      │   │  │ backward pass, adjust           │  │
//!     ▼                      │   │  │ optimiser's step                │  │
//!  receive_answers           │   ▼  └─────────────────────────────────┘  │
//!     │ × exchanges          │ finish ─► Upload ─► server ─► (refused)   │
//!     ▼                      │                                           │
//!  finish_preparation        │          RuleState::visit: between rounds, to save or to restore
//! ```
//!
//! Every hook has a default that does nothing, so that a rule without any is FedAvg's client
//! ([`Plain`]). A rule implements the traits whose hooks it needs, and takes the others as they are
//! with one line, `default_hooks!(Rule: PreparationHooks, PersonalModel)`.
//!
//! Boosts are not rules. The client applies node weights and propagation under every rule, see
//! [`crate::boost`].

mod broadcast_form;
mod context;
mod personal_model;
mod preparation;
mod state;
mod training;
mod upload;

pub use broadcast_form::BroadcastForm;
pub use context::ClientContext;
pub(crate) use context::positions;
pub use personal_model::PersonalModel;
pub use preparation::PreparationHooks;
pub use state::{RuleState, StateContext};
pub use training::TrainingHooks;
pub use upload::Upload;

use boostfgl_nn::Real;

/// The client's side of a method: everything that implements the four groups of hooks.
pub trait ClientRule<T: Real>:
    PreparationHooks<T> + TrainingHooks<T> + PersonalModel<T> + RuleState<T> + Send
{
}

impl<T: Real, R> ClientRule<T> for R where
    R: PreparationHooks<T> + TrainingHooks<T> + PersonalModel<T> + RuleState<T> + Send
{
}

/// Implements groups of hooks of a client rule with their defaults:
/// `default_hooks!(Rule<T>: PersonalModel)`, where the number type is called `T`.
///
/// ```
/// use boostfgl_fed::{ClientRule, default_hooks};
///
/// /// FedAvg's client: every hook is the default.
/// struct Mine;
///
/// default_hooks!(Mine: PreparationHooks, TrainingHooks, PersonalModel, RuleState);
///
/// let rule: Box<dyn ClientRule<f32>> = Box::new(Mine);
/// ```
#[macro_export]
macro_rules! default_hooks {
    ($rule:ty: $($hooks:ident),+ $(,)?) => {
        $(impl<T: $crate::Real> $crate::$hooks<T> for $rule {})+
    };
}
pub(crate) use default_hooks;

/// FedAvg's client: every hook is the default.
pub(crate) struct Plain;

default_hooks!(Plain: PreparationHooks, TrainingHooks, PersonalModel, RuleState);
