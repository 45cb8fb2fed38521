//! Forward passes of the generator's parts without gradients, and their noise.

use super::demand::Demand;
use super::impaired::Impaired;
use super::neighgen::{NeighGen, degrees, encode, generate};
use super::slot::Slot;
use crate::client_rule::ClientContext;
use boostfgl_graph::Stream;
use boostfgl_nn::{Dropout, Matrix, Real, Tape, Var};

/// fGen's parameters on the tape, of the slots in use.
pub(super) fn generator_parameters<'a, T: Real>(
    tape: &mut Tape<'a, T>,
    neighgen: &'a NeighGen<T>,
    demand: &Demand,
) -> Vec<Var> {
    let used = neighgen.slots.iter().take(demand.slots()).flat_map(Slot::layer);
    neighgen.trunk.tensors().iter().chain(used).map(|t| tape.parameter(t)).collect()
}

/// z of all remaining nodes, without gradients.
pub(super) fn codes_of<T: Real>(
    neighgen: &NeighGen<T>,
    impaired: &Impaired<T>,
    dropout: Dropout,
    context: &ClientContext<'_, T>,
) -> Matrix<T> {
    let mut tape = Tape::new(context.pool());
    let local: Vec<Var> = neighgen.local.tensors().iter().map(|t| tape.constant(t)).collect();
    let z = encode(&mut tape, &local, impaired, dropout);
    tape.take(z)
}

/// ñ of all remaining nodes, without gradients.
pub(super) fn degrees_of<T: Real>(
    neighgen: &NeighGen<T>,
    codes: &Matrix<T>,
    impaired: &Impaired<T>,
    context: &ClientContext<'_, T>,
) -> Matrix<T> {
    let mut tape = Tape::new(context.pool());
    let local: Vec<Var> = neighgen.local.tensors().iter().map(|t| tape.constant(t)).collect();
    let z = tape.constant(codes);
    let out = degrees(&mut tape, &local, z, &impaired.kept);
    tape.take(out)
}

/// Generated features, a matrix per slot in use, without gradients.
pub(super) fn features<T: Real>(
    neighgen: &NeighGen<T>,
    codes: &Matrix<T>,
    impaired: &Impaired<T>,
    demand: &Demand,
    pass: usize,
    dropout: Dropout,
    context: &ClientContext<'_, T>,
) -> Vec<Matrix<T>> {
    if demand.is_empty() {
        return Vec::new();
    }
    let noisy = noisy(codes, impaired, demand, pass, context);
    let mut tape = Tape::new(context.pool());
    let used = neighgen.slots.iter().take(demand.slots()).flat_map(Slot::layer);
    let fgen: Vec<Var> =
        neighgen.trunk.tensors().iter().chain(used).map(|t| tape.constant(t)).collect();
    let noisy = tape.constant(&noisy);
    let slots = generate(&mut tape, &fgen, noisy, demand, dropout);
    slots.into_iter().map(|slot| tape.take(slot)).collect()
}

/// z + ε of the nodes of `demand`.
pub(super) fn noisy<T: Real>(
    codes: &Matrix<T>,
    impaired: &Impaired<T>,
    demand: &Demand,
    pass: usize,
    context: &ClientContext<'_, T>,
) -> Matrix<T> {
    let mut out = noise(impaired, demand, codes.columns(), pass, context);
    for (i, &v) in demand.nodes.iter().enumerate() {
        out.row_mut(i).iter_mut().zip(codes.row(v as usize)).for_each(|(e, z)| *e += *z);
    }
    out
}

/// ε ~ N(0, I), a row per node of `demand`. A node's noise in a pass does not depend on which other
/// nodes are in the demand.
pub(super) fn noise<T: Real>(
    impaired: &Impaired<T>,
    demand: &Demand,
    width: usize,
    pass: usize,
    context: &ClientContext<'_, T>,
) -> Matrix<T> {
    let mut out = Matrix::zeros(demand.nodes.len(), width);
    for (i, &v) in demand.nodes.iter().enumerate() {
        // Keyed by the node's number in the client's own graph: the question of a pass covers fewer
        // nodes than its training, and both must draw the same noise.
        let path = [context.data().id() as u64, pass as u64, u64::from(impaired.kept[v as usize])];
        let mut stream = Stream::new(context.seed(), "neighbour noise", &path);
        out.row_mut(i).iter_mut().for_each(|x| *x = T::of(stream.normal()));
    }
    out
}
