//! Folders that are incomplete, damaged or hostile: the rest is shown, with the problems.

use crate::common::Place;

#[test]
fn unreadable_files_are_named_and_the_rest_is_shown() {
    let place = Place::new();
    place.finished("whole", "fedavg");
    place.unfinished("torn-summary", 4);
    place.write("torn-summary/summary.json", "{\"version\": 1, \"meth");
    place.unfinished("newer", 4);
    place.write("newer/summary.json", "{\"version\": 99, \"new\": true}");
    place.write("foreign/config.toml", "this is = = not TOML");
    place.write("foreign/photo.png", [0xff, 0x00]);
    place.write("empty/rounds.jsonl", "");
    place.write("bytes/rounds.jsonl", [0xff, 0xfe, b'\n', 0, b'\n']);
    place.write("bytes/config.toml", [0xff, 0xfe]);
    std::fs::create_dir_all(place.runs().join("folder/summary.json")).unwrap();
    place.write("folder/config.toml", "method = \"fedavg\"\n");
    let server = place.serve();
    let list = server.page("/");
    assert_eq!(list.matches("<tr data-run").count(), 7, "{list}");
    let cases: [(&str, &str, &[&str]); 7] = [
        ("whole", "finished", &[]),
        ("torn-summary", "broken", &["summary.json", "EOF"]),
        ("newer", "broken", &["summary.json: expected format version 1 or older, found 99"]),
        ("foreign", "broken", &["config.toml: expected TOML"]),
        ("empty", "running", &["config.toml is missing"]),
        ("bytes", "running", &["rounds.jsonl: line 1: expected a round", "config.toml"]),
        ("folder", "broken", &["summary.json"]),
    ];
    for (name, state, wanted) in cases {
        let start = list.find(&format!("data-run=\"{name}\"")).unwrap();
        let row = &list[start..start + list[start..].find("</tr>").unwrap()];
        assert!(row.contains(&format!(">{state}<")), "{name}: {state}\n{row}");
        let page = server.page(&format!("/run/{name}"));
        for wanted in wanted {
            assert!(
                page.contains("What is wrong") && page.contains(wanted),
                "{name}: {wanted}\n{page}"
            );
        }
    }
    let both = server.page("/compare?run=whole&run=foreign&run=torn-summary");
    assert!(both.contains("config.toml: expected TOML"), "{both}");
}

#[test]
fn names_and_file_contents_are_escaped() {
    let place = Place::new();
    let attack = "<img src=x onerror=alert(1)>\\\"'&";
    let config = format!("dataset = \"{attack}\"\nmethod = \"<script>alert(2)</script>\"\n");
    place.write("a<b>&'\"c/config.toml", &config);
    place.write("plain/config.toml", &config);
    place.write("plain/rounds.jsonl", "<script>alert(3)</script>\n{\"seed\": \"<b>\"}\n");
    place.write("other/summary.json", "{\"version\": \"<script>alert(4)</script>\"}");
    let server = place.serve();
    let query = "/?q=%22%3E%3Cscript%3Ealert(5)%3C/script%3E";
    let strange = "/run/a%3Cb%3E%26%27%22c";
    for path in ["/", query, strange, "/run/plain", "/run/other", "/compare?run=plain&run=other"] {
        let page = server.page(path);
        for markup in ["<img", "<script>", "<b>", "a<b", "\"'&"] {
            assert!(!page.contains(markup), "{path}: {markup}\n{page}");
        }
    }
    assert!(server.page("/").contains(&format!("href=\"{strange}\"")));
    assert!(server.page(strange).contains("<h1>a&lt;b&gt;&amp;&#39;&quot;c</h1>"));
}

#[cfg(unix)]
#[test]
fn links_to_outside_and_pipes_are_not_read() {
    use std::os::unix::fs::symlink;
    let place = Place::new();
    std::fs::write(place.outside("secret.toml"), "method = \"top-secret\"\n").unwrap();
    std::fs::create_dir(place.runs().join("link")).unwrap();
    symlink(place.outside("secret.toml"), place.runs().join("link/config.toml")).unwrap();
    place.write("pipe/config.toml", "method = \"fedavg\"\n");
    let made = std::process::Command::new("mkfifo")
        .arg(place.runs().join("pipe/rounds.jsonl"))
        .status()
        .unwrap();
    assert!(made.success());
    place.write("inside/real.toml", "method = \"fedprox\"\n");
    symlink(place.runs().join("inside/real.toml"), place.runs().join("inside/config.toml"))
        .unwrap();
    let server = place.serve();
    for (name, wanted) in
        [("link", "a symbolic link to a place outside the folder"), ("pipe", "found a pipe")]
    {
        let page = server.page(&format!("/run/{name}"));
        assert!(page.contains(wanted) && page.contains(">broken<"), "{page}");
        assert!(!page.contains("top-secret"), "{page}");
        let (event, data) = server.listen(&format!("/events/run/{name}")).next();
        assert!(event == "part" && data.contains(wanted), "{data}");
    }
    let list = server.page("/");
    assert!(!list.contains("top-secret") && list.contains("fedprox"), "{list}");
    let both = server.page("/compare?run=link&run=pipe&run=inside");
    assert!(!both.contains("top-secret"), "{both}");
}
