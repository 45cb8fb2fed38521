//! Attention: yᵥʰ = Σᵤ αᵤᵥʰ zᵤʰ, α = softmax over the arcs into v of ln Pᵥᵤ + LeakyReLU(⟨aʰ, zᵤʰ⟩ +
//! ⟨bʰ, zᵥʰ⟩).
//!
//! The propagation P is a prior: an arc of weight 0 has α = 0, and equal weights give plain
//! attention. The backward pass reads α and the scores, O(arcs · heads) numbers, and z.

use crate::kernels::attention::{self, Arcs, Attended, Heads};
use crate::tape::{Backward, Operation};
use crate::view::Block;
use crate::{Matrix, Pool, Real, Tape, Var, View};

impl<'a, T: Real> Tape<'a, T> {
    /// The attended messages of layer `l` of a view, with the noise of the tape, which is a
    /// constant. `source` (a) and `target` (b) have one row per head.
    ///
    /// # Panics
    /// If the shapes do not fit.
    pub(crate) fn attention(
        &mut self,
        view: &'a View<T>,
        l: usize,
        z: Var,
        source: Var,
        target: Var,
    ) -> Var {
        let block = view.block(l);
        let (pool, p) = (self.pool(), &block.matrix);
        let (sent, heads) = (self.value(z), Heads::of(self.value(z), self.value(source)));
        let mut sources = pool.take(sent.rows(), heads.count);
        attention::scores(sent, self.value(source), None, &mut sources);
        let mut targets = pool.take(p.rows(), heads.count);
        attention::scores(sent, self.value(target), block.own(), &mut targets);
        let mut weights = pool.take(1, p.non_zeros() * heads.count);
        attention::weights(p, &sources, &targets, heads, weights.row_mut(0));
        let mut out = pool.take(p.rows(), sent.columns());
        attention::gather(
            Arcs { pattern: p, from: None, values: weights.row(0) },
            sent,
            heads,
            &mut out,
        );
        self.noise().add_to(&mut out, view.frontier(l + 1), 2 * l);
        let operation = Attention { block, z, source, target, sources, targets, weights };
        // `record` would drop the operation of a pass without gradients, and its buffers would be
        // lost to the pool.
        if [z, source, target].iter().any(|&var| self.is_differentiable(var)) {
            return self.record(&[z, source, target], out, operation);
        }
        operation.recycle(pool);
        self.computed(out)
    }
}

struct Attention<'a, T> {
    block: &'a Block<T>,
    z: Var,
    source: Var,
    target: Var,
    /// ⟨aʰ, zᵤʰ⟩.
    sources: Matrix<T>,
    /// ⟨bʰ, zᵥʰ⟩.
    targets: Matrix<T>,
    /// α of every arc and head, in one row.
    weights: Matrix<T>,
}

impl<T: Real> Attention<'_, T> {
    fn recycle(self, pool: &Pool<T>) {
        [self.sources, self.targets, self.weights].into_iter().for_each(|matrix| pool.put(matrix));
    }
}

impl<T: Real> Operation<T> for Attention<'_, T> {
    fn backward(self: Box<Self>, _: Var, gradient: Matrix<T>, to: &mut Backward<'_, '_, T>) {
        let Some((transpose, from)) = &self.block.transpose else {
            panic!("a view made for evaluation was differentiated");
        };
        let (pool, p) = (to.pool(), &self.block.matrix);
        let (z, a, b) = (to.value(self.z), to.value(self.source), to.value(self.target));
        let heads = Heads::of(z, a);
        let mut arcs = pool.take(1, p.non_zeros() * heads.count);
        let attended =
            Attended { source: &self.sources, target: &self.targets, weights: self.weights.row(0) };
        attention::arc_gradients(p, attended, &gradient, z, heads, arcs.row_mut(0));

        // e = LeakyReLU(sᵤ + tᵥ): the gradient of tᵥ sums the arcs into v, that of sᵤ the arcs out
        // of u, which are the rows of the transpose.
        let mut targets = pool.take(p.rows(), heads.count);
        attention::sum_arcs(
            Arcs { pattern: p, from: None, values: arcs.row(0) },
            heads,
            &mut targets,
        );
        let targets = spread(targets, self.block.own(), z.rows(), pool);
        let mut sources = pool.take(z.rows(), heads.count);
        attention::sum_arcs(
            Arcs { pattern: transpose, from: Some(from), values: arcs.row(0) },
            heads,
            &mut sources,
        );

        // sᵤ = ⟨a, zᵤ⟩ and tᵥ = ⟨b, zᵥ⟩: ∂a = Σ ∂sᵤ·zᵤ, and z receives ∂sᵤ·a, ∂tᵥ·b and Σ α·g.
        let of_source =
            to.needs_gradient(self.source).then(|| vector_gradient(&sources, z, a, pool));
        let of_target =
            to.needs_gradient(self.target).then(|| vector_gradient(&targets, z, b, pool));
        let of_z = to.needs_gradient(self.z).then(|| {
            let mut out = pool.take(z.rows(), z.columns());
            let back = Arcs { pattern: transpose, from: Some(from), values: self.weights.row(0) };
            attention::gather(back, &gradient, heads, &mut out);
            attention::add_outer(&sources, a, &mut out);
            attention::add_outer(&targets, b, &mut out);
            out
        });
        for (var, gradient) in [(self.source, of_source), (self.target, of_target), (self.z, of_z)]
        {
            gradient.into_iter().for_each(|gradient| to.add(var, gradient));
        }
        [arcs, targets, sources, gradient].into_iter().for_each(|matrix| to.recycle(matrix));
        self.recycle(pool);
    }
}

/// Expands scores of targets to all `rows` senders: target i is sender `own[i]`, others get 0.
fn spread<T: Real>(
    scores: Matrix<T>,
    own: Option<&[u32]>,
    rows: usize,
    pool: &Pool<T>,
) -> Matrix<T> {
    let Some(own) = own else { return scores };
    let mut out = pool.take(rows, scores.columns());
    out.data_mut().fill(T::ZERO);
    for (i, &at) in own.iter().enumerate() {
        out.row_mut(at as usize).copy_from_slice(scores.row(i));
    }
    pool.put(scores);
    out
}

/// Σᵤ scoresᵤ · zᵤ: the gradient of an attention vector, in its shape.
fn vector_gradient<T: Real>(
    scores: &Matrix<T>,
    z: &Matrix<T>,
    vector: &Matrix<T>,
    pool: &Pool<T>,
) -> Matrix<T> {
    let mut out = pool.take(vector.rows(), vector.columns());
    attention::outer_sum(scores, z, &mut out);
    out
}
