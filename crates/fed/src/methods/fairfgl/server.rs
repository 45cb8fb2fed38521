//! The server's side: clusters of clients, a mean within each, equal shares between them, and the
//! experts' directions.

use super::clusters::{clusters, cosines};
use super::entries::{Entries, full_inner_products, inner_products};
use super::experts::LastLayer;
use super::upload::kept;
use super::{Clusters, Config};
use crate::Result;
use crate::aggregate::{Combination, Contribution};
use crate::boost::Boost;
use crate::boost::model::TrustScope;
use crate::methods::{MethodContext, Round, SenderFacts, ServerRule};
use crate::screen::{DistanceRange, Form, Part};
use boostfgl_nn::{Matrix, Params, Real, StateVisitor, difference};
use boostfgl_protocol::{Message, Model};
use std::ops::Range;
use std::sync::Arc;

/// Coordinates whose sums stay in the L1 cache.
const BLOCK: usize = 2048;

/// One global model, moved by the clusters' updates, and the experts' gradient of each class.
pub(in crate::methods) struct Reconciling<T> {
    config: Config,
    classes: usize,
    /// The number of norms that a client sends with its entries.
    norms: usize,
    last: Option<LastLayer>,
    global: Model<T>,
    /// C × (h + 1): the mean gradient that experts sent for each class, 0 before the first.
    experts: Option<Arc<Message<T>>>,
    /// The majority classes of each client, once it has sent them.
    majorities: Vec<Vec<usize>>,
}

impl<T: Real> Reconciling<T> {
    pub(super) fn new(context: &MethodContext<'_, T>) -> Self {
        let norms = match context
            .setup
            .boosts
            .contains(&Boost::Model)
            .then_some(context.setup.boost.model.trust_scope)
        {
            None => 0,
            Some(TrustScope::Model) => 1,
            Some(TrustScope::Tensor) => context.initial.tensors().len(),
        };
        Self {
            config: context.setup.methods.fairfgl.clone(),
            classes: context.classes,
            norms,
            last: LastLayer::find(context.initial.shapes(), context.classes),
            global: Model::new(0, context.initial.clone()),
            experts: None,
            majorities: vec![Vec::new(); context.clients],
        }
    }

    /// How far each tensor moved, as far as the entries show it: at least by the entries
    /// themselves, and at most as if every number that was not sent had moved as far as the
    /// smallest entry.
    fn shown(&self, entries: &[(u32, T)]) -> Vec<DistanceRange> {
        // Clients send the entries that moved most. If fewer than allowed were sent, the rest did
        // not move at all.
        let full = entries.len() >= kept(self.config.keep, self.global.count());
        let magnitudes = entries.iter().map(|(_, x)| x.f64().abs());
        let smallest = if full { magnitudes.reduce(f64::min).unwrap_or(0.0) } else { 0.0 };
        let (mut rest, mut end, mut ranges) = (Entries::new(entries), 0, Vec::new());
        for tensor in self.global.tensors() {
            let count = tensor.rows() * tensor.columns();
            end += count;
            let (mut sum, mut sent) = (0.0, 0);
            rest.read(end, |_, x| {
                sum += x.f64() * x.f64();
                sent += 1;
            });
            // ‖Δ‖² = Σ over sent + Σ over unsent entries, each of which is at most `smallest`².
            let unsent = count.saturating_sub(sent) as f64;
            let most = libm::sqrt(sum + unsent * smallest * smallest);
            ranges.push(DistanceRange { least: libm::sqrt(sum), most });
        }
        ranges
    }

    /// The norms that a client sends with its entries, each in the range that the entries show, up
    /// to rounding.
    fn norm_parts(&self, message: &Message<T>) -> Vec<Part> {
        let shown = self.shown(&message.entries);
        let ranges = match self.norms {
            0 => Vec::new(),
            1 => vec![DistanceRange::total(&shown)],
            _ => shown,
        };
        ranges.into_iter().map(norm_part).collect()
    }

    fn clusters(&self, updates: &[Contribution<'_, T>]) -> Vec<Vec<usize>> {
        match self.config.clusters {
            Clusters::One => vec![(0..updates.len()).collect()],
            rule => clusters(rule, &cosines(&self.inner_products(updates))),
        }
    }

    /// ⟨Δᵢ, Δⱼ⟩ of every pair of updates, as sent.
    fn inner_products(&self, updates: &[Contribution<'_, T>]) -> Vec<Vec<f64>> {
        if self.config.is_lossless() {
            let full: Vec<Vec<T>> =
                updates.iter().map(|update| difference(update.params(), &self.global)).collect();
            return full_inner_products(&full);
        }
        let sent: Vec<&[(u32, T)]> =
            updates.iter().map(|update| &update.message.entries[..]).collect();
        inner_products(&sent, self.global.count())
    }

    /// The share of each cluster in the global update: equal, or by its mean trust.
    fn shares(&self, groups: &[(Vec<usize>, Combination)]) -> Vec<f64> {
        let weights: Vec<f64> = groups
            .iter()
            .map(|(_, within)| match within.trust() {
                Some(trust) if self.config.cluster_trust => {
                    trust.iter().sum::<f64>() / trust.len() as f64
                }
                _ => 1.0,
            })
            .collect();
        let sum: f64 = weights.iter().sum();
        // Trust may underflow to 0. Then no cluster is trusted more than another.
        if sum > 0.0 {
            weights.iter().map(|w| w / sum).collect()
        } else {
            vec![1.0 / groups.len() as f64; groups.len()]
        }
    }

    /// W_g ← W_g + Σ_clusters share · Δ_cluster, where a coordinate of Δ_cluster is the weighted
    /// mean over the members that sent it, 0 if none did. A few rows of a tensor at a time, whose
    /// sums stay in the L1 cache.
    fn move_by_entries(
        &mut self,
        updates: &[Contribution<'_, T>],
        groups: &[(Vec<usize>, Combination)],
        shares: &[f64],
    ) {
        let mut rest: Vec<Entries<'_, T>> =
            updates.iter().map(|update| Entries::new(&update.message.entries)).collect();
        let mut sums = Vec::new();
        let mut first = 0;
        for (t, tensor) in self.global.edit().tensors_mut().iter_mut().enumerate() {
            let (rows, columns) = (tensor.rows(), tensor.columns());
            let at_once = (BLOCK / columns.max(1)).max(1);
            for start in (0..rows).step_by(at_once) {
                let some = start..(start + at_once).min(rows);
                let count = some.len() * columns;
                for ((members, within), share) in groups.iter().zip(shares) {
                    sums.clear();
                    sums.resize(count, [T::ZERO; 2]);
                    for (&k, w) in members.iter().zip(within.weights(t)) {
                        let w = T::of(*w);
                        rest[k].read(first + count, |place, x| {
                            let [sum, weight] = &mut sums[place - first];
                            *sum += w * x;
                            *weight += w;
                        });
                    }
                    add(tensor, some.clone(), &sums, T::of(*share));
                }
                first += count;
            }
        }
    }

    /// Averages the experts' gradients: for every class the mean over the clients that sent it. A
    /// class that no client sent this time keeps its last direction.
    fn average_experts(&mut self, updates: &[Contribution<'_, T>]) {
        for update in updates {
            // Norms come first and class numbers last, see `Preserver::finish`. They are sent once,
            // so that later messages have none.
            let numbers = &update.message.numbers;
            let classes = numbers.len().min(update.message.tensors.first().map_or(0, Matrix::rows));
            if self.majorities[update.client].is_empty() {
                self.majorities[update.client] =
                    numbers[numbers.len() - classes..].iter().map(|&c| c as usize).collect();
            }
        }
        let Some(width) =
            updates.iter().find_map(|u| u.message.tensors.first()).map(Matrix::columns)
        else {
            return;
        };
        let experts = self.experts.get_or_insert_with(|| {
            Message::tensors(vec![Matrix::zeros(self.classes, width)]).into()
        });
        let experts = Arc::make_mut(experts);
        for class in 0..self.classes {
            let mut sent = Vec::new();
            for update in updates {
                let row = self.majorities[update.client].iter().position(|&c| c == class);
                sent.extend(update.message.tensors.first().zip(row));
            }
            if sent.is_empty() {
                continue;
            }
            let share = T::of(1.0 / sent.len() as f64);
            let mean = experts.tensors[0].row_mut(class);
            mean.fill(T::ZERO);
            for (gradients, row) in sent {
                mean.iter_mut().zip(gradients.row(row)).for_each(|(mean, g)| *mean += share * *g);
            }
        }
    }
}

impl<T: Real> ServerRule<T> for Reconciling<T> {
    fn start(&self, _: usize) -> Option<&Model<T>> {
        Some(&self.global)
    }

    fn tell(&self, _: usize) -> Option<&Arc<Message<T>>> {
        self.experts.as_ref()
    }

    fn form(&self, turn: &SenderFacts<'_, T>) -> Form {
        let base = if self.config.is_lossless() {
            Form::model()
        } else {
            let places = self.global.count();
            let form = Form::message().entries(kept(self.config.keep, places), places);
            self.norm_parts(turn.message).into_iter().fold(form, Form::with)
        };
        // A client sends its majority classes once. Until then only its message shows how many
        // there are.
        let known = self.majorities[turn.client].len();
        let sent = turn.message.tensors.first().map_or(0, Matrix::rows).min(self.classes);
        let classes = if known > 0 { known } else { sent };
        match self.last {
            Some(last) if self.config.modify > 0.0 && classes > 0 => {
                let majority =
                    Part::whole("majority class", classes, 0.0..=(self.classes - 1) as f64);
                base.tensors(vec![(classes, last.numbers(&self.global))])
                    .with(majority.optional_if(known > 0))
            }
            _ => base,
        }
    }

    fn moved(&self, message: &Message<T>) -> Option<Vec<DistanceRange>> {
        (!self.config.is_lossless()).then(|| self.shown(&message.entries))
    }

    fn aggregate(
        &mut self,
        updates: &[Contribution<'_, T>],
        round: &Round<'_, T>,
    ) -> Result<Option<Combination>> {
        let mut groups = Vec::new();
        for members in self.clusters(updates) {
            let together: Vec<Contribution<'_, T>> = members.iter().map(|&k| updates[k]).collect();
            let sizes: Vec<f64> = together.iter().map(|u| u.size).collect();
            groups.push((members, Combination::new(&together, &sizes, round.boost)?));
        }
        let shares = self.shares(&groups);
        let combination = Combination::of_groups(updates.len(), &groups, &shares);
        if self.config.is_lossless() {
            // Σ shares = 1, so that the mean of models is the global model plus the mean of updates.
            // Written as a mean of models it equals FedAvg's to the bit.
            combination.apply(updates, self.global.edit());
        } else {
            self.move_by_entries(updates, &groups, &shares);
        }
        self.average_experts(updates);
        Ok(Some(combination))
    }

    fn visit(&mut self, visitor: &mut StateVisitor<'_>) -> boostfgl_nn::Result<()> {
        visitor.visit("global", &mut self.global)?;
        visitor.option("experts", &mut self.experts, Arc::default)?;
        if let Some(experts) = &self.experts {
            let width = self.last.map_or(0, |last| last.numbers(&self.global));
            experts.hold_shapes(&[(self.classes, width)], visitor)?;
        }
        let majorities = self.majorities.iter_mut().enumerate();
        majorities
            .into_iter()
            .try_for_each(|(k, classes)| visitor.visit(&k.to_string(), classes))?;
        match self.majorities.iter().flatten().find(|class| **class >= self.classes) {
            Some(class) => {
                Err(visitor.mismatch(format!("classes below {}", self.classes), class.to_string()))
            }
            None => Ok(()),
        }
    }

    fn models(&self) -> Vec<&Params<T>> {
        vec![&self.global]
    }
}

/// A claimed norm that must lie in a range, up to rounding.
fn norm_part(DistanceRange { least, most }: DistanceRange) -> Part {
    Part::new("norm of an update", 1, 0.999 * least..=1.001 * most)
}

/// Adds share · Σ w Δ / Σ w to every coordinate of some rows that a client sent, from pairs of
/// Σ w Δ and Σ w.
fn add<T: Real>(tensor: &mut Matrix<T>, rows: Range<usize>, sums: &[[T; 2]], share: T) {
    let columns = tensor.columns();
    for (r, sums) in rows.zip(sums.chunks(columns)) {
        for (x, [sum, weight]) in tensor.row_mut(r).iter_mut().zip(sums) {
            // Computed for every coordinate and used for some: a branch on what was sent would be
            // unpredictable for the CPU.
            let moved = *x + share * (*sum / *weight);
            *x = if *weight > T::ZERO { moved } else { *x };
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use boostfgl_nn::backbones::{Architecture, Gcn};
    use boostfgl_nn::{Pool, TensorShape};

    fn server(clusters: Clusters, keep: f64) -> Reconciling<f64> {
        let shapes = [TensorShape::weight("w", 2, 2), TensorShape::bias("b", 2)];
        let tensors = vec![
            Matrix::from_rows(2, 2, &[1.0, 2.0, 3.0, 4.0]),
            Matrix::from_rows(1, 2, &[5.0, 6.0]),
        ];
        Reconciling {
            config: Config { clusters, keep, ..Config::default() },
            classes: 3,
            norms: 0,
            last: None,
            global: Model::new(0, Params::from_tensors(&shapes, tensors)),
            experts: None,
            majorities: vec![Vec::new(); 3],
        }
    }

    fn aggregate(server: &mut Reconciling<f64>, messages: &[(Message<f64>, f64)]) -> Combination {
        let mut updates = Vec::new();
        for (client, (message, size)) in messages.iter().enumerate() {
            let base = Contribution {
                client,
                model: None,
                message,
                norm: 0.0,
                tensor_norms: &[],
                size: *size,
                summary: None,
            };
            updates.push(base);
        }
        let (net, pool) =
            (Gcn::new(Architecture { inputs: 1, hidden: 1, classes: 2, layers: 2 }), Pool::new());
        server
            .aggregate(
                &updates,
                &Round {
                    done: 0,
                    boost: crate::boost::ServerBoosts::none(),
                    backbone: &net,
                    pool: &pool,
                    aggregation: Default::default(),
                },
            )
            .unwrap()
            .unwrap()
    }

    fn entries(entries: &[(u32, f64)]) -> Message<f64> {
        Message { entries: entries.to_vec(), ..Message::default() }
    }

    /// By hand: coordinate 0 sent by both (sizes 1 and 3), 3 by the first, 5 by the second, the
    /// others by neither.
    #[test]
    fn a_coordinate_is_the_mean_over_the_clients_that_sent_it() {
        let mut server = server(Clusters::One, 0.3);
        let sent = [(entries(&[(0, 4.0), (3, 2.0)]), 1.0), (entries(&[(0, 8.0), (5, -1.0)]), 3.0)];
        assert_eq!(aggregate(&mut server, &sent).weights(0), [0.25, 0.75]);
        assert_eq!(server.global.tensors()[0].to_vec(), [8.0, 2.0, 3.0, 6.0]);
        assert_eq!(server.global.tensors()[1].to_vec(), [5.0, 5.0]);
    }

    /// Two clusters have a half each, however large they are.
    #[test]
    fn clusters_have_equal_shares() {
        let mut server = server(Clusters::Linkage, 0.3);
        let sent = [
            (entries(&[(0, 1.0)]), 9.0),
            (entries(&[(0, 3.0)]), 9.0),
            (entries(&[(0, -4.0)]), 2.0),
        ];
        assert_eq!(aggregate(&mut server, &sent).weights(0), [0.25, 0.25, 0.5]);
        assert_eq!(server.global.tensors()[0].row(0)[0], 1.0 + 0.5 * 2.0 - 0.5 * 4.0);
    }

    /// A number that was not sent can have moved by at most the smallest that was.
    #[test]
    fn entries_show_how_far_an_update_moved() {
        let server = server(Clusters::One, 0.3);
        let range = |least: f64, most: f64| DistanceRange { least, most };
        // Six parameters, of which two go up.
        let shown = server.shown(&[(0, -4.0), (4, 3.0)]);
        let most = [libm::sqrt(16.0 + 3.0 * 9.0), libm::sqrt(9.0 + 9.0)];
        assert_eq!(shown, [range(4.0, most[0]), range(3.0, most[1])]);
        assert_eq!(
            server.shown(&[(5, 3.0)]),
            [range(0.0, 0.0), range(3.0, 3.0)],
            "with fewer entries than allowed nothing else moved"
        );
        assert_eq!(server.shown(&[]), [range(0.0, 0.0); 2]);
    }

    #[test]
    fn directions_of_another_shape_are_not_restored() {
        let mut before = server(Clusters::One, 0.3);
        before.experts = Some(Arc::new(Message::tensors(vec![Matrix::zeros(2, 2)])));
        let mut bytes = Vec::new();
        before.visit(&mut StateVisitor::saving(&mut bytes)).unwrap_err();
        // It was saved before the shapes were compared.
        let mut after = server(Clusters::One, 0.3);
        assert!(after.visit(&mut StateVisitor::restoring(&bytes)).is_err());
    }

    #[test]
    fn directions_are_means_over_the_experts_of_a_class() {
        let mut server = server(Clusters::One, 0.3);
        let expert = |gradients: &[f64], classes: &[f64]| {
            let tensors = vec![Matrix::from_rows(gradients.len() / 2, 2, gradients)];
            (
                Message {
                    numbers: classes.to_vec(),
                    entries: vec![(0, 1.0)],
                    ..Message::tensors(tensors)
                },
                1.0,
            )
        };
        aggregate(
            &mut server,
            &[expert(&[1.0, 2.0, 5.0, 6.0], &[0.0, 2.0]), expert(&[3.0, 4.0], &[2.0])],
        );
        let directions =
            |server: &Reconciling<f64>| server.experts.as_ref().unwrap().tensors[0].to_vec();
        assert_eq!(directions(&server), [1.0, 2.0, 0.0, 0.0, 4.0, 5.0]);
        // Classes are sent once, and a class that no client sends keeps its direction.
        aggregate(&mut server, &[(entries(&[(0, 1.0)]), 1.0), expert(&[7.0, 8.0], &[])]);
        assert_eq!(directions(&server), [1.0, 2.0, 0.0, 0.0, 7.0, 8.0]);
    }
}
