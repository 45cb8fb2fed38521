//! `report`: pages, figures and tables of runs.

use crate::common::{Place, TINY, table, write_own_data};

/// Two small runs of the demo and their report.
fn runs(more: &str) -> Place {
    let place = Place::new();
    place.ok(&format!("run --rounds 3 --seeds 2 --set model.hidden=8 --quiet --out r {more}"));
    place
}

/// Checks that a page is complete, loads nothing and contains only finite numbers.
fn check_page(html: &str) {
    assert!(
        html.starts_with("<!doctype html>") && html.trim_end().ends_with("</html>"),
        "a whole page"
    );
    // The name of the SVG namespace is not loaded.
    let text = html.replace("http://www.w3.org/2000/svg", "");
    for outside in ["http://", "https://", "src=", "@import", "url("] {
        assert!(!text.contains(outside), "{outside}");
    }
    assert!(!html.contains("NaN") && !html.contains("inf,"), "numbers that are none");
    assert!(html.len() < 3_000_000, "{} bytes", html.len());
}

fn two_decimals(value: &serde_json::Value) -> String {
    format!("{:.2}", value.as_f64().unwrap())
}

#[test]
fn a_report_shows_the_numbers_of_the_summaries() {
    let place = runs("--diagnostics all");
    let html = place.read("r/report.html");
    check_page(&html);
    for method in ["fedavg", "boostfgl"] {
        let summary = place.json(&format!("r/{method}/summary.json"));
        for metric in ["accuracy", "overall_f1", "hete_f1", "hete_min_f1"] {
            for reading in ["pooled", "present", "client"] {
                let (mean, std) =
                    (&summary["mean"][metric][reading], &summary["std"][metric][reading]);
                let shown = format!("{} ± {}", two_decimals(mean), two_decimals(std));
                assert!(html.contains(&shown), "{method} {metric} {reading}: {shown}");
            }
        }
        assert!(html.contains(summary["digest"].as_str().unwrap()));
        check_page(&place.read(&format!("r/{method}/report.html")));
    }
    let headings = [
        "For whom does it work?",
        "Groups of nodes",
        "Paired differences and ranks",
        "Clients",
        "Convergence",
        "The partition",
        "Trust and weights",
        "Where unfairness arises",
        "Cost",
        "Configuration and versions",
    ];
    let places: Vec<Option<usize>> =
        headings.map(|heading| html.find(&format!("<h2>{heading}</h2>"))).to_vec();
    assert!(places.iter().all(Option::is_some) && places.is_sorted(), "{places:?}");
    for chart in [
        "Gradient share disparity",
        "Harmful messages",
        "Error by distance",
        "Dilution ratio",
        "Alignment",
    ] {
        assert!(html.contains(chart), "{chart}");
    }
    let lost =
        place.json("r/fedavg/partition.json")["seeds"][0]["partition"]["total"]["lost_edges"]
            .to_string();
    assert!(html.contains(&format!("{lost} of 5429 edges")), "{lost}");
    let few = "Two seeds cannot show a difference: the smallest p they allow is 0.5.";
    assert!(
        html.contains(few) && html.contains("boostfgl against fedavg: too few pairs"),
        "nothing is claimed on two seeds"
    );
}

#[test]
fn the_same_runs_give_the_same_page() {
    let place = runs("");
    let output = place.ok("report r/fedavg r/boostfgl --out a.html").stdout;
    assert_eq!(output, "Report of 2 runs: a.html\n");
    assert_eq!(place.read("a.html"), place.read("r/report.html"));
}

/// The first run is the base of comparisons, which must not depend on the names of folders.
#[test]
fn runs_keep_their_order_and_a_folder_starts_with_fedavg() {
    let place = Place::new();
    let methods = [
        ("a", "boostfgl"),
        ("b", "moon"),
        ("c", "fedavg --boost all"),
        ("d", "fedavg"),
        ("e", "fedprox"),
    ];
    for (name, method) in methods {
        place.ok(&format!("run {TINY} --method {method} --quiet --out r/{name}"));
    }
    let order = |runs: &str| {
        place.ok(&format!("report {runs} --export csv --out t"));
        let rows = table(&place.read("t/runs.csv"));
        rows.iter().map(|row| row["run"].clone()).collect::<String>()
    };
    assert_eq!(order("r/b r/d r/a"), "bda");
    // FedAvg, then methods as `boostfgl methods` lists them.
    let listed = place.ok("methods").stdout;
    let at = |method: &str| listed.find(&format!("{method} ")).unwrap();
    assert!(at("fedprox") < at("moon") && at("moon") < at("boostfgl"), "{listed}");
    assert_eq!(order("r"), "dceba");
    assert_eq!(order("r/b r/a"), "ba");
    place.ok("report r --out page.html");
    let html = place.read("page.html");
    assert!(html.contains("<title>fedavg, fedavg + all, fedprox, moon, boostfgl on demo</title>"));
    assert!(html.contains("ifference to fedavg") && !html.contains("ifference to boostfgl"));
}

#[test]
fn runs_with_other_protocols_are_shown_apart_with_the_reason() {
    let place = Place::new();
    place.ok(&format!("run {TINY} --method fedavg --quiet --out a"));
    place.ok(&format!("run {TINY} --method fedavg --clients 3 --quiet --out b"));
    place.ok(&format!("run generate:cora-like {TINY} --method fedavg --quiet --out c"));
    place.ok("report a b c --out all.html");
    let html = place.read("all.html");
    check_page(&html);
    assert!(
        html.contains("Shown apart") && html.contains("partition.clients = 3"),
        "the difference is named"
    );
    assert!(
        html.contains("<td class=\"text\">fedavg</td>")
            && html.matches("For whom does it work?").count() == 3
    );
    assert!(!html.contains("Paired differences"), "nothing is compared");
}

#[test]
fn runs_that_differ_in_a_setting_are_paired_and_the_setting_is_named() {
    let place = Place::new();
    let runs = [("a", "fedavg --set learning_rate=0.01"), ("b", "moon --set learning_rate=0.02")];
    for (out, method) in runs {
        place.ok(&format!("run {TINY} --seeds 2 --method {method} --quiet --out {out}")
            .replace("--seeds 1 ", ""));
    }
    place.ok("report a b --out both.html");
    let html = place.read("both.html");
    check_page(&html);
    for wanted in [
        "Paired differences",
        "What differs between the runs",
        "The runs differ in optimizer.learning_rate.",
        "fedavg, learning_rate=0.01",
        "moon, learning_rate=0.02",
    ] {
        assert!(html.contains(wanted), "{wanted}");
    }
    assert!(!html.contains("Shown apart"));
}

#[test]
fn runs_without_a_common_seed_are_shown_apart() {
    let place = Place::new();
    for (out, seeds) in [("a", "3,"), ("b", "4,"), ("c", "3,4")] {
        let command = format!("run {TINY} --method fedavg --quiet --out {out}");
        place.ok(&command.replace("--seeds 1", &format!("--seeds {seeds}")));
    }
    place.ok("report a b --out apart.html");
    let html = place.read("apart.html");
    assert!(html.contains("Shown apart") && html.contains("seeds = 4"), "the seeds are named");
    place.ok("report a c --out paired.html");
    let html = place.read("paired.html");
    assert!(!html.contains("Shown apart") && html.contains("Paired differences"));
}

/// Data of the same name are distinguished by their fingerprint.
#[test]
fn runs_on_changed_data_are_shown_apart() {
    let place = Place::new();
    write_own_data(&place, "mine");
    place.ok(&format!("run mine {TINY} --clients 2 --method fedavg --quiet --out a"));
    place.ok(&format!("run mine {TINY} --clients 2 --method moon --quiet --out b"));
    place.ok("report a b --out same.html");
    assert!(!place.read("same.html").contains("Shown apart"));
    place.write("mine/nodes.csv", place.read("mine/nodes.csv").replacen("0.25", "0.75", 1));
    place.ok(&format!("run mine {TINY} --clients 2 --method moon --quiet --out c"));
    place.ok("report a c --out other.html");
    let (html, data) =
        (place.read("other.html"), place.json("c/summary.json")["data"]["whole"].clone());
    let start = &data.as_str().unwrap()[..12];
    assert!(
        html.contains("Shown apart") && html.contains(&format!("data of fingerprint {start}…")),
        "{start}"
    );
}

#[test]
fn a_damaged_folder_shows_its_readable_files() {
    let place = runs("");
    let rounds = place.read("r/fedavg/rounds.jsonl");
    place.write("r/fedavg/rounds.jsonl", format!("{}\nnonsense\n", &rounds[..rounds.len() / 2]));
    std::fs::remove_file(place.path("r/fedavg/predictions.csv")).unwrap();
    let newer = place.read("r/boostfgl/summary.json").replace("\"version\": 1", "\"version\": 7");
    place.write("r/boostfgl/summary.json", newer);
    place.ok("report r --out page.html");
    let html = place.read("page.html");
    check_page(&html);
    for wanted in [
        "fedavg: predictions.csv is missing",
        "expected a round, found",
        "expected format version 1 or older, found 7",
        "Convergence",
        "not finished",
    ] {
        assert!(html.contains(wanted), "{wanted}");
    }
}

#[test]
fn names_from_data_are_escaped() {
    let place = Place::new();
    let evil = "<script>alert(1)</script>";
    let nodes: String = (0..40)
        .map(|v| format!("n{v},{},{}\n", if v % 3 == 0 { evil } else { "b&\"c" }, v % 5))
        .collect();
    place.write("my/nodes.csv", format!("id,label,f\n{}", nodes.replace("b&\"c", "\"b&\"\"c\"")));
    let edges: String = (0..39).map(|v| format!("n{v},n{}\n", v + 1)).collect();
    place.write("my/edges.csv", format!("src,dst\n{edges}"));
    place.ok(&format!("run my {TINY} --clients 2 --method fedavg --quiet --out r"));
    let html = place.read("r/report.html");
    assert!(
        html.contains("&lt;script&gt;alert(1)&lt;/script&gt;") && html.contains("b&amp;&quot;c")
    );
    assert!(!html.contains(evil));
}

#[test]
fn figures_are_written_as_svg_png_and_csv() {
    let place = runs("--diagnostics gsd");
    let output = place.ok("report r --figure gsd,convergence --out f").stdout;
    assert!(output.contains("Gradient share disparity, demo"), "{output}");
    for name in ["gsd-1", "convergence-1"] {
        let svg = place.read(&format!("f/{name}.svg"));
        assert!(svg.starts_with("<svg") && svg.contains("<style>") && svg.contains(".c0"), "{svg}");
        assert!(place.bytes(&format!("f/{name}.png")).starts_with(b"\x89PNG"));
        let csv = place.read(&format!("f/{name}.csv"));
        assert!(csv.starts_with("round,") && csv.lines().count() == 4, "{csv}");
    }
    let csv = place.read("f/convergence-1.csv");
    let last = csv.lines().last().unwrap().split(',').nth(1).unwrap().parse::<f64>().unwrap();
    let mean =
        place.json("r/fedavg/summary.json")["mean"]["overall_f1"]["pooled"].as_f64().unwrap();
    assert!((last - mean).abs() < 1e-3, "{last} {mean}");
    assert!(place.ok("report --figure list").stdout.contains("epr "));
    place.refused_with(
        "report r --figure epr --out g",
        &["expected data for `epr`", "--diagnostics all"],
    );
    place.refused_with("report r --figure gds", &["did you mean `gsd`?"]);
}

#[test]
fn identical_figures_are_written_once() {
    let place = runs("--diagnostics all");
    place.ok("report r --figure all --out f");
    let names = |ending: &str| -> Vec<String> {
        let files = place
            .path("f")
            .read_dir()
            .unwrap()
            .map(|file| file.unwrap().file_name().into_string().unwrap());
        files.filter(|name| name.ends_with(ending)).collect()
    };
    assert!(names(".svg").len() > 10 && names(".svg").contains(&"table1.svg".to_owned()));
    for ending in [".svg", ".png"] {
        let mut pictures: Vec<Vec<u8>> =
            names(ending).iter().map(|name| place.bytes(&format!("f/{name}"))).collect();
        let all = pictures.len();
        pictures.sort();
        pictures.dedup();
        assert_eq!(pictures.len(), all, "{ending}");
    }
    for name in ["ablation", "plug-in"] {
        place.refused_with(
            &format!("report r --figure {name} --out g"),
            &[
                &format!("expected results of `boostfgl reproduce {name}`"),
                "`table1` is the same figure",
            ],
        );
    }
    assert!(
        place
            .ok("report --figure list")
            .stdout
            .contains("(only for `reproduce`; for runs, see table1)")
    );
}

#[test]
fn tables_are_exported_for_other_programs() {
    let place = runs("");
    let output = place.ok("report r --export csv,latex,tensorboard --out t").stdout;
    assert!(output.contains("runs.tex") && output.contains("tfevents"), "{output}");
    let tex = place.read("t/runs.tex");
    assert!(tex.contains("\\toprule") && tex.contains("\\textbf"), "{tex}");
    assert_eq!(place.read("t/rounds.csv").lines().count(), 1 + 2 * 2 * 3);
    place.refused_with("report r --export cvs --out u", &["cvs", "csv"]);
}

/// One table is called clients.json, like the results of an experiment.
#[test]
fn exported_tables_are_not_read_as_results() {
    let place = runs("");
    place.ok("report r --export all");
    assert!(place.exists("r/export/clients.json"));
    let done = place.ok("report r");
    assert_eq!((&done.stdout[..], &done.stderr[..]), ("Report of 2 runs: r/report.html\n", ""));
    assert!(!place.read("r/report.html").contains("clients.json"));
    place.refused_with(
        "report r/export",
        &["r/export: expected a run, a comparison or results, found none"],
    );
    place.refused_with(
        "report r/export/clients.json",
        &["clients.json: expected results of an experiment, found a table that `boostfgl report \
            --export` wrote"],
    );
    place.ok("compare demo --methods fedavg,fedprox --rounds 1 --seeds 1 --set model.hidden=4 \
        --quiet --out c");
    for to in ["c", "c/export"] {
        place.ok(&format!("report r c --export all --out {to}"));
        assert!(
            place.exists(&format!("{to}/clients.json"))
                && place.exists(&format!("{to}/cells.json"))
        );
        let done = place.ok("report c");
        let output = "Report of 1 comparison or experiment: c/report.html\n";
        assert_eq!((&done.stdout[..], &done.stderr[..]), (output, ""), "after an export to {to}");
    }
    // Other JSON files are still reported.
    place.write("x/clients.json", "[{\"run\"");
    place.refused_with("report x", &["x/clients.json: "]);
}

#[test]
fn runs_that_differ_in_two_settings_give_a_heat_map() {
    let place = Place::new();
    for (node, edge) in [(0, 0), (0, 1), (1, 0), (1, 1)] {
        let settings =
            format!("--set boost.node.lambda_n={node}.0 --set boost.topology.lambda_e={edge}.0");
        place
            .ok(&format!("run {TINY} --method boostfgl {settings} --quiet --out r/n{node}e{edge}"));
    }
    place.ok("report r --out page.html");
    let html = place.read("page.html");
    check_page(&html);
    assert!(html.contains("Sweeps") && html.contains("boostfgl on demo: Accuracy, %"));
    place.ok("report r --figure heatmap --out f");
    let csv = place.read("f/heatmap-1.csv");
    let accuracy = |run: &str| {
        place.json(&format!("r/{run}/summary.json"))["mean"]["accuracy"]["pooled"].as_f64().unwrap()
    };
    let rows: Vec<Vec<&str>> = csv.lines().map(|line| line.split(',').collect()).collect();
    assert_eq!(rows[0], ["boost.node.lambda_n \\ boost.topology.lambda_e", "0.0", "1.0"]);
    for (row, column, run) in [(1, 1, "n0e0"), (1, 2, "n0e1"), (2, 1, "n1e0"), (2, 2, "n1e1")] {
        assert!(
            (rows[row][column].parse::<f64>().unwrap() - accuracy(run)).abs() < 1e-3,
            "{run}\n{csv}"
        );
    }
}

#[test]
fn a_comparison_has_a_report_with_curves_and_ranks() {
    let place = Place::new();
    let methods = "--methods fedavg,fedprox,boostfgl --rounds 2 --seeds 2 --set model.hidden=8";
    place.ok(&format!("compare demo {methods} --quiet --out c"));
    let html = place.read("c/report.html");
    check_page(&html);
    for wanted in [
        "Difference to fedavg",
        "mean rank over 2 pairs",
        "critical difference",
        "Hete-min-F1: heterophilous",
    ] {
        assert!(html.contains(wanted), "{wanted}");
    }
    place.ok("report c --out again.html");
    assert_eq!(place.read("again.html"), html);
}

#[test]
fn a_comparison_has_figures_and_tables() {
    let place = Place::new();
    write_own_data(&place, "mine");
    let methods =
        "--methods fedavg,fedprox,boostfgl --rounds 2 --seeds 2 --clients 3 --set model.hidden=8";
    place.ok(&format!("compare demo mine {methods} --quiet --out c"));
    let tex = place.read("c/comparison.tex");
    assert!(tex.contains("& \\multicolumn{2}{c}{demo} & \\multicolumn{2}{c}{mine}"), "{tex}");

    let output = place.ok("report c --figure all").stdout;
    for name in ["convergence-1", "convergence-4", "runtime-2", "table1-1"] {
        assert!(output.contains(&format!("c/figures/{name}  ")), "{name}\n{output}");
        assert!(place.bytes(&format!("c/figures/{name}.png")).starts_with(b"\x89PNG"));
    }
    let document = place.json("c/comparison.json");
    let mean = document["datasets"][1]["rows"][2]["metrics"]["accuracy"]["mean"].as_f64().unwrap();
    let csv = place.read("c/figures/table1-2.csv");
    assert!(
        csv.lines().any(|line| line.starts_with(&format!("Accuracy,boostfgl,{mean:.2}")[..22])),
        "{mean}\n{csv}"
    );

    let output = place.ok("report c --export all").stdout;
    for name in [
        "cells.csv",
        "cells.json",
        "cells.parquet",
        "differences.csv",
        "curves.parquet",
        "comparisons.md",
    ] {
        assert!(
            output.contains(&format!("c/export/{name}\n"))
                && place.exists(&format!("c/export/{name}")),
            "{output}"
        );
    }
    assert!(output.contains("c/export/tensorboard/c/mine/fedprox/seed1/"), "{output}");
    assert!(!output.contains("runs.csv"), "there is no run\n{output}");
    let cells = table(&place.read("c/export/cells.csv"));
    assert_eq!(cells.len(), 2 * 3 * 2);
    assert_eq!(
        cells[0]["digest"],
        document["datasets"][0]["rows"][0]["cells"][0]["digest"].as_str().unwrap()
    );
    assert_eq!(table(&place.read("c/export/curves.csv")).len(), 12 * 2);
    place.ok("report c --export tex --metrics hete_f1,accuracy,overall_f1 --out t");
    let tex = place.read("t/comparisons.tex");
    let head = "Method & Hete-F1 & Accuracy & Overall-F1 & Hete-F1 & Accuracy & Overall-F1 \\\\";
    assert!(tex.contains("\\multicolumn{3}{c}{mine}") && tex.contains(head), "{tex}");
    place.refused_with(
        "report c --export tex --metrics f1 --out u",
        &["unknown metric `f1`", "there are accuracy"],
    );
    place.refused_with("report c --metrics accuracy", &["--export"]);
    place.refused_with("report c --figure gsd", &["expected data for `gsd`"]);
}

#[test]
fn foreign_folders_are_refused_with_advice() {
    let place = Place::new();
    place.write("notes/todo.txt", "nothing");
    place.refused_with(
        "report notes",
        &["notes: expected a run, a comparison or results, found none", "Name the folder"],
    );
    place.refused_with("report nowhere", &["nowhere: expected a folder, found nothing"]);
    place.write("x/comparison.json", "{\"version\": 99}");
    place.refused_with("report x", &["expected format version 1 or older, found 99"]);
    place.refused_with("report", &["RUN"]);
}

/// The cells of the row of a table of the page that starts with these, in order.
fn html_row(html: &str, start: &[&str]) -> Vec<String> {
    let rows = html.split("<tr>").map(|row| {
        let cells = row.split("</tr>").next().unwrap_or_default().split("</t");
        cells
            .filter_map(|cell| Some(cell.rsplit_once('>')?.1.to_owned()))
            .filter(|cell| !cell.is_empty())
            .collect::<Vec<_>>()
    });
    rows.into_iter()
        .find(|cells| cells.len() > start.len() && cells[..start.len()] == *start)
        .unwrap_or_default()
}

#[test]
fn terminal_report_and_files_agree_on_a_difference() {
    let place = Place::new();
    for (seeds, first) in [(2, "too few pairs"), (5, "leans ahead"), (7, "ahead")] {
        let out = format!("c{seeds}");
        let protocol = format!("--rounds 4 --seeds {seeds} --set model.hidden=8 --quiet");
        let terminal = place
            .ok(&format!("compare --methods fedavg,isolated,fedprox {protocol} --out {out}"))
            .stdout;
        let html = place.read(&format!("{out}/report.html"));
        let json = place.json(&format!("{out}/comparison.json"));
        let differences = &terminal
            [terminal.find(": difference to fedavg").unwrap()..terminal.find(": cost").unwrap()];
        for (at, method) in [(1, "isolated"), (2, "fedprox")] {
            // The verdicts are in the third line of the method.
            let mut lines = differences.lines().skip_while(|line| !line.starts_with(method));
            let words: Vec<&str> = lines
                .nth(2)
                .unwrap()
                .split("  ")
                .map(str::trim)
                .filter(|w| !w.is_empty())
                .collect();
            assert_eq!(words.len(), 4, "{differences}");
            // After few rounds, isolated clients are far ahead: only the number of seeds changes
            // the verdict.
            assert!(method != "isolated" || words[0] == first, "{seeds} seeds\n{differences}");
            let metrics = ["Accuracy", "Overall-F1", "Hete-F1", "Hete-min-F1"];
            let keys = ["accuracy", "overall_f1", "hete_f1", "hete_min_f1"];
            for ((metric, key), word) in metrics.iter().zip(keys).zip(words) {
                let row = html_row(&html, &[method, &format!("{metric}, pooled")]);
                assert_eq!(
                    row.last().map(String::as_str),
                    Some(word),
                    "{method}, {metric}, {seeds} seeds"
                );
                let difference = &json["datasets"][0]["rows"][at]["metrics"][key]["difference"];
                let known = difference["verdict"].as_str().unwrap().replace('-', " ");
                assert!(
                    word.starts_with(&known.replace("too few", "too few pairs")),
                    "{known}: {word}"
                );
                let shown = difference["p_holm"].as_f64().unwrap() < 0.05;
                assert!(
                    shown || !["ahead", "behind"].contains(&word),
                    "{word} at p {}",
                    difference["p_holm"]
                );
            }
        }
        assert!(!html.contains("surely") && !terminal.contains("surely"));
    }
}

#[test]
fn the_verdict_of_runs_agrees_with_their_table() {
    let place = Place::new();
    place.ok("run --rounds 4 --seeds 5 --set model.hidden=8 --quiet --out r");
    let html = place.read("r/report.html");
    // Both contain the accuracy of all test nodes.
    let table = html_row(&html, &["boostfgl", "Accuracy, pooled"]);
    let group = html_row(&html, &["all test nodes"]);
    let (word, verdict) = (table.last().unwrap(), group.last().unwrap());
    assert!(verdict.ends_with(&format!(": {word}")), "{verdict}: {word}");
    assert!(
        !word.starts_with("ahead") && !word.starts_with("behind"),
        "five seeds lean at most: {word}"
    );
    assert!(
        html.contains("Five seeds cannot show a difference: the smallest p they allow is 0.062.")
    );
}
