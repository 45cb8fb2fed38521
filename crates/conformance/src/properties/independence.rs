//! What results do not depend on: threads, labels of evaluation, observers.

use crate::small::{WORDS, graph, partition};
use crate::{Round, Suite, assert_same, bits, with_threads};
use boostfgl_fed::Setup;
use boostfgl_fed::boost::topology::EvalPropagation;
use boostfgl_fed::config::ReportedRound;
use boostfgl_graph::{Graph, Labels, Role, Split, Stream};

/// Any number of threads gives the same bits.
pub fn any_number_of_threads(suite: &Suite<'_>) {
    let graph = graph(WORDS);
    let partition = partition(&graph);
    for case in suite.cases() {
        let run_on_threads =
            |threads| with_threads(threads, || suite.run(&case.setup, &graph, &partition));
        let one = run_on_threads(1);
        for threads in [2, 3, 4, 8] {
            let what = format!("{}, {threads} threads", case.what);
            assert_same(&one, &run_on_threads(threads), &what);
        }
    }
}

/// The same graph with the labels of all nodes of `role` in another order.
fn shuffled(graph: &Graph, split: &Split, role: Role) -> Graph {
    let nodes: Vec<usize> = split.nodes(role).collect();
    let mut order = nodes.clone();
    Stream::new(9, "labels", &[]).shuffle(&mut order);
    let mut labels: Vec<Option<u32>> = graph.labels().iter().collect();
    for (&to, &from) in nodes.iter().zip(&order) {
        labels[to] = graph.labels().get(from);
    }
    let changed = nodes.iter().filter(|&&v| labels[v] != graph.labels().get(v)).count();
    assert!(changed > nodes.len() / 3, "{changed} labels of {} moved", nodes.len());
    let labels = Labels::new(labels, graph.labels().names().to_vec());
    let labels = labels.expect("they are the labels of the graph");
    Graph::new("shuffled", graph.adjacency().clone(), graph.features().clone(), labels)
        .expect("only the order of labels is another")
}

/// Nothing but training labels reaches training, difficulties, edge scores, gaps or predictions.
pub fn evaluation_labels(suite: &Suite<'_>) {
    let graph = graph(WORDS);
    let partition = partition(&graph);
    let [test, val] = [Role::Test, Role::Val].map(|role| shuffled(&graph, partition.split(), role));
    for case in suite.cases() {
        let what = &case.what;
        let outcome_on = |graph: &Graph, setup: &Setup| suite.watch(setup, graph, &partition);
        let (base, rounds) = outcome_on(&graph, &case.setup);
        assert_same(&base, &outcome_on(&test, &case.setup).0, &format!("{what}, test labels"));
        let (other, evaluated) = outcome_on(&val, &case.setup);
        assert_same(&base, &other, &format!("{what}, validation labels"));
        // The validation labels do change the validation accuracy.
        let [before, after] = [rounds, evaluated]
            .map(|rounds| rounds.iter().filter_map(|r| r.val_accuracy).collect::<Vec<_>>());
        assert!(before.len() == after.len() && before != after, "{what}: the same accuracy");
        let mut best = case.setup.clone();
        best.protocol.report = ReportedRound::BestVal;
        assert_same(
            &outcome_on(&graph, &best).0,
            &outcome_on(&test, &best).0,
            &format!("{what}, test labels, best round"),
        );
    }
}

/// Observers and more frequent evaluation change nothing. This holds for clients that train in
/// every round, and for those that are evaluated with one model, miss a round and train from
/// another.
pub fn observers(suite: &Suite<'_>) {
    let graph = graph(WORDS);
    let partition = partition(&graph);
    for participation in [1.0, 0.5] {
        for case in suite.cases() {
            let (mut setup, what) = (case.setup.clone(), &case.what);
            (setup.protocol.participation, setup.protocol.rounds) = (participation, 6);
            let alone = suite.run(&setup, &graph, &partition);
            let (watched, rounds) = suite.watch(&setup, &graph, &partition);
            assert_same(&alone, &watched, &format!("{what}, watched"));
            assert!(rounds.iter().all(|round| round.predictions.is_some()), "{what}");
            for eval_every in [7, 4] {
                let mut rarely = setup.clone();
                rarely.protocol.eval_every = eval_every;
                let (late, rounds) = suite.watch(&rarely, &graph, &partition);
                let what = format!("{what}, participation {participation}, every {eval_every}");
                assert_same(&alone, &late, &what);
                assert_due(&rounds, eval_every, &what);
                let last = rounds.last().and_then(|round| round.predictions.as_ref());
                assert_eq!(last, Some(&late.predictions), "{what}");
            }
        }
    }
}

/// Rounds are evaluated when they are due, and no others.
fn assert_due(rounds: &[Round], eval_every: usize, what: &str) {
    for (round, seen) in (1..).zip(rounds) {
        let due = round % eval_every == 0 || round == rounds.len();
        assert_eq!(seen.predictions.is_some(), due, "{what}, round {round}");
    }
}

/// Training does not depend on whether evaluation uses β.
pub fn boosted_evaluation(suite: &Suite<'_>) {
    let graph = graph(WORDS);
    let partition = partition(&graph);
    let boosted = crate::small::setup(suite.method, &suite.accepted());
    let mut plain = boosted.clone();
    plain.boost.topology.eval_propagation = EvalPropagation::Plain;
    let [boosted, plain] =
        [boosted, plain].map(|setup| bits(&suite.run(&setup, &graph, &partition).models));
    assert!(boosted == plain, "{}: evaluation with β changes training", suite.method.name);
}
