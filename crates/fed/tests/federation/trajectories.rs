//! Difficulties, edge scores, trust and whole trajectories against an independent float64
//! implementation.

use crate::toy::*;
use boostfgl_fed::boost::difficulty::{Difficulty, instant};
use boostfgl_fed::boost::model::{self, ModelBoost, Summary, TrustForm, TrustScope};
use boostfgl_fed::boost::topology::{self, EdgeGate, EdgeScore, PropagationRule, TopologyBoost};
use boostfgl_fed::boost::{Boost, NodeBoost, ServerBoosts, node};
use boostfgl_fed::config::{OptimizerState, Reduction};
use boostfgl_fed::{
    ClientRecord, Combination, Contribution, Federation, Message, RoundRecord, Setup,
};
use boostfgl_graph::Role;
use boostfgl_nn::backbones::{Backbone, logits};
use boostfgl_nn::{Inputs, Matrix, Pool, Propagation, View, softmax_rows};
use boostfgl_partition::ClientGraph;
use serde_json::Value;

fn inputs(client: &ClientGraph) -> Inputs<f64> {
    let all = numbers(&golden("graph")["features"]);
    let rows: Vec<f64> =
        client.nodes.iter().flat_map(|&v| all[v as usize * 4..][..4].to_vec()).collect();
    Inputs::with_dense_features(&client.graph, &Matrix::from_rows(client.nodes.len(), 4, &rows))
}

fn probabilities(client: &ClientGraph, theta: &str) -> Matrix<f64> {
    let net = backbone();
    let view = View::whole(&inputs(client), Backbone::<f64>::plan(&net));
    let mut out = logits(&net, &params(&golden("graph")["params"][theta]), &view, &Pool::new());
    softmax_rows(&mut out);
    out
}

fn training_label(client: &ClientGraph) -> impl Fn(usize) -> Option<u32> + '_ {
    |v| client.graph.labels().get(v).filter(|_| client.split.role(v) == Role::Train)
}

#[test]
fn difficulty_and_node_weights_agree_with_the_fixture() {
    let expected = golden("difficulty_ema");
    let boost = NodeBoost::new(&node::Config::default());
    for (k, client) in clients().iter().enumerate() {
        let label = training_label(client);
        let mut difficulty = Difficulty::new(client.len(), 0.1);
        for round in expected["clients"][k]["rounds"].as_array().unwrap() {
            let p = probabilities(client, round["params"].as_str().unwrap());
            let d: Vec<f64> = (0..client.len()).map(|v| instant(p.row(v), label(v))).collect();
            assert_close(&d, &round["d"], "d");
            difficulty.update(&p, &label);
            assert_close(difficulty.mean(), &round["dbar"], "dbar");
            let alpha: Vec<f64> = difficulty.mean().iter().map(|&d| boost.weight(d)).collect();
            assert_close(&alpha, &round["alpha"], "alpha");
        }
    }
}

fn dense(p: &Propagation<f64>) -> Vec<f64> {
    let csr = p.csr();
    let mut out = vec![0.0; csr.rows() * csr.rows()];
    for v in 0..csr.rows() {
        csr.row_range(v)
            .for_each(|at| out[v * csr.rows() + csr.indices()[at] as usize] = csr.values()[at]);
    }
    out
}

#[test]
fn edge_scores_and_propagation_agree_with_the_fixture() {
    let expected = golden("edge_scores");
    for (k, client) in clients().iter().enumerate() {
        let (expected, adjacency) = (&expected["clients"][k], client.graph.adjacency());
        let (p, dbar) = (probabilities(client, "theta2"), numbers(&expected["dbar"]));
        let h = TopologyBoost::heterophily(adjacency, &p, training_label(client));
        assert_close(&h, &expected["heterophily"], "h");
        assert_close(&TopologyBoost::scores(adjacency, &h, &dbar), &expected["score"], "s");
        let plain = inputs(client).propagation().clone();
        let matrix = |config: topology::Config| {
            dense(&TopologyBoost::new(&config).propagation(adjacency, &plain, &h, &dbar))
        };
        for (score, sign) in
            [(EdgeScore::Criticality, "paper_sign"), (EdgeScore::Reliability, "reliability_sign")]
        {
            for (rule, name) in [
                (PropagationRule::Noself, "noself"),
                (PropagationRule::Selfsm, "selfsm"),
                (PropagationRule::Selfsep, "selfsep"),
                (PropagationRule::Mulgcn, "mulgcn"),
                (PropagationRule::Mulgcnself, "mulgcnself"),
            ] {
                let config = topology::Config {
                    propagation_rule: rule,
                    edge_score: score,
                    ..Default::default()
                };
                let expected = &expected[sign][name]["propagation_matrix_rows_are_targets"];
                assert_close(&matrix(config), expected, &format!("client {k} {sign} {name}"));
            }
        }
        let config = topology::Config { edge_gate: EdgeGate::Gate, ..Default::default() };
        let gated = &expected["gated_tau0.4_b0.75_paper_sign_mulgcn"];
        let eligible = TopologyBoost::new(&config).eligible(&numbers(&expected["score"]));
        assert_close(
            &eligible.iter().map(|&e| f64::from(u8::from(e))).collect::<Vec<_>>(),
            &gated["eligible"],
            "gate",
        );
        assert_close(&matrix(config), &gated["propagation_matrix_rows_are_targets"], "gated");
    }
}

#[test]
fn trust_weights_and_aggregates_agree_with_the_fixture() {
    let (expected, thetas) = (golden("trust"), golden("graph"));
    let theta = |name: &str| params(&thetas["params"][name]);
    let (start, models) = (theta("theta0"), [theta("theta1"), theta("theta2")]);
    let (sizes, gaps) = (numbers(&expected["N_m"]), numbers(&expected["gaps"]));
    let tensor_norms: Vec<Vec<f64>> = models.iter().map(|m| m.tensor_distances(&start)).collect();
    let message = Message::default();
    let updates: Vec<Contribution<'_, f64>> = (0..2)
        .map(|k| Contribution {
            client: k,
            model: Some(&models[k]),
            message: &message,
            norm: models[k].distance(&start),
            tensor_norms: &tensor_norms[k],
            size: sizes[k],
            summary: Some(Summary { gap: gaps[k], minority_difficulty: 0.0 }),
        })
        .collect();
    let norms: Vec<f64> = models.iter().map(|m| m.distance(&start)).collect();
    assert_close(&norms, &expected["update_norm_whole"], "norm");
    let check = |name: &str, boost: Option<ModelBoost>| {
        let combination = Combination::new(&updates, &sizes, boosts(boost.as_ref())).unwrap();
        assert_close(&combination.mean_weights(), &expected["weights"][name], name);
        let mut target = start.clone();
        combination.apply(&updates, &mut target);
        assert_params(&target, &expected["aggregated"][name], name);
        combination
    };
    let boost = |trust, trust_times_size, trust_scope| {
        Some(ModelBoost::new(&model::Config {
            trust,
            trust_times_size,
            trust_scope,
            ..Default::default()
        }))
    };
    check("fedavg_size", None);
    let exponential = check("exp", boost(TrustForm::Exponential, false, TrustScope::Model));
    check("exp_times_N", boost(TrustForm::Exponential, true, TrustScope::Model));
    let rational = check("rational", boost(TrustForm::Rational, false, TrustScope::Model));
    check("rational_times_N", boost(TrustForm::Rational, true, TrustScope::Model));
    assert_close(exponential.trust().unwrap(), &expected["raw_trust"]["exp"], "exp trust");
    assert_close(rational.trust().unwrap(), &expected["raw_trust"]["rational"], "rational trust");

    let per_tensor = boost(TrustForm::Rational, true, TrustScope::Tensor);
    let combination = Combination::new(&updates, &sizes, boosts(per_tensor.as_ref())).unwrap();
    let weights: Vec<f64> = (0..4).flat_map(|t| combination.weights(t).to_vec()).collect();
    assert_close(&weights, &expected["weights_per_tensor_rational_times_N"], "per tensor");
    let mut target = start.clone();
    combination.apply(&updates, &mut target);
    assert_params(&target, &expected["aggregated"]["rational_times_N_per_tensor"], "per tensor");
}

/// Model boosting, if it is on.
fn boosts(boost: Option<&ModelBoost>) -> ServerBoosts<'_, f64> {
    boost.map_or_else(ServerBoosts::none, |boost| ServerBoosts::only(boost))
}

/// Runs the first 1, 2, 3, 4 rounds and compares every round's model and messages.
fn check_trajectory(name: &str, setup: impl Fn(usize) -> Setup) {
    let (expected, theta0) = (golden("trajectory"), params(&golden("graph")["params"]["theta0"]));
    for (i, expected) in expected[name].as_array().unwrap().iter().enumerate() {
        let federation =
            Federation::from_model(setup(i + 1), exact_data(), Box::new(backbone()), &theta0)
                .unwrap();
        let mut last: Vec<ClientRecord> = Vec::new();
        let mut watch = |record: &RoundRecord<'_>| last = record.clients.to_vec();
        let outcome = federation.run(&mut [&mut watch]).unwrap();
        let what = format!("{name} round {}", i + 1);
        assert_params(&outcome.models[0], &expected["global_params"], &what);
        let column = |f: fn(&ClientRecord) -> f64| last.iter().map(f).collect::<Vec<_>>();
        assert_close(&column(|r| r.loss), &expected["local_loss_last_epoch"], &what);
        assert_close(&column(|r| r.update_norm), &expected["update_norm"], &what);
        assert_close(&column(|r| r.weight.unwrap()), &expected["weights"], &what);
        if last[0].gap.is_some() {
            assert_close(&column(|r| r.gap.unwrap()), &expected["gap_pos"], &what);
        }
    }
}

#[test]
fn fedavg_trajectories_agree_with_the_fixture() {
    check_trajectory("fedavg", |rounds| setup(&[], rounds));
    check_trajectory("fedavg_adam_reset", |rounds| {
        let mut setup = setup(&[], rounds);
        setup.optimizer.optimizer_state = OptimizerState::Reset;
        setup
    });
    check_trajectory("fedavg_E3", |rounds| {
        let mut setup = setup(&[], rounds);
        setup.protocol.epochs = 3;
        setup
    });
}

#[test]
fn boostfgl_trajectories_agree_with_the_fixture() {
    let run_with = |change: fn(&mut Setup)| {
        move |rounds| {
            let mut setup = setup(&Boost::ALL, rounds);
            change(&mut setup);
            setup
        }
    };
    check_trajectory("boost_mulgcn_paper_sign_rational", run_with(|_| {}));
    check_trajectory(
        "boost_mulgcn_reliability_sign_rational",
        run_with(|s| s.boost.topology.edge_score = EdgeScore::Reliability),
    );
    check_trajectory(
        "boost_noself_paper_sign_rational",
        run_with(|s| s.boost.topology.propagation_rule = PropagationRule::Noself),
    );
    check_trajectory(
        "boost_mulgcn_paper_sign_exp",
        run_with(|s| {
            s.boost.model.trust = TrustForm::Exponential;
            s.boost.model.trust_times_size = false;
        }),
    );
    check_trajectory("boost_loss_sum", run_with(|s| s.protocol.loss = Reduction::Sum));
}

#[test]
fn fixtures_are_all_used() {
    let trajectory: Value = golden("trajectory");
    assert_eq!(trajectory.as_object().unwrap().len(), 9, "eight trajectories and their setup");
}
