//! Pages that are updated while they are open.

use crate::common::{Place, round};
use std::io::Write as _;
use std::time::{Duration, Instant};

/// The URL of the updates of a page, with the mark of the content that it has.
fn events_of(page: &str) -> String {
    let after = |key: &str| {
        let start = page.find(key).unwrap_or_else(|| panic!("{key} is not in\n{page}")) + key.len();
        page[start..].split('"').next().unwrap().to_owned()
    };
    let (path, rest) = (after("data-events=\""), page.find("data-events=\"").unwrap());
    let mark = page[rest..].split("data-mark=\"").nth(1).unwrap().split('"').next().unwrap();
    format!("{path}?have={mark}")
}

#[test]
fn a_run_page_receives_each_round_and_the_end() {
    let place = Place::new();
    let mut rounds = place.unfinished("x/a b", 1);
    let server = place.serve();
    let page = server.page("/run/x/a%20b");
    assert!(page.contains("1 of 4") && page.contains(">running<"), "{page}");
    let mut events = server.listen(&events_of(&page));

    rounds.write(&round(1)).unwrap();
    let (event, data) = events.next();
    assert!(event == "part" && data.contains("2 of 4"), "{event}: {data}");

    // Half a line is not a round yet; a malformed line is a problem, and later lines still count.
    let line = serde_json::to_string(&round(2)).unwrap();
    let mut file = std::fs::File::options()
        .append(true)
        .open(place.runs().join("x/a b/rounds.jsonl"))
        .unwrap();
    file.write_all(&line.as_bytes()[..30]).unwrap();
    std::thread::sleep(Duration::from_millis(1200));
    file.write_all(&line.as_bytes()[30..]).unwrap();
    file.write_all(b"\n<nonsense>\n").unwrap();
    let (mut event, mut data) = events.next();
    while data.contains("2 of 4") {
        (event, data) = events.next();
    }
    assert!(
        event == "part" && data.contains("3 of 4") && data.contains("rounds.jsonl: line 4"),
        "{event}: {data}"
    );
    assert!(!data.contains("<nonsense>"));

    place.finish("x/a b", "fedavg");
    let (mut event, _) = events.next();
    while event == "part" {
        (event, _) = events.next();
    }
    assert_eq!(event, "end");
    assert!(events.is_over());
    assert!(!server.page("/run/x/a%20b").contains("data-events"));
}

#[test]
fn a_page_that_is_up_to_date_receives_nothing() {
    let place = Place::new();
    place.unfinished("old", 2);
    place.age("old", 600);
    let server = place.serve();
    let page = server.page("/run/old");
    let mut events = server.listen(&events_of(&page));
    // Renamed in one step: removing it file by file would cause other events.
    std::fs::rename(place.runs().join("old"), place.outside("old")).unwrap();
    assert_eq!(events.next().0, "gone", "the first event is the first change");
    assert_eq!(server.get("/run/old").status, 404);

    place.unfinished("new", 1);
    let fresh = server.listen("/events/run/new").next();
    assert!(
        fresh.0 == "part" && fresh.1.contains("1 of 4"),
        "a new client receives the current state: {fresh:?}"
    );
}

#[test]
fn a_restarted_run_is_read_again() {
    let place = Place::new();
    place.unfinished("a", 3);
    let server = place.serve();
    let mut events = server.listen("/events/run/a");
    assert!(events.next().1.contains("3 of 4"));
    std::fs::remove_dir_all(place.runs().join("a")).unwrap();
    place.unfinished("a", 1);
    let (event, data) = events.next();
    // The folder may have been polled while it was missing.
    assert!(event == "gone" || data.contains("1 of 4"), "{event}: {data}");
}

#[test]
fn the_list_receives_new_runs_and_new_rounds() {
    let place = Place::new();
    let mut rounds = place.unfinished("a", 1);
    let server = place.serve();
    let mut events = server.listen(&events_of(&server.page("/")));
    rounds.write(&round(1)).unwrap();
    let (event, data) = events.next();
    assert!(event == "part" && data.contains("2 of 4"), "{event}: {data}");
    place.finished("b", "boostfgl");
    let mut data = events.next().1;
    while !(data.contains("data-run=\"b\"") && data.contains(">finished<")) {
        data = events.next().1;
    }
    assert!(data.contains("data-run=\"a\""), "{data}");
    for name in ["a", "b"] {
        std::fs::remove_dir_all(place.runs().join(name)).unwrap();
    }
    while events.next().1.contains("data-run") {}
}

#[test]
fn the_number_of_live_pages_is_limited_and_closed_ones_are_freed() {
    let place = Place::new();
    place.unfinished("a", 1);
    let server = place.serve();
    let mut open: Vec<_> =
        (0..64).map(|i| server.listen(["/events/list", "/events/run/a"][i % 2])).collect();
    open.iter_mut().for_each(|events| assert_eq!(events.next().0, "part"));
    let refused = server.get("/events/list");
    assert_eq!((refused.status, refused.header("retry-after")), (503, Some("10")));
    assert!(server.page("/").contains("1 of 4"), "pages are still shown");
    drop(open);
    let end = Instant::now() + Duration::from_secs(30);
    while server.request("HEAD", "/events/list", &[]).status == 503 {
        assert!(Instant::now() < end, "closed connections are not freed");
        std::thread::sleep(Duration::from_millis(50));
    }
}

#[test]
fn a_client_that_does_not_read_does_not_delay_others() {
    let place = Place::new();
    let mut rounds = place.unfinished("a", 0);
    let server = place.serve();
    let not_reading: Vec<_> = (0..8).map(|_| server.send("GET", "/events/run/a", &[])).collect();
    let mut events = server.listen("/events/run/a");
    for at in 0..3 {
        rounds.write(&round(at)).unwrap();
        let wanted = format!("{} of 4", at + 1);
        while !events.next().1.contains(&wanted) {}
    }
    drop(not_reading);
}
