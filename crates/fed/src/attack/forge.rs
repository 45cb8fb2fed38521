//! The forgeries that attackers send in place of their trained models and messages.

use super::{Config, Kind};
use crate::boost::Summary;
use crate::screen::Form;
use boostfgl_nn::{Matrix, Params, Real, StateVisitor, TensorShape};
use boostfgl_protocol::Message;

/// The factor of `scale` unless the configuration sets another.
const SCALE: f64 = 1e6;

/// The attackers of a run and their state.
pub(crate) struct Attack<T> {
    config: Config,
    attackers: Vec<usize>,
    /// The first update of each attacker that replays.
    first: Vec<Option<FirstUpdate<T>>>,
}

/// The first update of an attacker, which it sends again in every later round.
struct FirstUpdate<T> {
    /// The model, if one was sent.
    model: Option<Params<T>>,
    message: Message<T>,
    /// The claimed ‖Δ‖₂ of each tensor, if it is the client that measures it.
    norms: Option<Vec<f64>>,
}

/// What a client would honestly send, and the model and message that it received.
pub(crate) struct HonestUpdate<'a, T> {
    pub(crate) client: usize,
    /// The model that the client started the round from.
    pub(crate) start: Option<&'a Params<T>>,
    /// The server's message at the start of the round.
    pub(crate) received: Option<&'a Message<T>>,
    pub(crate) model: Option<&'a Params<T>>,
    pub(crate) message: &'a Message<T>,
    /// The form of the method's updates.
    pub(crate) form: Form,
    /// The claimed ‖Δ‖₂ of each tensor, if it is the client that measures it.
    pub(crate) norms: Option<&'a [f64]>,
    /// Whether the message shows how far it moved, in place of a model.
    pub(crate) shows_distance: bool,
    /// The number of its training nodes.
    pub(crate) labelled: f64,
    pub(crate) size: f64,
    pub(crate) summary: Option<Summary>,
}

/// What an attacker sends instead. What is `None` stays as it was.
pub(crate) struct Forged<T> {
    pub(crate) round: usize,
    pub(crate) model: Option<Params<T>>,
    pub(crate) message: Option<Message<T>>,
    pub(crate) size: Option<f64>,
    pub(crate) summary: Option<Summary>,
    /// The claimed ‖Δ‖₂ of each tensor.
    pub(crate) norms: Option<Vec<f64>>,
    /// Whether it is sent twice.
    pub(crate) twice: bool,
}

impl<T: Real> Attack<T> {
    /// Saves or restores the attackers' state; models have the shapes of `model`.
    pub(crate) fn visit(
        &mut self,
        model: &Params<T>,
        visitor: &mut StateVisitor<'_>,
    ) -> boostfgl_nn::Result<()> {
        for (k, first) in self.first.iter_mut().enumerate() {
            let (mut sent, mut message, mut norms) = match first.take() {
                Some(FirstUpdate { model, message, norms }) => (model, Some(message), norms),
                None => (None, None, None),
            };
            visitor.option(&format!("model of {k}"), &mut sent, || model.clone())?;
            visitor.option(&format!("message of {k}"), &mut message, Message::default)?;
            visitor.option(&format!("norms of {k}"), &mut norms, Vec::new)?;
            *first = message.map(|message| FirstUpdate { model: sent, message, norms });
        }
        Ok(())
    }

    /// The attack of a configuration, by these of `clients` clients; `None` without attackers.
    pub(crate) fn new(config: &Config, attackers: Vec<usize>, clients: usize) -> Option<Self> {
        let first = (0..clients).map(|_| None).collect();
        (!attackers.is_empty()).then(|| Self { config: config.clone(), attackers, first })
    }

    /// What the attackers among the participants send in place of what they trained.
    pub(crate) fn forge(
        &mut self,
        round: usize,
        updates: &[HonestUpdate<'_, T>],
    ) -> Vec<Option<Forged<T>>> {
        if self.config.rounds.is_some_and(|rounds| round > rounds) {
            return updates.iter().map(|_| None).collect();
        }
        let (attacking, honest): (Vec<_>, Vec<_>) =
            updates.iter().partition(|update| self.attackers.contains(&update.client));
        let honest: Vec<&Params<T>> = honest.iter().filter_map(|update| update.model).collect();
        let attackers = attacking.len();
        updates
            .iter()
            .map(|update| {
                self.attackers
                    .contains(&update.client)
                    .then(|| self.forged(round, update, &honest, attackers))
            })
            .collect()
    }

    fn forged(
        &mut self,
        round: usize,
        update: &HonestUpdate<'_, T>,
        honest: &[&Params<T>],
        attackers: usize,
    ) -> Forged<T> {
        let mut forged = Forged::plain(round);
        let kind = self.config.kind;
        match kind {
            Kind::None | Kind::LabelFlip => {}
            Kind::Nan | Kind::Inf => forged
                .spoil(update, T::of(if kind == Kind::Nan { f64::NAN } else { f64::INFINITY })),
            Kind::Scale => forged.stretch(update, self.config.strength.unwrap_or(SCALE)),
            Kind::SignFlip => forged.stretch(update, -self.config.strength.unwrap_or(1.0)),
            Kind::Alie => {
                let z = self
                    .config
                    .strength
                    .unwrap_or_else(|| most_inconspicuous(honest.len() + attackers, attackers));
                forged.model = update
                    .model
                    .filter(|_| !honest.is_empty())
                    .map(|model| shifted_mean(model, honest, z));
            }
            Kind::FreeRider => forged.model = update.model.and(update.start).cloned(),
            Kind::TrustLiar => {
                forged.summary = update.summary.map(|summary| Summary { gap: 0.0, ..summary });
            }
            Kind::WrongShape => forged.misshape(update),
            Kind::WrongMessage => forged.malform(update, round),
            Kind::WrongRound => forged.round = round - 1,
            Kind::Replay => {
                let first = self.first[update.client].get_or_insert_with(|| FirstUpdate {
                    model: update.model.cloned(),
                    message: update.message.clone(),
                    norms: update.norms.map(<[f64]>::to_vec),
                });
                (forged.model, forged.message) = (first.model.clone(), Some(first.message.clone()));
                forged.norms.clone_from(&first.norms);
            }
            Kind::WrongSize => forged.oversize(update, round),
            Kind::Duplicate => forged.twice = true,
            Kind::WrongGap => {
                forged.summary = Some(Summary { gap: -1.0, ..update.summary.unwrap_or_default() });
            }
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
            norms: None,
            twice: false,
        }
    }

    /// Replaces one number of every tensor and of the message by `bad`.
    fn spoil(&mut self, update: &HonestUpdate<'_, T>, bad: T) {
        let (mut model, mut message) = (update.model.cloned(), update.message.clone());
        let of_model = model.iter_mut().flat_map(Params::tensors_mut);
        for tensor in of_model.chain(&mut message.tensors) {
            if tensor.rows() * tensor.columns() > 0 {
                tensor.row_mut(0)[0] = bad;
            }
        }
        self.model = model;
        message.numbers.iter_mut().take(1).for_each(|x| *x = bad.f64());
        message.entries.iter_mut().take(1).for_each(|(_, x)| *x = bad);
        self.message = Some(message);
    }

    /// Multiplies the update by `factor`, and the tensors and entries of the message likewise: a
    /// change of a control is scaled from zero, modules from those that were received. Numbers stay
    /// as they are.
    fn stretch(&mut self, update: &HonestUpdate<'_, T>, factor: f64) {
        if let (Some(model), Some(start)) = (update.model, update.start) {
            let mut moved = model.clone();
            moved.set_weighted_sum(&[start, model], |_| vec![1.0 - factor, factor]);
            self.model = Some(moved);
        } else {
            self.norms =
                update.norms.map(|norms| norms.iter().map(|norm| norm * factor.abs()).collect());
        }
        let mut message = update.message.clone();
        // Tensors that are sent in place of a model started from those that were received; next to
        // a model they are changes, which start from zero.
        let received = update.received.filter(|_| update.model.is_none());
        for (t, tensor) in message.tensors.iter_mut().enumerate() {
            let from = received
                .and_then(|received| received.tensors.get(t))
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

    /// Adds a column to a tensor of the model, or of the message where no model is sent.
    fn misshape(&mut self, update: &HonestUpdate<'_, T>) {
        self.model = update.model.map(widened);
        if update.model.is_none() {
            let mut message = update.message.clone();
            match message.tensors.first_mut() {
                Some(first) => *first = Matrix::zeros(first.rows(), first.columns() + 1),
                None => message.tensors.push(Matrix::zeros(1, 1)),
            }
            self.message = Some(message);
        }
    }

    /// Sends a message that violates the method's form, in another way every round; every sixth
    /// round it claims not to have moved, where its message shows that it did.
    fn malform(&mut self, update: &HonestUpdate<'_, T>, round: usize) {
        if round.is_multiple_of(6)
            && update.shows_distance
            && let Some(norms) = update.norms.filter(|norms| norms.iter().any(|norm| *norm > 0.0))
        {
            self.norms = Some(vec![0.0; norms.len()]);
        } else {
            self.message = Some(malformed(update.message, round));
        }
    }

    /// Claims a size that is too large or, every other round where the method counts training nodes
    /// by class or group, as many nodes of each as of all: then every number is in its range, and
    /// only their sum is wrong.
    fn oversize(&mut self, update: &HonestUpdate<'_, T>, round: usize) {
        let numbers = &update.message.numbers;
        if round.is_multiple_of(2) && update.form.counts_nodes(numbers) {
            self.message = Some(Message {
                numbers: vec![update.labelled; numbers.len()],
                ..update.message.clone()
            });
        } else {
            self.size = Some(update.size * 1e6);
        }
    }
}

/// The same model with one more column in its first tensor.
fn widened<T: Real>(model: &Params<T>) -> Params<T> {
    let mut tensors = model.tensors().to_vec();
    let (rows, columns) = (tensors[0].rows(), tensors[0].columns() + 1);
    tensors[0] = Matrix::zeros(rows, columns);
    let mut shapes = model.shapes().to_vec();
    shapes[0] = TensorShape::weight(shapes[0].name.clone(), rows, columns);
    Params::from_tensors(&shapes, tensors)
}

/// The same message with an error, of another kind every round.
fn malformed<T: Real>(message: &Message<T>, round: usize) -> Message<T> {
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

/// mean − z · std of the honest models, coordinate by coordinate; `model` gives the shapes.
fn shifted_mean<T: Real>(model: &Params<T>, honest: &[&Params<T>], z: f64) -> Params<T> {
    let mut forged = model.clone();
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
        // The attackers are a majority: any distance goes unnoticed.
        return 3.0;
    }
    quantile(honest.saturating_sub(supporters) as f64 / honest as f64).max(0.0)
}

/// Φ⁻¹, by bisection; 0 for arguments outside (0, 1).
pub(super) fn quantile(p: f64) -> f64 {
    if !(p > 0.0 && p < 1.0) {
        return 0.0;
    }
    let (mut low, mut high) = (-9.0, 9.0);
    for _ in 0..80 {
        let mid = 0.5 * (low + high);
        if 0.5 * libm::erfc(-mid * std::f64::consts::FRAC_1_SQRT_2) < p {
            low = mid;
        } else {
            high = mid;
        }
    }
    0.5 * (low + high)
}
