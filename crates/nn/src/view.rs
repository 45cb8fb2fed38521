//! The part of a client's graph that a forward pass has to touch.

use crate::backbones::Plan;
use crate::feature_rows::FeatureRows;
use crate::inputs::FeatureMatrix;
use crate::kernels::spmm::spmm;
use crate::propagation::two_hops;
use crate::{Csr, Inputs, Matrix, Pool, Propagation, Real};
use boostfgl_graph::Adjacency;
use std::sync::Arc;

/// What a forward pass reads to compute the logits of some nodes.
///
/// Of an L-layer network only the L-hop neighbourhood of those nodes matters. The view holds, for
/// each layer, the propagation matrix restricted to the rows and columns needed, and the features
/// of the outermost hop.
#[derive(Debug)]
pub struct View<T> {
    /// `frontiers[l]` are the nodes whose representation enters layer l; the last are the output
    /// nodes.
    frontiers: Vec<Arc<Vec<u32>>>,
    blocks: Vec<Arc<Block<T>>>,
    first: First<T>,
    /// The features of the first layer's output nodes, where the plan asks for them.
    own: Option<First<T>>,
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
    /// The rows of X that are needed.
    Sparse(FeatureRows<T>),
    /// X itself, restricted to the rows needed.
    Dense { x: Arc<Matrix<T>> },
    /// P·X, computed once for as long as P does not change; the first propagation is then done.
    Propagated { x: Arc<Matrix<T>>, px: Matrix<T> },
    /// Features stand on the tape ([`Tape::give_features`](crate::Tape::give_features)), so that
    /// they can be differentiated.
    Given,
}

/// One layer's restricted propagation.
#[derive(Debug)]
pub(crate) struct Block<T> {
    pub(crate) matrix: Csr<T>,
    from: Option<Vec<u32>>,
    pub(crate) transpose: Option<(Csr<T>, Vec<u32>)>,
    /// Where the nodes of the rows stand among those of the columns; `None` if they are the same.
    own: Option<Vec<u32>>,
    /// The same for nodes exactly two hops apart, where the plan asks for it.
    two_hops: Option<Box<Self>>,
}

impl<T: Real> View<T> {
    /// The view that computes logits of `nodes` (increasing) and can be differentiated.
    pub fn training(inputs: &Inputs<T>, nodes: Vec<u32>, plan: Plan) -> Self {
        Self::reaching(inputs, nodes, Reach::Output, plan)
    }

    /// Like [`View::training`], reaching further than `nodes` need.
    ///
    /// Hops whose nodes stay the same share one block, so a network of many hops costs little more
    /// than the hops it takes to reach everything.
    ///
    /// # Panics
    /// If the inputs have another operator than the plan, see [`Inputs::set_operator`].
    pub fn reaching(inputs: &Inputs<T>, nodes: Vec<u32>, reach: Reach, plan: Plan) -> Self {
        let all = || (0..inputs.nodes() as u32).collect::<Vec<_>>();
        let everywhere = |hops: usize| reach == Reach::Hidden && plan.hidden == Some(hops);
        let output =
            if everywhere(plan.hops) || reach == Reach::Everything { all() } else { nodes };
        // From the output inwards: the reverse of the order of layers.
        let mut frontiers = vec![Arc::new(output)];
        let mut blocks: Vec<Arc<Block<T>>> = Vec::new();
        for hops in (0..plan.hops).rev() {
            let rows = Arc::clone(&frontiers[frontiers.len() - 1]);
            let columns = if everywhere(hops) { all() } else { senders(inputs, plan, &rows) };
            let stays = columns == *rows;
            let block = match blocks.last() {
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

    /// The view that computes logits of all nodes, for evaluation.
    ///
    /// # Panics
    /// If the inputs have another operator than the plan, see [`Inputs::set_operator`].
    pub fn whole(inputs: &Inputs<T>, plan: Plan) -> Self {
        let all = Arc::new((0..inputs.nodes() as u32).collect());
        let block = Arc::new(Block::whole(inputs, plan));
        let blocks = (0..plan.hops).map(|_| Arc::clone(&block)).collect();
        Self::assemble(inputs, vec![all; plan.hops + 1], blocks, plan, false)
    }

    /// The view of a graph whose features each pass is given on its tape: it computes logits of all
    /// nodes and can be differentiated, with respect to the features too.
    pub fn of_given_features(adjacency: &Adjacency, plan: Plan) -> Self {
        let propagation = Propagation::<T>::of(plan.operator, adjacency);
        let all = Arc::new((0..adjacency.len() as u32).collect());
        let differentiable = |matrix: Csr<T>| {
            let transpose = Some(matrix.transpose_of(None));
            Block { matrix, from: None, transpose, own: None, two_hops: None }
        };
        let two_hops = plan.two_hops.then(|| Box::new(differentiable(two_hops(propagation.csr()))));
        let block = Arc::new(Block { two_hops, ..differentiable(propagation.csr().clone()) });
        let blocks = (0..plan.hops).map(|_| Arc::clone(&block)).collect();
        let own = (plan.own_features && plan.hops > 0).then_some(First::Given);
        Self {
            frontiers: vec![all; plan.hops + 1],
            blocks,
            first: First::Given,
            own,
            remembered: None,
            plan,
        }
    }

    fn assemble(
        inputs: &Inputs<T>,
        frontiers: Vec<Arc<Vec<u32>>>,
        blocks: Vec<Arc<Block<T>>>,
        plan: Plan,
        differentiable: bool,
    ) -> Self {
        let matched = plan.hops == 0 || inputs.operator() == plan.operator;
        assert!(
            matched,
            "the plan asks for {:?}, the inputs have {:?}",
            plan.operator,
            inputs.operator()
        );
        let first = match First::of(inputs, &frontiers[0], differentiable) {
            First::Dense { x } if plan.propagate_features && plan.hops > 0 => {
                First::Propagated { px: propagate(&blocks[0].matrix, &x), x }
            }
            first => first,
        };
        let own = (plan.own_features && plan.hops > 0)
            .then(|| First::of(inputs, &frontiers[1], differentiable));
        Self { frontiers, blocks, first, own, remembered: None, plan }
    }

    /// Replaces the propagation matrix by another with the same pattern.
    pub fn set_propagation(&mut self, propagation: &Propagation<T>) {
        let mut layer = 0;
        while layer < self.blocks.len() {
            let mut block = Arc::clone(&self.blocks[layer]);
            // Layers may share one block: release the others' hold before changing it.
            let sharing = (layer..self.blocks.len())
                .filter(|&l| Arc::ptr_eq(&self.blocks[l], &block))
                .count();
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

    /// X·W for the nodes this view reads, if features are sparse: the first product of a forward
    /// pass, which does not depend on the propagation.
    pub fn project(&self, weights: &Matrix<T>, pool: &Pool<T>) -> Option<Matrix<T>> {
        let First::Sparse(x) = &self.first else { return None };
        Some(x.multiply(weights, pool))
    }

    /// Lets forward passes take X·W of **all** nodes from here instead of computing it, until told
    /// `None`.
    ///
    /// W is the first tensor of the network. The caller vouches that it belongs to the weights of
    /// the coming passes. Digits do not change: each row is the same sum.
    pub fn cache_product(&mut self, product: Option<Arc<Matrix<T>>>) {
        self.remembered = product;
    }

    pub(crate) fn remembered(&self) -> Option<&Matrix<T>> {
        self.remembered.as_deref()
    }

    /// The propagation of the first layer, restricted to what this view needs; `None` if the
    /// network passes no messages.
    pub fn first_propagation(&self) -> Option<&Csr<T>> {
        self.blocks.first().map(|block| &block.matrix)
    }

    /// The nodes whose logits come out.
    pub fn nodes(&self) -> &[u32] {
        &self.frontiers[self.plan.hops]
    }

    /// The nodes whose last hidden representation comes out; none if the network has no hidden
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

    pub(crate) fn first(&self) -> &First<T> {
        &self.first
    }

    /// The features of the first layer's output nodes.
    ///
    /// # Panics
    /// If the plan did not ask for them.
    pub(crate) fn own(&self) -> &First<T> {
        match &self.own {
            Some(own) => own,
            None => panic!("the plan of this view has no own features"),
        }
    }
}

impl<T: Real> First<T> {
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
    fn restricted(inputs: &Inputs<T>, plan: Plan, rows: &[u32], columns: &[u32]) -> Self {
        let two_hops = plan.two_hops.then(|| Box::new(Self::cut(inputs.two_hops(), rows, columns)));
        Self { two_hops, ..Self::cut(inputs.propagation().csr(), rows, columns) }
    }

    fn cut(whole: &Csr<T>, rows: &[u32], columns: &[u32]) -> Self {
        let (matrix, from) = whole.restricted(rows, columns);
        let transpose = Some(matrix.transpose_of(None));
        Self { matrix, from: Some(from), transpose, own: positions(rows, columns), two_hops: None }
    }

    fn whole(inputs: &Inputs<T>, plan: Plan) -> Self {
        let all = |matrix: &Csr<T>| {
            let matrix = matrix.clone();
            Self { matrix, from: None, transpose: None, own: None, two_hops: None }
        };
        let two_hops = plan.two_hops.then(|| Box::new(all(inputs.two_hops())));
        Self { two_hops, ..all(inputs.propagation().csr()) }
    }

    /// Where the nodes of the rows stand among those of the columns; `None` if they are the same.
    pub(crate) fn own(&self) -> Option<&[u32]> {
        self.own.as_deref()
    }

    /// The propagation between nodes exactly two hops apart.
    ///
    /// # Panics
    /// If the plan did not ask for it.
    pub(crate) fn two_hops(&self) -> &Self {
        match &self.two_hops {
            Some(block) => block,
            None => panic!("the plan of this view has no second hop"),
        }
    }

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

/// The nodes whose representation one hop to `rows` reads, in increasing order; `rows` are among
/// them.
fn senders<T: Real>(inputs: &Inputs<T>, plan: Plan, rows: &[u32]) -> Vec<u32> {
    let mut columns = inputs.propagation().csr().columns_of(rows);
    if plan.two_hops {
        columns.extend(inputs.two_hops().columns_of(rows));
        columns.sort_unstable();
        columns.dedup();
    }
    columns
}

/// Where each of `nodes` stands in `among`, which holds them all, both increasing; `None` if the
/// two are the same.
fn positions(nodes: &[u32], among: &[u32]) -> Option<Vec<u32>> {
    let mut at = 0;
    let place = |v: &u32| {
        at += among[at..].partition_point(|u| u < v);
        at as u32
    };
    (nodes != among).then(|| nodes.iter().map(place).collect())
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

    /// From one end of a path of four nodes everything is reached in three hops; the seven further
    /// ones are alike.
    #[test]
    fn hops_that_reach_nobody_new_share_a_block() {
        let (path, _) = Adjacency::from_edges(4, &[(0, 1), (1, 2), (2, 3)], None, false).unwrap();
        let features = Features::dense(4, 1, vec![1.0; 4]).unwrap();
        let graph =
            Graph::new("path", path, features, Labels::from_integers(&[0; 4], 2).unwrap()).unwrap();
        let inputs = Inputs::<f64>::new(&graph);
        let mut view = View::training(&inputs, vec![0], Plan::new(10, Some(0)));
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
