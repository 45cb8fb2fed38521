//! Backbones: each one runs or is refused.

use crate::Suite;
use crate::runs::succeeded;
use crate::small::{WORDS, graph, partition, setup};
use boostfgl_fed::{Error, Federation};
use boostfgl_nn::Params;
use boostfgl_nn::backbones::BACKBONES;

/// The method on every backbone either runs or is refused with a reason.
pub fn runs_or_is_refused(suite: &Suite<'_>) {
    let graph = graph(WORDS);
    let partition = partition(&graph);
    for backbone in BACKBONES {
        let what = format!("{} on {}", suite.method.name, backbone.name);
        let mut setup = setup(suite.method, &[]);
        setup.model.backbone = backbone.name.into();
        setup.protocol.rounds = 2;
        let data = suite.data(&graph, &partition);
        match Federation::with_registry(setup, data, suite.registry) {
            Ok(federation) => {
                let outcome = succeeded(federation.run(&mut []), &what);
                assert!(outcome.models.iter().all(Params::is_finite), "{what}");
            }
            Err(Error::Refused { what: refused, reason, .. }) => {
                assert_eq!(refused, format!("the backbone {}", backbone.name));
                assert!(reason.len() > 20, "{what}: {reason}");
            }
            Err(other) => panic!("{what}: {other}"),
        }
    }
}
