//! Tables of diagnostics, with values computed by hand.

use boostfgl_fairness::diagnostics::attribution::attribute;
use boostfgl_fairness::diagnostics::dilution::{
    Alignment, ClientAlignment, Dilution, DilutionRound,
};
use boostfgl_fairness::diagnostics::epr::{Epr, EprClient, EprGroup, Removal};
use boostfgl_fairness::diagnostics::gsd::{Gsd, GsdRound, Mass};
use boostfgl_fairness::diagnostics::hardness::{ClientHardness, Hardness};
use boostfgl_fairness::diagnostics::khop::{Hop, Khop, KhopCurve};
use boostfgl_fairness::diagnostics::trust::{ClientTrust, Trust, TrustRound};
use boostfgl_fairness::diagnostics::{Cost, Diagnosis, DiagnosticKind};
use boostfgl_report::{DiagnosisReport, DiagnosticsFile, SeedDiagnosis, Style};

/// Two clients; class 1 is the minority, and client 1 has none of it. Half of the majority nodes of
/// client 0 were measured.
fn gsd(minority: f64) -> Gsd {
    let mass = |nodes, measured, sum: f64, alpha: f64| Mass {
        nodes,
        measured,
        sum,
        squares: sum * sum / measured as f64,
        weighted_sum: alpha * sum,
        weighted_squares: alpha * alpha * sum * sum / measured as f64,
    };
    let round = |round, factor: f64| GsdRound {
        round,
        clients: vec![
            vec![mass(4, 2, 2.0, 1.0), mass(2, 2, factor * minority, 2.0)],
            vec![mass(2, 2, 2.0, 1.0), Mass::default()],
        ],
    };
    Gsd {
        training_counts: vec![6, 2],
        minority: Vec::new(),
        minority_ratio: Some(0.2),
        rounds: vec![round(1, 1.0), round(2, 2.0)],
    }
}

fn epr(harmful: usize) -> Epr {
    let group = |group: &str, edges: usize, negative: usize| EprGroup {
        group: group.into(),
        edges,
        measured: edges,
        negative,
        negative_share: (edges > 0).then(|| negative as f64 / edges as f64),
        sampling_error: (edges > 0).then_some(0.0),
        mean: (edges > 0).then_some(0.00002),
        quantiles: if edges > 0 { (0..9).map(|q| f64::from(q - 4)).collect() } else { Vec::new() },
    };
    Epr {
        round: 2,
        removal: Removal::Both,
        groups: vec![group("all", 8, harmful), group("minority", 0, 0)],
        clients: vec![
            EprClient { client: 0, measured: 8, negative: harmful },
            EprClient { client: 1, measured: 0, negative: 0 },
        ],
    }
}

fn diagnosis(minority: f64, harmful: usize) -> Diagnosis {
    let hop = |nodes, errors| Hop { nodes, errors };
    let curve = |from: &str, hops| KhopCurve { from: from.into(), hops, unreachable: hop(0, 0) };
    let alignment = |projection, cosine| Alignment { projection, cosine };
    let client = |client, cosine| ClientAlignment {
        client,
        whole: alignment(cosine, Some(cosine)),
        layers: vec![alignment(0.0, None)],
        weight: None,
    };
    let trust = |client, weight, layer| ClientTrust {
        client,
        gap: None,
        norm: 1.0,
        weight,
        layer_norms: vec![1.0],
        layer_weights: vec![layer],
    };
    let clients: Vec<ClientHardness> =
        [ClientHardness::new(0, 6, 2, 3), ClientHardness::new(1, 2, 0, 0)]
            .into_iter()
            .flatten()
            .collect();
    Diagnosis {
        gsd: Some(gsd(minority)),
        epr: Some(epr(harmful)),
        khop: Some(Khop {
            round: 2,
            curves: vec![
                curve("minority", vec![hop(4, 2), hop(8, 2)]),
                curve("heterophilous", Vec::new()),
            ],
        }),
        dilution: Some(Dilution {
            layers: vec!["layer1".into()],
            rounds: vec![DilutionRound {
                round: 1,
                dr: None,
                dr_size: Some(0.5),
                dr_uniform: Some(0.25),
                clients: vec![client(0, 0.5), client(1, -0.25)],
            }],
        }),
        attribution: Some(attribute(&[2.0, 1.0, 1.0], &[1.5, 0.5, 0.0], &[true, false, false])),
        hardness: Some(Hardness::new(clients, None)),
        trust: Some(Trust {
            layers: vec!["layer1".into()],
            rounds: vec![TrustRound {
                round: 1,
                clients: vec![trust(0, 0.75, 0.5), trust(1, 0.25, 0.5)],
            }],
        }),
        cost: DiagnosticKind::ALL
            .into_iter()
            .map(|kind| Cost { name: kind.name().into(), seconds: 0.25 })
            .collect(),
        other: Default::default(),
    }
}

fn seeds(found: Vec<Diagnosis>) -> DiagnosticsFile {
    DiagnosticsFile::new(
        (0..).zip(found).map(|(seed, found)| SeedDiagnosis { seed, found }).collect(),
    )
}

fn has_line(text: &str, wanted: &str) {
    let words = |line: &str| line.split_whitespace().map(str::to_owned).collect::<Vec<_>>();
    assert!(text.lines().any(|line| words(line) == words(wanted)), "{wanted}\n{text}");
}

#[test]
fn one_seed_by_hand() {
    let found = seeds(vec![diagnosis(1.0, 2)]);
    let text = DiagnosisReport::new("toy, fedavg", &found).text(Style::Plain);
    for kind in DiagnosticKind::ALL {
        assert!(
            text.contains(&format!("toy, fedavg: {} ({})", kind.question(), kind.name())),
            "{text}"
        );
    }
    // G_maj is 4 · 2/2 + 2 = 6 over 6 nodes, G_min 1 over 2 nodes and then 2: GSD 0.5, 1, their
    // mean 0.75.
    has_line(&text, "all clients 2 6 0.50 0.75 1.00 0.25");
    has_line(&text, "all clients, boosted 2 6 1.00 1.50 2.00 0.50");
    has_line(&text, "client 1 0 2 – – – –");
    assert!(text.contains("Sampled: 75.0 % of the nodes were measured"), "{text}");
    has_line(&text, "all 8 8 25.0 0.0 2e-5");
    has_line(&text, "minority 0 0 – – –");
    has_line(&text, "client 1 0 –");
    has_line(&text, "all -4.0000 -3.0000 -2.0000 -1.0000 0.0000 1.0000 2.0000 3.0000 4.0000");
    has_line(&text, "in the group 4 50.0 0 –");
    has_line(&text, "1 hop 8 25.0 0 –");
    assert!(text.contains("minority: error outside / inside 0.50;"), "{text}");
    has_line(&text, "as it was aggregated – – –");
    has_line(&text, "by size 0.50 0.50 0.50");
    has_line(&text, "whole update 0.125 50.0");
    has_line(&text, "layer1 – –");
    // Half of 2.0 was the minority's, and a quarter of the decrease of 2.0.
    has_line(&text, "minority 1 33.3 50.0 25.0 25.0");
    has_line(&text, "majority 2 66.7 50.0 75.0 75.0");
    has_line(&text, "client 0 6 33.3 50.0 0.42 1 –");
    has_line(&text, "client 0 – 1.000 0.750 0.500");
    has_line(&text, "distance 0.250");
    has_line(&text, "gsd 0.250 – 75.0 % of nodes");
    assert!(!text.contains("NaN") && !text.contains("inf"), "{text}");
    assert!(text.lines().all(|line| line.chars().count() <= 100), "{text}");
}

#[test]
fn several_seeds_have_a_standard_deviation() {
    let found = seeds(vec![diagnosis(1.0, 2), diagnosis(2.0, 4)]);
    let report =
        DiagnosisReport::new("toy", &found).only(&[DiagnosticKind::Epr, DiagnosticKind::Hardness]);
    let text = report.text(Style::Plain);
    assert!(!text.contains("(gsd)") && !text.contains("(trust)"), "{text}");
    // 25 % and 50 %.
    has_line(&text, "all 8 8 37.5 ± 17.7 0.0 2e-5 ± 0.0000");
    // Hardness builds on GSD, so the seconds of GSD are listed as well.
    has_line(&text, "gsd 0.250 ± 0.000 – 75.0 % of nodes");
    has_line(&text, "hardness 0.250 ± 0.000 – all");
    let markdown = report.markdown();
    assert!(
        markdown.starts_with(
            "### toy: which messages harm the node that receives them? (epr)\n\n| Into |"
        ),
        "{markdown}"
    );
    assert!(markdown.contains("\n| all | 8 | 8 | 37.5 ± 17.7 | 0.0 |"), "{markdown}");
    assert!(markdown.contains("\nA message u→v is harmful"), "{markdown}");
}

#[test]
fn empty_results_are_dashes() {
    let cost = DiagnosticKind::ALL
        .into_iter()
        .map(|kind| Cost { name: kind.name().into(), seconds: 0.0 })
        .collect();
    let nothing = Diagnosis {
        cost,
        dilution: Some(Dilution::default()),
        trust: Some(Trust::default()),
        ..Diagnosis::default()
    };
    let found = seeds(vec![nothing]);
    assert_eq!(found.recorded(), DiagnosticKind::ALL);
    let text = DiagnosisReport::new("toy", &found).text(Style::Plain);
    assert!(!text.contains("NaN") && text.contains("by size"), "{text}");
    assert_eq!(DiagnosisReport::new("toy", &seeds(Vec::new())).text(Style::Plain), "");
}

#[test]
fn diagnostics_can_be_selected_and_damage_is_reported() {
    let found = seeds(vec![diagnosis(1.0, 2)]);
    let only = found.only(&[DiagnosticKind::Trust]);
    assert_eq!(only.recorded(), [DiagnosticKind::Trust]);
    assert!(only.seeds[0].found.gsd.is_none() && only.seeds[0].found.trust.is_some());
    let place = tempfile::tempdir().unwrap();
    let path = place.path().join("diagnostics.json");
    std::fs::write(&path, found.to_json()).unwrap();
    assert_eq!(DiagnosticsFile::read(&path).unwrap(), found);
    std::fs::write(
        &path,
        found.to_json().replace("\"layer_weights\":[0.5]", "\"layer_weights\":[]"),
    )
    .unwrap();
    let error = DiagnosticsFile::read(&path).unwrap_err().to_string();
    assert!(
        error.ends_with(
            "seed 0, trust, round 1, client 0: expected 1 weights, one per layer, found 0"
        ),
        "{error}"
    );
}
