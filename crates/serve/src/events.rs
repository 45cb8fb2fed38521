//! Updates of open pages, as server-sent events.
//!
//! One task per topic polls its state and publishes the latest update; every connection sends that
//! update when its client is ready to receive. Ten pages on one run cost no more than one. A slow
//! client skips updates, so they do not accumulate.

use crate::html;
use axum::response::sse::{Event, KeepAlive, Sse};
use axum::response::{IntoResponse, Response};
use futures_util::stream;
use std::collections::HashMap;
use std::convert::Infallible;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, watch};

/// The most connections that may wait for updates at the same time.
pub(crate) const MOST_LISTENERS: usize = 64;

/// The subject of an update.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Topic {
    List,
    Run(String),
}

impl Topic {
    /// The pause between two polls.
    fn pause(&self) -> Duration {
        match self {
            Self::List => Duration::from_secs(1),
            Self::Run(_) => Duration::from_millis(500),
        }
    }
}

/// The state of a topic, as sent to pages.
#[derive(Clone, Debug)]
pub(crate) struct PageUpdate {
    kind: Kind,
    /// A hash of the content.
    mark: String,
    html: Arc<str>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    /// Not polled yet.
    None,
    /// A new piece of the page.
    Part,
    /// The run is finished: its report can be loaded.
    End,
    /// The run is no longer there.
    Gone,
}

impl PageUpdate {
    pub(crate) fn part(html: String) -> Self {
        Self { kind: Kind::Part, mark: html::mark(&html), html: html.into() }
    }

    pub(crate) fn end() -> Self {
        Self { kind: Kind::End, mark: "end".to_owned(), html: Arc::default() }
    }

    pub(crate) fn gone() -> Self {
        Self { kind: Kind::Gone, mark: "gone".to_owned(), html: Arc::default() }
    }

    fn none() -> Self {
        Self { kind: Kind::None, mark: String::new(), html: Arc::default() }
    }

    fn event(&self) -> Event {
        let event = Event::default().id(&self.mark);
        match self.kind {
            Kind::End => event.event("end").data("finished"),
            Kind::Gone => event.event("gone").data("gone"),
            // Browsers ignore an event without data.
            Kind::None | Kind::Part if self.html.is_empty() => event.event("part").data(" "),
            Kind::None | Kind::Part => event.event("part").data(&*self.html),
        }
    }
}

/// Polls the state of a topic. It may read files, so it never runs on the thread of the
/// connections.
pub(crate) type Poll = Box<dyn FnMut() -> PageUpdate + Send>;

type Feeds = HashMap<Topic, watch::Sender<PageUpdate>>;

/// The topics of all open pages.
#[derive(Clone, Debug)]
pub(crate) struct Broadcaster {
    permits: Arc<Semaphore>,
    feeds: Arc<Mutex<Feeds>>,
}

impl Broadcaster {
    pub(crate) fn new() -> Self {
        Self { permits: Arc::new(Semaphore::new(MOST_LISTENERS)), feeds: Arc::default() }
    }

    /// A stream of updates on a topic, for a client that has the content with mark `have`; `None`
    /// if there are too many clients.
    pub(crate) fn listen(&self, topic: Topic, have: String, poll: Poll) -> Option<Response> {
        let permit = Arc::clone(&self.permits).try_acquire_owned().ok()?;
        let updates = self.subscribe(topic, poll);
        let listener = Listener { updates, have, _permit: permit };
        let events = stream::unfold(Some(listener), |listener| async { listener?.next().await });
        // Regular comments let both sides detect a broken connection.
        let alive = KeepAlive::new().interval(Duration::from_secs(15));
        Some(Sse::new(events).keep_alive(alive).into_response())
    }

    fn subscribe(&self, topic: Topic, poll: Poll) -> watch::Receiver<PageUpdate> {
        let mut feeds = self.feeds();
        if let Some(feed) = feeds.get(&topic) {
            return feed.subscribe();
        }
        let (feed, updates) = watch::channel(PageUpdate::none());
        feeds.insert(topic.clone(), feed.clone());
        drop(feeds);
        tokio::spawn(self.clone().feed(topic, feed, poll));
        updates
    }

    /// Polls until there is no listener left.
    async fn feed(self, topic: Topic, feed: watch::Sender<PageUpdate>, mut poll: Poll) {
        loop {
            let start = Instant::now();
            let polled = tokio::task::spawn_blocking(move || {
                let update = poll();
                (poll, update)
            });
            let Ok((again, update)) = polled.await else {
                // Polling panicked. Browsers reconnect at the end of the stream, which starts a new
                // task.
                self.feeds().remove(&topic);
                return;
            };
            poll = again;
            feed.send_if_modified(|old| {
                let differs = old.mark != update.mark;
                if differs {
                    *old = update;
                }
                differs
            });
            // If rendering takes long, it is done less often: at least 80 % of a core is left to
            // the run.
            tokio::time::sleep(topic.pause().max(4 * start.elapsed())).await;
            // New listeners subscribe under this lock, so none can be missed here.
            let mut feeds = self.feeds();
            if feed.receiver_count() == 0 {
                feeds.remove(&topic);
                return;
            }
        }
    }

    fn feeds(&self) -> MutexGuard<'_, Feeds> {
        self.feeds.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// One connection.
struct Listener {
    updates: watch::Receiver<PageUpdate>,
    /// The mark of the last content that the client received.
    have: String,
    _permit: OwnedSemaphorePermit,
}

impl Listener {
    /// The next event, and the listener if there may be more.
    async fn next(mut self) -> Option<(Result<Event, Infallible>, Option<Self>)> {
        loop {
            let update = self.updates.borrow_and_update().clone();
            if update.kind != Kind::None && update.mark != self.have {
                self.have.clone_from(&update.mark);
                let more = (update.kind == Kind::Part).then_some(self);
                return Some((Ok(update.event()), more));
            }
            self.updates.changed().await.ok()?;
        }
    }
}
