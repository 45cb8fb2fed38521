//! Federated methods: one file each, one line in [`METHODS`].
//!
//! A method has two sides: a [`ServerRule`] says which model each client starts a round from, how
//! updates are combined and which model is judged; a [`ClientRule`] says what a client adds to
//! local training and what it sends beside its model. Boosts are not methods; they hook into the
//! client's loss, its propagation and the server's weights, whatever the method.
//!
//! A file `methods/NAME.rs` holds
//! * `INFO`, a [`MethodInfo`]: what `boostfgl methods NAME` prints and what the program must know
//!   before it runs;
//! * `server(&MethodContext)` and `client(&MethodContext, &LocalData)`, the two sides;
//! * if it has settings, a documented `Config` with `check`, whose keys are `methods.NAME.KEY`.

pub mod adafgl;
pub mod afl;
mod boostfgl;
mod central;
pub mod fairfed;
pub mod fairfgl;
mod fedavg;
pub mod fedfv;
pub mod fedgta;
pub mod fedproto;
pub mod fedprox;
pub mod fedpub;
pub mod fedsage_plus;
pub mod fedspray;
pub mod fedtad;
mod isolated;
pub mod moon;
pub mod qffl;
pub mod scaffold;

use crate::aggregate::{self, Rule, Update};
use crate::attack;
use crate::boost::{Boost, ModelBoost};
use crate::client_rule::ClientRule;
use crate::config::Model;
use crate::local_data::LocalData;
use crate::screen::{DistanceRange, Form};
use crate::shared_models::SharedModels;
use crate::wire::Message;
use crate::{Combination, Error, Result, Setup};
use boostfgl_graph::{Adjacency, Features, Graph, Labels};
use boostfgl_nn::backbones::{Backbone, Pass, ViewPlan};
use boostfgl_nn::{Inputs, Params, Pool, Real, StateVisitor, View};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// The server's side of a method.
pub trait ServerRule<T: Real>: Send + Sync {
    /// The model client `k` starts the next round from; `None` if it goes on from its own.
    fn start(&self, client: usize) -> Option<&Params<T>>;

    /// What else client `k` is told at the start of a round.
    fn tell(&self, _client: usize) -> Option<&Message<T>> {
        None
    }

    /// What an update has to be like: the screen refuses every other one. A model and nothing else
    /// by default.
    fn form(&self, _turn: &SenderFacts<'_, T>) -> Form {
        Form::model()
    }

    /// From what to what each tensor of what is combined can have moved, where a message of this
    /// form shows it in place of a model. What a client says of that is then no more than a check.
    fn moved(&self, _message: &Message<T>) -> Option<Vec<DistanceRange>> {
        None
    }

    /// The model that is judged on client `k`'s graph; `None` if that is the client's own.
    fn evaluated(&self, client: usize) -> Option<&Params<T>> {
        self.start(client)
    }

    /// Takes in the updates of a round, in client order. Returns how they were weighted, if they
    /// were combined.
    ///
    /// # Errors
    /// If the updates cannot be combined.
    fn aggregate(
        &mut self,
        updates: &[Update<'_, T>],
        round: &Round<'_, T>,
    ) -> Result<Option<Combination>>;

    /// Takes down what the server remembers from round to round, or puts it back into one that was
    /// just made.
    ///
    /// # Errors
    /// As [`Stateful::visit`](boostfgl_nn::Stateful::visit).
    fn visit(&mut self, visitor: &mut StateVisitor<'_>) -> boostfgl_nn::Result<()>;

    /// The final models: one for all clients, one each, or none if clients keep their own.
    fn models(&self) -> Vec<&Params<T>>;
}

/// Whose update it is that a server tells the form of.
pub struct SenderFacts<'a, T> {
    /// The client that sent it.
    pub client: usize,
    /// Rounds done before this one.
    pub done: usize,
    /// The number of training nodes that the client was enrolled with.
    pub labelled: f64,
    /// Σᵥ (dᵥ + 1), its arcs and nodes together, likewise.
    pub reach: f64,
    /// What it sent: not to be believed, but it may choose among the forms that there are.
    pub message: &'a Message<T>,
}

/// What a server knows of a round, beside the updates.
pub struct Round<'a, T: Real> {
    /// Rounds done before this one.
    pub done: usize,
    /// Trust in the clients, under model boosting.
    pub boost: Option<&'a ModelBoost>,
    /// The network.
    pub backbone: &'a dyn Backbone<T>,
    /// Buffers.
    pub pool: &'a Pool<T>,
    /// How models are combined: for [`Combination::combine`].
    pub aggregation: aggregate::Config,
}

/// What both sides of a method are made from. Nothing here comes from a client's data but their
/// sizes.
pub struct MethodContext<'a, T: Real> {
    /// The settings of the run.
    pub setup: &'a Setup,
    /// The model that everybody starts from.
    pub initial: &'a Params<T>,
    /// The network.
    pub backbone: &'a dyn Backbone<T>,
    /// Number of clients K.
    pub clients: usize,
    /// Which of them have something to train on; the others never take part.
    pub able: Vec<bool>,
    /// Number of features d.
    pub features: usize,
    /// Number of classes C.
    pub classes: usize,
    /// Where clients keep what all of them received.
    pub(crate) archive: Arc<SharedModels<T>>,
}

impl<T: Real> MethodContext<'_, T> {
    /// The width of the network's hidden representation, which a pass over a graph of one node
    /// shows; 0 if it has none.
    pub fn hidden_width(&self) -> usize {
        self.alone(|pass| pass.inspect(self.initial).1.map_or(0, |hidden| hidden.columns()))
    }

    /// The width of what goes into the network's last activation; 0 if it has none.
    pub fn activated_width(&self) -> usize {
        self.alone(|pass| pass.before_activation(self.initial).map_or(0, |before| before.columns()))
    }

    /// A pass over a graph of one node.
    fn alone<R>(&self, look: impl FnOnce(Pass<'_, T>) -> R) -> R {
        let alone = Adjacency::from_edges(1, &[], None, false).and_then(|(adjacency, _)| {
            let features = Features::dense(1, self.features, vec![0.0; self.features])?;
            Graph::new("one node", adjacency, features, Labels::from_integers(&[-1], 1)?)
        });
        let alone = match alone {
            Ok(graph) => graph,
            Err(error) => unreachable!("a graph made here is sound: {error}"),
        };
        let mut inputs = Inputs::new(&alone);
        inputs.set_operator(alone.adjacency(), self.backbone.plan().operator);
        let (view, pool) = (View::whole(&inputs, self.backbone.plan()), Pool::new());
        look(Pass::new(self.backbone, &view, &pool))
    }
}

/// Where the data lie.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Layout {
    /// Each client has its part.
    Federated,
    /// One place has the whole graph: the reference that federation is compared with.
    Whole,
}

/// Whose model is judged.
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

/// What a method is, for people and for the program.
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
    /// Which model is judged, in words.
    pub evaluated: &'static str,
    /// How this differs from the paper and from public code, and why; empty if it does not.
    pub departures: &'static str,
    /// Whose model is judged.
    pub judged: EvaluatedModel,
    /// Where the data lie.
    pub layout: Layout,
    /// Boosts that are on unless `--boost` says otherwise.
    pub boosts: &'static [Boost],
    /// Why a boost makes no sense on this method, if it does not.
    pub refuses: fn(Boost) -> Option<&'static str>,
    /// Why this method cannot run on a network with this plan, if it cannot.
    pub network: fn(ViewPlan) -> Option<&'static str>,
    /// Why noise on messages makes no sense with this method, if it does not.
    pub noise: Option<&'static str>,
    /// Why a robust rule cannot combine the models of this method, if it cannot.
    pub outvotes: fn(Rule) -> Option<&'static str>,
    /// Rounds that the method adds after the T that were asked for.
    pub further_rounds: fn(&MethodConfigs) -> usize,
    /// Bytes that the method holds beside what FedAvg does, at its peak, for all clients and the
    /// server together.
    pub extra_bytes: fn(&Sizes, &MethodConfigs) -> f64,
}

impl MethodInfo {
    /// Where every method begins: a global model, every boost, every network and all data welcome,
    /// nothing extra.
    pub(crate) const PLAIN: Self = Self {
        name: "",
        summary: "",
        paper: "(baseline)",
        equations: "",
        wire: "",
        evaluated: "the global model, on every client's local graph",
        departures: "",
        judged: EvaluatedModel::Global,
        layout: Layout::Federated,
        boosts: &[],
        refuses: |_| None,
        network: |_| None,
        noise: None,
        outvotes: |_| None,
        further_rounds: |_| 0,
        extra_bytes: |_, _| 0.0,
    };
}

/// The sizes that decide what a method needs: whole numbers whose products may be too large for any
/// integer.
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
pub(crate) fn lives_by_weights(rule: Rule) -> Option<&'static str> {
    (!rule.weighs()).then_some("its weights are what it learns, and this rule gives them no say")
}

/// A reason for [`MethodInfo::network`] of methods that look at the hidden representation.
pub(crate) fn needs_hidden(plan: ViewPlan) -> Option<&'static str> {
    plan.hidden
        .is_none()
        .then_some("it works on the hidden representation, and this network has no hidden layer")
}

macro_rules! methods {
    ($($module:ident),* $(,)?) => {
        /// All methods, in the order in which they are listed.
        pub const METHODS: &[&MethodInfo] = &[$(&$module::INFO),*];

        /// The server's side of the method.
        pub(crate) fn server<T: Real>(context: &MethodContext<'_, T>) -> Box<dyn ServerRule<T>> {
            $(if context.setup.method.name == $module::INFO.name {
                return Box::new($module::server(context));
            })*
            unreachable!("a MethodInfo comes from METHODS")
        }

        /// One client's side of the method.
        pub(crate) fn client<T: Real>(context: &MethodContext<'_, T>, data: &LocalData<T>) -> Box<dyn ClientRule<T>> {
            $(if context.setup.method.name == $module::INFO.name {
                return Box::new($module::client(context, data));
            })*
            unreachable!("a MethodInfo comes from METHODS")
        }
    };
}

macro_rules! configs {
    ($($field:ident = $name:literal),* $(,)?) => {
        /// Settings of all methods that have any (`[methods.NAME]`).
        #[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
        #[serde(deny_unknown_fields, default)]
        pub struct MethodConfigs {
            $(
                #[doc = concat!("Settings of ", $name, ".")]
                #[serde(rename = $name)]
                pub $field: $field::Config,
            )*
        }

        impl MethodConfigs {
            /// Checks every range.
            ///
            /// # Errors
            /// Names the first key that is out of range.
            pub fn check(&self) -> Result<()> {
                $(self.$field.check()?;)*
                Ok(())
            }
        }
    };
}

methods![
    isolated,
    central,
    fedavg,
    fedprox,
    scaffold,
    moon,
    fedsage_plus,
    fedtad,
    adafgl,
    fedgta,
    fedspray,
    fairfgl,
    boostfgl,
    qffl,
    afl,
    fedfv,
    fairfed,
    fedpub,
    fedproto,
];

configs![
    fedprox = "fedprox",
    scaffold = "scaffold",
    moon = "moon",
    fedsage_plus = "fedsage-plus",
    fedtad = "fedtad",
    adafgl = "adafgl",
    fedgta = "fedgta",
    fedspray = "fedspray",
    fairfgl = "fairfgl",
    qffl = "qffl",
    afl = "afl",
    fedfv = "fedfv",
    fairfed = "fairfed",
    fedpub = "fedpub",
    fedproto = "fedproto",
];

/// The method of that name.
///
/// # Errors
/// If there is none; the nearest name is suggested.
pub fn find(name: &str) -> Result<&'static MethodInfo> {
    let known = METHODS.iter().map(|m| m.name);
    METHODS
        .iter()
        .find(|m| m.name == name)
        .copied()
        .ok_or_else(|| Error::unknown("method", name, known))
}

/// Whether the method can run with these boosts on this network, which has this plan.
///
/// # Errors
/// The reason, if it cannot.
pub fn check(method: &MethodInfo, boosts: &[Boost], model: &Model, plan: ViewPlan) -> Result<()> {
    let backbone = &model.backbone;
    let refused =
        |what: String, reason: &'static str| Error::Refused { method: method.name, what, reason };
    for &boost in boosts {
        if let Some(reason) = (method.refuses)(boost) {
            return Err(refused(format!("{} boosting", boost.name()), reason));
        }
        if boost == Boost::Topology && plan.hops == 0 {
            let reason = "it reweights messages, and this network passes none";
            return Err(refused(format!("topology boosting on the backbone {backbone}"), reason));
        }
    }
    if model.message_noise > 0.0 {
        if let Some(reason) = method.noise {
            return Err(refused("noise on messages (model.message_noise)".into(), reason));
        }
        if plan.hops == 0 {
            let reason = "there would be nothing to disturb: this network passes no messages";
            return Err(refused(
                format!("noise on the messages (model.message_noise) of the backbone {backbone}"),
                reason,
            ));
        }
    }
    match (method.network)(plan) {
        Some(reason) => Err(refused(format!("the backbone {backbone}"), reason)),
        None => Ok(()),
    }
}

/// Whether the method can combine the models of so many participants by this rule.
///
/// # Errors
/// The reason, if it cannot.
pub fn check_rule(
    method: &MethodInfo,
    aggregation: aggregate::Config,
    participants: usize,
) -> Result<()> {
    let rule = aggregation.rule;
    if rule == Rule::Mean {
        return Ok(());
    }
    match (method.outvotes)(rule) {
        Some(reason) => {
            let what = format!("the rule {} (aggregation.rule)", rule.name());
            Err(Error::Refused { method: method.name, what, reason })
        }
        None => aggregation.check(participants),
    }
}

/// The clients that attack, of so many.
///
/// # Errors
/// As [`check_attack`].
pub fn attackers(
    method: &MethodInfo,
    attack: &attack::Config,
    clients: usize,
) -> Result<Vec<usize>> {
    check_attack(method, attack, clients)?;
    attack.attackers(clients)
}

/// Whether so many clients can attack under the method.
///
/// # Errors
/// If there are not so many, or the method has no clients that could.
pub fn check_attack(method: &MethodInfo, attack: &attack::Config, clients: usize) -> Result<()> {
    if attack.kind != attack::Kind::None && method.layout == Layout::Whole {
        let reason = "one place holds all data: there is no client that could attack";
        return Err(Error::Refused {
            method: method.name,
            what: "an attack (attack.kind)".into(),
            reason,
        });
    }
    attack.check_clients(clients)
}
