//! What a client predicts with, apart from the reported model and its graph, and predicting again
//! with it.

use crate::{Error, Federation, Model, Result};
use boostfgl_nn::{Matrix, Params, Real, StateVisitor, Stateful};

/// Something that predictions of a run depend on, apart from the reported model and the client's
/// graph.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Beyond {
    /// Parameters that a client computes with in place of the reported ones.
    Deployed,
    /// Neighbours that the method has generated for the client's nodes.
    Generated,
    /// Messages that a boost reweights by what it knows of the client's nodes.
    Boosted,
    /// Modules of the method, which predict in place of the network.
    Modules,
    /// Noise on messages.
    Noise,
}

impl Beyond {
    /// All of them.
    pub const ALL: [Self; 5] =
        [Self::Deployed, Self::Generated, Self::Boosted, Self::Modules, Self::Noise];

    /// The name in model files.
    pub fn name(self) -> &'static str {
        match self {
            Self::Deployed => "deployed-parameters",
            Self::Generated => "generated-neighbours",
            Self::Boosted => "boosted-messages",
            Self::Modules => "method-modules",
            Self::Noise => "message-noise",
        }
    }

    /// What it is, as in "the run predicts with …".
    pub fn meaning(self) -> &'static str {
        match self {
            Self::Deployed => "parameters that each client makes of the reported model",
            Self::Generated => "neighbours that were generated for each client's nodes",
            Self::Boosted => "messages reweighted by the difficulty of each client's nodes",
            Self::Modules => "modules that each client trained on its own graph",
            Self::Noise => "noise on messages",
        }
    }

    /// Each of these once, in order.
    pub fn distinct(found: impl IntoIterator<Item = Self>) -> Vec<Self> {
        let mut distinct: Vec<Self> = found.into_iter().collect();
        distinct.sort_unstable();
        distinct.dedup();
        distinct
    }

    /// The one of that name.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|beyond| beyond.name() == name)
    }
}

/// What the clients of a run predict with in the reported round, apart from the reported models and
/// their graphs: nothing, for most methods.
#[derive(Clone, Debug)]
pub struct Predictors<T> {
    /// What there is.
    pub beyond: Vec<Beyond>,
    /// The parameters that each client computes with in place of the reported ones; empty if none
    /// does.
    pub deployed: Vec<Option<Params<T>>>,
    /// The state of each client that its predictions depend on; empty if none has any.
    pub states: Vec<Vec<u8>>,
}

impl<T> Default for Predictors<T> {
    fn default() -> Self {
        Self { beyond: Vec::new(), deployed: Vec::new(), states: Vec::new() }
    }
}

impl<T: Real> Predictors<T> {
    /// Of clients, each with what it has.
    pub(crate) fn of(clients: Vec<Predictor<T>>) -> Self {
        let beyond =
            Beyond::distinct(clients.iter().flat_map(|client| client.beyond.iter().copied()));
        let (deployed, states): (Vec<_>, Vec<_>) =
            clients.into_iter().map(|client| (client.deployed, client.state)).unzip();
        Self {
            beyond,
            deployed: if deployed.iter().all(Option::is_none) { Vec::new() } else { deployed },
            states: if states.iter().all(Vec::is_empty) { Vec::new() } else { states },
        }
    }

    /// Saves or restores all of it; parameters have the shapes of `model`.
    pub(crate) fn visit(
        &mut self,
        model: &Params<T>,
        visitor: &mut StateVisitor<'_>,
    ) -> boostfgl_nn::Result<()> {
        let names: Vec<&str> = self.beyond.iter().map(|beyond| beyond.name()).collect();
        let mut names = names.join(" ");
        visitor.visit("predicts with", &mut names)?;
        let known: Option<Vec<Beyond>> = names.split_whitespace().map(Beyond::from_name).collect();
        self.beyond = known.ok_or_else(|| visitor.mismatch("known names", names))?;
        let mut deployed: Vec<Deployed<T>> = self.deployed.drain(..).map(Deployed).collect();
        let template = Deployed(Some(model.clone()));
        visitor.each("deployed", &mut deployed, || template.clone())?;
        self.deployed = deployed.into_iter().map(|deployed| deployed.0).collect();
        visitor.each("states", &mut self.states, Vec::new)
    }
}

/// Parameters of a client, if it deploys any. To restore, it holds some of the right shapes.
#[derive(Clone)]
struct Deployed<T>(Option<Params<T>>);

impl<T: Real> Stateful for Deployed<T> {
    fn visit(&mut self, visitor: &mut StateVisitor<'_>) -> boostfgl_nn::Result<()> {
        let template = self.0.clone();
        let Some(template) = template.filter(|_| visitor.restores()) else {
            let unused = || unreachable!("nothing is restored");
            return visitor.option("parameters", &mut self.0, unused);
        };
        visitor.option("parameters", &mut self.0, || template)
    }
}

/// What one client predicts with.
pub(crate) struct Predictor<T> {
    pub(crate) beyond: Vec<Beyond>,
    pub(crate) deployed: Option<Params<T>>,
    pub(crate) state: Vec<u8>,
}

/// The reported round of a finished run.
#[derive(Clone, Copy, Debug)]
pub struct Reported<'a, T> {
    /// The round, from 1.
    pub round: usize,
    /// The model that each client evaluates: what it deploys, else the reported one.
    pub models: &'a [&'a Params<T>],
    /// The saved state of each client; empty if none has any.
    pub states: &'a [Vec<u8>],
}

impl<T: Real> Federation<T> {
    /// Predicts again what a finished run predicted in its reported round, in a federation of the
    /// same setup and data that has done nothing yet: the probability of every class for every node
    /// of the global graph, a row per node.
    ///
    /// # Errors
    /// If there is not one model for every client, or a state is not of such a federation.
    pub fn predict(mut self, reported: &Reported<'_, T>) -> Result<Matrix<T>> {
        let (expected, found) = (self.clients.len(), reported.models.len());
        let states = reported.states.len();
        if found != expected || (states > 0 && states != expected) {
            let place = "reported models".to_owned();
            let (expected, found) =
                (format!("those of {expected} clients"), format!("{found}, and {states} states"));
            return Err(Error::State(boostfgl_nn::Error::State { place, expected, found }));
        }
        let mut global = Matrix::zeros(self.nodes, self.server.classes.len());
        for (k, client) in self.clients.iter_mut().enumerate() {
            let state = reported.states.get(k).map_or(&[][..], Vec::as_slice);
            let found = client.predict_again(reported.round, reported.models[k], state)?;
            for (at, &v) in client.trainer().nodes().iter().enumerate() {
                global.row_mut(v as usize).copy_from_slice(found.row(at));
            }
        }
        Ok(global)
    }

    /// Puts the nodes that clients have generated before their states, once all rounds are done:
    /// they are large, and do not change in the rounds.
    pub(crate) fn add_graphs(&self, predictors: &mut Predictors<T>) -> Result<()> {
        let clients = self.clients.iter().zip(&mut predictors.states);
        for (client, state) in clients.filter(|(_, state)| !state.is_empty()) {
            let mut whole = client.trainer().saved_graph()?;
            whole.append(state);
            *state = whole;
        }
        Ok(())
    }

    /// What the clients predict with after an evaluation.
    pub(crate) fn predictors(&mut self) -> Result<Predictors<T>> {
        let Self { clients, server, .. } = self;
        let each = clients.iter_mut().enumerate().map(|(k, client)| {
            client.trainer_mut().predictor(server.rule.evaluated(k).map(Model::params))
        });
        Ok(Predictors::of(each.collect::<Result<_>>()?))
    }
}
