//! The inside of a round, for observers that ask for it.

use super::Federation;
use crate::observer::{Inspected, Inspection, Observer};
use crate::server::Settling;
use boostfgl_nn::{Params, Real};
use boostfgl_protocol::Model;
use std::borrow::Cow;
use std::sync::Arc;

/// What a client starts a round from, for observers.
pub(crate) struct Start<T> {
    received: Arc<Params<T>>,
    /// What its rule computes with in place of `received`, if it differs.
    deployed: Option<Params<T>>,
    /// Whether the server gave the model. Otherwise the network stays with the client, even if the
    /// method aggregates something else.
    shared: bool,
}

impl<T: Real> Federation<T> {
    /// The models that clients start the next round from; clients that start from the same one
    /// share it.
    pub(crate) fn starts(&mut self) -> Vec<Start<T>> {
        let Self { clients, server, .. } = self;
        let mut starts: Vec<Start<T>> = Vec::with_capacity(clients.len());
        for (k, client) in clients.iter_mut().enumerate() {
            let given = server.rule.start(k);
            let earlier = (0..k).find(|&j| {
                given.zip(server.rule.start(j)).is_some_and(|(a, b)| a.version() == b.version())
            });
            let trainer = client.trainer_mut();
            let received = match earlier {
                Some(j) => Arc::clone(&starts[j].received),
                None => given.map_or_else(|| Arc::clone(trainer.local()), Model::shared),
            };
            // Taken before the round, since training changes the state that `deploy` depends on.
            let deployed = trainer.deployed(&received);
            starts.push(Start { received, deployed, shared: given.is_some() });
        }
        starts
    }

    /// Shows the inside of a round to the observers that ask for it.
    pub(crate) fn inspect(&mut self, starts: &[Start<T>], observers: &mut [&mut dyn Observer<T>]) {
        let Self { clients, server, .. } = self;
        let deployed: Vec<Option<Params<T>>> = clients
            .iter_mut()
            .enumerate()
            .map(|(k, client)| {
                let trainer = client.trainer_mut();
                let own = Arc::clone(trainer.local());
                trainer.deployed(server.rule.evaluated(k).map_or(&*own, Model::params))
            })
            .collect();
        let Some(settling) = self.server.settling() else { return };
        let clients = deployed.into_iter().zip(starts).enumerate();
        let clients = clients
            .map(|(k, (deployed, start))| self.inspected(k, deployed, start, settling))
            .collect();
        let setup = self.setup();
        let inspection = Inspection {
            round: settling.round,
            rounds: setup.protocol.rounds,
            backbone: &*self.run.backbone,
            model: &setup.model,
            clients,
        };
        observers.iter_mut().filter(|o| o.inspects()).for_each(|o| o.inspect(&inspection));
    }

    /// One client inside a round; `deployed` computes in place of the model that is evaluated.
    fn inspected<'a>(
        &'a self,
        k: usize,
        deployed: Option<Params<T>>,
        start: &'a Start<T>,
        settling: &'a Settling<T>,
    ) -> Inspected<'a, T> {
        let client = self.clients[k].trainer();
        let place = settling.records.iter().position(|record| record.client == k);
        // The model that reached the server: an attack may have replaced the trained one.
        let arrived = settling.arrived.iter().find(|(from, _)| *from == k);
        let arrived = arrived.map_or(client.local(), |(_, model)| model);
        let evaluated = self.server.rule.evaluated(k).map_or(&**client.local(), Model::params);
        let tensors = 0..start.received.tensors().len();
        let combination = settling.combination.as_ref().filter(|_| start.shared);
        Inspected {
            data: client.data(),
            received: &start.received,
            start: Cow::Borrowed(start.deployed.as_ref().unwrap_or(&start.received)),
            trained: place.map(|_| &**arrived),
            evaluated: deployed.map_or(Cow::Borrowed(evaluated), Cow::Owned),
            // A client that did not take part has α and β of an earlier round.
            node_weights: place.and_then(|_| client.node_weights()),
            propagation: match place {
                Some(_) => client.propagation(),
                None => client.data().inputs().propagation(),
            },
            size: self.server.sizes[k],
            weights: combination
                .zip(place)
                .map(|(all, place)| tensors.map(|t| all.weights(t)[place]).collect()),
            gap: place.and_then(|place| settling.records[place].gap),
        }
    }
}
