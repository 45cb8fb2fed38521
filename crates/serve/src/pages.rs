//! The routes and their pages.

use crate::access::{self, Access};
use crate::events::{Broadcaster, PageUpdate, Poll, Topic};
use crate::follow::{self, Follower};
use crate::html::{self, Address, Text};
use crate::library::Library;
use crate::list;
use axum::Router;
use axum::extract::{Query, Request, State};
use axum::http::{HeaderMap, StatusCode, Uri, header};
use axum::middleware::{self, Next};
use axum::response::{Html, IntoResponse, Response};
use axum::routing::get;
use boostfgl_report::{Depth, page};
use std::sync::Arc;

/// The most runs side by side: more could not be distinguished, and might not fit into memory.
const MOST_COMPARED: usize = 32;

/// The state that all routes share.
#[derive(Clone, Debug)]
pub(crate) struct Site {
    library: Arc<Library>,
    updates: Broadcaster,
}

type Pairs = Query<Vec<(String, String)>>;

/// All pages over a library, behind the rules of access.
pub(crate) fn router(library: Library, access: Access) -> Router {
    let site = Site { library: Arc::new(library), updates: Broadcaster::new() };
    Router::new()
        .route("/", get(list_page))
        .route("/run/", get(run_page))
        .route("/run/{*name}", get(run_page))
        .route("/compare", get(compare_page))
        .route("/events/list", get(list_events))
        .route("/events/run/", get(run_events))
        .route("/events/run/{*name}", get(run_events))
        .route("/style.css", get(async || text("text/css; charset=utf-8", &[page::STYLE, STYLE])))
        .route("/hover.js", get(async || text("text/javascript; charset=utf-8", &[page::SCRIPT])))
        .route("/live.js", get(async || text("text/javascript; charset=utf-8", &[SCRIPT])))
        .fallback(async || not_found())
        .with_state(site)
        .layer(middleware::from_fn_with_state(access, guard))
}

const STYLE: &str = include_str!("serve.css");
const SCRIPT: &str = include_str!("live.js");

/// Refuses requests without access before any route, and adds the security headers to every
/// response.
async fn guard(State(access): State<Access>, request: Request, next: Next) -> Response {
    let mut response = match access.refusal(&request) {
        Some(refusal) => refusal,
        None => next.run(request).await,
    };
    access::add_security_headers(response.headers_mut());
    response
}

async fn list_page(State(site): State<Site>, Query(pairs): Pairs) -> Response {
    let wanted =
        pairs.into_iter().find(|(key, _)| key == "q").map_or_else(String::new, |(_, value)| value);
    render(move || Html(list::page(&site.library, &wanted)).into_response()).await
}

async fn run_page(State(site): State<Site>, uri: Uri) -> Response {
    let Some(name) = name(&uri, "/run/") else { return not_found() };
    render(move || {
        run(&site.library, &name)
            .or_else(|| comparison(&site.library, &name))
            .unwrap_or_else(not_found)
    })
    .await
}

/// A comparison as its report.
fn comparison(library: &Library, name: &str) -> Option<Response> {
    library.locate_comparison(name)?;
    let (title, main) = library.report(&[name.to_owned()])?;
    let shown = if name.is_empty() { "Comparison" } else { name };
    let heading = format!("<header><h1>{}</h1><p>{}</p></header>", Text(shown), Text(&title));
    Some(Html(html::page(shown, &(heading + &main))).into_response())
}

/// A finished run as its report, an unfinished one as its curves so far.
fn run(library: &Library, name: &str) -> Option<Response> {
    let path = library.locate(name)?;
    let files = library.files(&path);
    let view = library.view(name, Depth::Glance)?;
    let shown = if name.is_empty() { view.name.as_str() } else { name };
    let about = [view.called().as_str(), view.dataset().unwrap_or_default()].join(" on ");
    let about = about.strip_suffix(" on ").unwrap_or(&about);
    let heading = format!("<header><h1>{}</h1><p>{}</p></header>", Text(shown), Text(about));
    if view.summary.is_some() {
        let (_, main) = library.report(&[name.to_owned()])?;
        return Some(Html(html::page(shown, &(heading + &main))).into_response());
    }
    let section = follow::live_section(&library.view(name, Depth::Rounds)?, &files);
    let main = format!(
        "{heading}<div data-events=\"/events/run/{}\" data-mark=\"{}\">{section}</div>",
        Address(name),
        html::mark(&section)
    );
    Some(Html(html::page(shown, &main)).into_response())
}

async fn compare_page(State(site): State<Site>, Query(pairs): Pairs) -> Response {
    let mut names: Vec<String> = Vec::new();
    for (_, name) in pairs.into_iter().filter(|(key, _)| key == "run") {
        if !names.contains(&name) {
            names.push(name);
        }
    }
    if names.is_empty() || names.len() > MOST_COMPARED {
        let text = format!("Tick 2 to {MOST_COMPARED} runs in the list; found {}.", names.len());
        return (StatusCode::BAD_REQUEST, Html(html::notice("Which runs?", &text))).into_response();
    }
    render(move || {
        let Some((title, main)) = site.library.report(&names) else { return not_found() };
        let main = format!("<header><h1>Comparison</h1><p>{}</p></header>{main}", Text(&title));
        Html(html::page("Comparison", &main)).into_response()
    })
    .await
}

async fn list_events(
    State(site): State<Site>,
    Query(pairs): Pairs,
    headers: HeaderMap,
) -> Response {
    let library = Arc::clone(&site.library);
    let poll: Poll = Box::new(move || PageUpdate::part(list::rows(&library.list())));
    let mark = known_mark(pairs, &headers);
    site.updates.listen(Topic::List, mark, poll).unwrap_or_else(too_many)
}

async fn run_events(
    State(site): State<Site>,
    uri: Uri,
    Query(pairs): Pairs,
    headers: HeaderMap,
) -> Response {
    let Some(name) = name(&uri, "/events/run/") else { return not_found() };
    let library = Arc::clone(&site.library);
    // The name is untrusted: a topic is created only for a run that exists, so that requests cannot
    // fill the memory.
    if library.locate(&name).is_none() {
        return not_found();
    }
    let mut follower = Follower::new(library, name.clone());
    let poll: Poll = Box::new(move || follower.update());
    let mark = known_mark(pairs, &headers);
    site.updates.listen(Topic::Run(name), mark, poll).unwrap_or_else(too_many)
}

/// The mark of the content that a client has: of the last event before a reconnect, or of the page
/// that it loaded.
fn known_mark(pairs: Vec<(String, String)>, headers: &HeaderMap) -> String {
    if let Some(last) = headers.get("last-event-id").and_then(|id| id.to_str().ok()) {
        return last.to_owned();
    }
    let loaded = pairs.into_iter().find(|(key, _)| key == "have");
    loaded.map(|(_, mark)| mark).unwrap_or_default()
}

/// The path of a run from a URL. Percent-encoding is decoded exactly once, here.
fn name(uri: &Uri, prefix: &str) -> Option<String> {
    html::decoded(uri.path().strip_prefix(prefix)?)
}

/// Renders a page on another thread, so that other connections need not wait.
async fn render(page: impl FnOnce() -> Response + Send + 'static) -> Response {
    tokio::task::spawn_blocking(page).await.unwrap_or_else(|_| {
        let text = "Rendering this page failed; the other pages still work.";
        (StatusCode::INTERNAL_SERVER_ERROR, Html(html::notice("This page cannot be shown", text)))
            .into_response()
    })
}

fn text(kind: &'static str, parts: &[&str]) -> Response {
    ([(header::CONTENT_TYPE, kind)], parts.join("\n")).into_response()
}

fn not_found() -> Response {
    let page = html::notice("Not found", "There is no such page or run. The list shows all runs.");
    (StatusCode::NOT_FOUND, Html(page)).into_response()
}

fn too_many() -> Response {
    let page = html::notice("Too many open pages", "Close some of them; this one is not updated.");
    (StatusCode::SERVICE_UNAVAILABLE, [(header::RETRY_AFTER, "10")], Html(page)).into_response()
}
