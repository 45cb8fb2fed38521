//! The data of one client, which never leave it.

use crate::ClientName;
use crate::run_context::RunPlan;
use boostfgl_graph::{Adjacency, FittedPreparation, Graph, Moments, Role};
use boostfgl_nn::{Inputs, Matrix, Operator, Real};
use boostfgl_partition::ClientGraph;
use boostfgl_protocol::{Enrolment, Schema};
use std::collections::{HashMap, HashSet};

/// The data of one client: its graph in the form that kernels use, its training labels and its
/// validation nodes.
#[derive(Debug)]
pub struct LocalData<T> {
    pub(crate) id: usize,
    pub(crate) name: String,
    pub(crate) schema: Schema,
    pub(crate) nodes: Vec<u32>,
    pub(crate) adjacency: Adjacency,
    pub(crate) inputs: Inputs<T>,
    /// Labels of training nodes; no other label may reach training.
    pub(crate) training_label: Vec<Option<u32>>,
    pub(crate) training: Vec<u32>,
    pub(crate) validation: Vec<(u32, u32)>,
    /// How many of the nodes are the client's own; nodes that a method generated come after them.
    pub(crate) own: usize,
    /// The graph whose features are still to be prepared, until it is known with which moments.
    raw: Option<Box<Graph>>,
    /// How features were prepared, if the data ask for it.
    fitted: Option<FittedPreparation>,
}

impl<T: Real> LocalData<T> {
    /// Converts a client's graph. Columns that have to be prepared are fitted on its own training
    /// nodes.
    pub fn new(client: &ClientGraph) -> Self {
        let Some(fitted) = fit(client) else {
            return Self::with_inputs(client, Inputs::new(&client.graph));
        };
        let inputs = prepared(&client.graph, &fitted);
        let raw = Some(Box::new(client.graph.clone()));
        Self { raw, fitted: Some(fitted), ..Self::with_inputs(client, inputs) }
    }

    /// How features were prepared, if the data ask for it.
    pub fn fitted(&self) -> Option<&FittedPreparation> {
        self.fitted.as_ref()
    }

    /// The moments of every column on the training nodes, as numbers; none if nothing is prepared.
    fn moments(&self) -> Vec<f64> {
        let Some(raw) = &self.raw else { return Vec::new() };
        let moments = raw
            .preparation()
            .map(|preparation| preparation.moments(raw.features(), self.training.iter().copied()));
        moments.into_iter().flatten().flat_map(Moments::to_numbers).collect()
    }

    /// Prepares the features for good: with the moments of all clients, where they are shared, and
    /// with its own otherwise. Moments of another number of columns are returned.
    pub(crate) fn prepare(&mut self, shared: Option<&[f64]>) -> Result<(), usize> {
        let Some(raw) = self.raw.take() else {
            return shared.map_or(Ok(()), |all| if all.is_empty() { Ok(()) } else { Err(0) });
        };
        let (Some(shared), Some(preparation)) = (shared, raw.preparation()) else { return Ok(()) };
        let columns = preparation.columns().len();
        let moments = parsed_moments(shared).filter(|moments| moments.len() == columns);
        let fitted = FittedPreparation::new(preparation, &moments.ok_or(columns)?);
        self.inputs = prepared(&raw, &fitted);
        self.fitted = Some(fitted);
        Ok(())
    }

    /// Like [`LocalData::new`] with given features.
    pub fn with_inputs(client: &ClientGraph, inputs: Inputs<T>) -> Self {
        let nodes = 0..client.graph.len();
        let schema = Schema {
            features: inputs.width() as u32,
            columns: Vec::new(),
            classes: client.graph.labels().names().to_vec(),
            is_fixed: true,
            file: String::new(),
        };
        Self {
            id: client.id,
            name: String::new(),
            schema,
            nodes: client.nodes.clone(),
            adjacency: client.graph.adjacency().clone(),
            inputs,
            training_label: nodes.clone().map(|v| label_in(client, Role::Train, v)).collect(),
            training: nodes
                .clone()
                .filter(|&v| label_in(client, Role::Train, v).is_some())
                .map(|v| v as u32)
                .collect(),
            validation: nodes
                .filter_map(|v| label_in(client, Role::Val, v).map(|y| (v as u32, y)))
                .collect(),
            own: client.graph.len(),
            raw: None,
            fitted: None,
        }
    }

    /// The same data with further nodes that a method generated: one for each of `owners`, joined
    /// to that node both ways, with a row of `features` each. They have no label and are in no
    /// split.
    ///
    /// # Panics
    /// If an owner does not exist or there is not one row of features per further node.
    #[must_use]
    pub fn extended(&self, owners: &[u32], features: &Matrix<T>) -> Self {
        let adjacency = self.adjacency.with_leaves(owners);
        let mut training_label = self.training_label.clone();
        training_label.resize(adjacency.len(), None);
        Self {
            id: self.id,
            name: self.name.clone(),
            schema: self.schema.clone(),
            nodes: self.nodes.clone(),
            inputs: self.inputs.extended(&adjacency, features),
            adjacency,
            training_label,
            training: self.training.clone(),
            validation: self.validation.clone(),
            own: self.own,
            raw: None,
            fitted: self.fitted.clone(),
        }
    }

    /// The same data under a name and the schema of the client's own files.
    #[must_use]
    pub fn called(self, name: impl Into<String>, schema: Schema) -> Self {
        let columns = match &self.fitted {
            Some(fitted) => fitted.names(&schema.columns),
            None => schema.columns,
        };
        let schema = Schema { features: self.width() as u32, columns, ..schema };
        Self { name: name.into(), schema, ..self }
    }

    /// What the client says about itself when it joins this run, with `test` nodes to be evaluated
    /// on.
    pub(crate) fn enrolment(&self, plan: &RunPlan<T>, test: u64) -> Enrolment {
        let counts = || self.training_counts().into_iter().map(|count| count as u64).collect();
        Enrolment {
            name: self.name.clone(),
            nodes: self.own as u64,
            training: self.training.len() as u64,
            validation: self.validation.len() as u64,
            test,
            arcs: self.adjacency.arcs() as u64,
            schema: self.schema.clone(),
            settings: plan.settings,
            class_counts: if plan.counts_classes() { counts() } else { Vec::new() },
            moments: if plan.shares_moments() { self.moments() } else { Vec::new() },
            group_counts: if plan.simulated { Vec::new() } else { counts() },
        }
    }

    /// Numbers the classes as all clients together do. A class that is missing in `classes` is
    /// returned.
    pub(crate) fn adopt_classes(&mut self, classes: &[String]) -> Result<(), String> {
        if self.schema.classes == classes {
            return Ok(());
        }
        let numbers = numbers(&self.schema.classes, classes)?;
        let labels = self.training_label.iter_mut().flatten();
        labels
            .chain(self.validation.iter_mut().map(|(_, class)| class))
            .for_each(|class| *class = numbers[*class as usize]);
        self.schema.classes = classes.to_vec();
        Ok(())
    }

    /// Which client this is.
    pub fn id(&self) -> usize {
        self.id
    }

    /// How messages call it.
    pub(crate) fn called_in_messages(&self) -> ClientName {
        ClientName::new(self.id, self.name.clone())
    }

    /// Ids of the client's own nodes in the global graph. Generated nodes have none.
    pub fn nodes(&self) -> &[u32] {
        &self.nodes
    }

    /// The local edges.
    pub fn adjacency(&self) -> &Adjacency {
        &self.adjacency
    }

    /// Features and plain propagation.
    pub fn inputs(&self) -> &Inputs<T> {
        &self.inputs
    }

    /// The training nodes, increasing.
    pub fn training(&self) -> &[u32] {
        &self.training
    }

    /// The label of a training node; `None` for every other node.
    pub fn training_label(&self, v: usize) -> Option<u32> {
        self.training_label[v]
    }

    /// The validation nodes, increasing.
    pub fn validation_nodes(&self) -> impl Iterator<Item = u32> + '_ {
        self.validation.iter().map(|(v, _)| *v)
    }

    /// Sets the propagation to the operator of a network.
    pub(crate) fn set_operator(&mut self, operator: Operator) {
        self.inputs.set_operator(&self.adjacency, operator);
    }

    /// Makes every training label wrong: class y becomes y + 1, the last one 0.
    pub(crate) fn mislabel(&mut self) {
        let classes = self.classes() as u32;
        self.training_label.iter_mut().flatten().for_each(|y| *y = (*y + 1) % classes);
    }

    /// Number of training nodes of each class.
    pub fn training_counts(&self) -> Vec<usize> {
        let mut counts = vec![0; self.classes()];
        for y in self.training_label.iter().flatten() {
            counts[*y as usize] += 1;
        }
        counts
    }

    /// The own node that each generated node is joined to.
    pub(crate) fn owners(&self) -> Vec<u32> {
        (self.own..self.len()).map(|v| self.adjacency.neighbours(v)[0]).collect()
    }

    /// Number of features d.
    pub fn width(&self) -> usize {
        self.inputs.width()
    }

    /// Number of classes C.
    pub fn classes(&self) -> usize {
        self.schema.classes.len()
    }

    pub(crate) fn training_nodes(&self) -> usize {
        self.training.len()
    }

    /// Number of nodes, generated ones included.
    #[expect(
        clippy::len_without_is_empty,
        reason = "a client without nodes is refused when a graph is divided"
    )]
    pub fn len(&self) -> usize {
        self.adjacency.len()
    }
}

/// The preparation of a client's features by itself.
fn fit(client: &ClientGraph) -> Option<FittedPreparation> {
    let preparation = client.graph.preparation()?;
    Some(preparation.fit(client.graph.features(), &client.training_nodes()))
}

/// The inputs of a graph with its features prepared.
fn prepared<T: Real>(graph: &Graph, fitted: &FittedPreparation) -> Inputs<T> {
    let features = graph.preparation().map(|it| fitted.apply(graph.features(), it));
    match features.map(|features| graph.clone().with_features(features)) {
        Some(Ok(graph)) => Inputs::new(&graph),
        // There is a row for every node, so that features cannot be refused.
        Some(Err(_)) | None => Inputs::new(graph),
    }
}

/// The moments that were sent, three numbers per column; `None` if they cannot be moments.
pub(crate) fn parsed_moments(numbers: &[f64]) -> Option<Vec<Moments>> {
    let (columns, rest) = numbers.as_chunks::<3>();
    let moments = columns.iter().map(|column| Moments::from_numbers(*column));
    moments.collect::<Option<Vec<_>>>().filter(|_| rest.is_empty())
}

/// The most nodes that a client may claim, and of all clients together the most of a class: sums of
/// such numbers do not overflow.
pub(crate) const MOST_NODES: u64 = 1 << 40;

/// The most features that a client may claim: the first layer has a row for each of them.
pub(crate) const MOST_FEATURES: u32 = 1 << 22;

/// The most classes between machines. Every evaluation has three confusion matrices of this width,
/// so that a longer list would exhaust the memory of the other side.
const MOST_CLASSES: usize = 1024;

/// What is wrong with a list of classes: expected and found.
pub(crate) fn classes_objection(classes: &[String], simulated: bool) -> Option<(String, String)> {
    if classes.len() > MOST_CLASSES && !simulated {
        return Some((format!("at most {MOST_CLASSES} classes"), classes.len().to_string()));
    }
    let mut known = HashSet::with_capacity(classes.len());
    let twice = classes.iter().find(|class| !known.insert(class.as_str()))?;
    Some(("every class once".to_owned(), format!("`{twice}` twice")))
}

/// The number in `all` of each of `classes`. A class that is missing there is returned.
pub(crate) fn numbers(classes: &[String], all: &[String]) -> Result<Vec<u32>, String> {
    let known: HashMap<&str, u32> = all.iter().map(String::as_str).zip(0..).collect();
    let number = |class: &String| known.get(class.as_str()).copied().ok_or_else(|| class.clone());
    classes.iter().map(number).collect()
}

/// The label of node `v`, if the split gives the node this role.
fn label_in(client: &ClientGraph, role: Role, v: usize) -> Option<u32> {
    client.graph.labels().get(v).filter(|_| client.split.role(v) == role)
}
