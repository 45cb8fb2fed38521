//! Comparisons in the list, and as their reports.

use crate::common::Place;
use crate::compared::compared;
use boostfgl_report::Comparison;

#[test]
fn comparisons_are_listed_and_shown_as_their_reports() {
    let place = Place::new();
    place.finished("fedavg", "fedavg");
    compared(&place.runs().join("all/compare-cora"));
    // A dataset may be called `config`; its configuration is not a run.
    place.write("all/compare-cora/config/config.toml", "dataset = \"config\"\n");
    let before = place.snapshot();
    let server = place.serve();
    let page = server.page("/");
    assert_eq!(page.matches("<tr data-run").count(), 2, "{page}");
    let row = &page[page.find("<tr data-run=\"all/compare-cora\"").expect("it is listed")..];
    let row = &row[..row.find("</tr>").unwrap()];
    for wanted in [
        "href=\"/run/all/compare-cora\"",
        "cora, small",
        "base, other",
        "comparison",
        "8 of 8 cells",
    ] {
        assert!(row.contains(wanted), "{wanted}\n{row}");
    }
    assert_eq!(server.page("/?q=comparison").matches("<tr data-run").count(), 1);

    let report = server.page("/run/all/compare-cora");
    for wanted in [
        "<h1>all/compare-cora</h1>",
        "base, other on cora, small",
        "Difference to base",
        "Accuracy",
    ] {
        assert!(report.contains(wanted), "{wanted}");
    }
    assert!(report.contains("Training loss"), "curves come from its cells");
    let both = server.page("/compare?run=all%2Fcompare-cora&run=fedavg");
    assert!(
        both.contains("Difference to base") && both.contains("fedavg on cora"),
        "together with a run"
    );
    assert_eq!(server.get("/events/run/all/compare-cora").status, 404, "nothing of it changes");
    assert_eq!(place.snapshot(), before);
}

#[test]
fn an_unreadable_comparison_is_listed_with_the_reason() {
    let place = Place::new();
    compared(&place.runs().join("c"));
    let file = place.runs().join("c").join(Comparison::FILE);
    let whole = std::fs::read_to_string(&file).unwrap();
    let server = place.serve();
    assert!(server.page("/").contains("8 of 8 cells"));
    std::fs::write(&file, &whole[..whole.len() / 2]).unwrap();
    let list = server.page("/");
    assert!(list.contains("broken") && list.contains("comparison.json: "), "{list}");
    assert!(server.page("/run/c").contains("comparison.json: "));
    std::fs::remove_file(&file).unwrap();
    assert!(!server.page("/").contains("data-run=\"c\""));
    assert_eq!(server.get("/run/c").status, 404);
}

#[cfg(unix)]
#[test]
fn no_file_outside_the_folder_is_read_for_a_comparison() {
    let place = Place::new();
    let secret = compared(&place.outside("secret"));
    compared(&place.runs().join("c"));
    let cell = place.runs().join("c/cells/0-0-0.json");
    std::fs::remove_file(&cell).unwrap();
    std::os::unix::fs::symlink(secret.path.join("cells/0-0-0.json"), &cell).unwrap();
    std::fs::create_dir(place.runs().join("linked")).unwrap();
    std::os::unix::fs::symlink(
        secret.path.join(Comparison::FILE),
        place.runs().join("linked").join(Comparison::FILE),
    )
    .unwrap();
    let server = place.serve();
    for name in ["c", "linked"] {
        let page = server.page(&format!("/run/{name}"));
        assert!(
            page.contains("a symbolic link to a place outside the folder")
                && !page.contains("Difference to base"),
            "{page}"
        );
    }
    assert!(server.page("/").contains("a symbolic link to a place outside the folder"));
}
