//! A program adds its own metric and its own diagnostic without a change to this crate.

use boostfgl_fairness::diagnostics::{
    Diagnosis, Diagnostic, DiagnosticEntry, DiagnosticRegistry, Diagnostician, Settings, Subject,
};
use boostfgl_fairness::frame::FrameOptions;
use boostfgl_fairness::{
    ClassCounts, Classes, Facts, Group, Grouping, Metric, MetricFrame, MetricRegistry, Parameter,
    Question,
};
use boostfgl_fed::boost::BoostConfig;
use boostfgl_fed::config::{Model, Optimizer, Protocol};
use boostfgl_fed::methods::{self, MethodConfigs};
use boostfgl_fed::{Federation, Inspection, LocalData, Setup};
use boostfgl_graph::generator::{FeatureSpec, Spec, generate, preset};
use boostfgl_graph::{Graph, Labels};
use boostfgl_nn::{Real, StateVisitor};
use boostfgl_partition::{Partition, Ratios, Registry, SplitRule};

/// The share of the nodes predicted to be of a class that truly are: hits_c / predicted_c.
struct Precision;

impl Metric for Precision {
    fn name(&self) -> &'static str {
        "precision"
    }

    fn meaning(&self) -> &'static str {
        "share of the nodes predicted to be of a class that are of it"
    }

    fn parameter(&self) -> Parameter {
        Parameter::Class
    }

    fn share(&self, classes: &[ClassCounts], over: Classes) -> Option<(u64, u64)> {
        let Classes::One(class) = over else { return None };
        classes.get(class).map(|class| (class.hits, class.predicted))
    }
}

/// The mean over classes of recall, which every run is to store.
struct BalancedAccuracy;

impl Metric for BalancedAccuracy {
    fn name(&self) -> &'static str {
        "balanced_accuracy"
    }

    fn meaning(&self) -> &'static str {
        "mean over the classes of recall"
    }

    fn stored(&self) -> bool {
        true
    }

    fn value(&self, classes: &[ClassCounts], _over: Classes) -> Option<f64> {
        let present: Vec<f64> = classes
            .iter()
            .filter(|class| class.truth > 0)
            .map(|class| class.hits as f64 / class.truth as f64)
            .collect();
        boostfgl_fairness::mean(&present)
    }
}

#[test]
fn a_metric_of_a_program_is_measured_on_groups() {
    let registry = MetricRegistry::builtin().with(Precision);
    let known = registry.forms().into_iter().any(|(form, _)| form == "precision:CLASS");
    assert!(known && registry.parse("accuracy").is_ok() && registry.parse("precision").is_err());

    let truth = Labels::from_integers(&[0, 0, 1, 1], 2).unwrap();
    let facts = Facts {
        truth: &truth,
        prediction: &[0, 1, 1, 1],
        nodes: &[0, 1, 2, 3],
        client: &[0, 0, 1, 1],
        minority: &[Some(false), Some(true), Some(true), Some(true)],
        heterophilous: &[false; 4],
        homophily_unknown: &[false; 4],
        degree: &[1; 4],
        columns: &[],
    };
    let options = FrameOptions { min_group: 1, ..FrameOptions::default() };
    let metric = registry.parse("precision:1").unwrap();
    let by = Grouping::parse("client").unwrap();
    let frame = MetricFrame::new(&facts, &by, &metric, options).unwrap();
    // Predicted to be of class 1: node 1, wrongly, at client 0; nodes 2 and 3, rightly, at client
    // 1.
    let values: Vec<_> = frame.rows.iter().map(|row| (row.counted, row.value)).collect();
    assert_eq!(values, [(1, Some(0.0)), (2, Some(1.0))]);
    assert_eq!((frame.overall, frame.metric.to_string()), (Some(2.0 / 3.0), "precision:1".into()));
    assert_eq!(frame.worst.unwrap().group, "client=0");
}

#[test]
fn a_stored_metric_of_a_program_is_in_every_evaluation() {
    let truth = Labels::from_integers(&[0, 0, 0, 1], 2).unwrap();
    let question = Question {
        truth: &truth,
        prediction: &[0, 0, 1, 1],
        nodes: &[0, 1, 2, 3],
        client: &[0; 4],
        client_sizes: &[4],
        minority: &[Some(false), Some(false), Some(false), Some(true)],
        heterophilous: &[false; 4],
    };
    let plain = question.evaluate().unwrap();
    let answer = question.evaluate_with(&MetricRegistry::builtin().with(BalancedAccuracy)).unwrap();
    // Recall is 2/3 of class 0 and 1 of class 1.
    let found = answer.groups.readings(Group::All, "balanced_accuracy").pooled.unwrap();
    assert!((found - 5.0 / 6.0).abs() < 1e-15);
    assert_eq!(plain.groups.readings(Group::All, "balanced_accuracy").pooled, None);
    assert_eq!(answer.scores, plain.scores);
}

/// Counts the training nodes of each round, and how many predictions are right at the end.
#[derive(Default)]
struct Toy {
    training: Vec<usize>,
    right: u64,
}

impl<T: Real> Diagnostic<T> for Toy {
    fn inspect(&mut self, inspection: &Inspection<'_, T>, _subject: &Subject<'_>) {
        let nodes = inspection.clients.iter().map(|client| client.data.training().len());
        self.training.push(nodes.sum());
    }

    fn predictions(&mut self, _round: usize, predictions: &[u32], subject: &Subject<'_>) {
        let right = predictions.iter().zip(subject.labels.iter());
        self.right = right.filter(|(class, label)| Some(**class) == *label).count() as u64;
    }

    fn visit(&mut self, visitor: &mut StateVisitor<'_>) -> boostfgl_nn::Result<()> {
        visitor.visit("training", &mut self.training)?;
        visitor.visit("right", &mut self.right)
    }

    fn conclude(self: Box<Self>, _subject: &Subject<'_>, diagnosis: &mut Diagnosis) {
        // It builds on `gsd`, whose findings are there by now.
        let rounds = diagnosis.gsd.as_ref().map_or(0, |gsd| gsd.rounds.len());
        let found = serde_json::json!({
            "training": self.training, "right": self.right, "gsd_rounds": rounds
        });
        diagnosis.other.insert("toy".to_owned(), found);
    }
}

fn registry() -> DiagnosticRegistry<f32> {
    DiagnosticRegistry::builtin().with(DiagnosticEntry {
        name: "toy",
        question: "how many nodes does training see?",
        builds_on: vec!["gsd"],
        start: |_| Box::new(Toy::default()),
    })
}

fn graph() -> Graph {
    let features = FeatureSpec::Sparse { columns: 40, per_node: 6, signal: 0.6 };
    let demo = preset("demo").unwrap().spec;
    let spec = Spec { nodes: 120, edges: 300, classes: 3, communities: 3, features, ..demo };
    generate("small", &Spec { pocket_size: 12, max_degree: 20, ..spec }, 1, &mut |_, _| {}).unwrap()
}

fn setup() -> Setup {
    Setup {
        seed: 5,
        method: methods::find("fedavg").unwrap(),
        boosts: Vec::new(),
        protocol: Protocol { rounds: 2, ..Protocol::default() },
        model: Model { hidden: 8, ..Model::default() },
        optimizer: Optimizer::default(),
        boost: BoostConfig::default(),
        methods: MethodConfigs::default(),
        screen: Default::default(),
        aggregation: Default::default(),
        attack: Default::default(),
        transport: Default::default(),
        loss: Default::default(),
        evaluation: String::new(),
        probabilities: false,
    }
}

#[test]
fn a_diagnostic_of_a_program_watches_a_run() {
    let graph = graph();
    let split = SplitRule::Ratios(Ratios::new(0.6, 0.2, 0.2).unwrap());
    let partitioners = Registry::builtin();
    let louvain = partitioners.find("louvain").unwrap();
    let partition = Partition::draw(&graph, louvain, 3, &split, 0).unwrap();
    let data: Vec<LocalData<f32>> =
        partition.client_graphs(&graph).iter().map(LocalData::new).collect();
    let training: usize = data.iter().map(|client| client.training().len()).sum();
    let subject = Subject {
        labels: graph.labels(),
        training_counts: &[1, 1, 1],
        minority_classes: &[Some(true), Some(false), Some(false)],
        minority: &vec![Some(false); graph.len()],
        heterophilous: &vec![false; graph.len()],
        roles: partition.split().roles(),
        seed: 0,
    };
    let settings = Settings::default();
    let registry = registry();
    let mut watching =
        Diagnostician::from_registry(&registry, &["toy"], subject, settings).unwrap();
    Federation::new(setup(), data).unwrap().run(&mut [&mut watching]).unwrap();

    let diagnosis = watching.conclude();
    let toy = &diagnosis.other["toy"];
    assert_eq!(toy["training"], serde_json::json!([training, training]));
    assert_eq!(toy["gsd_rounds"], 2);
    assert!(toy["right"].as_u64().unwrap() > 0);
    let names: Vec<&str> = diagnosis.cost.iter().map(|cost| cost.name.as_str()).collect();
    assert_eq!(names, ["gsd", "toy"]);
    // A file has the findings under the name, and gives them back.
    let json = serde_json::to_value(&diagnosis).unwrap();
    assert_eq!(&json["toy"], toy);
    assert_eq!(serde_json::from_value::<Diagnosis>(json).unwrap().other, diagnosis.other);
}

#[test]
fn unknown_diagnostics_are_refused_with_the_nearest_name() {
    let error = registry().select(&["tyo"]).unwrap_err().to_string();
    assert!(error.contains("unknown diagnostic `tyo` (did you mean `toy`?)"), "{error}");
}
