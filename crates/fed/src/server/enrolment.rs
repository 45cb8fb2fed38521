//! Enrolment: every client says what it has, and the server checks that they fit together.

use super::replies::{Batch, Kind, Outstanding, unexpected};
use super::running::Running;
use crate::methods::{self, MethodContext};
use crate::run_context::RunContext;
use crate::screen::Reason;
use crate::transport::{Arrival, Ask};
use crate::{Error, Result};
use boostfgl_nn::{Params, Real};
use boostfgl_protocol::{Enrolment, Reply, RunId, Task, Traffic};
use std::sync::Arc;

/// A server before its clients have joined.
pub(crate) struct Enrolling<T: Real> {
    run: Arc<RunContext<T>>,
    /// The model before the first round.
    initial: Arc<Params<T>>,
    id: RunId,
    clients: usize,
    outstanding: Outstanding,
}

impl<T: Real> Enrolling<T> {
    /// A server for this number of clients.
    pub(crate) fn new(run: &Arc<RunContext<T>>, initial: &Arc<Params<T>>, clients: usize) -> Self {
        let mut id = [0; 16];
        id.copy_from_slice(&run.settings[..16]);
        let outstanding = Outstanding::default();
        let (run, initial) = (Arc::clone(run), Arc::clone(initial));
        Self { run, initial, id: RunId(id), clients, outstanding }
    }

    /// Asks every client what it has.
    pub(crate) fn next(&mut self) -> Ask<T> {
        let tasks = (0..self.clients).map(|client| (client, Task::Enroll)).collect();
        let batch = Batch { kind: Kind::Enroll, tasks };
        self.outstanding.ask(vec![batch], (self.id, 0), self.clients, None)
    }

    /// Takes the enrolments, and makes the server's side of the method.
    pub(crate) fn hear(&mut self, arrivals: Vec<Arrival<T>>) -> Result<Running<T>> {
        let mut bytes = (Traffic::default(), self.outstanding.down());
        let mut enrolled: Vec<Enrolment> = Vec::with_capacity(self.clients);
        for (_, batch) in self.outstanding.hear(arrivals) {
            for heard in batch {
                let (client, up) = (heard.client, heard.up);
                if client < enrolled.len() {
                    return Err(Error::Lost {
                        client,
                        stage: "enrolment",
                        reason: Reason::Duplicate,
                    });
                }
                match heard.done().map_err(|not| not.error(client, "enrolment"))? {
                    Reply::Enrolled(enrolment) => enrolled.push(enrolment),
                    other => {
                        let reason = unexpected("an enrolment", &other);
                        return Err(Error::Lost { client, stage: "enrolment", reason });
                    }
                }
                bytes.0 += up;
            }
        }
        let run = &self.run;
        let rule = {
            let method = agreed(run, &self.initial, &enrolled)?;
            let able = method.able.iter().filter(|able| **able).count();
            let taking_part = run.setup.protocol.taking_part(able);
            methods::check_rule(run.setup.method, run.setup.aggregation, taking_part)?;
            methods::server(&method)
        };
        Ok(Running::new(Arc::clone(run), self.id, enrolled, rule, bytes))
    }
}

/// What the method is made from, if all clients fit together.
fn agreed<'a, T: Real>(
    run: &'a RunContext<T>,
    initial: &'a Params<T>,
    enrolled: &[Enrolment],
) -> Result<MethodContext<'a, T>> {
    let first = enrolled.first().ok_or(Error::NothingToTrain)?;
    let counts = if run.counts_classes() { first.classes as usize } else { 0 };
    for (client, enrolment) in enrolled.iter().enumerate() {
        let Enrolment { features, classes, settings, class_counts, .. } = enrolment;
        let disagreement = |what, expected: String, found: String| {
            Err(Error::Disagreement { client, what, expected, found })
        };
        if *settings != run.settings {
            return disagreement("settings", hex(&run.settings), hex(settings));
        }
        if *features != first.features {
            let [expected, found] = [first.features, *features].map(|n| format!("{n} features"));
            return disagreement("features", expected, found);
        }
        if *classes != first.classes {
            let [expected, found] = [first.classes, *classes].map(|n| format!("{n} classes"));
            return disagreement("classes", expected, found);
        }
        if class_counts.len() != counts {
            let [expected, found] = [counts, class_counts.len()].map(|n| format!("{n} counts"));
            return disagreement("training nodes of each class", expected, found);
        }
    }
    let able: Vec<bool> = enrolled.iter().map(|client| client.training > 0).collect();
    if !able.contains(&true) {
        return Err(Error::NothingToTrain);
    }
    if first.features == 0 {
        let reason = "its nodes have no features, from which every network here starts";
        let (method, what) = (run.setup.method.name, "these data".into());
        return Err(Error::Refused { method, what, reason });
    }
    Ok(MethodContext {
        setup: &run.setup,
        initial,
        backbone: &*run.backbone,
        clients: enrolled.len(),
        able,
        features: first.features as usize,
        classes: first.classes as usize,
    })
}

/// The start of a digest, enough to tell it from others.
fn hex(digest: &[u8]) -> String {
    digest[..6].iter().map(|byte| format!("{byte:02x}")).collect()
}
