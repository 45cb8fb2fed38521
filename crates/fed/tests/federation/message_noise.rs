//! Noise on messages (`model.message_noise`): strength 0 has no effect, and any other strength
//! gives reproducible results.

use crate::small::*;
use boostfgl_fed::boost::difficulty::instant;
use boostfgl_fed::boost::{Boost, node};
use boostfgl_fed::config::Model;
use boostfgl_fed::methods::{METHODS, MethodInfo};
use boostfgl_fed::{Federation, Outcome, Setup};
use boostfgl_graph::generator::FeatureSpec;
use boostfgl_graph::stream::key64;
use boostfgl_nn::backbones::{Architecture, BACKBONES, Backbone, Gcn, Pass, build};
use boostfgl_nn::{Inputs, MessageNoise, Params, Pool, Real, View, softmax_rows};
use boostfgl_partition::ClientGraph;

/// The method with its usual boosts and noise of strength σ.
fn noisy(method: &'static MethodInfo, sigma: f64) -> Setup {
    let mut setup = setup(method.name, method.boosts);
    setup.model.message_noise = sigma;
    setup
}

fn outcome<T: Real>(setup: &Setup, features: FeatureSpec) -> Outcome<T> {
    let graph = graph(features);
    let partition = partition(&graph);
    run(setup, data(setup.method.name, &graph, &partition))
}

/// Every method that takes noise, with its usual boosts.
fn setups(sigma: f64) -> Vec<(String, Setup)> {
    let taken = METHODS.iter().filter(|method| method.noise.is_none());
    taken.map(|method| (method.name.to_owned(), noisy(method, sigma))).collect()
}

#[test]
fn strength_zero_is_no_noise_bit_for_bit() {
    // A configuration without noise, and one that sets 0 in either way.
    for (method, features) in
        ["fedavg", "boostfgl"].into_iter().flat_map(|m| [WORDS, NARROW].map(|f| (m, f)))
    {
        let method = boostfgl_fed::methods::find(method).unwrap();
        let plain = outcome::<f32>(&setup(method.name, method.boosts), features);
        for zero in [0.0, -0.0] {
            assert_same(&plain, &outcome(&noisy(method, zero), features), method.name);
        }
    }
}

/// For every method, noise changes the model, and gives the same bits for any number of threads and
/// in every run.
#[test]
fn noise_changes_the_model_and_is_reproducible() {
    for (name, setup) in setups(0.5) {
        let once = with_threads(1, || outcome::<f32>(&setup, WORDS));
        assert_same(
            &once,
            &with_threads(3, || outcome(&setup, WORDS)),
            &format!("{name}, 3 threads"),
        );
        assert_same(&once, &with_threads(1, || outcome(&setup, WORDS)), &format!("{name}, again"));
        let mut silent = setup.clone();
        silent.model.message_noise = 0.0;
        assert!(
            bits(&once.models) != bits(&outcome::<f32>(&silent, WORDS).models),
            "{name} ignores the noise"
        );
        let mut other = setup;
        other.seed += 1;
        assert!(
            bits(&once.models) != bits(&outcome::<f32>(&other, WORDS).models),
            "{name} ignores the seed"
        );
    }
}

/// With noise, products are computed in another order and training passes compute all nodes. Noise
/// far below rounding error must leave the results of every method as they are without it.
#[test]
fn negligible_noise_has_negligible_effect() {
    for features in [WORDS, NARROW] {
        for ((name, silent), (_, faint)) in setups(0.0).into_iter().zip(setups(1e-25)) {
            let (silent, faint) =
                (outcome::<f64>(&silent, features), outcome::<f64>(&faint, features));
            for (a, b) in silent.models.iter().zip(&faint.models) {
                assert!(a.distance(b) < 1e-6, "{name}: {}", a.distance(b));
            }
            assert_eq!(silent.predictions, faint.predictions, "{name}");
        }
    }
}

/// Evaluation has noise as well: under overwhelming noise a trained model predicts at chance level.
#[test]
fn noise_also_affects_evaluation() {
    let method = boostfgl_fed::methods::find("fedavg").unwrap();
    let accuracy = |sigma: f64| {
        let graph = graph(WORDS);
        let partition = partition(&graph);
        let mut setup = noisy(method, sigma);
        // One round, and a step too small to matter: both runs evaluate the initial model.
        (setup.protocol.rounds, setup.optimizer.learning_rate) = (1, 1e-12);
        run::<f32>(&setup, data("fedavg", &graph, &partition)).predictions
    };
    let (plain, faint, loud) = (accuracy(0.0), accuracy(1e-6), accuracy(50.0));
    let agreement = |other: &[u32]| {
        plain.iter().zip(other).filter(|(a, b)| a == b).count() as f64 / plain.len() as f64
    };
    assert!(agreement(&faint) > 0.99, "{}", agreement(&faint));
    assert!(agreement(&loud) < 0.6, "{}", agreement(&loud));
}

/// Per training node of a client: loss and difficulty under a model, each from a noisy pass of its
/// own.
fn losses_and_difficulties(
    client: &ClientGraph,
    model: &Params<f64>,
    setup: &Setup,
) -> Vec<(f64, f64)> {
    let columns = client.graph.features().columns();
    let net =
        Gcn::new(Architecture { inputs: columns, hidden: HIDDEN, classes: CLASSES, layers: 2 });
    let (inputs, pool) = (Inputs::<f64>::new(&client.graph), Pool::new());
    let view = View::whole(&inputs, Backbone::<f64>::plan(&net));
    // Round 0; training is occasion 0, here of epoch 0, and scoring occasion 1.
    let [trained, scored] = [0, 1].map(|occasion| {
        let key = key64(setup.seed, "message noise", &[client.id as u64, 0, occasion, 0]);
        let noise = MessageNoise::new(setup.model.message_noise, key);
        let mut p = Pass::new(&net, &view, &pool).noise(noise).logits(model);
        softmax_rows(&mut p);
        p
    });
    let loss_and_difficulty = |v: u32| {
        let label = client.graph.labels().get(v as usize).unwrap();
        (
            -trained.row(v as usize)[label as usize].ln(),
            instant(scored.row(v as usize), Some(label)),
        )
    };
    client.training_nodes().into_iter().map(loss_and_difficulty).collect()
}

/// The loss of the first round, computed independently. Scoring and training each draw noise of
/// their own.
#[test]
fn scoring_and_training_draw_independent_noise() {
    for features in [WORDS, NARROW] {
        let graph = graph(features);
        let partition = partition(&graph);
        let mut setup = noisy(boostfgl_fed::methods::find("fedavg").unwrap(), 0.5);
        setup.boosts = vec![Boost::Node];
        (setup.protocol.rounds, setup.model.dropout) = (1, 0.0);
        setup.boost.node = node::Config { lambda_n: 2.0, mu: 1.0 };
        let (outcome, rounds) = watch::<f64>(&setup, data("fedavg", &graph, &partition));
        let initial = Params::<f64>::glorot(outcome.models[0].shapes(), setup.seed);
        for (client, record) in partition.client_graphs(&graph).iter().zip(&rounds[0].clients) {
            let nodes = losses_and_difficulties(client, &initial, &setup);
            let expected = nodes.iter().map(|(loss, d)| (1.0 + 2.0 * d) * loss).sum::<f64>()
                / nodes.len() as f64;
            assert!(
                (record.loss - expected).abs() < 1e-10,
                "client {}: {} is not {expected}",
                client.id,
                record.loss
            );
        }
    }
}

/// How often a run is evaluated does not change what it trains, with noise as without.
#[test]
fn evaluation_does_not_change_the_noise_of_training() {
    for (name, setup) in setups(0.5) {
        let mut rarely = setup.clone();
        rarely.protocol.eval_every = 7;
        assert_same(&outcome::<f32>(&setup, WORDS), &outcome(&rarely, WORDS), &name);
    }
}

/// The error with which a setup is refused; `None` if it is accepted.
fn refusal(setup: Setup) -> Option<String> {
    let graph = graph(WORDS);
    let partition = partition(&graph);
    let data = data(setup.method.name, &graph, &partition);
    Federation::<f32>::new(setup, data).err().map(|error| error.to_string())
}

#[test]
fn noise_without_messages_is_refused_with_the_reason() {
    for method in METHODS {
        assert_eq!(refusal(noisy(method, 0.0)), None, "{}", method.name);
        let expected = method.noise.map(|reason| {
            format!(
                "{} cannot be combined with noise on messages (model.message_noise): {reason}",
                method.name
            )
        });
        assert_eq!(refusal(noisy(method, 0.1)), expected);
    }
    for info in BACKBONES {
        let mut setup = setup("fedavg", &[Boost::Node]);
        setup.model = Model { backbone: info.name.into(), message_noise: 0.1, ..setup.model };
        let sizes = Architecture { inputs: 4, hidden: 4, classes: 2, layers: 2 };
        let hops = build::<f32>(info.name, sizes).unwrap().plan().hops;
        let expected = (hops == 0).then(|| {
            format!(
                "fedavg cannot be combined with noise on the messages (model.message_noise) of \
                 the backbone {}: there \
                 would be nothing to disturb: this network passes no messages",
                info.name
            )
        });
        assert_eq!(refusal(setup), expected, "{}", info.name);
    }
}

#[test]
fn strengths_out_of_range_are_refused_by_name() {
    for (sigma, shown) in
        [(-0.1, "-0.1"), (100.5, "100.5"), (f64::NAN, "NaN"), (f64::INFINITY, "inf")]
    {
        let found = refusal(noisy(boostfgl_fed::methods::find("fedavg").unwrap(), sigma)).unwrap();
        assert_eq!(
            found,
            format!("model.message_noise: expected a number from 0 to 100, found {shown}")
        );
    }
    assert_eq!(refusal(noisy(boostfgl_fed::methods::find("fedavg").unwrap(), 100.0)), None);
}
