//! The list of runs, and the page of a finished run.

use crate::common::Place;
use std::time::{Duration, Instant};

/// The row of a run.
fn row<'a>(page: &'a str, name: &str) -> &'a str {
    let start = page
        .find(&format!("<tr data-run=\"{name}\""))
        .unwrap_or_else(|| panic!("{name} is not in\n{page}"));
    &page[start..start + page[start..].find("</tr>").unwrap()]
}

#[test]
fn runs_are_listed_with_their_status() {
    let place = Place::new();
    place.finished("done", "fedavg");
    place.age("done", 7200);
    place.unfinished("group/now", 1);
    place.unfinished("group/deep/old", 3);
    place.age("group/deep/old", 600);
    place.unfinished("a/b/c/too-deep", 1);
    place.unfinished(".hidden", 1);
    place.write("notes/readme.txt", "no run");
    let server = place.serve();
    let page = server.page("/");
    let wanted: [(&str, &[&str]); 3] = [
        (
            "done",
            &[
                "finished",
                "cora",
                "fedavg",
                "4 of 4",
                "82.00 ± 2.83",
                "41.00 ± 1.41",
                "href=\"/run/done\"",
            ],
        ),
        ("group/now", &["running", "1 of 4", "value=\"1\"", "href=\"/run/group/now\""]),
        ("group/deep/old", &["stopped", "3 of 4"]),
    ];
    for (name, wanted) in wanted {
        for wanted in wanted {
            assert!(row(&page, name).contains(wanted), "{name}: {wanted}\n{}", row(&page, name));
        }
    }
    assert_eq!(page.matches("<tr data-run").count(), 3, "{page}");
    let places = ["group/now", "group/deep/old", "done"]
        .map(|name| page.find(&format!("data-run=\"{name}\"")).unwrap());
    assert!(places.is_sorted(), "newest first");
    for wanted in [
        "type=\"search\"",
        "action=\"/compare\"",
        "<button",
        "type=\"checkbox\"",
        "<time datetime=",
    ] {
        assert!(page.contains(wanted), "{wanted}");
    }

    let some = server.page("/?q=GROUP");
    assert_eq!(some.matches("<tr data-run").count(), 2, "{some}");
    assert_eq!(server.page("/?q=finished+nothing").matches("<tr data-run").count(), 0);
}

#[test]
fn the_list_follows_changes_of_the_files() {
    let place = Place::new();
    let mut rounds = place.unfinished("a", 1);
    let server = place.serve();
    assert!(row(&server.page("/"), "a").contains("1 of 4"));
    rounds.write(&crate::common::round(1)).unwrap();
    assert!(row(&server.page("/"), "a").contains("2 of 4"));
    place.finish("a", "boostfgl");
    let page = server.page("/");
    assert!(row(&page, "a").contains("finished") && row(&page, "a").contains("boostfgl"), "{page}");
    std::fs::remove_dir_all(place.runs().join("a")).unwrap();
    let page = server.page("/");
    assert!(!page.contains("<tr data-run") && page.contains("no run to show"), "{page}");
}

#[test]
fn a_finished_run_is_shown_as_its_report() {
    let place = Place::new();
    place.finished("x/done", "fedavg");
    let server = place.serve();
    let page = server.page("/run/x/done");
    assert!(page.contains("<h1>x/done</h1>") && page.contains("fedavg on cora"), "{page}");
    assert!(!page.contains("data-events"), "nothing more will come");
    assert!(page.contains("predictions.csv is missing"), "{page}");
    assert_eq!(server.page("/run/x/done"), page);
}

#[test]
fn the_served_folder_may_itself_be_a_run() {
    let place = Place::new();
    place.finished("done", "fedavg");
    let server = crate::common::Running::start(&place.runs().join("done"), None);
    let page = server.page("/");
    assert!(page.contains("href=\"/run/\""), "{page}");
    assert!(server.page("/run/").contains("<h1>done</h1>"));
    server.page("/compare?run=");
}

#[test]
fn several_runs_are_shown_side_by_side() {
    let place = Place::new();
    place.finished("a", "fedavg");
    place.finished("b", "boostfgl");
    let server = place.serve();
    let page = server.page("/compare?run=a&run=b&run=a");
    assert!(
        page.contains("<h1>Comparison</h1>")
            && page.contains("fedavg")
            && page.contains("boostfgl"),
        "{page}"
    );
    assert_eq!(server.get("/compare?run=a&run=nowhere").status, 404);
    let none = server.get("/compare");
    assert!(none.status == 400 && none.body.contains("Tick 2 to 32 runs"), "{}", none.body);
    let many: Vec<String> = (0..33).map(|i| format!("run=r{i}")).collect();
    assert_eq!(server.get(&format!("/compare?{}", many.join("&"))).status, 400);
}

#[test]
fn two_hundred_runs_are_listed_in_one_response() {
    let place = Place::new();
    for i in 0..200 {
        if i % 4 == 0 {
            place.unfinished(&format!("run-{i}"), 2);
        } else {
            place.finished(&format!("group-{}/run-{i}", i % 7), "fedavg");
        }
    }
    let server = place.serve();
    let start = Instant::now();
    let first = server.page("/");
    let cold = start.elapsed();
    assert_eq!(first.matches("<tr data-run").count(), 200);
    let start = Instant::now();
    let again = server.page("/");
    let warm = start.elapsed();
    assert_eq!(again.matches("<tr data-run").count(), 200);
    eprintln!("200 runs: {cold:?} cold, {warm:?} warm");
    assert!(
        cold < Duration::from_secs(10) && warm < Duration::from_secs(5),
        "{cold:?} cold, {warm:?} warm"
    );
}
