//! Internals: losses and gradients against finite differences, and messages against a computation
//! with direct access to the other clients' data.

use super::demand::Demand;
use super::losses::{Matcher, degree};
use super::neighgen::NeighGen;
use super::training::{GeneratorTraining, answer, local_gradients, random_neighbours};
use super::{Config, Count};
use crate::boost::BoostConfig;
use crate::client::Trainer;
use crate::client_rule::{ClientContext, Plain};
use crate::config::{Model, Optimizer, Protocol};
use crate::local_data::LocalData;
use crate::methods::{self, MethodConfigs};
use crate::run_context::{Pools, RunContext};
use crate::{Federation, Setup};
use boostfgl_graph::generator::{FeatureSpec, Spec, generate, preset};
use boostfgl_graph::{Graph, Stream};
use boostfgl_nn::backbones::{Architecture, Backbone, Gcn};
use boostfgl_nn::{Inputs, Matrix, Params, Pool, Real};
use boostfgl_partition::{ClientGraph, Louvain, Partition, SplitRule};
use boostfgl_protocol::Enrolment;
use boostfgl_protocol::Message;
use proptest::prelude::*;
use std::sync::Arc;

const WIDTH: usize = 16;
const CLASSES: usize = 3;
const SEED: u64 = 4;

fn graph() -> Graph {
    let features = FeatureSpec::Sparse { columns: WIDTH, per_node: 3, signal: 0.6 };
    let spec = Spec {
        nodes: 120,
        edges: 420,
        classes: CLASSES,
        communities: 3,
        pocket_size: 8,
        max_degree: 20,
        features,
        ..preset("demo").unwrap().spec
    };
    generate("tiny", &spec, 1, &mut |_, _| {}).unwrap()
}

fn clients() -> Vec<ClientGraph> {
    let graph = graph();
    let partition =
        Partition::draw(&graph, &Louvain::default(), 3, &SplitRule::default(), 0).unwrap();
    partition.client_graphs(&graph)
}

fn config() -> Config {
    Config {
        gen_epochs: 4,
        hidden: 5,
        latent: 6,
        narrow: 7,
        wide: 9,
        learning_rate: 5e-2,
        max_neighbours: 3,
        ..Config::default()
    }
}

fn setup(config: &Config) -> Setup {
    Setup {
        seed: SEED,
        method: methods::find("fedsage-plus").unwrap(),
        boosts: Vec::new(),
        protocol: Protocol { rounds: 2, ..Protocol::default() },
        model: Model { hidden: 8, ..Model::default() },
        optimizer: Optimizer::default(),
        boost: BoostConfig::default(),
        methods: MethodConfigs { fedsage_plus: config.clone(), ..MethodConfigs::default() },
        screen: Default::default(),
        aggregation: Default::default(),
        attack: Default::default(),
        transport: Default::default(),
        loss: Default::default(),
        evaluation: String::new(),
        probabilities: false,
    }
}

/// Work at the context of one client.
fn in_context<T: Real, R>(
    client: &ClientGraph,
    config: &Config,
    work: impl FnOnce(&ClientContext<'_, T>) -> R,
) -> R {
    let mut setup = setup(config);
    (setup.seed, setup.protocol.rounds, setup.protocol.epochs) = (SEED, 2, 1);
    (setup.model.dropout, setup.model.message_noise) = (0.5, 0.0);
    let net = Gcn::new(Architecture { inputs: WIDTH, hidden: 8, classes: CLASSES, layers: 2 });
    let initial = Params::glorot(&Backbone::<T>::shapes(&net), SEED);
    let run = RunContext {
        setup,
        backbone: Box::new(net),
        parameters: initial.count(),
        boosts: Vec::new(),
        simulated: true,
        pools: Pools::default(),
    };
    let (data, enrolment) = (LocalData::new(client), Enrolment::default());
    let (run, initial) = (Arc::new(run), Arc::new(initial));
    let mut client = Trainer::new(run, data, enrolment, Box::new(Plain), initial, Vec::new());
    client.prepare(|_, context| work(context))
}

fn random(rows: usize, columns: usize, seed: u64) -> Matrix<f64> {
    let mut stream = Stream::new(seed, "test", &[]);
    Matrix::from_rows(
        rows,
        columns,
        &(0..rows * columns).map(|_| stream.normal()).collect::<Vec<_>>(),
    )
}

/// Central differences of `loss` with respect to some numbers of a matrix that `at` reaches.
fn compare<S>(
    state: &mut S,
    found: &Matrix<f64>,
    at: impl Fn(&mut S) -> &mut Matrix<f64>,
    loss: impl Fn(&mut S) -> f64,
    what: &str,
) -> usize {
    let mut moved = 0;
    for i in (0..found.rows()).step_by(found.rows().div_ceil(6)) {
        for j in 0..found.columns() {
            let (h, here) = (1e-6, at(state).row(i)[j]);
            at(state).row_mut(i)[j] = here + h;
            let above = loss(state);
            at(state).row_mut(i)[j] = here - h;
            let below = loss(state);
            at(state).row_mut(i)[j] = here;
            let (numeric, given) = ((above - below) / (2.0 * h), found.row(i)[j]);
            assert!(
                (numeric - given).abs() < 1e-7,
                "{what} [{i}, {j}]: {given}, finite differences {numeric}"
            );
            moved += usize::from(given != 0.0);
        }
    }
    moved
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]
    #[test]
    fn degree_loss_agrees_with_finite_differences(seed in 0u64..1000, factor in 0.1f64..3.0) {
        let (mut x, pool) = (random(7, 1, seed), Pool::new());
        let truth = |i: usize| [0, 3, 1][i];
        let loss = |x: &mut Matrix<f64>| degree(x, &[1, 2, 6], truth, factor, &pool).0;
        let (_, found) = degree(&x, &[1, 2, 6], truth, factor, &pool);
        compare(&mut x, &found, |x| x, loss, "degree");
    }

    /// ℓ and its gradient; 0 where the row is one of the candidates; any order of the candidates.
    #[test]
    fn the_greedy_loss_is_the_distance_to_the_nearest_candidate(seed in 0u64..1000, a in 0u32..20, b in 20u32..40, c in 40u32..60) {
        let graph = graph();
        let inputs = Inputs::<f64>::new(&graph);
        let mut row = random(1, WIDTH, seed);
        let pull = |row: &Matrix<f64>, candidates: &[u32]| {
            let mut gradient = Matrix::zeros(1, WIDTH);
            let value = Matcher::new(WIDTH).pull(row.row(0), candidates, &inputs, 1.0, gradient.row_mut(0));
            (value, gradient)
        };
        let (value, gradient) = pull(&row, &[a, b, c]);
        compare(&mut row, &gradient, |row| row, |row| pull(row, &[a, b, c]).0, "greedy");
        for order in [[c, b, a], [b, a, c], [c, a, b]] {
            prop_assert_eq!(pull(&row, &order), (value, gradient.clone()));
        }
        prop_assert!(value <= pull(&row, &[b]).0);
        inputs.write_row(b as usize, row.row_mut(0));
        let (zero, still) = pull(&row, &[a, b, c]);
        prop_assert_eq!(zero, 0.0);
        prop_assert!(still.data().iter().all(|g| *g == 0.0));
        prop_assert_eq!(pull(&row, &[]).0, 0.0);
    }
}

#[test]
fn counts_are_truncated_or_rounded_and_capped() {
    let degrees = Matrix::from_rows(6, 1, &[0.0f32, 0.99, 1.0, 2.5, 9.0, f32::NAN]);
    let demand_with = |count| Demand::of(&degrees, 3, count, |v| v != 2);
    assert_eq!(demand_with(Count::Truncate), Demand { nodes: vec![3, 4], counts: vec![2, 3] });
    assert_eq!(demand_with(Count::Round), Demand { nodes: vec![1, 3, 4], counts: vec![1, 3, 3] });
    assert_eq!(demand_with(Count::Truncate).owners(), [3, 4, 3, 4, 4]);
    assert_eq!(
        (demand_with(Count::Truncate).rows(2), demand_with(Count::Truncate).total()),
        (vec![1], 5)
    );
}

/// Every parameter of every network, through both losses and the classifier on the mended graph.
#[test]
fn the_local_loss_agrees_with_finite_differences() {
    for dropout in [0.0, 0.5] {
        let config = Config {
            dropout,
            lambda_degree: 0.7,
            lambda_feature: 3.0,
            lambda_class: 1.3,
            ..config()
        };
        in_context::<f64, _>(&clients()[1], &config, |context| {
            let mut preparation = GeneratorTraining::new(&config, context);
            let impaired = &preparation.impaired;
            let neighgen = &mut preparation.neighgen;
            let (_, local, generator) = local_gradients(&config, context, impaired, neighgen, 9);
            let loss = |neighgen: &mut NeighGen<f64>| {
                local_gradients(&config, context, impaired, neighgen, 9).0
            };
            assert!(generator.len() > 4, "no slot is used");
            for (t, found) in local.iter().enumerate() {
                let moved = compare(
                    neighgen,
                    found,
                    |n| &mut n.local.tensors_mut()[t],
                    loss,
                    &format!("local {t}"),
                );
                assert!(moved > 0, "nothing reaches local tensor {t}");
            }
            for (t, found) in generator[..4].iter().enumerate() {
                compare(
                    neighgen,
                    found,
                    |n| &mut n.trunk.tensors_mut()[t],
                    loss,
                    &format!("trunk {t}"),
                );
            }
            for (t, found) in generator[4..].iter().enumerate() {
                compare(neighgen, found, |n| slot_tensor(n, t), loss, &format!("slot {t}"));
            }
        });
    }
}

fn slot_tensor(neighgen: &mut NeighGen<f64>, t: usize) -> &mut Matrix<f64> {
    &mut neighgen.slots[t / 2].layer_mut().tensors_mut()[t % 2]
}

/// With a single client the federated loss has the same gradient for the generator as the local
/// one.
#[test]
fn with_one_client_both_phases_have_the_same_gradient() {
    let config = Config { dropout: 0.0, ..config() };
    let mut used = 0;
    for client in clients() {
        in_context::<f64, _>(&client, &config, |context| {
            let mut preparation = GeneratorTraining::new(&config, context);
            let federated = preparation.federated_gradients(context, &[]);
            let GeneratorTraining { impaired, neighgen, .. } = &mut preparation;
            let (_, _, local) =
                local_gradients(&config, context, impaired, neighgen, config.gen_epochs);
            assert_eq!(federated, local);
            used += usize::from(!federated.is_empty());
        });
    }
    assert!(used > 1, "{used} clients generate something");
}

/// The federated phase trains the feature generator and nothing else.
#[test]
fn the_federated_phase_does_not_change_encoder_and_degrees() {
    let config = config();
    in_context::<f32, _>(&clients()[0], &config, |context| {
        let mut preparation = GeneratorTraining::new(&config, context);
        let before = (preparation.neighgen.local.clone(), preparation.neighgen.trunk.clone());
        let question = preparation.question(context);
        assert!(question.tensors[0].rows() > 0);
        let reply = answer(&config, context, (0, 1), &question).unwrap();
        while preparation.epochs_left() > 0 {
            preparation.federated_epoch(context, &[(1, reply.clone())]);
        }
        assert_eq!(preparation.neighgen.local, before.0);
        assert!(preparation.neighgen.trunk.distance(&before.1) > 1e-3);
    });
}

/// (λ_f/K)(1/(n_tr·p)) Σ over peers of the greedy loss of the question's rows, with direct access
/// to the peers' features.
fn raw_loss(
    config: &Config,
    question: &Message<f64>,
    training: usize,
    peers: &[ClientGraph],
    asker: usize,
) -> f64 {
    let mut total = 0.0;
    for peer in peers {
        let adjacency = peer.graph.adjacency();
        let inputs = Inputs::<f64>::new(&peer.graph);
        let able: Vec<usize> = (0..peer.len()).filter(|&v| adjacency.degree(v) > 0).collect();
        let mut stream = Stream::new(SEED, "strangers", &[peer.id as u64, asker as u64, 0]);
        let mut at = 0;
        for &count in &question.numbers {
            let candidates =
                random_neighbours(adjacency, &able, config.max_neighbours, &mut stream);
            for _ in 0..count as usize {
                let distance = |&u: &u32| {
                    let mut x = vec![0.0; WIDTH];
                    inputs.write_row(u as usize, &mut x);
                    x.iter()
                        .zip(question.tensors[0].row(at))
                        .map(|(a, b)| (a - b) * (a - b))
                        .sum::<f64>()
                };
                total +=
                    candidates.iter().map(distance).fold(f64::INFINITY, f64::min) / WIDTH as f64;
                at += 1;
            }
        }
    }
    config.lambda_feature * total
        / (1 + peers.len()) as f64
        / (training * config.max_neighbours) as f64
}

/// What the peers' answers add to the gradient is the gradient of the loss computed with their raw
/// features.
#[test]
fn answers_give_the_gradient_of_direct_access_to_the_data() {
    let (config, clients) = (Config { lambda_feature: 5.0, ..config() }, clients());
    in_context::<f64, _>(&clients[0], &config, |context| {
        let mut preparation = GeneratorTraining::new(&config, context);
        let question = preparation.question(context);
        assert!(question.tensors[0].rows() > 3);
        let answer_of = |peer: &ClientGraph| {
            let reply = in_context::<f64, _>(peer, &config, |context| {
                answer(&config, context, (0, 0), &question).unwrap()
            });
            assert_eq!(reply.count(), question.tensors[0].rows() * WIDTH);
            (peer.id, reply)
        };
        let answers: Vec<(usize, Message<f64>)> = clients[1..].iter().map(answer_of).collect();
        let with = preparation.federated_gradients(context, &answers);
        let silent: Vec<_> = answers.iter().map(|(k, _)| (*k, Message::default())).collect();
        let without = preparation.federated_gradients(context, &silent);
        let training = context.data().training().len();
        let loss = |preparation: &mut GeneratorTraining<f64>| {
            raw_loss(&config, &preparation.question(context), training, &clients[1..], 0)
        };
        for (t, (with, without)) in with[..4].iter().zip(&without).enumerate() {
            let mut found = with.clone();
            found.data_mut().iter_mut().zip(without.data()).for_each(|(a, b)| *a -= *b);
            let moved = compare(
                &mut preparation,
                &found,
                |p| &mut p.neighgen.trunk.tensors_mut()[t],
                loss,
                "cross term",
            );
            assert!(moved > 0, "the peers' answers do not move tensor {t}");
        }
    });
}

/// Features of training nodes with a hidden neighbour go out; a gradient of the same size comes
/// back from each peer.
#[test]
fn exchanges_have_the_stated_size() {
    let (config, clients) = (config(), clients());
    let asked: Vec<(u64, u64)> = clients
        .iter()
        .map(|client| {
            in_context::<f32, _>(client, &config, |context| {
                let mut preparation = GeneratorTraining::new(&config, context);
                let question = preparation.question(context);
                let compared = preparation
                    .impaired
                    .missing
                    .iter()
                    .filter(|missing| !missing.is_empty())
                    .count();
                assert!(question.numbers.len() <= compared);
                (question.tensors[0].rows() as u64 * WIDTH as u64, question.numbers.len() as u64)
            })
        })
        .collect();
    let setup = setup(&config);
    let federation =
        Federation::<f32>::new(setup.clone(), clients.iter().map(LocalData::new).collect())
            .unwrap();
    let in_rounds = 4 * federation.parameters() as u64 * 3 * setup.protocol.rounds as u64;
    let outcome = federation.run(&mut []).unwrap();
    let (rows, counts): (u64, u64) = asked.iter().fold((0, 0), |(a, b), (c, d)| (a + c, b + d));
    let epochs = config.gen_epochs as u64;
    assert!(rows > 0);
    // An element of a row has 4 bytes, a count 8.
    let (question, answers) = (4 * rows + 8 * counts, 2 * 4 * rows);
    assert_eq!(outcome.bytes_up - in_rounds, epochs * (question + answers));
    assert_eq!(outcome.bytes_down - in_rounds, epochs * (2 * question + answers));
}

#[test]
fn a_question_of_another_shape_is_refused() {
    let config = config();
    in_context::<f32, _>(&clients()[0], &config, |context| {
        let ask = |rows: usize, columns: usize, counts: &[f64]| {
            let tensors = vec![Matrix::zeros(rows, columns)];
            answer(
                &config,
                context,
                (0, 1),
                &Message { tensors, numbers: counts.to_vec(), ..Message::default() },
            )
        };
        assert!(ask(3, WIDTH, &[1.0, 2.0]).is_ok());
        assert!(ask(3, WIDTH, &[1.0, 1.0]).is_err());
        assert!(ask(3, WIDTH + 1, &[1.0, 2.0]).is_err());
        assert!(answer(&config, context, (0, 1), &Message::default()).is_err());
    });
}

/// Exactly the configured share of validation nodes is hidden, and the missing neighbours of a
/// training node are its hidden ones.
#[test]
fn hiding_removes_validation_nodes_and_their_edges() {
    for client in clients() {
        in_context::<f32, _>(&client, &config(), |context| {
            let data = context.data();
            let impaired = super::impaired::Impaired::new(data, 0.5, 3, SEED);
            let validation: Vec<u32> = data.validation_nodes().collect();
            let hidden: Vec<u32> =
                (0..data.len() as u32).filter(|v| !impaired.kept.contains(v)).collect();
            assert_eq!(hidden.len(), validation.len() / 2);
            assert!(hidden.iter().all(|v| validation.contains(v)));
            for ((&v, &w), missing) in
                data.training().iter().zip(&impaired.training).zip(&impaired.missing)
            {
                assert_eq!(impaired.kept[w as usize], v);
                let left = impaired.adjacency.degree(w as usize);
                assert_eq!(left + missing.len(), data.adjacency().degree(v as usize));
            }
        });
    }
}
