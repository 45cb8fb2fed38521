//! Isolated: every client trains alone. The baseline that federation has to beat.

use super::{EvaluatedModel, MethodContext, MethodInfo, Round, SenderFacts, ServerRule};
use crate::Result;
use crate::aggregate::{Combination, Contribution};
use crate::boost::Boost;
use crate::client_rule::{ClientContext, TrainingHooks, Upload, default_hooks};
use crate::local_data::LocalData;
use crate::screen::Form;
use boostfgl_nn::{Params, Real, StateVisitor};
use boostfgl_protocol::Model;

pub(super) const INFO: MethodInfo = MethodInfo {
    name: "isolated",
    summary: "every client trains alone; nothing is sent",
    equations: "client k:  theta_k = E full-batch steps on (1/n_k^L) sum_v CE_v, from its own \
        last theta_k",
    wire: "nothing",
    evaluated: "each client's own model, on its local graph",
    evaluated_model: EvaluatedModel::Personal,
    refuses: nothing_is_combined,
    outvotes: |_| Some("nothing is combined"),
    ..MethodInfo::PLAIN
};

/// Trust weighs what a server combines.
pub(super) fn nothing_is_combined(boost: Boost) -> Option<&'static str> {
    (boost == Boost::Model)
        .then_some("trust weighs the models that a server combines, and here nothing is combined")
}

pub(super) fn server<T: Real>(_: &MethodContext<'_, T>) -> NoServer {
    NoServer
}

pub(super) fn client<T: Real>(_: &MethodContext<'_, T>, _: &LocalData<T>) -> Silent {
    Silent
}

/// No server: clients keep their models.
pub(super) struct NoServer;

impl<T: Real> ServerRule<T> for NoServer {
    fn start(&self, _: usize) -> Option<&Model<T>> {
        None
    }

    fn form(&self, _: &SenderFacts<'_, T>) -> Form {
        Form::message()
    }

    fn aggregate(
        &mut self,
        _: &[Contribution<'_, T>],
        _: &Round<'_, T>,
    ) -> Result<Option<Combination>> {
        Ok(None)
    }

    fn visit(&mut self, _: &mut StateVisitor<'_>) -> boostfgl_nn::Result<()> {
        Ok(())
    }

    fn models(&self) -> Vec<&Params<T>> {
        Vec::new()
    }
}

/// A client that sends nothing.
pub(super) struct Silent;

default_hooks!(Silent: PreparationHooks, PersonalModel, RuleState);

impl<T: Real> TrainingHooks<T> for Silent {
    fn finish(&mut self, _: &ClientContext<'_, T>, _: &Params<T>) -> Result<Upload<T>> {
        Ok(Upload::nothing())
    }
}
