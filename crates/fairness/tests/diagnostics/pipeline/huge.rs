//! Models that are huge but finite: logits overflow, and what is no number is left out.

use super::federation::Small;
use boostfgl_fairness::diagnostics::{Diagnosis, DiagnosticKind, Diagnostician, Settings};
use boostfgl_fed::config::Model;
use boostfgl_fed::{Inspected, Inspection, Observer, RoundRecord};
use boostfgl_nn::Params;
use boostfgl_nn::backbones::{self, Architecture};
use std::borrow::Cow;

/// The findings of one round of a GCN with `layers` layers, from one model of this scale to
/// another.
fn diagnose(layers: usize, scale: f32) -> Diagnosis {
    let small = Small::new();
    let data = small.data();
    let model = Model { hidden: 16, layers, ..Model::default() };
    let architecture =
        Architecture { inputs: data[0].width(), hidden: 16, classes: data[0].classes(), layers };
    let backbone = backbones::build::<f32>("gcn", architecture).unwrap();
    let [start, trained] = [0, 1].map(|seed| {
        let mut params = Params::<f32>::glorot(&backbone.shapes(), seed);
        params
            .tensors_mut()
            .iter_mut()
            .for_each(|t| t.data_mut().iter_mut().for_each(|x| *x *= scale));
        params
    });
    let client = |data| Inspected {
        data,
        received: &start,
        start: Cow::Borrowed(&start),
        trained: Some(&trained),
        evaluated: Cow::Borrowed(&trained),
        node_weights: None,
        propagation: data.inputs().propagation(),
        size: data.nodes().len() as f64,
        weights: Some(vec![0.25; start.tensors().len()]),
        gap: None,
    };
    let clients = data.iter().map(client).collect();
    let mut watching =
        Diagnostician::new(&DiagnosticKind::ALL, small.subject(), Settings::default());
    watching.inspect(&Inspection {
        round: 1,
        rounds: 1,
        backbone: &*backbone,
        model: &model,
        clients,
    });
    let nodes: usize = data.iter().map(|data| data.nodes().len()).sum();
    let record = RoundRecord {
        round: 1,
        rounds: 1,
        loss: 0.0,
        clients: &[],
        refused: &[],
        predictions: Some(&vec![0; nodes]),
        val_accuracy: None,
        seconds: 0.0,
    };
    Observer::<f32>::round(&mut watching, &record).unwrap();
    watching.conclude()
}

#[test]
fn overflowing_numbers_are_left_out_and_the_rest_reads_back() {
    for layers in [2, 3] {
        for scale in [1.0, 1e10, 1e15, 1e19, 1e30] {
            let found = diagnose(layers, scale);
            let copy: Diagnosis =
                serde_json::from_str(&serde_json::to_string(&found).unwrap()).unwrap();
            assert_eq!(copy, found, "{layers} layers times {scale}");
            // Norms of the models themselves are far from overflow in f64, and errors are counts.
            assert_eq!(found.trust.unwrap().rounds.len(), 1);
            assert_eq!(found.khop.unwrap().curves.len(), 3);
            let (gsd, epr) = (found.gsd.unwrap(), found.epr.unwrap());
            let measured: usize =
                gsd.rounds[0].clients.iter().flatten().map(|mass| mass.measured).sum();
            if scale == 1.0 {
                assert!(measured > 0 && epr.groups[0].measured > 0 && found.attribution.is_some());
                assert_eq!(found.dilution.unwrap().rounds.len(), 1);
            } else if scale == 1e30 {
                // 10³⁰ · 10³⁰ is beyond f32.
                assert_eq!((measured, found.attribution), (0, None));
                assert!(found.dilution.unwrap().rounds.is_empty());
                assert!(found.hardness.unwrap().clients.iter().all(|client| client.gsd.is_none()));
                // The messages of two layers are computed in f64, those of more by the network
                // itself.
                assert_eq!(epr.groups[0].measured > 0, layers == 2);
            }
        }
    }
}
