//! The part of a client's graph that a forward pass has to touch.

use crate::backbones::Plan;
use crate::inputs::FeatureMatrix;
use crate::kernels::spmm::spmm;
use crate::{Csr, Inputs, Matrix, Pool, Propagation, Real};
use std::sync::Arc;

/// What a forward pass reads to compute the logits of some nodes.
///
/// Of an L-layer network only the L-hop neighbourhood of those nodes matters. The view holds, for each layer,
/// the propagation matrix restricted to the rows and columns needed, and the features of the outermost hop.
#[derive(Debug)]
pub struct View<T> {
    /// `frontiers[l]` are the nodes whose representation enters layer l; the last are the output nodes.
    frontiers: Vec<Arc<Vec<u32>>>,
    blocks: Vec<Arc<Block<T>>>,
    first: First<T>,
    remembered: Option<Arc<Matrix<T>>>,
    plan: Plan,
}

/// For which nodes a differentiable pass computes what.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Reach {
    /// Logits of the given nodes, and what these need: the least work.
    #[default]
    Output,
    /// Also the last hidden representation of every node.
    Hidden,
    /// Logits of every node.
    Everything,
}

/// The features as the first layer takes them.
#[derive(Debug)]
pub(crate) enum First<T> {
    /// X, the rows of it that are needed, and for the gradient of the weights the transpose of those rows.
    Sparse { x: Arc<Csr<T>>, rows: Arc<Vec<u32>>, transpose: Option<Csr<T>> },
    /// X itself, restricted to the rows needed.
    Dense { x: Arc<Matrix<T>> },
    /// P·X, computed once for as long as P does not change; the first propagation is then done.
    Propagated { x: Arc<Matrix<T>>, px: Matrix<T> },
    /// Features stand on the tape ([`Tape::give_features`](crate::Tape::give_features)), so that they can be differentiated.
    Given,
}

/// One layer's restricted propagation.
#[derive(Debug)]
pub(crate) struct Block<T> {
    pub(crate) matrix: Csr<T>,
    from: Option<Vec<u32>>,
    pub(crate) transpose: Option<(Csr<T>, Vec<u32>)>,
}

impl<T: Real> View<T> {
    /// The view that computes logits of `nodes` (increasing) and can be differentiated.
    pub fn training(inputs: &Inputs<T>, nodes: Vec<u32>, plan: Plan) -> Self {
        Self::reaching(inputs, nodes, Reach::Output, plan)
    }

    /// Like [`View::training`], reaching further than `nodes` need.
    pub fn reaching(inputs: &Inputs<T>, nodes: Vec<u32>, reach: Reach, plan: Plan) -> Self {
        let whole = inputs.propagation().csr();
        let all = || (0..inputs.nodes() as u32).collect::<Vec<_>>();
        let everywhere = |hops: usize| reach == Reach::Hidden && plan.hidden == Some(hops);
        let output = if everywhere(plan.hops) || reach == Reach::Everything { all() } else { nodes };
        let mut frontiers = vec![Arc::new(output)];
        let mut blocks = Vec::new();
        for hops in (0..plan.hops).rev() {
            let rows = Arc::clone(&frontiers[0]);
            let columns = if everywhere(hops) { all() } else { whole.columns_of(&rows) };
            let (matrix, from) = whole.restricted(&rows, &columns);
            let transpose = Some(matrix.transpose_of(None));
            blocks.insert(0, Arc::new(Block { matrix, from: Some(from), transpose }));
            frontiers.insert(0, Arc::new(columns));
        }
        Self::assemble(inputs, frontiers, blocks, plan, true)
    }

    /// The view that computes logits of all nodes, for evaluation.
    pub fn whole(inputs: &Inputs<T>, plan: Plan) -> Self {
        let all = Arc::new((0..inputs.nodes() as u32).collect());
        let block = Block { matrix: inputs.propagation().csr().clone(), from: None, transpose: None };
        let block = Arc::new(block);
        let blocks = (0..plan.hops).map(|_| Arc::clone(&block)).collect();
        Self::assemble(inputs, vec![all; plan.hops + 1], blocks, plan, false)
    }

    /// The view of a graph whose features each pass is given on its tape: it computes logits of all nodes and can be
    /// differentiated, with respect to the features too.
    pub fn of_given_features(propagation: &Propagation<T>, plan: Plan) -> Self {
        let matrix = propagation.csr().clone();
        let all = Arc::new((0..matrix.rows() as u32).collect());
        let transpose = Some(matrix.transpose_of(None));
        let block = Arc::new(Block { matrix, from: None, transpose });
        let blocks = (0..plan.hops).map(|_| Arc::clone(&block)).collect();
        Self { frontiers: vec![all; plan.hops + 1], blocks, first: First::Given, remembered: None, plan }
    }

    fn assemble(
        inputs: &Inputs<T>,
        frontiers: Vec<Arc<Vec<u32>>>,
        blocks: Vec<Arc<Block<T>>>,
        plan: Plan,
        differentiable: bool,
    ) -> Self {
        let rows = Arc::clone(&frontiers[0]);
        let first = match inputs.features() {
            FeatureMatrix::Sparse(x) => {
                let transpose = differentiable.then(|| x.transpose_of(Some(&rows)).0);
                First::Sparse { x: Arc::clone(x), rows, transpose }
            }
            FeatureMatrix::Dense(x) => {
                let x = if rows.len() == x.rows() { Arc::clone(x) } else { Arc::new(x.rows_at(&rows)) };
                if plan.propagate_features && plan.hops > 0 {
                    First::Propagated { px: propagate(&blocks[0].matrix, &x), x }
                } else {
                    First::Dense { x }
                }
            }
        };
        Self { frontiers, blocks, first, remembered: None, plan }
    }

    /// Replaces the propagation matrix by another with the same pattern.
    pub fn set_propagation(&mut self, propagation: &Propagation<T>) {
        let mut layer = 0;
        while layer < self.blocks.len() {
            let mut block = Arc::clone(&self.blocks[layer]);
            // Layers may share one block: release the others' hold before changing it.
            let sharing = (layer..self.blocks.len()).filter(|&l| Arc::ptr_eq(&self.blocks[l], &block)).count();
            self.blocks.drain(layer..layer + sharing);
            match Arc::get_mut(&mut block) {
                Some(block) => block.refresh(propagation.csr()),
                None => unreachable!("a view's blocks are its own"),
            }
            self.blocks.splice(layer..layer, std::iter::repeat_n(block, sharing));
            layer += sharing;
        }
        if let First::Propagated { x, px } = &mut self.first {
            let stride = px.stride();
            spmm(&self.blocks[0].matrix, None, x.data(), px.data_mut(), stride);
        }
    }

    /// X·W for the nodes this view reads, if features are sparse: the first product of a forward pass, which does not
    /// depend on the propagation.
    pub fn project(&self, weights: &Matrix<T>, pool: &Pool<T>) -> Option<Matrix<T>> {
        let First::Sparse { x, rows, .. } = &self.first else { return None };
        let mut out = pool.take(rows.len(), weights.columns());
        let stride = out.stride();
        spmm(x, Some(rows), weights.data(), out.data_mut(), stride);
        Some(out)
    }

    /// Lets forward passes take X·W of **all** nodes from here instead of computing it, until told `None`.
    ///
    /// The caller vouches that it belongs to the weights of the coming passes. Digits do not change: each row is the
    /// same sum.
    pub fn remember(&mut self, product: Option<Arc<Matrix<T>>>) {
        self.remembered = product;
    }

    pub(crate) fn remembered(&self) -> Option<&Matrix<T>> {
        self.remembered.as_deref()
    }

    /// The propagation of the first layer, restricted to what this view needs; `None` if the network passes no messages.
    pub fn first_propagation(&self) -> Option<&Csr<T>> {
        self.blocks.first().map(|block| &block.matrix)
    }

    /// The nodes whose logits come out.
    pub fn nodes(&self) -> &[u32] {
        &self.frontiers[self.plan.hops]
    }

    /// The nodes whose last hidden representation comes out; none if the network has no hidden layer.
    pub fn hidden_nodes(&self) -> &[u32] {
        self.plan.hidden.map_or(&[], |hops| self.frontier(hops))
    }

    /// The nodes whose representation enters layer `l`.
    pub(crate) fn frontier(&self, l: usize) -> &[u32] {
        &self.frontiers[l.min(self.plan.hops)]
    }

    pub(crate) fn block(&self, l: usize) -> &Block<T> {
        &self.blocks[l]
    }

    pub(crate) fn first(&self) -> &First<T> {
        &self.first
    }
}

impl<T: Real> Block<T> {
    fn refresh(&mut self, whole: &Csr<T>) {
        match &self.from {
            None => self.matrix = whole.clone(),
            Some(from) => {
                for (value, &k) in self.matrix.values_mut().iter_mut().zip(from) {
                    *value = whole.values()[k as usize];
                }
            }
        }
        if let Some((transpose, from)) = &mut self.transpose {
            for (value, &k) in transpose.values_mut().iter_mut().zip(&*from) {
                *value = self.matrix.values()[k as usize];
            }
        }
    }
}

fn propagate<T: Real>(p: &Csr<T>, x: &Matrix<T>) -> Matrix<T> {
    let mut out = Matrix::zeros(p.rows(), x.columns());
    let stride = out.stride();
    spmm(p, None, x.data(), out.data_mut(), stride);
    out
}
