//! What attackers send in place of what they trained.

use super::{Config, Kind};
use crate::boost::Summary;
use crate::wire::Message;
use boostfgl_nn::{Matrix, Params, Real, StateVisitor, TensorShape};

/// By how much an update is scaled unless the configuration says otherwise.
const SCALE: f64 = 1e6;

/// The attackers of a run, and what they remember.
pub(crate) struct Attack<T> {
    config: Config,
    attackers: Vec<usize>,
    /// The first update of each attacker that replays.
    first: Vec<Option<Before<T>>>,
}

/// A model, if one was sent, a message, and how far it said that it had moved.
type Before<T> = (Option<Params<T>>, (Message<T>, Vec<f64>));

/// What a client would honestly send, and what it had been given.
pub(crate) struct Sent<'a, T> {
    pub(crate) client: usize,
    pub(crate) start: Option<&'a Params<T>>,
    pub(crate) told: Option<&'a Message<T>>,
    pub(crate) model: Option<&'a Params<T>>,
    pub(crate) message: &'a Message<T>,
    /// ‖Δ‖₂ of each tensor.
    pub(crate) tensor_norms: &'a [f64],
    /// Whether the message shows how far it moved, in place of a model.
    pub(crate) measured: bool,
    /// Its training nodes.
    pub(crate) labelled: f64,
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
    pub(crate) fn visit(
        &mut self,
        model: &Params<T>,
        visitor: &mut StateVisitor<'_>,
    ) -> boostfgl_nn::Result<()> {
        for (k, first) in self.first.iter_mut().enumerate() {
            let (sent, said) = first.take().unzip();
            let (mut sent, (mut message, mut norms)) = (sent.flatten(), said.unzip());
            visitor.option(&format!("model of {k}"), &mut sent, || model.clone())?;
            visitor.option(&format!("message of {k}"), &mut message, Message::default)?;
            visitor.option(&format!("norms of {k}"), &mut norms, Vec::new)?;
            *first = message.zip(norms).map(|said| (sent, said));
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
        let honest: Vec<&Params<T>> = sent
            .iter()
            .filter(|one| !self.attackers.contains(&one.client))
            .filter_map(|one| one.model)
            .collect();
        let attackers =
            sent.len() - sent.iter().filter(|one| !self.attackers.contains(&one.client)).count();
        sent.iter()
            .map(|one| {
                self.attackers
                    .contains(&one.client)
                    .then(|| self.forged(round, one, &honest, attackers))
            })
            .collect()
    }

    fn forged(
        &mut self,
        round: usize,
        one: &Sent<'_, T>,
        honest: &[&Params<T>],
        attackers: usize,
    ) -> Forged<T> {
        let mut forged = Forged::plain(round);
        let kind = self.config.kind;
        match kind {
            Kind::None | Kind::LabelFlip => {}
            Kind::Nan | Kind::Inf => {
                forged.spoil(one, T::of(if kind == Kind::Nan { f64::NAN } else { f64::INFINITY }))
            }
            Kind::Scale => forged.stretch(one, self.config.strength.unwrap_or(SCALE)),
            Kind::SignFlip => forged.stretch(one, -self.config.strength.unwrap_or(1.0)),
            Kind::Alie => {
                let z = self
                    .config
                    .strength
                    .unwrap_or_else(|| most_inconspicuous(honest.len() + attackers, attackers));
                forged.model =
                    one.model.filter(|_| !honest.is_empty()).map(|model| little(model, honest, z));
            }
            Kind::FreeRider => forged.model = one.model.and(one.start).cloned(),
            Kind::TrustLiar => {
                forged.summary = one.summary.map(|summary| Summary { gap: 0.0, ..summary });
            }
            Kind::WrongShape => forged.misshape(one),
            Kind::WrongMessage => forged.misspeak(one, round),
            Kind::WrongRound => forged.round = round - 1,
            Kind::Replay => {
                let now = || (one.model.cloned(), (one.message.clone(), one.tensor_norms.to_vec()));
                let (model, (message, norms)) = self.first[one.client].get_or_insert_with(now);
                (forged.model, forged.message) = (model.clone(), Some(message.clone()));
                forged.tensor_norms = Some(norms.clone());
            }
            Kind::WrongSize => forged.oversize(one, round),
            Kind::Duplicate => forged.twice = true,
            Kind::WrongGap => {
                forged.summary = Some(Summary { gap: -1.0, ..one.summary.unwrap_or_default() })
            }
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
        Self {
            round,
            model: None,
            message: None,
            size: None,
            summary: None,
            tensor_norms: None,
            twice: false,
        }
    }

    /// Puts `bad` in the place of a number of everything that is sent.
    fn spoil(&mut self, one: &Sent<'_, T>, bad: T) {
        let spoil = |tensor: &mut Matrix<T>| {
            if tensor.rows() * tensor.columns() > 0 {
                tensor.row_mut(0)[0] = bad;
            }
        };
        self.model = one.model.cloned();
        self.model.iter_mut().for_each(|model| model.tensors_mut().iter_mut().for_each(spoil));
        let mut message = one.message.clone();
        message.tensors.iter_mut().for_each(spoil);
        message.numbers.iter_mut().take(1).for_each(|x| *x = bad.f64());
        message.entries.iter_mut().take(1).for_each(|(_, x)| *x = bad);
        self.message = Some(message);
    }

    /// Moves on by `factor` times the update, and says `factor` times what comes beside it: a
    /// change of a control goes on from zero, modules from those that were received. Numbers stay
    /// as they are.
    fn stretch(&mut self, one: &Sent<'_, T>, factor: f64) {
        if let (Some(model), Some(start)) = (one.model, one.start) {
            let mut moved = model.clone();
            moved.set_weighted_sum(&[start, model], |_| vec![1.0 - factor, factor]);
            self.model = Some(moved);
        } else {
            self.tensor_norms =
                Some(one.tensor_norms.iter().map(|norm| norm * factor.abs()).collect());
        }
        let mut message = one.message.clone();
        let told = one.told.filter(|_| one.model.is_none());
        for (t, tensor) in message.tensors.iter_mut().enumerate() {
            let from = told
                .and_then(|told| told.tensors.get(t))
                .filter(|from| from.data().len() == tensor.data().len());
            let from: Vec<f64> = match from {
                Some(from) => from.data().iter().map(|x| x.f64()).collect(),
                None => vec![0.0; tensor.data().len()],
            };
            tensor
                .data_mut()
                .iter_mut()
                .zip(from)
                .for_each(|(x, from)| *x = T::of(from + factor * (x.f64() - from)));
        }
        message.entries.iter_mut().for_each(|(_, x)| *x = T::of(factor * x.f64()));
        self.message = Some(message);
    }

    /// Sends a tensor with a column too many: of the model, or of the message where none is sent.
    fn misshape(&mut self, one: &Sent<'_, T>) {
        self.model = one.model.map(widened);
        if one.model.is_none() {
            let mut message = one.message.clone();
            match message.tensors.first_mut() {
                Some(first) => *first = Matrix::zeros(first.rows(), first.columns() + 1),
                None => message.tensors.push(Matrix::zeros(1, 1)),
            }
            self.message = Some(message);
        }
    }

    /// Says what no client of the method says, another thing every round; also that it did not
    /// move, where its message shows that it did.
    fn misspeak(&mut self, one: &Sent<'_, T>, round: usize) {
        if round.is_multiple_of(6)
            && one.measured
            && one.tensor_norms.iter().any(|norm| *norm > 0.0)
        {
            self.tensor_norms = Some(vec![0.0; one.tensor_norms.len()]);
        } else {
            self.message = Some(misspoken(one.message, round));
        }
    }

    /// Says that it is larger than it is or, every other round where it counts its training nodes
    /// by class or group, that there are as many of each as of all: no number is out of its range,
    /// only what they say together.
    fn oversize(&mut self, one: &Sent<'_, T>, round: usize) {
        let numbers = &one.message.numbers;
        let every =
            |step: usize| numbers.iter().skip(step - 1).step_by(step).sum::<f64>() == one.labelled;
        let counts = (every(1) || every(2)) && numbers.iter().all(|x| x.fract() == 0.0);
        if round.is_multiple_of(2) && counts && numbers.len() > 1 {
            self.message =
                Some(Message { numbers: vec![one.labelled; numbers.len()], ..one.message.clone() });
        } else {
            self.size = Some(one.size * 1e6);
        }
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

/// The same message with something wrong in it, another thing every round.
fn misspoken<T: Real>(message: &Message<T>, round: usize) -> Message<T> {
    let mut message = message.clone();
    match round % 5 {
        1 => message.numbers.push(0.0),
        2 if !message.numbers.is_empty() => message.numbers.truncate(message.numbers.len() - 1),
        3 => message.tensors.push(Matrix::zeros(1, 1)),
        4 => message.entries.push((u32::MAX, T::ONE)),
        _ if !message.numbers.is_empty() => message.numbers[0] = -1e300,
        _ => message.numbers.push(-1e300),
    }
    message
}

/// mean − z · std of the honest models, coordinate by coordinate.
fn little<T: Real>(like: &Params<T>, honest: &[&Params<T>], z: f64) -> Params<T> {
    let mut forged = like.clone();
    let n = honest.len() as f64;
    for (t, tensor) in forged.tensors_mut().iter_mut().enumerate() {
        let parts: Vec<&[T]> = honest.iter().map(|model| model.tensors()[t].data()).collect();
        for (i, out) in tensor.data_mut().iter_mut().enumerate() {
            let mean = parts.iter().map(|part| part[i].f64()).sum::<f64>() / n;
            let variance = parts
                .iter()
                .map(|part| (part[i].f64() - mean) * (part[i].f64() - mean))
                .sum::<f64>()
                / n;
            *out = T::of(mean - z * libm::sqrt(variance));
        }
    }
    forged
}

/// zᵐᵃˣ = Φ⁻¹((n − f − s)/(n − f)) with s = ⌊n/2 + 1⌋ − f, the number of honest clients that must
/// be further out than the attackers for these to be a majority (Baruch et al., Algorithm 3); not
/// below 0.
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
        if 0.5 * libm::erfc(-mid * std::f64::consts::FRAC_1_SQRT_2) < p {
            low = mid
        } else {
            high = mid
        }
    }
    0.5 * (low + high)
}
