//! The receptive field: the part of a client's graph that a forward pass reads.

use crate::backbones::ViewPlan;
use crate::feature_rows::FeatureRows;
use crate::inputs::FeatureMatrix;
use crate::kernels::spmm::spmm;
use crate::propagation::two_hops;
use crate::{Csr, Inputs, Matrix, Pool, Propagation, Real};
use boostfgl_graph::Adjacency;
use std::sync::Arc;

/// The inputs of a forward pass that computes the logits of some nodes.
///
/// The logits of an L-layer network depend on the L-hop neighbourhood of those nodes only. For each
/// layer the view holds the propagation matrix restricted to the rows and columns needed, and for
/// the first layer the features of the outermost hop.
#[derive(Debug)]
pub struct View<T> {
    /// `frontiers[l]` are the nodes whose representation enters layer l; the last are the output
    /// nodes.
    frontiers: Vec<Arc<Vec<u32>>>,
    blocks: Vec<Arc<Block<T>>>,
    first: InputFeatures<T>,
    /// The features of the first layer's output nodes, if the plan requires them.
    own: Option<InputFeatures<T>>,
    cached_product: Option<Arc<Matrix<T>>>,
    plan: ViewPlan,
}

/// For which nodes a differentiable pass computes what.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Reach {
    /// Logits of the given nodes and their receptive field: the least work.
    #[default]
    Output,
    /// In addition the last hidden representation of every node.
    Hidden,
    /// Logits of every node.
    Everything,
}

/// The features in the form in which the first layer reads them.
#[derive(Debug)]
pub(crate) enum InputFeatures<T> {
    /// The rows of X that are needed.
    Sparse(FeatureRows<T>),
    /// X itself, restricted to the rows needed.
    Dense { x: Arc<Matrix<T>> },
    /// P·X, cached while P does not change: it includes the first propagation.
    Propagated { x: Arc<Matrix<T>>, px: Matrix<T> },
    /// The features are a value of the tape ([`Tape::give_features`](crate::Tape::give_features)),
    /// so that they can be differentiated.
    Given,
}

/// The restricted propagation of one layer (a *block* or message flow graph in other libraries).
#[derive(Debug)]
pub(crate) struct Block<T> {
    pub(crate) matrix: Csr<T>,
    /// The entry of the whole matrix that each entry was copied from; `None` if this is the whole.
    from: Option<Vec<u32>>,
    /// Pᵀ for the backward pass, and for each of its entries the entry of `matrix`.
    pub(crate) transpose: Option<(Csr<T>, Vec<u32>)>,
    /// The column of each row's own node; `None` if rows and columns are the same nodes.
    own: Option<Vec<u32>>,
    /// The same for nodes exactly two hops apart, if the plan requires it.
    two_hops: Option<Box<Self>>,
}

impl<T: Real> View<T> {
    /// A differentiable view that computes the logits of `nodes` (increasing).
    pub fn training(inputs: &Inputs<T>, nodes: Vec<u32>, plan: ViewPlan) -> Self {
        Self::reaching(inputs, nodes, Reach::Output, plan)
    }

    /// Like [`View::training`], for a larger receptive field than `nodes` need.
    ///
    /// Hops between the same nodes share one block, so that a network of many hops stores little
    /// more than the hops it takes to reach every node.
    ///
    /// # Panics
    /// If the inputs have another operator than the plan, see [`Inputs::set_operator`].
    pub fn reaching(inputs: &Inputs<T>, nodes: Vec<u32>, reach: Reach, plan: ViewPlan) -> Self {
        let output = match reach {
            Reach::Everything => all_nodes(inputs),
            reach if needs_all_nodes(reach, plan, plan.hops) => all_nodes(inputs),
            _ => nodes,
        };
        // From the last layer to the first: the receptive field of a layer is what the layer after
        // it reads.
        let mut frontiers = vec![Arc::new(output)];
        let mut blocks: Vec<Arc<Block<T>>> = Vec::new();
        for hops in (0..plan.hops).rev() {
            let rows = Arc::clone(&frontiers[frontiers.len() - 1]);
            let columns = if needs_all_nodes(reach, plan, hops) {
                all_nodes(inputs)
            } else {
                senders(inputs, plan, &rows)
            };
            let stays = columns == *rows;
            let block = match blocks.last() {
                // Same rows and columns as the layer after it: the same restriction.
                Some(last) if stays && last.own.is_none() => Arc::clone(last),
                _ => Arc::new(Block::restricted(inputs, plan, &rows, &columns)),
            };
            blocks.push(block);
            frontiers.push(if stays { rows } else { Arc::new(columns) });
        }
        frontiers.reverse();
        blocks.reverse();
        Self::assemble(inputs, frontiers, blocks, plan, true)
    }

    /// A view that computes the logits of all nodes, for evaluation; it has no backward pass.
    ///
    /// # Panics
    /// If the inputs have another operator than the plan, see [`Inputs::set_operator`].
    pub fn whole(inputs: &Inputs<T>, plan: ViewPlan) -> Self {
        let all = Arc::new((0..inputs.nodes() as u32).collect());
        let block = Arc::new(Block::whole(inputs, plan));
        let blocks = (0..plan.hops).map(|_| Arc::clone(&block)).collect();
        Self::assemble(inputs, vec![all; plan.hops + 1], blocks, plan, false)
    }

    /// A view of a graph whose features are set on the tape of each pass. It computes the logits of
    /// all nodes and is differentiable, with respect to the features too.
    pub fn of_given_features(adjacency: &Adjacency, plan: ViewPlan) -> Self {
        let propagation = Propagation::<T>::of(plan.operator, adjacency);
        let all = Arc::new((0..adjacency.len() as u32).collect());
        let two_hops = plan
            .two_hops
            .then(|| Box::new(Block::whole_with_transpose(two_hops(propagation.csr()))));
        let whole = Block::whole_with_transpose(propagation.csr().clone());
        let block = Arc::new(Block { two_hops, ..whole });
        let blocks = (0..plan.hops).map(|_| Arc::clone(&block)).collect();
        let own = (plan.own_features && plan.hops > 0).then_some(InputFeatures::Given);
        Self {
            frontiers: vec![all; plan.hops + 1],
            blocks,
            first: InputFeatures::Given,
            own,
            cached_product: None,
            plan,
        }
    }

    fn assemble(
        inputs: &Inputs<T>,
        frontiers: Vec<Arc<Vec<u32>>>,
        blocks: Vec<Arc<Block<T>>>,
        plan: ViewPlan,
        differentiable: bool,
    ) -> Self {
        let matched = plan.hops == 0 || inputs.operator() == plan.operator;
        assert!(
            matched,
            "the plan requires the operator {:?}, the inputs have {:?}",
            plan.operator,
            inputs.operator()
        );
        let first = match InputFeatures::of(inputs, &frontiers[0], differentiable) {
            InputFeatures::Dense { x } if plan.propagate_features && plan.hops > 0 => {
                InputFeatures::Propagated { px: propagate(&blocks[0].matrix, &x), x }
            }
            first => first,
        };
        let own = (plan.own_features && plan.hops > 0)
            .then(|| InputFeatures::of(inputs, &frontiers[1], differentiable));
        Self { frontiers, blocks, first, own, cached_product: None, plan }
    }

    /// Replaces the propagation matrix by another with the same pattern.
    pub fn set_propagation(&mut self, propagation: &Propagation<T>) {
        let mut layer = 0;
        while layer < self.blocks.len() {
            let mut block = Arc::clone(&self.blocks[layer]);
            // Layers may share one block. All but this reference are dropped, so that it can be
            // changed in place without a copy.
            let sharing = (layer..self.blocks.len())
                .filter(|&l| Arc::ptr_eq(&self.blocks[l], &block))
                .count();
            self.blocks.drain(layer..layer + sharing);
            match Arc::get_mut(&mut block) {
                Some(block) => block.refresh(propagation.csr()),
                None => unreachable!("blocks are not shared between views"),
            }
            self.blocks.splice(layer..layer, std::iter::repeat_n(block, sharing));
            layer += sharing;
        }
        if let InputFeatures::Propagated { x, px } = &mut self.first {
            let stride = px.stride();
            spmm(&self.blocks[0].matrix, None, x.data(), px.data_mut(), stride);
        }
    }

    /// X·W for the nodes that this view reads, if features are sparse: the first product of a
    /// forward pass, which does not depend on the propagation.
    pub fn project(&self, weights: &Matrix<T>, pool: &Pool<T>) -> Option<Matrix<T>> {
        let InputFeatures::Sparse(x) = &self.first else { return None };
        Some(x.multiply(weights, pool))
    }

    /// Caches X·W of **all** nodes for later forward passes; `None` clears the cache.
    ///
    /// W is the first tensor of the network. The caller guarantees that it belongs to the
    /// parameters of those passes. The digits do not change: each row is the same sum.
    pub fn cache_product(&mut self, product: Option<Arc<Matrix<T>>>) {
        self.cached_product = product;
    }

    pub(crate) fn cached_product(&self) -> Option<&Matrix<T>> {
        self.cached_product.as_deref()
    }

    /// The propagation of the first layer, restricted to this view; `None` if the network passes no
    /// messages.
    pub fn first_propagation(&self) -> Option<&Csr<T>> {
        self.blocks.first().map(|block| &block.matrix)
    }

    /// The nodes whose logits are computed.
    pub fn nodes(&self) -> &[u32] {
        &self.frontiers[self.plan.hops]
    }

    /// The nodes whose last hidden representation is computed; empty if the network has no hidden
    /// layer.
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

    pub(crate) fn features(&self) -> &InputFeatures<T> {
        &self.first
    }

    /// The features of the first layer's output nodes.
    ///
    /// # Panics
    /// If the plan does not require them.
    pub(crate) fn own_features(&self) -> &InputFeatures<T> {
        match &self.own {
            Some(own) => own,
            None => panic!("the plan of this view has no own features"),
        }
    }
}

impl<T: Real> InputFeatures<T> {
    /// The features of `rows`, not propagated.
    fn of(inputs: &Inputs<T>, rows: &Arc<Vec<u32>>, differentiable: bool) -> Self {
        match inputs.features() {
            FeatureMatrix::Sparse(x) => {
                Self::Sparse(FeatureRows::new(x, inputs.full(), rows, differentiable))
            }
            FeatureMatrix::Dense(x) if rows.len() == x.rows() => Self::Dense { x: Arc::clone(x) },
            FeatureMatrix::Dense(x) => Self::Dense { x: Arc::new(x.rows_at(rows)) },
        }
    }
}

impl<T: Real> Block<T> {
    /// The propagation of `inputs`, restricted to `rows` and `columns`.
    fn restricted(inputs: &Inputs<T>, plan: ViewPlan, rows: &[u32], columns: &[u32]) -> Self {
        let two_hops =
            plan.two_hops.then(|| Box::new(Self::restriction_of(inputs.two_hops(), rows, columns)));
        Self { two_hops, ..Self::restriction_of(inputs.propagation().csr(), rows, columns) }
    }

    fn restriction_of(whole: &Csr<T>, rows: &[u32], columns: &[u32]) -> Self {
        let (matrix, from) = whole.restricted(rows, columns);
        let transpose = Some(matrix.transpose_of(None));
        Self { matrix, from: Some(from), transpose, own: positions(rows, columns), two_hops: None }
    }

    /// The whole propagation of `inputs`, without a backward pass.
    fn whole(inputs: &Inputs<T>, plan: ViewPlan) -> Self {
        let two_hops = plan.two_hops.then(|| Box::new(Self::of_matrix(inputs.two_hops().clone())));
        Self { two_hops, ..Self::of_matrix(inputs.propagation().csr().clone()) }
    }

    /// All of a matrix, without a backward pass.
    fn of_matrix(matrix: Csr<T>) -> Self {
        Self { matrix, from: None, transpose: None, own: None, two_hops: None }
    }

    /// All of a matrix, with a backward pass.
    fn whole_with_transpose(matrix: Csr<T>) -> Self {
        let transpose = Some(matrix.transpose_of(None));
        Self { transpose, ..Self::of_matrix(matrix) }
    }

    /// The column of each row's own node; `None` if rows and columns are the same nodes.
    pub(crate) fn own(&self) -> Option<&[u32]> {
        self.own.as_deref()
    }

    /// The propagation between nodes exactly two hops apart.
    ///
    /// # Panics
    /// If the plan does not require it.
    pub(crate) fn two_hops(&self) -> &Self {
        match &self.two_hops {
            Some(block) => block,
            None => panic!("the plan of this view has no second hop"),
        }
    }

    /// Copies new values into the same pattern: restriction and transpose are not computed again.
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

/// The nodes that one hop to `rows` reads, in increasing order. They include `rows`, since every
/// operator stores self-loops.
fn senders<T: Real>(inputs: &Inputs<T>, plan: ViewPlan, rows: &[u32]) -> Vec<u32> {
    let mut columns = inputs.propagation().csr().columns_of(rows);
    if plan.two_hops {
        columns.extend(inputs.two_hops().columns_of(rows));
        columns.sort_unstable();
        columns.dedup();
    }
    columns
}

/// The position of each of `nodes` in `among`, which contains them all, both increasing; `None` if
/// the two are equal.
fn positions(nodes: &[u32], among: &[u32]) -> Option<Vec<u32>> {
    if nodes == among {
        return None;
    }
    let mut at = 0;
    let mut positions = Vec::with_capacity(nodes.len());
    for v in nodes {
        // Both increase: the search continues where the last one ended.
        at += among[at..].partition_point(|u| u < v);
        positions.push(at as u32);
    }
    Some(positions)
}

fn all_nodes<T: Real>(inputs: &Inputs<T>) -> Vec<u32> {
    (0..inputs.nodes() as u32).collect()
}

/// Whether the rows after `hops` hops are the hidden layer, and all nodes of it are required.
fn needs_all_nodes(reach: Reach, plan: ViewPlan, hops: usize) -> bool {
    reach == Reach::Hidden && plan.hidden == Some(hops)
}

fn propagate<T: Real>(p: &Csr<T>, x: &Matrix<T>) -> Matrix<T> {
    let mut out = Matrix::zeros(p.rows(), x.columns());
    let stride = out.stride();
    spmm(p, None, x.data(), out.data_mut(), stride);
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use boostfgl_graph::{Adjacency, Features, Graph, Labels};

    /// From one end of a path of four nodes every node is reached in three hops; the seven hops
    /// before them are equal.
    #[test]
    fn hops_that_reach_no_new_node_share_a_block() {
        let (path, _) = Adjacency::from_edges(4, &[(0, 1), (1, 2), (2, 3)], None, false).unwrap();
        let features = Features::dense(4, 1, vec![1.0; 4]).unwrap();
        let graph =
            Graph::new("path", path, features, Labels::from_integers(&[0; 4], 2).unwrap()).unwrap();
        let inputs = Inputs::<f64>::new(&graph);
        let mut view = View::training(&inputs, vec![0], ViewPlan::new(10, Some(0)));
        let sizes: Vec<usize> = (0..=10).map(|l| view.frontier(l).len()).collect();
        assert_eq!(sizes, [4, 4, 4, 4, 4, 4, 4, 4, 3, 2, 1]);
        let distinct = |view: &View<f64>| {
            1 + view.blocks.windows(2).filter(|w| !Arc::ptr_eq(&w[0], &w[1])).count()
        };
        assert_eq!(distinct(&view), 4);
        assert_eq!(view.block(9).own(), Some(&[0][..]));
        assert_eq!(view.block(0).own(), None);
        let doubled = inputs.propagation().csr().values().iter().map(|x| 2.0 * x).collect();
        view.set_propagation(&inputs.propagation().with_values(doubled));
        assert_eq!(distinct(&view), 4);
        let (own, plain) =
            (view.block(6).matrix.values()[0], inputs.propagation().csr().values()[0]);
        assert_eq!(own, 2.0 * plain);
    }
}
