//! Enrolment: every client says what it has, and the server checks that they fit together.

use super::replies::{Batch, Heard, Kind, Outstanding, unexpected};
use super::running::Running;
use crate::local_data::{MOST_FEATURES, MOST_NODES, classes_objection, numbers};
use crate::methods::{self, MethodContext};
use crate::run_context::{Opened, RunPlan};
use crate::screen::Reason;
use crate::transport::{Arrival, Ask};
use crate::{ClientName, Error, Result};
use boostfgl_nn::Real;
use boostfgl_protocol::{Enrolment, Reply, RunId, Schema, Task};
use std::collections::BTreeSet;
use std::sync::Arc;

/// A server before its clients have joined.
pub(crate) struct Enrolling<T: Real> {
    plan: Arc<RunPlan<T>>,
    pub(super) id: RunId,
    clients: usize,
    outstanding: Outstanding,
}

impl<T: Real> Enrolling<T> {
    /// A server for this number of clients.
    pub(crate) fn new(plan: &Arc<RunPlan<T>>, clients: usize) -> Self {
        let mut id = [0; 16];
        id.copy_from_slice(&plan.settings[..16]);
        let outstanding = Outstanding::default();
        Self { plan: Arc::clone(plan), id: RunId(id), clients, outstanding }
    }

    /// Number of rounds.
    pub(crate) fn rounds(&self) -> usize {
        self.plan.setup.rounds()
    }

    /// Asks every client what it has.
    pub(crate) fn next(&mut self) -> Ask<T> {
        let tasks = (0..self.clients).map(|client| (client, Task::Enroll)).collect();
        let batch = Batch { kind: Kind::Enroll, tasks };
        self.outstanding.ask(vec![batch], (self.id, 0), self.clients, None)
    }

    /// Takes the enrolments, and makes the server's side of the method.
    pub(crate) fn hear(&mut self, arrivals: Vec<Arrival<T>>) -> Result<Running<T>> {
        let down = self.outstanding.down();
        let (up, batches) = self.outstanding.hear(arrivals);
        let mut enrolled = Vec::with_capacity(self.clients);
        for (_, batch) in batches {
            for heard in batch {
                let enrolment = enrolment(heard, enrolled.len())?;
                enrolled.push(enrolment);
            }
        }
        let plan = &self.plan;
        let classes = agreed(plan, &mut enrolled)?;
        let first = enrolled.first().ok_or(Error::NothingToTrain)?;
        let sizes = (first.schema.features as usize, classes.len());
        let Opened { run, initial, .. } = plan.open(sizes)?;
        let able: Vec<bool> = enrolled.iter().map(|client| client.training > 0).collect();
        let taking_part = able.iter().filter(|able| **able).count();
        let taking_part = run.setup.protocol.taking_part(taking_part);
        methods::check_rule(run.setup.method, run.setup.aggregation, taking_part)?;
        let rule = plan.method.server(&MethodContext {
            setup: &run.setup,
            initial: &initial,
            backbone: &*run.backbone,
            clients: enrolled.len(),
            able,
            features: sizes.0,
            classes: sizes.1,
        });
        Ok(Running::new(run, self.id, (enrolled, classes), rule, (up, down)))
    }
}

/// The enrolment of the next client, number `next`.
fn enrolment<T: Real>(heard: Heard<T>, next: usize) -> Result<Enrolment> {
    let client = ClientName::new(heard.client, "");
    if heard.client < next {
        let reason = Reason::Duplicate;
        return Err(Error::Lost { client, stage: "enrolment", reason });
    }
    match heard.done().map_err(|not| not.error(client.clone(), "enrolment"))? {
        Reply::Enrolled(enrolment) => Ok(enrolment),
        other => {
            let reason = unexpected("an enrolment", &other);
            Err(Error::Lost { client, stage: "enrolment", reason })
        }
    }
}

/// The classes of the run, if all clients fit together. Their counts of classes are put into this
/// order.
fn agreed<T: Real>(plan: &RunPlan<T>, enrolled: &mut [Enrolment]) -> Result<Vec<String>> {
    let first = enrolled.first().ok_or(Error::NothingToTrain)?;
    for (client, enrolment) in enrolled.iter().enumerate() {
        let found = check_settings(plan, enrolment)
            .and_then(|()| check_name(enrolled, client))
            .and_then(|()| check_features(first, enrolment))
            .and_then(|()| check_counts(plan, enrolment));
        found.map_err(|differs| differs.of(client, enrolment))?;
    }
    if enrolled.iter().all(|client| client.training == 0) {
        return Err(Error::NothingToTrain);
    }
    if first.schema.features == 0 {
        let reason = "its nodes have no features, from which every network here starts";
        let (method, what) = (plan.setup.method.name, "these data".into());
        return Err(Error::Refused { method, what, reason });
    }
    let classes = agreed_classes(enrolled)?;
    if let Some((expected, found)) = classes_objection(&classes, plan.simulated) {
        return Err(Error::Roster { expected, found });
    }
    for enrolment in enrolled {
        let numbers = numbers(&enrolment.schema.classes, &classes).unwrap_or_default();
        for counts in [&mut enrolment.class_counts, &mut enrolment.group_counts] {
            if !counts.is_empty() {
                let mut all = vec![0; classes.len()];
                for (class, count) in numbers.iter().zip(&*counts) {
                    all[*class as usize] = *count;
                }
                *counts = all;
            }
        }
    }
    Ok(classes)
}

/// What is different about a client.
struct Difference {
    what: String,
    expected: String,
    found: String,
}

impl Difference {
    fn new(what: impl Into<String>, expected: impl Into<String>, found: impl Into<String>) -> Self {
        Self { what: what.into(), expected: expected.into(), found: found.into() }
    }

    /// The error for this client.
    fn of(self, client: usize, enrolment: &Enrolment) -> Error {
        let Self { what, expected, found } = self;
        let client = ClientName::new(client, enrolment.name.clone());
        Error::Disagreement { client, what, expected, found }
    }
}

fn check_settings<T: Real>(plan: &RunPlan<T>, enrolment: &Enrolment) -> Result<(), Difference> {
    if enrolment.settings == plan.settings {
        return Ok(());
    }
    let [expected, found] = [plan.settings, enrolment.settings].map(|digest| hex(&digest));
    Err(Difference::new("settings", expected, found))
}

/// Checks a name. Two clients with one name could not be distinguished; names that differ in case
/// only would be one folder on some systems.
fn check_name(enrolled: &[Enrolment], client: usize) -> Result<(), Difference> {
    let name = &enrolled[client].name;
    if let Some(expected) = ClientName::objection(name).filter(|_| !name.is_empty()) {
        let start: String = name.chars().take(40).collect();
        return Err(Difference::new("name", expected, format!("{start:?}")));
    }
    let lower = name.to_lowercase();
    let earlier = enrolled[..client].iter().position(|other| other.name.to_lowercase() == lower);
    match earlier.filter(|_| !name.is_empty()) {
        None => Ok(()),
        Some(earlier) => {
            let found = format!("`{name}`, the name of client {earlier}");
            Err(Difference::new("name", "a name of its own", found))
        }
    }
}

fn check_features(first: &Enrolment, enrolment: &Enrolment) -> Result<(), Difference> {
    let (expected, found) = (&first.schema, &enrolment.schema);
    if found.features > MOST_FEATURES {
        let expected = format!("at most {MOST_FEATURES}");
        let found_text = found.features.to_string();
        return Err(Difference::new(in_file(found, "features"), expected, found_text));
    }
    let counts = (found.columns.len(), found.features as usize);
    if !found.columns.is_empty() && counts.0 != counts.1 {
        let expected = format!("{} names of features", counts.1);
        return Err(Difference::new(in_file(found, "features"), expected, counts.0.to_string()));
    }
    if found.columns.is_empty() != expected.columns.is_empty() {
        // Without names on one side nothing shows that the columns mean the same.
        let of = |schema: &Schema| if schema.columns.is_empty() { "none" } else { "names" };
        let expected = format!("{}, as {} has", of(expected), called(0, first));
        return Err(Difference::new(in_file(found, "names of features"), expected, of(found)));
    }
    let named = !expected.columns.is_empty();
    let pairs = expected.columns.iter().zip(&found.columns);
    let differs = pairs.enumerate().find(|(_, (expected, found))| expected != found);
    if let (true, Some((i, (column, other)))) = (named, differs) {
        let known = expected.columns.contains(other);
        let what = in_file(found, &format!("feature column {}", i + 1));
        let found = match (found.columns.contains(column), known) {
            (false, true) => format!("no column `{column}`"),
            (false, false) => format!("`{other}`, and no column `{column}`"),
            (true, _) => format!("`{other}`"),
        };
        let expected = format!("`{column}`, as {} has", called(0, first));
        return Err(Difference::new(what, expected, found));
    }
    if expected.features != found.features {
        let expected = format!("{} features, as {} has", expected.features, called(0, first));
        let number = found.features;
        let extra = found.columns.get(first.schema.columns.len()).filter(|_| named);
        let extra = extra.map_or(String::new(), |column| format!(", with `{column}`"));
        let found_text = format!("{number} features{extra}");
        return Err(Difference::new(in_file(found, "features"), expected, found_text));
    }
    Ok(())
}

/// Checks counts against each other: they arrive from a network.
fn check_counts<T: Real>(plan: &RunPlan<T>, enrolment: &Enrolment) -> Result<(), Difference> {
    let Enrolment { nodes, training, validation, test, schema, .. } = enrolment;
    for (what, count) in [("nodes", nodes), ("arcs", &enrolment.arcs)] {
        if *count > MOST_NODES {
            return Err(Difference::new(what, format!("at most {MOST_NODES}"), count.to_string()));
        }
    }
    if let Some((expected, found)) = classes_objection(&schema.classes, plan.simulated) {
        return Err(Difference::new(in_file(schema, "classes"), expected, found));
    }
    let classes = schema.classes.len();
    let what = || in_file(schema, "training nodes of each class");
    for (counts, are_needed) in [
        (&enrolment.class_counts, plan.counts_classes()),
        (&enrolment.group_counts, !plan.simulated),
    ] {
        let expected = if are_needed { classes } else { 0 };
        if counts.len() != expected {
            let found = format!("{} counts", counts.len());
            return Err(Difference::new(what(), format!("{expected} counts"), found));
        }
        let sum = counts.iter().fold(0u64, |sum, count| sum.saturating_add(*count));
        if are_needed && sum != *training {
            let expected = format!("counts that add up to {training}");
            return Err(Difference::new(what(), expected, sum.to_string()));
        }
    }
    let labelled =
        [training, validation, test].into_iter().try_fold(0u64, |sum, n| sum.checked_add(*n));
    match labelled.filter(|labelled| labelled <= nodes) {
        Some(_) => Ok(()),
        None => {
            let found = format!("{training} + {validation} + {test}");
            let expected = format!("training, validation and test nodes among its {nodes}");
            Err(Difference::new("nodes", expected, found))
        }
    }
}

/// The names of the classes: in the order that is prescribed, otherwise those of all clients by
/// number if all are integers and by letter otherwise.
fn agreed_classes(enrolled: &[Enrolment]) -> Result<Vec<String>> {
    let prescribed = enrolled.iter().enumerate().find(|(_, client)| client.schema.is_fixed);
    let Some((first, prescribing)) = prescribed else {
        let all = enrolled.iter().flat_map(|client| &client.schema.classes);
        return Ok(boostfgl_graph::in_order(all));
    };
    let classes = &prescribing.schema.classes;
    let known: BTreeSet<&String> = classes.iter().collect();
    for (client, enrolment) in enrolled.iter().enumerate() {
        let schema = &enrolment.schema;
        let unknown = schema.classes.iter().find(|class| !known.contains(class));
        if let Some(class) = unknown {
            let expected = format!("one of the classes of {}", called(first, prescribing));
            let what = in_file(schema, "column `label`");
            return Err(Difference::new(what, expected, format!("`{class}`")).of(client, enrolment));
        }
        if schema.is_fixed && schema.classes != *classes {
            let expected = format!("{}, as {} has", listed(classes), called(first, prescribing));
            let what = in_file(schema, "order of the classes");
            return Err(
                Difference::new(what, expected, listed(&schema.classes)).of(client, enrolment)
            );
        }
    }
    Ok(classes.clone())
}

/// Names in a message, the first few of them.
fn listed(names: &[String]) -> String {
    let shown: Vec<String> = names.iter().take(6).map(|name| format!("`{name}`")).collect();
    let more = if names.len() > shown.len() { ", …" } else { "" };
    format!("{}{more}", shown.join(", "))
}

/// What, in the file that a client named.
fn in_file(schema: &Schema, what: &str) -> String {
    match schema.file.as_str() {
        "" => what.to_owned(),
        file => format!("{file}, {what}"),
    }
}

fn called(client: usize, enrolment: &Enrolment) -> ClientName {
    ClientName::new(client, enrolment.name.clone())
}

/// The start of a digest, enough to tell it from others.
fn hex(digest: &[u8]) -> String {
    digest[..6].iter().map(|byte| format!("{byte:02x}")).collect()
}
