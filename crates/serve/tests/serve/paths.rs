//! URLs that try to leave the folder.

use crate::common::Place;

#[test]
fn no_url_reaches_outside_the_folder() {
    let place = Place::new();
    place.finished("a", "fedavg");
    let outside = place.outside("outside");
    std::fs::create_dir(&outside).unwrap();
    for name in ["config.toml", "summary.json"] {
        std::fs::write(outside.join(name), "method = \"top-secret\"\n").unwrap();
    }
    let absolute = outside.display().to_string();
    let encoded = absolute.replace('/', "%2f");
    let server = place.serve();
    let nasty = [
        "../outside",
        "a/../../outside",
        "a/..",
        "a/.",
        "./a",
        ".",
        "..",
        "%2e%2e/outside",
        "%2e%2e%2foutside",
        "%2E%2E%2Foutside",
        "..%2foutside",
        "%252e%252e%252foutside",
        "..%5coutside",
        "..\\outside",
        "a%5c..%5c..%5coutside",
        "..%c0%afoutside",
        "%c0%ae%c0%ae/outside",
        "a%00",
        "%00",
        "a%00/../../outside",
        "a%0d%0aX-Evil:1",
        "a/config.toml",
        "a/summary.json",
        "a/rounds.jsonl",
        "a//",
        "a/",
        "/a",
        "//a",
        "%ff",
        "%",
        "%zz",
        "~",
        "C:/windows",
        "\\\\?\\C:\\",
        "file:///etc/passwd",
        "a/b/c/d/e/f",
        &absolute,
        &encoded,
        &format!("/{absolute}"),
        &"../".repeat(20),
        &format!("{}etc/passwd", "%2e%2e%2f".repeat(20)),
        &"a/".repeat(3000),
        &"x".repeat(5000),
    ];
    for name in nasty {
        for prefix in ["/run/", "/events/run/"] {
            let reply = server.get(&format!("{prefix}{name}"));
            assert!(matches!(reply.status, 400 | 404), "{prefix}{name}: {}", reply.status);
            assert!(
                !reply.body.contains("top-secret") && !reply.body.contains("root:"),
                "{prefix}{name}"
            );
        }
        let reply = server.get(&format!("/compare?run={name}"));
        assert!(matches!(reply.status, 400 | 404), "compare {name}: {}", reply.status);
    }
    for path in [
        "/a/config.toml",
        "/runs/a",
        "/../outside/config.toml",
        "/style.css/../../outside",
        "/run",
        "/events",
    ] {
        assert_eq!(server.get(path).status, 404, "{path}");
    }
    assert_eq!(server.get("/run/a").status, 200);
}

#[cfg(unix)]
#[test]
fn links_are_followed_inside_the_folder_only() {
    use std::os::unix::ffi::OsStrExt as _;
    use std::os::unix::fs::symlink;
    let place = Place::new();
    place.finished("a", "fedavg");
    let outside = place.outside("outside");
    std::fs::create_dir_all(outside.join("run")).unwrap();
    std::fs::write(outside.join("run/config.toml"), "method = \"top-secret\"\n").unwrap();
    std::fs::write(outside.join("config.toml"), "method = \"top-secret\"\n").unwrap();
    symlink(&outside, place.runs().join("out")).unwrap();
    symlink("../../outside", place.runs().join("a/relative")).unwrap();
    symlink(place.runs().join("a"), place.runs().join("latest")).unwrap();
    symlink(place.runs(), place.runs().join("loop")).unwrap();
    symlink("nowhere", place.runs().join("dangling")).unwrap();
    let odd = place.runs().join(std::ffi::OsStr::from_bytes(b"not-\xff-utf8"));
    // Some file systems refuse such names; then there is nothing to list.
    let made = std::fs::create_dir(&odd).is_ok();
    let server = place.serve();
    for name in ["out", "out/run", "a/relative", "a/relative/run", "loop/out", "dangling"] {
        assert_eq!(server.get(&format!("/run/{name}")).status, 404, "{name}");
        assert_eq!(server.get(&format!("/events/run/{name}")).status, 404, "{name}");
    }
    let list = server.page("/");
    assert_eq!(list.matches("<tr data-run").count(), 1, "{list}");
    assert!(!made || list.contains("cannot be part of a URL are not listed: 1"), "{list}");
    assert!(server.page("/run/latest").contains("fedavg on cora"));
}
