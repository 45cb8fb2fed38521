//! The server's side: means of modules and of class proxies. It never receives a GNN.

use super::modules::shapes;
use crate::Result;
use crate::aggregate::{Combination, Contribution};
use crate::methods::{MethodContext, Round, SenderFacts, ServerRule};
use crate::screen::{DistanceRange, Form, Part};
use boostfgl_graph::stream::key64;
use boostfgl_nn::{Matrix, Params, Real, StateVisitor, weighted_sum};
use boostfgl_protocol::{Message, Model};
use std::sync::Arc;

/// The difference between the coordinates of neighbouring class proxies at the start: S_c =
/// 0.01·c·1.
const SPACING: f64 = 0.01;

/// What clients share: encoder, head 1, head 2 and one proxy per class.
pub(in crate::methods) struct Sharing<T> {
    /// Six tensors of the modules, then S (C × s): the message to all clients.
    shared: Arc<Message<T>>,
    /// Training nodes per class of each client, once it has sent them.
    counts: Vec<Vec<f64>>,
}

impl<T: Real> Sharing<T> {
    pub(super) fn new(context: &MethodContext<'_, T>) -> Self {
        let (width, classes) = (context.setup.methods.fedspray.width, context.classes);
        let seed = key64(context.setup.seed, "fedspray modules", &[]);
        let mut tensors =
            Params::glorot(&shapes(context.features, width, classes), seed).tensors().to_vec();
        let mut proxies = Matrix::zeros(classes, width);
        (0..classes).for_each(|c| proxies.row_mut(c).fill(T::of(SPACING * c as f64)));
        tensors.push(proxies);
        Self {
            shared: Arc::new(Message::tensors(tensors)),
            counts: vec![Vec::new(); context.clients],
        }
    }

    /// S_c ← Σₖ ρ_{k,c} τₖ S_{k,c} / Σⱼ ρ_{j,c} τⱼ over the participants that have the class;
    /// without any, S_c does not change.
    fn combine_proxies(
        &mut self,
        updates: &[Contribution<'_, T>],
        round: &Round<'_, T>,
    ) -> Result<()> {
        let Some(proxies) = Arc::make_mut(&mut self.shared).tensors.last_mut() else {
            unreachable!("class proxies are always shared")
        };
        for class in 0..proxies.rows() {
            let having: Vec<&Contribution<'_, T>> =
                updates.iter().filter(|u| self.counts[u.client][class] > 0.0).collect();
            if having.is_empty() {
                continue;
            }
            // Local proxies have no common start, and so no norm of their own: trust comes from the
            // norm of the modules as a whole.
            let norms: Vec<[f64; 1]> = having.iter().map(|u| [u.norm]).collect();
            let trusted = having
                .iter()
                .zip(&norms)
                .map(|(u, norm)| Contribution { tensor_norms: norm, ..**u });
            let shares: Vec<f64> =
                having.iter().map(|u| share(&self.counts[u.client], class)).collect();
            let combination = Combination::new(&trusted.collect::<Vec<_>>(), &shares, round.boost)?;
            let parts: Vec<&[T]> = having.iter().map(|u| means(u).row(class)).collect();
            weighted_sum(&parts, combination.weights(0), proxies.row_mut(class));
        }
        Ok(())
    }
}

impl<T: Real> ServerRule<T> for Sharing<T> {
    fn start(&self, _: usize) -> Option<&Model<T>> {
        None
    }

    fn tell(&self, _: usize) -> Option<&Arc<Message<T>>> {
        Some(&self.shared)
    }

    fn form(&self, turn: &SenderFacts<'_, T>) -> Form {
        let known = !self.counts[turn.client].is_empty();
        let shapes: Vec<(usize, usize)> =
            self.shared.tensors.iter().map(|t| (t.rows(), t.columns())).collect();
        let classes = shapes.last().map_or(0, |proxies| proxies.0);
        let counts = Part::whole("count of training nodes", classes, 0.0..=turn.labelled);
        let form = Form::message().tensors(shapes).with(counts.optional_if(known));
        form.adding_up("counts of training nodes", 0..classes, turn.labelled..=turn.labelled)
    }

    /// Modules are sent in full, so that their distances are exact. Proxies have no start.
    fn moved(&self, message: &Message<T>) -> Option<Vec<DistanceRange>> {
        let modules = self.shared.tensors.len() - 1;
        let both = self.shared.tensors[..modules].iter().zip(&message.tensors);
        Some(both.map(|(from, to)| DistanceRange::exact(distance(from, to))).collect())
    }

    fn aggregate(
        &mut self,
        updates: &[Contribution<'_, T>],
        round: &Round<'_, T>,
    ) -> Result<Option<Combination>> {
        for update in updates.iter().filter(|u| !u.message.numbers.is_empty()) {
            self.counts[update.client].clone_from(&update.message.numbers);
        }
        let labelled: Vec<f64> =
            updates.iter().map(|u| self.counts[u.client].iter().sum()).collect();
        let combination = Combination::new(updates, &labelled, round.boost)?;
        let modules = self.shared.tensors.len() - 1;
        for (t, tensor) in Arc::make_mut(&mut self.shared).tensors[..modules].iter_mut().enumerate()
        {
            let parts: Vec<&[T]> = updates.iter().map(|u| u.message.tensors[t].data()).collect();
            weighted_sum(&parts, combination.weights(t), tensor.data_mut());
        }
        self.combine_proxies(updates, round)?;
        Ok(Some(combination))
    }

    fn visit(&mut self, visitor: &mut StateVisitor<'_>) -> boostfgl_nn::Result<()> {
        visitor
            .within("shared", |visitor| Arc::make_mut(&mut self.shared).visit_shaped(visitor))?;
        let counts = self.counts.iter_mut().enumerate();
        counts.into_iter().try_for_each(|(k, counts)| visitor.visit(&k.to_string(), counts))?;
        let classes = self.shared.tensors.last().map_or(0, Matrix::rows);
        match self.counts.iter().find(|counts| !counts.is_empty() && counts.len() != classes) {
            Some(counts) => {
                Err(visitor
                    .mismatch(format!("counts of {classes} classes"), counts.len().to_string()))
            }
            None => Ok(()),
        }
    }

    fn models(&self) -> Vec<&Params<T>> {
        Vec::new()
    }
}

/// ‖from − to‖₂.
fn distance<T: Real>(from: &Matrix<T>, to: &Matrix<T>) -> f64 {
    let pairs = from.data().iter().zip(to.data());
    libm::sqrt(pairs.map(|(a, b)| (a.f64() - b.f64()) * (a.f64() - b.f64())).sum())
}

/// ρ_{k,c}: the share of class c in a client's training nodes.
fn share(counts: &[f64], class: usize) -> f64 {
    counts[class] / counts.iter().sum::<f64>()
}

/// The mean proxies of a client's training nodes, one row per class.
fn means<'a, T>(update: &Contribution<'a, T>) -> &'a Matrix<T> {
    match update.message.tensors.last() {
        Some(means) => means,
        None => unreachable!("clients of this method send their class proxies"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::boost::ServerBoosts;
    use crate::boost::model::{Config as TrustConfig, ModelBoost, Summary};
    use boostfgl_nn::Pool;
    use boostfgl_nn::backbones::{Architecture, Gcn};

    const SHAPE: (usize, usize) = (3, 2);

    /// A server of 3 classes and proxies of width 2, whose only module is one number.
    fn server(clients: usize) -> Sharing<f64> {
        let tensors = vec![Matrix::zeros(1, 1), Matrix::from_rows(SHAPE.0, SHAPE.1, &[9.0; 6])];
        Sharing { shared: Arc::new(Message::tensors(tensors)), counts: vec![Vec::new(); clients] }
    }

    fn message(module: f64, proxies: [f64; 6], counts: [f64; 3]) -> Message<f64> {
        let tensors =
            vec![Matrix::from_rows(1, 1, &[module]), Matrix::from_rows(SHAPE.0, SHAPE.1, &proxies)];
        Message { numbers: counts.to_vec(), ..Message::tensors(tensors) }
    }

    fn aggregate(
        server: &mut Sharing<f64>,
        messages: &[Message<f64>],
        norms: &[f64],
        boost: ServerBoosts<'_, f64>,
    ) {
        let update = |(client, message): (usize, _)| Contribution {
            client,
            model: None,
            message,
            norm: norms[client],
            tensor_norms: &norms[client..=client],
            size: 1.0,
            summary: Some(Summary::default()),
        };
        let updates: Vec<Contribution<'_, f64>> = messages.iter().enumerate().map(update).collect();
        let (net, pool) =
            (Gcn::new(Architecture { inputs: 1, hidden: 1, classes: 3, layers: 2 }), Pool::new());
        server
            .aggregate(
                &updates,
                &Round {
                    done: 0,
                    boost,
                    backbone: &net,
                    pool: &pool,
                    aggregation: Default::default(),
                },
            )
            .unwrap();
    }

    /// By hand: modules by labelled nodes 4 and 12, class 0 by shares 1/2 and 1/4, class 1 by
    /// client 0 alone, class 2 by neither before the second client takes part.
    #[test]
    fn modules_are_weighed_by_labelled_nodes_and_proxies_by_class_shares() {
        let mut server = server(2);
        let messages = [
            message(1.0, [3.0, 0.0, 0.1, 0.7, 0.0, 0.0], [2.0, 2.0, 0.0]),
            message(5.0, [6.0, 3.0, 0.0, 0.0, 0.3, 0.4], [3.0, 0.0, 9.0]),
        ];
        aggregate(&mut server, &messages[..1], &[0.0, 0.0], ServerBoosts::none());
        assert_eq!(
            server.shared.tensors[1].row(2),
            [9.0, 9.0],
            "a class that no participant has does not change"
        );
        aggregate(&mut server, &messages, &[0.0, 0.0], ServerBoosts::none());
        assert_eq!(server.shared.tensors[0].to_vec(), [4.0]);
        let proxies = &server.shared.tensors[1];
        assert!((proxies.row(0)[0] - 4.0).abs() < 1e-15 && (proxies.row(0)[1] - 1.0).abs() < 1e-15);
        assert_eq!(proxies.row(1), [0.1, 0.7], "the only client's mean, to the bit");
        assert_eq!(proxies.row(2), [0.3, 0.4]);
    }

    /// Later messages have no counts.
    #[test]
    fn counts_that_are_sent_once_are_stored() {
        let (mut once, mut again) = (server(2), server(2));
        let messages = |with_counts: bool| {
            let mut messages =
                [message(1.0, [1.0; 6], [2.0, 2.0, 0.0]), message(5.0, [2.0; 6], [3.0, 0.0, 9.0])];
            if !with_counts {
                messages.iter_mut().for_each(|m| m.numbers.clear());
            }
            messages
        };
        aggregate(&mut once, &messages(true), &[0.0, 0.0], ServerBoosts::none());
        aggregate(&mut once, &messages(false), &[0.0, 0.0], ServerBoosts::none());
        aggregate(&mut again, &messages(true), &[0.0, 0.0], ServerBoosts::none());
        assert_eq!(once.shared.tensors, again.shared.tensors);
    }

    /// τ = 1/(1 + norm): a client that moved by 1 counts half.
    #[test]
    fn trust_multiplies_both_means() {
        let boost =
            ModelBoost::new(&TrustConfig { lambda_s: 1.0, gamma: 0.0, ..TrustConfig::default() });
        let mut server = server(2);
        let counts = [4.0, 0.0, 0.0];
        let messages = [message(0.0, [0.0; 6], counts), message(3.0, [3.0; 6], counts)];
        aggregate(&mut server, &messages, &[0.0, 1.0], ServerBoosts::only(&boost));
        assert!((server.shared.tensors[0].row(0)[0] - 1.0).abs() < 1e-12);
        assert!((server.shared.tensors[1].row(0)[0] - 1.0).abs() < 1e-12);
    }
}
