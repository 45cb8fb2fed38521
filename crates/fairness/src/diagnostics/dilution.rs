//! Dilution: does averaging cancel what helps the minority?
//!
//! g_min = −(mean gradient over the minority training nodes of all clients at the model θ that the
//! round starts from), Δθₖ = θₖ − θ, aₖ = ⟨Δθₖ, g_min⟩, and DR = ⟨Σₖ wₖ Δθₖ, g_min⟩ / ((1/K) Σₖ
//! max(aₖ, 0) + ε) (Eq. dr_def_main), ε = 10⁻¹², over the clients that took part. Next to DR under
//! the weights that the server used are those of the same updates under weights by size (FedAvg)
//! and under equal weights. Gradients are taken without dropout and under the
//! messages of the round's training; where clients start from models of their own, each client's
//! gradient is taken at its own. All clients with minority training nodes have a part in g_min,
//! also those that sat the round out.
//!
//! "The weights that the server used" are those that the method reports. Methods that do more than
//! average (FairFGL's sparse sums by cluster, FedFV's projections, FedTAD's distillation, personal
//! combinations) are captured by them only as far as they are a weighted mean.

use super::layers::Layers;
use super::{Diagnosis, Diagnostic, Settings, Subject, findings};
use boostfgl_fed::{Inspected, Inspection};
use boostfgl_nn::backbones::{Extra, Pass, Supervised, ViewPlan};
use boostfgl_nn::{Matrix, Params, Pool, Real, Reduction, StateVisitor, View, WeightedLoss};
use rayon::prelude::*;
use serde::{Deserialize, Serialize};

/// ε of DR.
const EPSILON: f64 = 1e-12;

/// How far an update goes along the direction that helps the minority.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Alignment {
    /// ⟨Δθₖ, g_min⟩.
    pub projection: f64,
    /// ⟨Δθₖ, g_min⟩ / (‖Δθₖ‖ ‖g_min‖); `None` if one of them is 0.
    pub cosine: Option<f64>,
}

impl Alignment {
    /// From ⟨Δ, g⟩, ‖Δ‖² and ‖g‖².
    fn new(projection: f64, update_square: f64, direction_square: f64) -> Self {
        let cosine = projection / (update_square.sqrt() * direction_square.sqrt());
        Self { projection, cosine: Some(cosine).filter(|cosine| cosine.is_finite()) }
    }
}

/// One participant of a round.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ClientAlignment {
    /// Which client.
    pub client: usize,
    /// The whole update.
    pub whole: Alignment,
    /// Layer by layer, as in [`Dilution::layers`].
    pub layers: Vec<Alignment>,
    /// Its weight in the aggregation, the mean over tensors; `None` where the method does not
    /// aggregate networks.
    pub weight: Option<f64>,
}

/// One round.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct DilutionRound {
    /// Which, from 1.
    pub round: usize,
    /// DR under the weights that the method reports; `None` where it does not aggregate networks.
    pub dr: Option<f64>,
    /// DR under weights by size.
    pub dr_size: Option<f64>,
    /// DR under equal weights.
    pub dr_uniform: Option<f64>,
    /// The participants, in order.
    pub clients: Vec<ClientAlignment>,
}

impl DilutionRound {
    /// Whether some participant's update helps the minority: aₖ > 0. If none does, nothing can be
    /// diluted, and DR is a number over ε.
    pub fn helps(&self) -> bool {
        self.clients.iter().any(|client| client.whole.projection > 0.0)
    }

    /// Whether every projection is a number.
    fn is_finite(&self) -> bool {
        self.clients
            .iter()
            .flat_map(|client| std::iter::once(&client.whole).chain(&client.layers))
            .all(|part| part.projection.is_finite())
    }
}

/// Dilution along a run. Rounds in which no client has a minority training node are left out, and
/// those of models so huge that projections overflow.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Dilution {
    /// The layers' names.
    pub layers: Vec<String>,
    /// The rounds.
    pub rounds: Vec<DilutionRound>,
}

impl Dilution {
    /// Mean DR under the weights that were used, over the rounds in which a client
    /// [helps](DilutionRound::helps): ε alone would decide the others. `None` without such rounds.
    pub fn mean_dr(&self) -> Option<f64> {
        self.mean_of(|round| round.dr)
    }

    /// The same under weights by size.
    pub fn mean_dr_size(&self) -> Option<f64> {
        self.mean_of(|round| round.dr_size)
    }

    /// The same under equal weights.
    pub fn mean_dr_uniform(&self) -> Option<f64> {
        self.mean_of(|round| round.dr_uniform)
    }

    /// Rounds that the means leave out: no update helps the minority.
    pub fn helpless_rounds(&self) -> usize {
        self.rounds.iter().filter(|round| !round.helps()).count()
    }

    /// The cosines of whole updates and g_min, of all rounds and participants together.
    pub fn cosines(&self) -> impl Iterator<Item = f64> + '_ {
        self.rounds.iter().flat_map(|round| &round.clients).filter_map(|client| client.whole.cosine)
    }

    /// The share of [cosines](Self::cosines) below 0: of updates that harm the minority. `None`
    /// without any.
    pub fn negative_share(&self) -> Option<f64> {
        let harms: Vec<f64> =
            self.cosines().map(|cosine| f64::from(u8::from(cosine < 0.0))).collect();
        crate::mean(&harms)
    }

    fn mean_of(&self, dr: impl Fn(&DilutionRound) -> Option<f64>) -> Option<f64> {
        let ratios: Vec<f64> =
            self.rounds.iter().filter(|round| round.helps()).filter_map(dr).collect();
        crate::mean(&ratios)
    }
}

/// DR = Σₖ wₖ aₖ / ((1/K) Σₖ max(aₖ, 0) + ε) of the projections aₖ under the weights wₖ.
///
/// ```
/// use boostfgl_fairness::diagnostics::dilution::dilution_ratio;
/// // Of what one client does for the minority, the other undoes half.
/// assert!((dilution_ratio(&[2.0, -1.0], &[0.5, 0.5]) - 0.5).abs() < 1e-11);
/// ```
pub fn dilution_ratio(projections: &[f64], weights: &[f64]) -> f64 {
    let aggregated = projections.iter().zip(weights).map(|(a, w)| w * a).sum();
    ratio(aggregated, projections)
}

/// DR from the projection of what was aggregated.
fn ratio(aggregated: f64, projections: &[f64]) -> f64 {
    let helpful =
        projections.iter().map(|a| a.max(0.0)).sum::<f64>() / projections.len().max(1) as f64;
    aggregated / (helpful + EPSILON)
}

/// g_min of a round, or `None` if no client has a minority training node.
pub fn descent_direction<T: Real>(
    inspection: &Inspection<'_, T>,
    subject: &Subject<'_>,
) -> Option<Params<T>> {
    direction(&mut minorities(inspection, subject), inspection)
}

/// The minority training nodes of one client.
struct Minority<T: Real> {
    view: View<T>,
    loss: WeightedLoss<T>,
    /// Whether the view has messages other than the plain ones.
    boosted: bool,
}

impl<T: Real> Minority<T> {
    /// `None` if there are none.
    fn of(client: &Inspected<'_, T>, plan: ViewPlan, subject: &Subject<'_>) -> Option<Self> {
        let data = client.data;
        let (nodes, labels): (Vec<u32>, Vec<u32>) = data
            .training()
            .iter()
            .filter(|v| subject.is_minority(data.nodes()[**v as usize]))
            .filter_map(|&v| Some((v, data.training_label(v as usize)?)))
            .unzip();
        (!nodes.is_empty()).then(|| Self {
            view: View::training(data.inputs(), nodes, plan),
            loss: WeightedLoss::new(labels, Reduction::Sum),
            boosted: false,
        })
    }

    /// Σᵥ ∇ℓᵥ at the model that the client starts from.
    fn gradient(&mut self, inspection: &Inspection<'_, T>, client: &Inspected<'_, T>) -> Params<T> {
        let boosted = !std::ptr::eq(client.propagation, client.data.inputs().propagation());
        // A view starts with the plain messages, and setting messages recomputes its P and P X:
        // only boosted rounds, and the first plain round after one, need that.
        if boosted || self.boosted {
            self.view.set_propagation(client.propagation);
        }
        self.boosted = boosted;
        let pool = Pool::new();
        let supervised = Supervised { loss: &self.loss, rows: None };
        let pass = Pass::new(inspection.backbone, &self.view, &pool);
        let (_, gradient) = pass.gradients(&client.start, supervised, |_, _| Extra::default());
        Params::from_tensors(client.start.shapes(), gradient)
    }
}

/// The minority training nodes of each client, in order.
fn minorities<T: Real>(
    inspection: &Inspection<'_, T>,
    subject: &Subject<'_>,
) -> Vec<Option<Minority<T>>> {
    let plan = inspection.backbone.plan();
    inspection.clients.par_iter().map(|client| Minority::of(client, plan, subject)).collect()
}

/// g_min over the clients that have minority training nodes.
fn direction<T: Real>(
    minorities: &mut [Option<Minority<T>>],
    inspection: &Inspection<'_, T>,
) -> Option<Params<T>> {
    let nodes: usize = minorities.iter().flatten().map(|minority| minority.loss.len()).sum();
    let clients = minorities.par_iter_mut().zip(&inspection.clients);
    let sums: Vec<Params<T>> = clients
        .filter_map(|(own, client)| Some(own.as_mut()?.gradient(inspection, client)))
        .collect();
    let mut direction = sums.first()?.clone();
    let sums: Vec<&Params<T>> = sums.iter().collect();
    // Sums, not means, of the clients: each node weighs the same, wherever it is.
    direction.set_weighted_sum(&sums, |_| vec![-1.0 / nodes as f64; sums.len()]);
    Some(direction)
}

/// One participant's update, tensor by tensor.
struct Moved<'a> {
    client: usize,
    size: f64,
    weights: Option<&'a [f64]>,
    /// ⟨Δθₖ, g_min⟩.
    projections: Vec<f64>,
    /// ‖Δθₖ‖₂².
    squares: Vec<f64>,
}

impl<'a> Moved<'a> {
    /// `None` if the client did not take part.
    fn of<T: Real>(
        client: usize,
        inspected: &'a Inspected<'_, T>,
        direction: &Params<T>,
    ) -> Option<Self> {
        let (from, to) = (inspected.received, inspected.trained?);
        let pairs = from.tensors().iter().zip(to.tensors()).zip(direction.tensors());
        Some(Self {
            client,
            size: inspected.size,
            weights: inspected.weights.as_deref(),
            projections: pairs.map(|((from, to), along)| projection(from, to, along)).collect(),
            squares: to.tensor_distances(from).iter().map(|d| d * d).collect(),
        })
    }

    fn projection(&self) -> f64 {
        self.projections.iter().sum()
    }

    /// Its part of the projection of what was aggregated: Σₜ wₖ,ₜ ⟨Δθₖ,ₜ, g_min,ₜ⟩.
    fn aggregated(&self) -> Option<f64> {
        Some(self.weights?.iter().zip(&self.projections).map(|(w, a)| w * a).sum())
    }

    fn alignment(&self, layers: &Layers, direction: &[f64]) -> ClientAlignment {
        let parts = layers.sums(&self.projections).into_iter().zip(layers.sums(&self.squares));
        let parts = parts.zip(layers.sums(direction));
        ClientAlignment {
            client: self.client,
            whole: Alignment::new(
                self.projection(),
                self.squares.iter().sum(),
                direction.iter().sum(),
            ),
            layers: parts.map(|((a, update), along)| Alignment::new(a, update, along)).collect(),
            weight: self.weights.and_then(crate::mean),
        }
    }
}

/// ⟨to − from, along⟩, summed in `f64` in sixteen lanes: independent sums that the compiler can
/// vectorise, in a fixed number, so that the digits are the same on every CPU.
fn projection<T: Real>(from: &Matrix<T>, to: &Matrix<T>, along: &Matrix<T>) -> f64 {
    const LANES: usize = 16;
    let mut lanes = [0.0; LANES];
    let chunks =
        from.data().chunks(LANES).zip(to.data().chunks(LANES)).zip(along.data().chunks(LANES));
    for ((from, to), along) in chunks {
        let numbers = from.iter().zip(to).zip(along);
        for (lane, ((from, to), along)) in lanes.iter_mut().zip(numbers) {
            *lane += (to.f64() - from.f64()) * along.f64();
        }
    }
    lanes.iter().sum()
}

/// ‖g‖₂².
fn square<T: Real>(tensor: &Matrix<T>) -> f64 {
    projection(&Matrix::zeros(tensor.rows(), tensor.columns()), tensor, tensor)
}

/// What a round does along the direction that helps the minority.
fn dilution<T: Real>(
    inspection: &Inspection<'_, T>,
    layers: &Layers,
    direction: &Params<T>,
) -> DilutionRound {
    let clients = inspection.clients.par_iter().enumerate();
    let moved: Vec<Moved<'_>> =
        clients.filter_map(|(k, client)| Moved::of(k, client, direction)).collect();
    let projections: Vec<f64> = moved.iter().map(Moved::projection).collect();
    let total: f64 = moved.iter().map(|client| client.size).sum();
    let by_size: Vec<f64> = moved.iter().map(|client| client.size / total).collect();
    let equal = vec![1.0 / moved.len() as f64; moved.len()];
    let aggregated = moved.iter().map(Moved::aggregated).sum::<Option<f64>>();
    let squares: Vec<f64> = direction.tensors().iter().map(square).collect();
    DilutionRound {
        round: inspection.round,
        dr: aggregated.and_then(|aggregated| known(ratio(aggregated, &projections), &moved)),
        dr_size: known(dilution_ratio(&projections, &by_size), &moved),
        dr_uniform: known(dilution_ratio(&projections, &equal), &moved),
        clients: moved.iter().map(|client| client.alignment(layers, &squares)).collect(),
    }
}

/// DR unless it is no number or there are no participants: without any it would be 0 / ε.
fn known(dr: f64, participants: &[Moved<'_>]) -> Option<f64> {
    Some(dr).filter(|dr| dr.is_finite() && !participants.is_empty())
}

/// Watches a run for it.
pub(super) struct Watch<T: Real> {
    /// The training nodes do not change along a run, so views are made once.
    minorities: Option<Vec<Option<Minority<T>>>>,
    found: Dilution,
}

impl<T: Real> Watch<T> {
    pub(super) fn new(_settings: Settings) -> Self {
        Self { minorities: None, found: Dilution::default() }
    }
}

impl<T: Real> Diagnostic<T> for Watch<T> {
    fn inspect(&mut self, inspection: &Inspection<'_, T>, subject: &Subject<'_>) {
        let layers = Layers::of(&inspection.backbone.shapes());
        self.found.layers = layers.names().to_vec();
        let minorities = self.minorities.get_or_insert_with(|| minorities(inspection, subject));
        let round = direction(minorities, inspection)
            .map(|direction| dilution(inspection, &layers, &direction));
        self.found.rounds.extend(round.filter(DilutionRound::is_finite));
    }

    fn visit(&mut self, visitor: &mut StateVisitor<'_>) -> boostfgl_nn::Result<()> {
        findings(visitor, &mut self.found)
    }

    fn conclude(self: Box<Self>, _subject: &Subject<'_>, diagnosis: &mut Diagnosis) {
        diagnosis.dilution = Some(self.found);
    }
}
