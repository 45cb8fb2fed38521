//! Help, versions, lists and completions.

use crate::common::{Place, finish};

#[test]
fn help_names_every_argument() {
    let place = Place::new();
    let training = [
        "[DATA]",
        "--method",
        "--boost",
        "--clients",
        "--rounds",
        "--seeds",
        "--partition",
        "--config",
        "--set",
        "--data-dir",
    ];
    let run = [
        "--diagnostics",
        "--threads",
        "--memory",
        "--out",
        "--overwrite",
        "--json",
        "--quiet",
        "Examples",
    ];
    let cases: [(&str, &[&str]); 18] = [
        (
            "",
            &[
                "run",
                "diagnose",
                "serve",
                "data",
                "partition",
                "methods",
                "config",
                "completions",
                "demo",
            ],
        ),
        ("run", &run),
        ("run", &training),
        (
            "diagnose",
            &[
                "[RUN|DATA]",
                "--diagnostics",
                "--by",
                "--metric",
                "--per-round",
                "--replay",
                "Examples",
            ],
        ),
        ("diagnose", &training[1..]),
        (
            "serve",
            &[
                "[RUNS_DIR]",
                "--port",
                "--host",
                "--allow-remote",
                "--token",
                "Ctrl-C",
                "ssh -L",
                "Examples",
            ],
        ),
        ("partition", &["--partitioner", "--out", "--overwrite", "--json"]),
        ("partition", &training),
        ("config show", &training),
        ("config check", &["<FILE>"]),
        ("methods", &["[NAME]"]),
        (
            "data",
            &[
                "list",
                "formats",
                "show",
                "check",
                "fetch",
                "import",
                "export",
                "generate",
                "--data-dir",
            ],
        ),
        ("data show", &["<DATA>", "--json"]),
        ("data fetch", &["<DATA>"]),
        (
            "data import",
            &[
                "[SOURCE]",
                "--nodes",
                "--dry-run",
                "--to",
                "--format",
                "--directed",
                "--overwrite",
                "nodes.csv",
            ],
        ),
        ("data export", &["<DATA>", "--to", "--overwrite"]),
        ("data generate", &["<PRESET>", "--to", "--seed", "--overwrite"]),
        ("completions", &["<SHELL>", "bash", "fish", "zsh"]),
    ];
    for (command, wanted) in cases {
        let done = place.ok(&format!("{command} --help"));
        assert_eq!(done.stderr, "");
        for wanted in wanted {
            assert!(done.stdout.contains(wanted), "{command}: {wanted}\n{}", done.stdout);
        }
    }
    assert!(place.ok("help run").stdout.contains("--rounds"));
    assert!(place.ok("data list --help").stdout.contains("List the datasets"));
    assert!(place.ok("data check --help").stdout.contains("<DATA>"));
}

#[test]
fn version_is_that_of_the_package() {
    let place = Place::new();
    let wanted = concat!("boostfgl ", env!("CARGO_PKG_VERSION"), "\n");
    assert_eq!(place.ok("--version").stdout, wanted);
    assert_eq!(place.ok("-V").stdout, wanted);
}

#[test]
fn methods_are_listed_and_explained() {
    let place = Place::new();
    let list = place.ok("methods").stdout;
    for name in [
        "isolated",
        "central",
        "fedavg",
        "boostfgl",
        "node",
        "topology",
        "model",
        "gcn",
        "mlp",
        "louvain",
        "label-skew",
    ] {
        assert!(
            list.lines().any(|line| line.split_whitespace().next() == Some(name)),
            "{name}\n{list}"
        );
    }
    let output = place.ok("methods boostfgl").stdout;
    for wanted in ["Paper", "Boosts", "Wire", "boost.topology.lambda_e", "boost.model.gamma"] {
        assert!(output.contains(wanted), "{wanted}\n{output}");
    }
    for method in ["isolated", "central", "fedavg"] {
        assert!(place.ok(&format!("methods {method}")).stdout.starts_with(&format!("{method}: ")));
    }
}

#[test]
fn completions_complete_the_commands() {
    let place = Place::new();
    for (shell, sign) in
        [("bash", "complete -F"), ("zsh", "#compdef boostfgl"), ("fish", "complete -c boostfgl")]
    {
        let script = place.ok(&format!("completions {shell}")).stdout;
        for wanted in [sign, "partition", "generate", "rounds"] {
            assert!(script.contains(wanted), "{shell}: {wanted}");
        }
    }
}

#[cfg(unix)]
#[test]
fn a_closed_pipe_is_no_error() {
    let place = Place::new();
    let program = assert_cmd::cargo::cargo_bin!("boostfgl");
    let line =
        format!("'{}' completions bash | head -n 1; echo ${{PIPESTATUS[0]}}", program.display());
    let mut shell = assert_cmd::Command::new("bash");
    let done = finish(shell.args(["-c", &line]).current_dir(place.path("")));
    assert!(done.stdout.ends_with("0\n") && done.stderr.is_empty(), "{done:?}");
}
