//! What attackers send in place of what they trained.

use super::{Config, Kind};
use crate::boost::Summary;
use crate::wire::Message;
use boostfgl_nn::{Ledger, Matrix, Params, Real, TensorShape};

/// By how much an update is scaled unless the configuration says otherwise.
const SCALE: f64 = 1e6;

/// The attackers of a run, and what they remember.
pub(crate) struct Attack<T> {
    config: Config,
    attackers: Vec<usize>,
    /// The first model and message of each attacker that replays.
    first: Vec<Option<Before<T>>>,
}

/// A model, if one was sent, and a message.
type Before<T> = (Option<Params<T>>, Message<T>);

/// What a client would honestly send, and what it had been given.
pub(crate) struct Sent<'a, T> {
    pub(crate) client: usize,
    pub(crate) start: Option<&'a Params<T>>,
    pub(crate) told: Option<&'a Message<T>>,
    pub(crate) model: Option<&'a Params<T>>,
    pub(crate) message: &'a Message<T>,
    pub(crate) size: f64,
    pub(crate) summary: Option<Summary>,
}

/// What an attacker sends instead: what is `None` stays as it was.
pub(crate) struct Forged<T> {
    pub(crate) round: usize,
    pub(crate) model: Option<Params<T>>,
    pub(crate) message: Option<Message<T>>,
    pub(crate) size: Option<f64>,
    pub(crate) summary: Option<Summary>,
    /// ‖Δ‖₂ of each tensor, where it is not what the client trained.
    pub(crate) tensor_norms: Option<Vec<f64>>,
    /// Whether it is sent once more.
    pub(crate) twice: bool,
}

impl<T: Real> Attack<T> {
    /// Takes down what attackers remember, or puts it back; models are like `model`.
    pub(crate) fn keep(&mut self, model: &Params<T>, ledger: &mut Ledger<'_>) -> boostfgl_nn::Result<()> {
        for (k, first) in self.first.iter_mut().enumerate() {
            let (sent, mut message) = first.take().unzip();
            let mut sent = sent.flatten();
            ledger.option(&format!("model of {k}"), &mut sent, || model.clone())?;
            ledger.option(&format!("message of {k}"), &mut message, Message::default)?;
            *first = message.map(|message| (sent, message));
        }
        Ok(())
    }

    /// The attack of a configuration, by these of `clients` clients; `None` if nobody attacks.
    pub(crate) fn new(config: &Config, attackers: Vec<usize>, clients: usize) -> Option<Self> {
        let first = (0..clients).map(|_| None).collect();
        (!attackers.is_empty()).then(|| Self { config: config.clone(), attackers, first })
    }

    /// What the attackers among the participants send in place of what they trained.
    pub(crate) fn forge(&mut self, round: usize, sent: &[Sent<'_, T>]) -> Vec<Option<Forged<T>>> {
        if self.config.rounds.is_some_and(|rounds| round > rounds) {
            return sent.iter().map(|_| None).collect();
        }
        let honest: Vec<&Params<T>> =
            sent.iter().filter(|one| !self.attackers.contains(&one.client)).filter_map(|one| one.model).collect();
        let attackers = sent.len() - sent.iter().filter(|one| !self.attackers.contains(&one.client)).count();
        sent.iter()
            .map(|one| self.attackers.contains(&one.client).then(|| self.forged(round, one, &honest, attackers)))
            .collect()
    }

    fn forged(&mut self, round: usize, one: &Sent<'_, T>, honest: &[&Params<T>], attackers: usize) -> Forged<T> {
        let mut forged = Forged::plain(round);
        let kind = self.config.kind;
        match kind {
            Kind::None | Kind::LabelFlip => {}
            Kind::Nan | Kind::Inf => forged.spoil(one, T::of(if kind == Kind::Nan { f64::NAN } else { f64::INFINITY })),
            Kind::Scale => forged.stretch(one, self.config.strength.unwrap_or(SCALE)),
            Kind::SignFlip => forged.stretch(one, -self.config.strength.unwrap_or(1.0)),
            Kind::Alie => {
                let z = self.config.strength.unwrap_or_else(|| most_inconspicuous(honest.len() + attackers, attackers));
                forged.model = one.model.filter(|_| !honest.is_empty()).map(|model| little(model, honest, z));
            }
            Kind::FreeRider => forged.model = one.model.and(one.start).cloned(),
            Kind::TrustLiar => {
                forged.summary = one.summary.map(|summary| Summary { gap: 0.0, ..summary });
                forged.tensor_norms = one.model.is_none().then(Vec::new);
            }
            Kind::WrongShape => forged.model = one.model.map(widened),
            Kind::WrongRound => forged.round = round - 1,
            Kind::Replay => {
                let first = &mut self.first[one.client];
                let (model, message) = first.get_or_insert_with(|| (one.model.cloned(), one.message.clone()));
                (forged.model, forged.message) = (model.clone(), Some(message.clone()));
            }
            Kind::WrongSize => forged.size = Some(one.size * 1e6),
            Kind::Duplicate => forged.twice = true,
            Kind::WrongGap => forged.summary = Some(Summary { gap: -1.0, ..one.summary.unwrap_or_default() }),
        }
        // Where the model is sent the server measures how far it moved.
        if let (Some(model), Some(start)) = (&forged.model, one.start)
            && kind != Kind::WrongShape
        {
            forged.tensor_norms = Some(model.tensor_distances(start));
        }
        forged
    }
}

impl<T: Real> Forged<T> {
    fn plain(round: usize) -> Self {
        Self { round, model: None, message: None, size: None, summary: None, tensor_norms: None, twice: false }
    }

    /// Puts `bad` in the place of a number of every tensor.
    fn spoil(&mut self, one: &Sent<'_, T>, bad: T) {
        let spoil = |tensor: &mut Matrix<T>| {
            if tensor.rows() * tensor.columns() > 0 {
                tensor.row_mut(0)[0] = bad;
            }
        };
        self.model = one.model.cloned();
        self.model.iter_mut().for_each(|model| model.tensors_mut().iter_mut().for_each(spoil));
        if one.model.is_none() {
            let mut message = one.message.clone();
            message.tensors.iter_mut().for_each(spoil);
            message.entries.iter_mut().take(1).for_each(|(_, x)| *x = bad);
            self.message = Some(message);
        }
    }

    /// Moves on by `factor` times the update.
    fn stretch(&mut self, one: &Sent<'_, T>, factor: f64) {
        if let (Some(model), Some(start)) = (one.model, one.start) {
            let mut moved = model.clone();
            moved.set_weighted_sum(&[start, model], |_| vec![1.0 - factor, factor]);
            self.model = Some(moved);
            return;
        }
        let mut message = one.message.clone();
        for (t, tensor) in message.tensors.iter_mut().enumerate() {
            let from =
                one.told.and_then(|told| told.tensors.get(t)).filter(|from| from.data().len() == tensor.data().len());
            let from: Vec<f64> = match from {
                Some(from) => from.data().iter().map(|x| x.f64()).collect(),
                None => vec![0.0; tensor.data().len()],
            };
            tensor.data_mut().iter_mut().zip(from).for_each(|(x, from)| *x = T::of(from + factor * (x.f64() - from)));
        }
        message.entries.iter_mut().for_each(|(_, x)| *x = T::of(factor * x.f64()));
        self.message = Some(message);
    }
}

/// The same model with a column too many in its first tensor.
fn widened<T: Real>(model: &Params<T>) -> Params<T> {
    let mut tensors = model.tensors().to_vec();
    let (rows, columns) = (tensors[0].rows(), tensors[0].columns() + 1);
    tensors[0] = Matrix::zeros(rows, columns);
    let mut shapes = model.shapes().to_vec();
    shapes[0] = TensorShape::weight(shapes[0].name.clone(), rows, columns);
    Params::from_tensors(&shapes, tensors)
}

/// mean − z · std of the honest models, coordinate by coordinate.
fn little<T: Real>(like: &Params<T>, honest: &[&Params<T>], z: f64) -> Params<T> {
    let mut forged = like.clone();
    let n = honest.len() as f64;
    for (t, tensor) in forged.tensors_mut().iter_mut().enumerate() {
        let parts: Vec<&[T]> = honest.iter().map(|model| model.tensors()[t].data()).collect();
        for (i, out) in tensor.data_mut().iter_mut().enumerate() {
            let mean = parts.iter().map(|part| part[i].f64()).sum::<f64>() / n;
            let variance = parts.iter().map(|part| (part[i].f64() - mean) * (part[i].f64() - mean)).sum::<f64>() / n;
            *out = T::of(mean - z * libm::sqrt(variance));
        }
    }
    forged
}

/// zᵐᵃˣ = Φ⁻¹((n − f − s)/(n − f)) with s = ⌊n/2 + 1⌋ − f, the number of honest clients that must be further out than the
/// attackers for these to be a majority (Baruch et al., Algorithm 3); not below 0.
fn most_inconspicuous(n: usize, f: usize) -> f64 {
    let honest = n.saturating_sub(f);
    let supporters = (n / 2 + 1).saturating_sub(f);
    if honest == 0 || supporters == 0 {
        // A majority already: any distance goes unnoticed.
        return 3.0;
    }
    quantile(honest.saturating_sub(supporters) as f64 / honest as f64).max(0.0)
}

/// Φ⁻¹, by halving an interval; 0 for what is not in (0, 1).
pub(super) fn quantile(p: f64) -> f64 {
    if !(p > 0.0 && p < 1.0) {
        return 0.0;
    }
    let (mut low, mut high) = (-9.0, 9.0);
    for _ in 0..80 {
        let mid = 0.5 * (low + high);
        if 0.5 * libm::erfc(-mid * std::f64::consts::FRAC_1_SQRT_2) < p { low = mid } else { high = mid }
    }
    0.5 * (low + high)
}
