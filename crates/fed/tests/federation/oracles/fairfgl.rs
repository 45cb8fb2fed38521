//! FairFGL: local and global models, mixing weights and the experts' directions.

use super::{Case, clients, compare_with_oracle, last_losses, losses, model, toy};
use boostfgl_fed::Setup;
use boostfgl_fed::config::OptimizerKind;
use boostfgl_fed::methods::fairfgl::{Alpha, Clusters, Config};
use serde_json::{Map, Value, json};

/// α of a client: numbers per parameter, or one per tensor.
fn alpha(setup: &Setup, round: &toy::Round, client: usize) -> Value {
    let names = [
        ("w1", "layer1.weight"),
        ("b1", "layer1.bias"),
        ("w2", "layer2.weight"),
        ("b2", "layer2.bias"),
    ];
    let kind = setup.methods.fairfgl.alpha;
    let part = |(oracle, name): (&str, &str)| {
        let name = if kind == Alpha::Scalar { "alpha" } else { name };
        let a = round
            .state
            .after(&[&format!("client {client}"), "rule", "mixture", "a", name])
            .numbers()
            .to_vec();
        let alpha: Vec<f64> = a.iter().map(|a| 1.0 / (1.0 + (-a).exp())).collect();
        (oracle.to_owned(), if kind == Alpha::Element { alpha.into() } else { alpha[0].into() })
    };
    Value::Object(names.into_iter().map(part).collect::<Map<_, _>>())
}

fn case(name: &'static str, graph: &str, setup: &Setup) -> Case {
    let config = &setup.methods.fairfgl;
    let given = json!({
        "graph": graph,
        "settings": {
            "fed.rounds": setup.protocol.rounds,
            "fairfgl.minority_ratio": config.minority_ratio,
            "optimizer.optimizer": setup.optimizer.optimizer,
            "optimizer.learning_rate": setup.optimizer.learning_rate,
            "fairfgl.align": config.align,
            "fairfgl.alpha": config.alpha,
            "fairfgl.alpha_rate": config.alpha_rate,
            "fairfgl.clusters": config.clusters,
            "fairfgl.distill": config.distill,
            "fairfgl.history": config.history,
            "fairfgl.homophily": config.homophily,
            "fairfgl.keep": config.keep,
            "fairfgl.modify": config.modify,
        },
        "init": toy::model(&toy::initial(setup)),
    });
    let rounds = toy::run(setup, toy::data(graph));
    let computed = |(t, round): (usize, &toy::Round)| {
        let mut seen = json!({
            "clients": clients(&round.state),
            "global": model(&round.state, &["server", "global"]),
            "last_loss": losses(round),
        });
        if config.modify > 0.0 {
            // Rows and columns stand before a tensor of a message.
            seen["expert_means"] =
                round.state.some_after(&["server", "experts", "tensors", "0"], 3)[2].rows();
        }
        // The first round has no history to mix with.
        if config.alpha != Alpha::Off && t > 0 {
            seen["alpha"] =
                (0..toy::CLIENTS).map(|k| alpha(setup, round, k)).collect::<Vec<_>>().into();
        }
        seen
    };
    let rounds: Vec<Value> = rounds.iter().enumerate().map(computed).collect();
    Case { name, given, computed: json!({ "rounds": rounds }) }
}

#[test]
fn fairfgl_agrees_with_its_oracle() {
    let setup = |minority: f64, config: Config| {
        let mut setup = toy::setup("fairfgl", 5);
        setup.methods.fairfgl = Config { history: 3, minority_ratio: minority, ..config };
        setup
    };
    let few = Config { homophily: 0.25, ..Config::default() };
    let mut sgd = setup(0.08, Config { alpha: Alpha::Scalar, alpha_rate: 0.5, ..few.clone() });
    (sgd.optimizer.optimizer, sgd.optimizer.learning_rate) = (OptimizerKind::Sgd, 0.5);
    let tensor = Config {
        alpha: Alpha::Tensor,
        clusters: Clusters::Components,
        keep: 0.6,
        ..Config::default()
    };
    let off = Config {
        alpha: Alpha::Off,
        align: 0.0,
        distill: 0.0,
        modify: 0.0,
        keep: 1.0,
        clusters: Clusters::One,
        ..Config::default()
    };
    let cases = vec![
        case("element", "dense", &setup(0.08, few)),
        case("tensor", "toy", &setup(0.2, tensor)),
        case("scalar-sgd", "dense", &sgd),
        case("off", "dense", &setup(0.2, off)),
    ];
    compare_with_oracle("fairfgl", cases, |expected| {
        last_losses(expected, &[1.0, 1.0, 1.0]);
        for round in expected["rounds"].as_array_mut().unwrap() {
            // In the program zeros stand for a missing direction.
            let blank = || json!(vec![0.0; toy::HIDDEN + 1]);
            let rows = round["expert_means"].as_array_mut().unwrap();
            rows.iter_mut().filter(|row| row.is_null()).for_each(|row| *row = blank());
            for alpha in round["alpha"]
                .as_array_mut()
                .unwrap()
                .iter_mut()
                .flat_map(|a| a.as_object_mut().unwrap())
            {
                *alpha.1 = match super::numbers(alpha.1).unwrap() {
                    one if alpha.1.is_number() => one[0].into(),
                    many => many.into(),
                };
            }
        }
    });
}
