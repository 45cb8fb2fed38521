//! Access control and security headers.

use crate::common::{Place, Running};
use boostfgl_serve::{Error, Server, Token};

const TOKEN: &str = "0123456789abcdef-._~";

#[test]
fn every_response_has_the_security_headers() {
    let place = Place::new();
    place.finished("a", "fedavg");
    place.unfinished("b", 1);
    let server = place.serve();
    let policy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; \
        connect-src 'self'; \
                  base-uri 'none'; form-action 'self'; frame-ancestors 'none'";
    let expected = [
        ("content-security-policy", policy),
        ("x-content-type-options", "nosniff"),
        ("referrer-policy", "no-referrer"),
        ("cache-control", "no-store"),
        ("cross-origin-resource-policy", "same-origin"),
    ];
    let kinds = [
        ("/", 200, "text/html; charset=utf-8"),
        ("/run/a", 200, "text/html; charset=utf-8"),
        ("/run/b", 200, "text/html; charset=utf-8"),
        ("/compare?run=a&run=b", 200, "text/html; charset=utf-8"),
        ("/compare", 400, "text/html; charset=utf-8"),
        ("/nothing", 404, "text/html; charset=utf-8"),
        ("/style.css", 200, "text/css; charset=utf-8"),
        ("/hover.js", 200, "text/javascript; charset=utf-8"),
        ("/live.js", 200, "text/javascript; charset=utf-8"),
    ];
    for (path, status, kind) in kinds {
        let reply = server.get(path);
        assert_eq!((reply.status, reply.header("content-type")), (status, Some(kind)), "{path}");
        for (name, value) in expected {
            assert_eq!(reply.header(name), Some(value), "{path}: {name}");
        }
        if kind.starts_with("text/html") {
            check_page(path, &reply.body);
        }
    }
}

/// A page has nothing that the policy would block, and what browsers and screen readers need.
fn check_page(path: &str, page: &str) {
    for wanted in
        ["<!doctype html>", "<html lang=\"en\">", "name=\"viewport\"", "<main>", "<h1>", "</html>"]
    {
        assert!(page.contains(wanted), "{path}: {wanted}\n{page}");
    }
    for inline in [" style=", "<style", " onclick=", " onload=", " onerror=", "javascript:"] {
        assert!(!page.contains(inline), "{path}: {inline}");
    }
    let scripts = page.matches("<script").count();
    assert_eq!(
        scripts,
        page.matches("<script src=\"/").count(),
        "{path}: a script that is not a file"
    );
}

#[test]
fn only_get_and_head_are_allowed_and_nothing_is_written() {
    let place = Place::new();
    place.finished("a", "fedavg");
    let before = place.snapshot();
    let server = place.serve();
    for path in ["/", "/run/a", "/events/list", "/nothing"] {
        for method in ["POST", "PUT", "DELETE", "PATCH", "OPTIONS", "TRACE", "BREW"] {
            let reply = server.request(method, path, &[("Content-Length", "0")]);
            assert_eq!(
                (reply.status, reply.header("allow")),
                (405, Some("GET, HEAD")),
                "{method} {path}"
            );
        }
    }
    let head = server.request("HEAD", "/run/a", &[]);
    assert_eq!((head.status, head.body.as_str()), (200, ""));
    assert_eq!(server.request("HEAD", "/events/list", &[]).status, 200);
    server.page("/run/a");
    server.page("/");
    drop(server);
    assert_eq!(place.snapshot(), before, "something was written");
}

#[test]
fn requests_with_another_host_name_are_refused() {
    let place = Place::new();
    let server = place.serve();
    let status = |headers: &[(&str, &str)]| server.request("GET", "/", headers).status;
    for host in ["localhost", "localhost:1", "127.0.0.1", "127.0.0.1:9999", "[::1]", "[::1]:8410"] {
        assert_eq!(status(&[("Host", host)]), 200, "{host}");
    }
    for host in [
        "",
        "evil.example",
        "evil.example:8410",
        "localhost.evil.example",
        "127.0.0.1.evil.example",
        "0.0.0.0",
    ] {
        assert_eq!(status(&[("Host", host)]), 403, "{host}");
    }
    assert_eq!(status(&[("Host", "localhost"), ("Host", "evil.example")]), 403, "two names");
    assert_eq!(server.request("GET", "http://evil.example/", &[("Host", "localhost")]).status, 403);
}

#[test]
fn other_sites_cannot_load_pages_but_may_link_to_them() {
    let place = Place::new();
    let server = place.serve();
    let ask = |site, mode| {
        server.request(
            "HEAD",
            "/events/list",
            &[("Sec-Fetch-Site", site), ("Sec-Fetch-Mode", mode)],
        )
    };
    assert_eq!(ask("cross-site", "cors").status, 403);
    assert_eq!(ask("same-site", "no-cors").status, 403);
    assert_eq!(ask("same-origin", "cors").status, 200);
    assert_eq!(ask("cross-site", "navigate").status, 200);
}

#[test]
fn a_server_with_a_token_refuses_every_request_without_it() {
    let place = Place::new();
    place.finished("a b", "fedavg");
    let server = Running::start(&place.runs(), Token::new(TOKEN));
    let wrong = "0123456789abcdef-.__";
    for path in [
        "/",
        "/run/a%20b",
        "/style.css",
        "/events/list",
        "/nothing",
        &format!("/?token={wrong}"),
        "/?token=",
    ] {
        let reply = server.get(path);
        assert_eq!(
            (reply.status, reply.header("www-authenticate")),
            (401, Some("Bearer")),
            "{path}"
        );
        assert!(!reply.body.contains("a b"), "{path}");
    }
    let cookie = format!("boostfgl-{}", server.address.port());
    for (name, value) in [
        ("Authorization", format!("Bearer {wrong}")),
        ("Authorization", TOKEN.to_owned()),
        ("Cookie", format!("{cookie}={wrong}")),
        ("Cookie", format!("other={TOKEN}")),
    ] {
        assert_eq!(server.request("GET", "/", &[(name, &value)]).status, 401, "{name}: {value}");
    }
    for (name, value) in
        [("Authorization", format!("Bearer {TOKEN}")), ("Cookie", format!("x=y; {cookie}={TOKEN}"))]
    {
        let reply = server.request("GET", "/", &[(name, &value)]);
        assert!(reply.status == 200 && reply.body.contains("a b"), "{name}");
    }
}

#[test]
fn a_token_in_the_url_is_moved_into_a_cookie() {
    let place = Place::new();
    let server = Running::start(&place.runs(), Token::new(TOKEN));
    let reply = server.get(&format!("/compare?run=a%20b&token={TOKEN}&run=c"));
    assert_eq!((reply.status, reply.header("location")), (303, Some("/compare?run=a%20b&run=c")));
    let cookie =
        format!("boostfgl-{}={TOKEN}; HttpOnly; SameSite=Strict; Path=/", server.address.port());
    assert_eq!(reply.header("set-cookie"), Some(cookie.as_str()));
    let reply = server.get(&format!("//evil.example/?token={TOKEN}"));
    assert_eq!(reply.header("location"), Some("/evil.example/"), "it never leads to another site");
}

#[test]
fn an_address_that_other_machines_can_reach_needs_a_token() {
    let place = Place::new();
    for address in [([0, 0, 0, 0], 0), ([192, 0, 2, 1], 0)] {
        let error = Server::bind(&place.runs(), address.into(), None).unwrap_err();
        assert!(matches!(error, Error::Exposed { .. }), "{error}");
        assert!(error.advice().contains("token"));
    }
    let server = place.serve();
    let error = Server::bind(&place.runs(), server.address, None).unwrap_err();
    assert_eq!(
        error.to_string(),
        format!("{}: expected a free port, found one in use", server.address)
    );
    let error = Server::bind(&place.outside("nowhere"), server.address, None).unwrap_err();
    assert!(matches!(error, Error::Folder { .. }), "{error}");
}
