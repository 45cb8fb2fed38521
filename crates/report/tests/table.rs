//! The exact text of tables of runs.

mod common;

use boostfgl_fairness::{Warning, WarningKind};
use boostfgl_report::{Style, Summary, Table};
use common::run;

const ALL: [&str; 3] = ["node", "topology", "model"];

/// A run with two seeds: mean and half of the difference, in percent, of the four metrics.
fn two_seeds(method: &str, boost: &[&str], values: [(f64, f64); 4]) -> Summary {
    let seed = |sign: f64| values.map(|(mean, half)| Some((mean + sign * half) / 100.0));
    run(method, boost, &[seed(-1.0), seed(1.0)])
}

fn runs() -> Vec<Summary> {
    vec![
        two_seeds("fedavg", &[], [(82.0, 0.5), (81.1, 0.4), (37.4, 2.4), (26.0, 1.0)]),
        two_seeds("boostfgl", &ALL, [(82.01, 0.9), (80.5, 0.6), (40.5, 0.5), (27.0, 1.5)]),
        two_seeds("isolated", &[], [(70.5, 0.5), (60.5, 0.5), (29.5, 0.5), (20.5, 0.5)]),
    ]
}

fn table(runs: &[Summary]) -> Table {
    Table::by_dataset(runs).remove(0)
}

#[test]
fn text() {
    let expected = "\
cora

Method      Accuracy   Overall-F1      Hete-F1  Hete-min-F1  Hete-min-F1
              pooled       pooled       pooled       pooled      present
─────────────────────────────────────────────────────────────────────────
fedavg    82.0 ± 0.7*  81.1 ± 0.6*  37.4 ± 3.4   26.0 ± 1.4   91.0 ± 4.9
boostfgl  82.0 ± 1.3*  80.5 ± 0.8   40.5 ± 0.7*  27.0 ± 2.1*  94.5 ± 7.4*
isolated  70.5 ± 0.7   60.5 ± 0.7   29.5 ± 0.7   20.5 ± 0.7   71.8 ± 2.5
─────────────────────────────────────────────────────────────────────────
Percent, mean ± standard deviation over 2 seeds; * best of its column.

Accuracy, pooled      share of test nodes predicted right
Overall-F1, pooled    macro-F1 on all test nodes: every class counts the same
Hete-F1, pooled       macro-F1 on heterophilous nodes: at most half the neighbours share the class
Hete-min-F1, pooled   macro-F1 on heterophilous nodes of minority classes; absent classes add 0
Hete-min-F1, present  the same, averaged over the classes present among them
Test nodes            1,083 in all, 153 heterophilous, 92–93 minority and heterophilous
";
    let text = table(&runs()).text(Style::Plain);
    assert_eq!(text, expected, "\n{text}");
}

/// One seed, an empty group, a long name, and the columns of costs.
#[test]
fn text_of_special_cases() {
    let runs =
        [run("fedsage-plus", &["node", "topology"], &[[Some(1.0), Some(0.5), Some(0.4), None]])];
    let expected = "\
cora

Method             Accuracy  Overall-F1    Hete-F1    Hete-min-F1    Hete-min-F1  Time     Up
                     pooled      pooled     pooled         pooled        present     s    MiB
──────────────────────────────────────────────────────────────────────────────────────────────
fedsage-plus      100.0 ± –    50.0 ± –   40.0 ± –   no such node   no such node   2.5   88.0
 + node,topology
──────────────────────────────────────────────────────────────────────────────────────────────
Percent, mean ± standard deviation over 1 seed; one seed has no spread (–).

Accuracy, pooled      share of test nodes predicted right
Overall-F1, pooled    macro-F1 on all test nodes: every class counts the same
Hete-F1, pooled       macro-F1 on heterophilous nodes: at most half the neighbours share the class
Hete-min-F1, pooled   macro-F1 on heterophilous nodes of minority classes; absent classes add 0
Hete-min-F1, present  the same, averaged over the classes present among them
Time, s               wall-clock seconds per seed
Up, MiB               MiB that clients send to the server per seed
Test nodes            1,083 in all, 153 heterophilous, 0 minority and heterophilous
";
    let text = table(&runs).with_cost(true).text(Style::Plain);
    assert_eq!(text, expected, "\n{text}");
}

#[test]
fn colour_adds_escape_codes_and_nothing_else() {
    let table = table(&runs()).with_cost(true);
    let coloured = table.text(Style::Colour);
    assert!(coloured.contains("\u{1b}[1m\u{1b}[32m40.5 ± 0.7*\u{1b}[0m"), "{coloured}");
    let mut plain = String::new();
    for (at, piece) in coloured.split('\u{1b}').enumerate() {
        let skip = if at == 0 { 0 } else { piece.find('m').unwrap() + 1 };
        plain.push_str(&piece[skip..]);
    }
    assert_eq!(plain, table.text(Style::Plain));
}

#[test]
fn no_line_is_wider_than_100_columns() {
    let mut wide = two_seeds("fedsage-plus-with-a-very-long-name", &ALL, [(50.0, 49.0); 4]);
    for (at, seed) in wide.seeds.iter_mut().enumerate() {
        seed.seconds = 700_000.0;
        seed.bytes_up = 500_000 << 20;
        (seed.groups.all, seed.groups.heterophilous) = (2_213_091 + at, 1_000_000 + at);
        seed.groups.hete_min = 1_000_000 + at;
    }
    wide.dataset = "d".repeat(300);
    let empty = Summary {
        dataset: wide.dataset.clone(),
        ..run("x", &[], &[[Some(1.0), None, None, None]])
    };
    let text = table(&[wide, empty]).with_cost(true).text(Style::Plain);
    for line in text.lines() {
        assert!(line.chars().count() <= 100, "{} wide: {line}", line.chars().count());
    }
    assert!(!text.contains("NaN"));
}

#[test]
fn equal_digits_get_equal_marks() {
    let text = |runs: &[Summary]| table(runs).text(Style::Plain);
    let same = [two_seeds("a", &[], [(50.0, 1.0); 4]), two_seeds("b", &[], [(50.01, 1.0); 4])];
    assert!(!text(&same).contains('*'), "equal values are not marked");
    assert!(!text(&same[..1]).contains('*'), "a single row is not marked");
}

/// The best numbers are those of a collapsed model: the best of the others has the star.
#[test]
fn a_collapsed_model_is_not_starred() {
    let mut runs = vec![
        two_seeds("a", &[], [(50.0, 1.0); 4]),
        two_seeds("collapsed", &[], [(90.0, 1.0); 4]),
        two_seeds("b", &[], [(40.0, 1.0); 4]),
    ];
    let warning = Warning::new(WarningKind::OneClass, "", "one class only is predicted", 0);
    runs[1].seeds[0].details.warnings.push(warning);
    let text = table(&runs).text(Style::Plain);
    assert!(text.contains("50.0 ± 1.4*") && !text.contains("90.0 ± 1.4*"), "{text}");
}

#[test]
fn control_characters_do_not_reach_the_terminal() {
    let text = table(&[two_seeds("\u{1b}[2Jevil\n", &[], [(50.0, 1.0); 4])]).text(Style::Plain);
    assert!(!text.contains('\u{1b}') && text.contains("�[2Jevil�"), "{text}");
}

#[test]
fn each_dataset_has_its_own_table() {
    let mut runs = runs();
    runs[1].dataset = "pubmed".to_owned();
    let tables = Table::by_dataset(&runs);
    assert_eq!(tables.len(), 2);
    assert!(tables[0].csv().contains("cora,isolated,2,") && !tables[0].csv().contains("pubmed"));
    assert!(Table::by_dataset(&[]).is_empty());
    // A table without rows is valid, too.
    assert!(Table::new("nothing", Vec::new()).text(Style::Plain).contains("over 0 seeds"));
}

#[test]
fn markdown() {
    let expected = "\
| Method | Accuracy (pooled) | Overall-F1 (pooled) | Hete-F1 (pooled) | Hete-min-F1 (pooled) | \
Hete-min-F1 (present) |
|:--|--:|--:|--:|--:|--:|
| fedavg | **82.0 ± 0.7** | **81.1 ± 0.6** | 37.4 ± 3.4 | 26.0 ± 1.4 | 91.0 ± 4.9 |
| boostfgl | **82.0 ± 1.3** | 80.5 ± 0.8 | **40.5 ± 0.7** | **27.0 ± 2.1** | **94.5 ± 7.4** |
| isolated | 70.5 ± 0.7 | 60.5 ± 0.7 | 29.5 ± 0.7 | 20.5 ± 0.7 | 71.8 ± 2.5 |

Percent on the test nodes of cora, mean ± standard deviation over 2 seeds. \
Test nodes: 1,083 in all, 153 heterophilous, 92–93 minority and heterophilous.
";
    assert_eq!(table(&runs()).markdown(), expected);
}

#[test]
fn csv() {
    let runs = [run("a,b", &[], &[[Some(0.5), Some(0.25), Some(0.125), None]])];
    let expected = "\
dataset,method,seeds,accuracy_mean,accuracy_std,overall_f1_mean,overall_f1_std,hete_f1_mean,hete_f1_std,\
hete_min_f1_mean,hete_min_f1_std,hete_min_f1_present_mean,hete_min_f1_present_std,seconds,mib_up
cora,\"a,b\",1,50,,25,,12.5,,,,,,2.5,88
";
    assert_eq!(table(&runs).with_cost(true).csv(), expected);
}
