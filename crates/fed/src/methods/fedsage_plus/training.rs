//! The two phases in which a client's generator is trained.
//!
//! *Local* (phase A): Enc, dGen, fGen and the classifier on λ_d L_d + λ_f L_f + λ_c L_c.
//! *Federated* (phase B): fGen alone, on (1/K)·(λ_f L_f + λ_c L_c + λ_f Σ over the other clients of
//! L_f with their nodes as candidates); L_d does not depend on fGen. Enc and dGen are frozen, so
//! that codes, degrees and the mended graph are computed once.

use super::demand::Demand;
use super::impaired::Impaired;
use super::losses::{self, Matcher};
use super::neighgen::{CLASSIFIER, NeighGen, classify, degrees, encode, generate};
use super::passes::{codes_of, degrees_of, features, generator_parameters, noise, noisy};
use super::{Config, Count};
use crate::Result;
use crate::client_rule::ClientContext;
use boostfgl_graph::Stream;
use boostfgl_graph::stream::key64;
use boostfgl_nn::backbones::first_product;
use boostfgl_nn::{Dropout, Matrix, Real, RowMean, Tape, Var, WeightedLoss};
use boostfgl_protocol::Message;

/// A client's generator and its training before the first round.
pub(super) struct GeneratorTraining<T> {
    config: Config,
    pub(super) impaired: Impaired<T>,
    pub(super) neighgen: NeighGen<T>,
    frozen: Frozen<T>,
    /// Federated epochs done.
    done: usize,
}

/// What is constant in the federated phase.
struct Frozen<T> {
    /// z of all remaining nodes.
    codes: Matrix<T>,
    demand: Demand,
    /// The part of `demand` that is compared with real nodes: training nodes with a hidden
    /// neighbour.
    compared: Demand,
    /// The classifier's X·W.
    product: Matrix<T>,
    /// M̃ of the mended impaired graph.
    mended: RowMean<T>,
}

impl<T: Real> GeneratorTraining<T> {
    /// Hides nodes and runs the local phase.
    pub(super) fn new(config: &Config, context: &ClientContext<'_, T>) -> Self {
        let data = context.data();
        let impaired = Impaired::new(data, config.hide, config.max_neighbours, context.seed());
        let seed = key64(context.seed(), "neighgen", &[data.id() as u64]);
        let mut neighgen = NeighGen::new(config, data.width(), data.classes(), seed);
        for epoch in 0..config.gen_epochs {
            local_epoch(config, context, &impaired, &mut neighgen, epoch);
        }
        // Moments of the local loss would distort the first steps on the federated one.
        neighgen.reset_optimizer();
        let frozen = Frozen::new(config, context, &impaired, &neighgen);
        Self { config: config.clone(), impaired, neighgen, frozen, done: 0 }
    }

    /// The number of federated epochs that remain.
    pub(super) fn epochs_left(&self) -> usize {
        self.config.gen_epochs - self.done
    }

    /// The number of the generator's next pass, counted over both phases. It keys noise and dropout.
    fn pass(&self) -> usize {
        self.config.gen_epochs + self.done
    }

    /// The question to the other clients: generated features of the training nodes that are
    /// compared, node by node, and the number of rows of each.
    pub(super) fn question(&mut self, context: &ClientContext<'_, T>) -> Message<T> {
        let demand = &self.frozen.compared;
        let dropout = dropout(&self.config, context, self.pass());
        self.neighgen.catch_up(demand);
        let slots = features(
            &self.neighgen,
            &self.frozen.codes,
            &self.impaired,
            demand,
            self.pass(),
            dropout,
            context,
        );
        let mut rows = Matrix::zeros(demand.total(), context.data().width());
        // Node by node rather than slot by slot: an answer draws its candidates once per node.
        for (at, (row, slot, _)) in places(demand, demand).into_iter().enumerate() {
            rows.row_mut(at).copy_from_slice(slots[slot].row(row));
        }
        slots.into_iter().for_each(|slot| context.pool().put(slot));
        let counts = demand.counts.iter().map(|&count| count as f64).collect();
        Message { tensors: vec![rows], numbers: counts, ..Message::default() }
    }

    /// One federated epoch, with the other clients' answers to the question.
    pub(super) fn federated_epoch(
        &mut self,
        context: &ClientContext<'_, T>,
        answers: &[(usize, Message<T>)],
    ) {
        let gradients = self.federated_gradients(context, answers);
        self.neighgen.step_generator(&gradients);
        gradients.into_iter().for_each(|g| context.pool().put(g));
        self.done += 1;
    }

    /// The gradient of the federated loss with respect to fGen, for the slots in use only.
    pub(super) fn federated_gradients(
        &mut self,
        context: &ClientContext<'_, T>,
        answers: &[(usize, Message<T>)],
    ) -> Vec<Matrix<T>> {
        let pass = self.pass();
        let Self { config, impaired, neighgen, frozen, .. } = self;
        let demand = &frozen.demand;
        if demand.is_empty() {
            return Vec::new();
        }
        neighgen.catch_up(demand);
        // 1/K over the clients that took part in this exchange: itself and those that answered.
        let share = 1.0 / (1 + answers.len()) as f64;
        let noisy = noisy(&frozen.codes, impaired, demand, pass, context);
        let mut tape = Tape::new(context.pool());
        let fgen = generator_parameters(&mut tape, neighgen, demand);
        let local: Vec<Var> = neighgen.local.tensors().iter().map(|t| tape.constant(t)).collect();
        let noisy = tape.constant(&noisy);
        let slots = generate(&mut tape, &fgen, noisy, demand, dropout(config, context, pass));
        let values: Vec<&Matrix<T>> = slots.iter().map(|&slot| tape.value(slot)).collect();
        let factor = config.lambda_feature * share / entries(config, impaired);
        let (_, mut matched) = match_features(impaired, context, demand, &values, factor);
        // An answer is a gradient with respect to the generated features: it seeds the backward pass
        // at the same place as the client's own feature loss.
        add_answers(&mut matched, frozen, answers, T::of(factor));
        let both = (tape.constant(&frozen.product), &slots[..]);
        let out =
            classify(&mut tape, &local, both, &frozen.mended, &impaired.training, Dropout::off());
        let loss = tape.cross_entropy(out, &supervision(context));
        let mut seeds = vec![(loss, number(context, config.lambda_class * share))];
        seeds.extend(slots.into_iter().zip(matched));
        tape.backward_from(seeds, &fgen)
    }

    /// The generated neighbours to mend the client's graph with: features, and the node of each.
    ///
    /// # Errors
    /// If the generator has diverged.
    pub(super) fn neighbours(
        &mut self,
        context: &ClientContext<'_, T>,
    ) -> Result<(Matrix<T>, Vec<u32>)> {
        if !(self.neighgen.local.is_finite() && self.neighgen.trunk.is_finite()) {
            return Err(context.diverged("generator"));
        }
        let demand = Demand::of(
            &degrees_of(&self.neighgen, &self.frozen.codes, &self.impaired, context),
            self.config.max_neighbours,
            self.config.count,
            |_| true,
        );
        self.neighgen.catch_up(&demand);
        // The pass after all epochs of both phases, so that its noise is new.
        let (pass, off) = (2 * self.config.gen_epochs, Dropout::off());
        let slots = features(
            &self.neighgen,
            &self.frozen.codes,
            &self.impaired,
            &demand,
            pass,
            off,
            context,
        );
        let mut all = Matrix::zeros(demand.total(), context.data().width());
        let mut at = 0;
        for slot in &slots {
            all.data_mut()[at..][..slot.data().len()].copy_from_slice(slot.data());
            at += slot.data().len();
        }
        slots.into_iter().for_each(|slot| context.pool().put(slot));
        if all.data().iter().any(|x| !x.is_finite()) {
            return Err(context.diverged("generator"));
        }
        let owners = demand.owners().into_iter().map(|v| self.impaired.kept[v as usize]).collect();
        Ok((all, owners))
    }
}

impl<T: Real> Frozen<T> {
    fn new(
        config: &Config,
        context: &ClientContext<'_, T>,
        impaired: &Impaired<T>,
        neighgen: &NeighGen<T>,
    ) -> Self {
        let mut tape = Tape::new(context.pool());
        let local: Vec<Var> = neighgen.local.tensors().iter().map(|t| tape.constant(t)).collect();
        let z = encode(&mut tape, &local, impaired, Dropout::off());
        let product = first_product(&mut tape, &impaired.features, local[CLASSIFIER.start]).0;
        let (codes, product) = (tape.take(z), tape.take(product));
        let predicted = degrees_of(neighgen, &codes, impaired, context);
        let demand =
            Demand::of(&predicted, config.max_neighbours, Count::Truncate, |v| impaired.reached[v]);
        let compared = demand.restricted(|v| impaired.missing_of(v).is_some());
        let mended = RowMean::of(&impaired.adjacency.with_leaves(&demand.owners()));
        Self { codes, demand, compared, product, mended }
    }
}

/// One epoch of the local phase. Returns the total loss.
pub(super) fn local_epoch<T: Real>(
    config: &Config,
    context: &ClientContext<'_, T>,
    impaired: &Impaired<T>,
    neighgen: &mut NeighGen<T>,
    epoch: usize,
) -> f64 {
    let (value, local, generator) = local_gradients(config, context, impaired, neighgen, epoch);
    neighgen.step_local(&local);
    neighgen.step_generator(&generator);
    local.into_iter().chain(generator).for_each(|g| context.pool().put(g));
    value
}

/// λ_d L_d + λ_f L_f + λ_c L_c and its gradients with respect to the local networks and to fGen, for
/// the slots in use only.
pub(super) fn local_gradients<T: Real>(
    config: &Config,
    context: &ClientContext<'_, T>,
    impaired: &Impaired<T>,
    neighgen: &mut NeighGen<T>,
    epoch: usize,
) -> (f64, Vec<Matrix<T>>, Vec<Matrix<T>>) {
    let pool = context.pool();
    let dropout = dropout(config, context, epoch);
    // The demand decides the shapes on the tape, so that degrees are predicted in a pass of their
    // own. It has the same dropout, and with it the same codes.
    let demand = {
        let codes = codes_of(neighgen, impaired, dropout, context);
        let predicted = degrees_of(neighgen, &codes, impaired, context);
        pool.put(codes);
        Demand::of(&predicted, config.max_neighbours, Count::Truncate, |v| impaired.reached[v])
    };
    // Slots that this pass does not use are updated lazily: their pending steps follow when a node
    // first needs them.
    neighgen.catch_up(&demand);
    let mended = RowMean::of(&impaired.adjacency.with_leaves(&demand.owners()));
    let mut tape = Tape::new(pool);
    let local: Vec<Var> = neighgen.local.tensors().iter().map(|t| tape.parameter(t)).collect();
    let z = encode(&mut tape, &local, impaired, dropout);
    let predicted = degrees(&mut tape, &local, z, &impaired.kept);
    let (on_degree, degree_seed) = losses::degree(
        tape.value(predicted),
        &impaired.training,
        |i| impaired.missing[i].len(),
        config.lambda_degree,
        pool,
    );
    let mut seeds = vec![(predicted, degree_seed)];
    let (mut fgen, mut slots, mut on_features) = (Vec::new(), Vec::new(), 0.0);
    if !demand.is_empty() {
        fgen = generator_parameters(&mut tape, neighgen, &demand);
        let picked = tape.select_rows(z, &demand.nodes);
        let noisy = tape.shift(picked, &noise(impaired, &demand, config.latent, epoch, context));
        slots = generate(&mut tape, &fgen, noisy, &demand, dropout);
        let values: Vec<&Matrix<T>> = slots.iter().map(|&slot| tape.value(slot)).collect();
        let factor = config.lambda_feature / entries(config, impaired);
        let (value, matched) = match_features(impaired, context, &demand, &values, factor);
        on_features = value;
        seeds.extend(slots.iter().copied().zip(matched));
    }
    let product = first_product(&mut tape, &impaired.features, local[CLASSIFIER.start]).0;
    let out = classify(&mut tape, &local, (product, &slots), &mended, &impaired.training, dropout);
    let loss = tape.cross_entropy(out, &supervision(context));
    let value = on_degree + on_features + config.lambda_class * tape.value(loss).row(0)[0].f64();
    seeds.push((loss, number(context, config.lambda_class)));
    let mut gradients = tape.backward_from(seeds, &[&local[..], &fgen[..]].concat());
    let generator = gradients.split_off(local.len());
    (value, gradients, generator)
}

/// The answer to another client's generated features: the gradient of Σ over rows of ℓ with respect
/// to each. The candidates of a node are p neighbours, drawn with replacement, of a node of this
/// client that has any. A client without edges answers zeros.
pub(super) fn answer<T: Real>(
    config: &Config,
    context: &ClientContext<'_, T>,
    (number, asker): (usize, usize),
    question: &Message<T>,
) -> Result<Message<T>> {
    let data = context.data();
    let total: f64 = question.numbers.iter().sum();
    let counts = question.numbers.iter().all(|count| *count >= 0.0 && count.fract() == 0.0);
    let rows = question
        .tensors
        .first()
        .filter(|t| counts && t.columns() == data.width() && t.rows() as f64 == total)
        .ok_or_else(|| context.diverged("question"))?;
    // The stream is keyed by both clients and the exchange, so that an answer depends neither on
    // which other clients ask nor on the order of questions.
    let able: Vec<usize> = (0..data.len()).filter(|&v| data.adjacency().degree(v) > 0).collect();
    let mut gradient = Matrix::zeros(rows.rows(), rows.columns());
    let mut stream =
        Stream::new(context.seed(), "strangers", &[data.id() as u64, asker as u64, number as u64]);
    let mut matcher = Matcher::new(data.width());
    let mut at = 0;
    for &count in question.numbers.iter().filter(|_| !able.is_empty()) {
        let candidates =
            random_neighbours(data.adjacency(), &able, config.max_neighbours, &mut stream);
        for _ in 0..count as usize {
            matcher.pull(rows.row(at), &candidates, data.inputs(), T::ONE, gradient.row_mut(at));
            at += 1;
        }
    }
    Ok(Message::tensors(vec![gradient]))
}

/// `count` neighbours, with replacement, of one of the `able` nodes.
pub(super) fn random_neighbours(
    adjacency: &boostfgl_graph::Adjacency,
    able: &[usize],
    count: usize,
    stream: &mut Stream,
) -> Vec<u32> {
    let neighbours = adjacency.neighbours(able[stream.below(able.len())]);
    (0..count).map(|_| neighbours[stream.below(neighbours.len())]).collect()
}

/// n_tr·p, the divisor of the feature loss: all slots of all training nodes, used or not.
fn entries<T>(config: &Config, impaired: &Impaired<T>) -> f64 {
    (impaired.training.len() * config.max_neighbours).max(1) as f64
}

/// λ_f L_f over the training nodes of `demand`, and its gradient with respect to every slot;
/// `factor` is λ_f / (n_tr·p).
fn match_features<T: Real>(
    impaired: &Impaired<T>,
    context: &ClientContext<'_, T>,
    demand: &Demand,
    slots: &[&Matrix<T>],
    factor: f64,
) -> (f64, Vec<Matrix<T>>) {
    let inputs = context.data().inputs();
    let mut matcher = Matcher::new(inputs.width());
    let mut total = 0.0;
    let mut gradients = Vec::with_capacity(slots.len());
    for (j, slot) in slots.iter().enumerate() {
        let mut gradient = context.pool().take(slot.rows(), slot.columns());
        gradient.data_mut().fill(T::ZERO);
        for (r, &i) in demand.rows(j).iter().enumerate() {
            let Some(missing) = impaired.missing_of(demand.nodes[i as usize]) else { continue };
            // A node gets at most p generated neighbours, so that only p hidden ones are candidates.
            let candidates = &missing[..missing.len().min(impaired.most)];
            total +=
                matcher.pull(slot.row(r), candidates, inputs, T::of(factor), gradient.row_mut(r));
        }
        gradients.push(gradient);
    }
    (total * factor, gradients)
}

/// Adds the other clients' answers to the gradients of the slots.
fn add_answers<T: Real>(
    slots: &mut [Matrix<T>],
    frozen: &Frozen<T>,
    answers: &[(usize, Message<T>)],
    factor: T,
) {
    for (at, (_, slot, row)) in places(&frozen.compared, &frozen.demand).into_iter().enumerate() {
        for (_, answer) in answers {
            let Some(gradient) = answer.tensors.first() else { continue };
            let sum = slots[slot].row_mut(row);
            sum.iter_mut().zip(gradient.row(at)).for_each(|(sum, g)| *sum += factor * *g);
        }
    }
}

/// The positions of the generated neighbours of `part`, node by node: row in its own slot, slot, row
/// in the slot of `whole`.
fn places(part: &Demand, whole: &Demand) -> Vec<(usize, usize, usize)> {
    let slots = 0..part.slots();
    let own: Vec<Vec<u32>> = slots.clone().map(|j| part.rows(j)).collect();
    let among: Vec<Vec<u32>> = slots.map(|j| whole.rows(j)).collect();
    let each = part
        .nodes
        .iter()
        .zip(&part.counts)
        .flat_map(|(&v, &count)| (0..count).map(move |j| (v, j)));
    each.map(|(v, j)| (row_of(&own[j], part, v), j, row_of(&among[j], whole, v))).collect()
}

/// The position of node `v` in the rows of a slot.
fn row_of(rows: &[u32], demand: &Demand, v: u32) -> usize {
    rows.partition_point(|&i| demand.nodes[i as usize] < v)
}

fn dropout<T: Real>(config: &Config, context: &ClientContext<'_, T>, pass: usize) -> Dropout {
    Dropout::new(config.dropout, context.key("neighgen dropout", pass))
}

/// Labels of the training nodes, without node weights: boosting starts with the first round.
fn supervision<T: Real>(context: &ClientContext<'_, T>) -> WeightedLoss<T> {
    WeightedLoss::new(context.loss().labels().to_vec(), boostfgl_nn::Reduction::Mean)
}

/// A 1 × 1 matrix.
fn number<T: Real>(context: &ClientContext<'_, T>, x: f64) -> Matrix<T> {
    let mut out = context.pool().take(1, 1);
    out.row_mut(0)[0] = T::of(x);
    out
}
