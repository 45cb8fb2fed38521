//! What makes the two sides of a method.

use super::{MethodContext, MethodInfo, ServerRule};
use crate::Result;
use crate::client_rule::ClientRule;
use crate::local_data::LocalData;
use boostfgl_nn::Real;

/// A method as a value that makes its two sides.
///
/// A method that is not built in holds its own settings. A [`Registry`](crate::Registry) takes it:
///
/// ```
/// use boostfgl_fed::methods::{MethodContext, MethodInfo, MethodPlugin, Round, ServerRule};
/// use boostfgl_fed::{
///     ClientRule, Combination, Contribution, LocalData, Model, Registry, Result, default_hooks,
/// };
/// use boostfgl_nn::{Params, Real, StateVisitor};
///
/// /// The plain mean of the models, whatever the sizes of the clients.
/// struct Mean;
///
/// static INFO: MethodInfo =
///     MethodInfo { name: "mean", summary: "unweighted mean of models", ..MethodInfo::PLAIN };
///
/// impl<T: Real> MethodPlugin<T> for Mean {
///     fn info(&self) -> &'static MethodInfo {
///         &INFO
///     }
///
///     fn server(&self, context: &MethodContext<'_, T>) -> Box<dyn ServerRule<T>> {
///         Box::new(MeanServer { global: Model::new(0, context.initial.clone()) })
///     }
///
///     fn client(
///         &self,
///         _: &MethodContext<'_, T>,
///         _: &LocalData<T>,
///     ) -> Box<dyn ClientRule<T>> {
///         Box::new(MeanClient)
///     }
/// }
///
/// struct MeanServer<T> {
///     global: Model<T>,
/// }
///
/// impl<T: Real> ServerRule<T> for MeanServer<T> {
///     fn start(&self, _: usize) -> Option<&Model<T>> {
///         Some(&self.global)
///     }
///
///     fn aggregate(
///         &mut self,
///         updates: &[Contribution<'_, T>],
///         round: &Round<'_, T>,
///     ) -> Result<Option<Combination>> {
///         let combination = Combination::new(updates, &vec![1.0; updates.len()], round.boost)?;
///         combination.combine(updates, round.aggregation, self.global.edit()).map(Some)
///     }
///
///     fn visit(&mut self, visitor: &mut StateVisitor<'_>) -> boostfgl_nn::Result<()> {
///         visitor.visit("global", &mut self.global)
///     }
///
///     fn models(&self) -> Vec<&Params<T>> {
///         vec![&self.global]
///     }
/// }
///
/// /// FedAvg's client.
/// struct MeanClient;
///
/// default_hooks!(MeanClient: PreparationHooks, TrainingHooks, PersonalModel, RuleState);
///
/// let registry = Registry::<f32>::builtin().with_method(Mean);
/// assert_eq!(registry.method("mean")?.summary, "unweighted mean of models");
/// let unknown = registry.method("meen").unwrap_err().to_string();
/// assert_eq!(unknown, "unknown method `meen` (did you mean `mean`?)");
/// # Ok::<(), boostfgl_fed::Error>(())
/// ```
pub trait MethodPlugin<T: Real>: Send + Sync {
    /// What the method is.
    fn info(&self) -> &'static MethodInfo;

    /// Checks the settings that the method holds, before a run.
    ///
    /// # Errors
    /// Names the first setting that is out of range.
    fn check(&self) -> Result<()> {
        Ok(())
    }

    /// The settings that the method holds, in words: server and clients must have the same. Empty
    /// if there are none, and for built-in methods, whose settings are those of the run.
    fn settings(&self) -> String {
        String::new()
    }

    /// The server's side.
    fn server(&self, context: &MethodContext<'_, T>) -> Box<dyn ServerRule<T>>;

    /// One client's side.
    fn client(&self, context: &MethodContext<'_, T>, data: &LocalData<T>)
    -> Box<dyn ClientRule<T>>;
}

/// A method of this crate.
pub(super) struct BuiltIn<T: Real> {
    pub(super) info: &'static MethodInfo,
    pub(super) server: MakeServer<T>,
    pub(super) client: MakeClient<T>,
}

type MakeServer<T> = fn(&MethodContext<'_, T>) -> Box<dyn ServerRule<T>>;

type MakeClient<T> = fn(&MethodContext<'_, T>, &LocalData<T>) -> Box<dyn ClientRule<T>>;

impl<T: Real> MethodPlugin<T> for BuiltIn<T> {
    fn info(&self) -> &'static MethodInfo {
        self.info
    }

    fn server(&self, context: &MethodContext<'_, T>) -> Box<dyn ServerRule<T>> {
        (self.server)(context)
    }

    fn client(
        &self,
        context: &MethodContext<'_, T>,
        data: &LocalData<T>,
    ) -> Box<dyn ClientRule<T>> {
        (self.client)(context, data)
    }
}
