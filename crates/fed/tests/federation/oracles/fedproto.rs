//! FedProto: personal models, their losses and the prototypes.

use super::{Case, clients, compare_with_oracle, last_losses, losses, toy};
use boostfgl_fed::Setup;
use boostfgl_fed::methods::fedproto::PrototypeWeight;
use serde_json::{Value, json};

fn case(name: &'static str, graph: &str, setup: &Setup) -> Case {
    let config = &setup.methods.fedproto;
    let rounds = toy::run(setup, toy::data(graph));
    let present =
        |round: &toy::Round| round.clients.iter().map(|client| client.client).collect::<Vec<_>>();
    let participants: Vec<Vec<usize>> = rounds.iter().map(present).collect();
    let given = json!({
        "graph": graph,
        "settings": {
            "fed.rounds": setup.protocol.rounds,
            "fed.participation": setup.protocol.participation,
            "fedproto.lambda": config.lambda,
            "fedproto.prototype_weight": config.prototype_weight,
        },
        "init": vec![toy::model(&toy::initial(setup)); toy::CLIENTS],
        "participants": participants,
    });
    // Rows and columns stand before a tensor of a message.
    let computed = |round: &toy::Round| {
        json!({
            "clients": clients(&round.state),
            "last_loss": losses(round),
            "global_prototypes": round.state.some_after(&["server", "global", "tensors", "0"], 3)[2].rows(),
            "present": round.state.after(&["server", "global", "numbers"]).flat(),
        })
    };
    let rounds: Vec<Value> = rounds.iter().map(computed).collect();
    Case { name, given, computed: json!({ "rounds": rounds }) }
}

#[test]
fn fedproto_agrees_with_its_oracle() {
    let setup = |change: fn(&mut Setup)| {
        let mut setup = toy::setup("fedproto", 4);
        change(&mut setup);
        setup
    };
    compare_with_oracle(
        "fedproto",
        vec![
            case("counts", "toy", &setup(|_| {})),
            case(
                "uniform",
                "dense",
                &setup(|s| {
                    s.methods.fedproto.lambda = 5.0;
                    s.methods.fedproto.prototype_weight = PrototypeWeight::Uniform;
                }),
            ),
            case("off", "toy", &setup(|s| s.methods.fedproto.lambda = 0.0)),
            // One client a round, the first of which lacks classes that the second has.
            case(
                "partial",
                "dense",
                &setup(|s| (s.protocol.participation, s.protocol.rounds, s.seed) = (0.34, 6, 21)),
            ),
        ],
        |expected| last_losses(expected, &[1.0, 1.0]),
    );
}
