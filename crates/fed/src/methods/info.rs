//! The description of a method.

use super::MethodConfigs;
use crate::aggregate::Rule;
use crate::boost::Boost;
use boostfgl_nn::backbones::ViewPlan;

/// Where the data lie.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Layout {
    /// Each client has its part.
    Federated,
    /// One place has the whole graph: the reference that federation is compared with.
    Whole,
}

/// Which model is evaluated.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EvaluatedModel {
    /// One model, the same for every client.
    Global,
    /// Each client's own.
    Personal,
}

impl EvaluatedModel {
    /// One word for tables.
    pub fn name(self) -> &'static str {
        match self {
            Self::Global => "global",
            Self::Personal => "personal",
        }
    }
}

/// The description of a method: texts to print, and properties that are checked before a run.
#[derive(Clone, Copy, Debug)]
pub struct MethodInfo {
    /// The name on the command line.
    pub name: &'static str,
    /// What it is, in one line.
    pub summary: &'static str,
    /// Where it was published.
    pub paper: &'static str,
    /// Its equations, as plain text.
    pub equations: &'static str,
    /// What crosses the wire per client and round; P is the number of parameters.
    pub wire: &'static str,
    /// Which model is evaluated, in words.
    pub evaluated: &'static str,
    /// How this differs from the paper and from public code, and why; empty if it does not.
    pub departures: &'static str,
    /// Which model is evaluated.
    pub evaluated_model: EvaluatedModel,
    /// Where the data lie.
    pub layout: Layout,
    /// Boosts that are on by default; `--boost` overrides them.
    pub boosts: &'static [Boost],
    /// Why a boost makes no sense on this method, if it does not.
    pub refuses: fn(Boost) -> Option<&'static str>,
    /// Why this method cannot run on a network with this plan, if it cannot.
    pub network: fn(ViewPlan) -> Option<&'static str>,
    /// Why noise on messages makes no sense with this method, if it does not.
    pub noise: Option<&'static str>,
    /// Why a robust rule cannot combine the models of this method, if it cannot.
    pub outvotes: fn(Rule) -> Option<&'static str>,
    /// Why the server needs every single update, if a weighted sum of all is not enough. Secure
    /// aggregation hides single updates.
    pub single_updates: Option<&'static str>,
    /// Rounds that the method adds after the T of the protocol.
    pub further_rounds: fn(&MethodConfigs) -> usize,
    /// Exchanges between this number of clients before the first round.
    pub exchanges: fn(&MethodConfigs, usize) -> usize,
    /// Bytes that the method needs in addition to FedAvg, at its peak, for all clients and the
    /// server together.
    pub extra_bytes: fn(&Sizes, &MethodConfigs) -> f64,
}

impl MethodInfo {
    /// The defaults of every method: a global model, no boost or network refused, nothing extra. A
    /// method gives at least a name: `MethodInfo { name: "mine", ..MethodInfo::PLAIN }`.
    pub const PLAIN: Self = Self {
        name: "",
        summary: "",
        paper: "(baseline)",
        equations: "",
        wire: "",
        evaluated: "the global model, on every client's local graph",
        departures: "",
        evaluated_model: EvaluatedModel::Global,
        layout: Layout::Federated,
        boosts: &[],
        refuses: |_| None,
        network: |_| None,
        noise: None,
        outvotes: |_| None,
        single_updates: None,
        further_rounds: |_| 0,
        exchanges: |_, _| 0,
        extra_bytes: |_, _| 0.0,
    };
}

/// The sizes that the memory of a method follows from: whole numbers, as floats because their
/// products may be too large for any integer.
#[derive(Clone, Debug, PartialEq)]
pub struct Sizes {
    /// Nodes of each client.
    pub nodes: Vec<f64>,
    /// Directed edges of each client.
    pub arcs: Vec<f64>,
    /// Number of features d.
    pub features: f64,
    /// Hidden width h.
    pub hidden: f64,
    /// Number of classes C.
    pub classes: f64,
    /// Number of parameters P.
    pub parameters: f64,
    /// Rounds T.
    pub rounds: f64,
}

impl Sizes {
    /// Number of clients.
    pub fn clients(&self) -> f64 {
        self.nodes.len() as f64
    }

    /// Nodes of all clients.
    pub fn all_nodes(&self) -> f64 {
        self.nodes.iter().sum()
    }
}

/// A reason for [`MethodInfo::outvotes`] of methods that are about the weights of clients.
pub fn lives_by_weights(rule: Rule) -> Option<&'static str> {
    (!rule.weighs()).then_some("it learns the clients' weights, which this rule ignores")
}

/// A reason for [`MethodInfo::network`] of methods that use the hidden representation.
pub fn needs_hidden(plan: ViewPlan) -> Option<&'static str> {
    plan.hidden
        .is_none()
        .then_some("it works on the hidden representation, and this network has no hidden layer")
}
