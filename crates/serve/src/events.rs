//! News for open pages, as server-sent events.
//!
//! One task per thing that somebody looks at asks for its state and keeps the latest answer; every
//! connection takes that answer when its client has room for it. So ten pages on one run cost no
//! more than one, and a client that does not read misses what came in between instead of making it
//! pile up.

use crate::html;
use axum::response::sse::{Event, KeepAlive, Sse};
use axum::response::{IntoResponse, Response};
use futures_util::stream;
use std::collections::HashMap;
use std::convert::Infallible;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, watch};

/// Most connections that wait for news at the same time.
pub(crate) const MOST_LISTENERS: usize = 64;

/// What can be looked at.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Topic {
    List,
    Run(String),
}

impl Topic {
    /// How long to wait between two looks.
    fn pause(&self) -> Duration {
        match self {
            Self::List => Duration::from_secs(1),
            Self::Run(_) => Duration::from_millis(500),
        }
    }
}

/// How something stands.
#[derive(Clone, Debug)]
pub(crate) struct News {
    kind: Kind,
    /// The same for the same content.
    mark: String,
    html: Arc<str>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    /// Nobody has looked yet.
    None,
    /// A new piece of the page.
    Part,
    /// The run is finished: its report can be loaded.
    End,
    /// The run is no longer there.
    Gone,
}

impl News {
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
            // An event without data is none to a browser.
            Kind::None | Kind::Part if self.html.is_empty() => event.event("part").data(" "),
            Kind::None | Kind::Part => event.event("part").data(&*self.html),
        }
    }
}

/// Asks how something stands. It may read files: it never runs on the thread of the connections.
pub(crate) type Look = Box<dyn FnMut() -> News + Send>;

type Feeds = HashMap<Topic, watch::Sender<News>>;

/// Everything that somebody looks at.
#[derive(Clone, Debug)]
pub(crate) struct Newsroom {
    room: Arc<Semaphore>,
    feeds: Arc<Mutex<Feeds>>,
}

impl Newsroom {
    pub(crate) fn new() -> Self {
        Self { room: Arc::new(Semaphore::new(MOST_LISTENERS)), feeds: Arc::default() }
    }

    /// A stream of news on a topic for a client that has the piece with mark `have`; nothing if
    /// there are too many clients already.
    pub(crate) fn listen(
        &self,
        topic: Topic,
        have: String,
        look: impl FnOnce() -> Look,
    ) -> Option<Response> {
        let place = Arc::clone(&self.room).try_acquire_owned().ok()?;
        let news = self.subscribe(topic, look);
        let listener = Listener { news, have, _place: place };
        let events = stream::unfold(Some(listener), |listener| async { listener?.next().await });
        // A comment now and then lets both sides notice when the other has gone.
        let alive = KeepAlive::new().interval(Duration::from_secs(15));
        Some(Sse::new(events).keep_alive(alive).into_response())
    }

    fn subscribe(&self, topic: Topic, look: impl FnOnce() -> Look) -> watch::Receiver<News> {
        let mut feeds = self.feeds();
        if let Some(feed) = feeds.get(&topic) {
            return feed.subscribe();
        }
        let (feed, news) = watch::channel(News::none());
        feeds.insert(topic.clone(), feed.clone());
        drop(feeds);
        tokio::spawn(self.clone().feed(topic, feed, look()));
        news
    }

    /// Looks again and again until nobody listens.
    async fn feed(self, topic: Topic, feed: watch::Sender<News>, mut look: Look) {
        loop {
            let start = Instant::now();
            let looked = tokio::task::spawn_blocking(move || {
                let news = look();
                (look, news)
            });
            let Ok((again, news)) = looked.await else {
                // Clients notice the end of the stream and ask again.
                self.feeds().remove(&topic);
                return;
            };
            look = again;
            feed.send_if_modified(|old| {
                let differs = old.mark != news.mark;
                if differs {
                    *old = news;
                }
                differs
            });
            // What takes long to draw is drawn less often, so that looking leaves most of a core to
            // the run.
            tokio::time::sleep(topic.pause().max(4 * start.elapsed())).await;
            // Under the lock that new listeners take: nobody comes in between.
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
    news: watch::Receiver<News>,
    /// The mark of the last piece the client got.
    have: String,
    _place: OwnedSemaphorePermit,
}

impl Listener {
    /// The next event, and the listener if there may be more.
    async fn next(mut self) -> Option<(Result<Event, Infallible>, Option<Self>)> {
        loop {
            let news = self.news.borrow_and_update().clone();
            if news.kind != Kind::None && news.mark != self.have {
                self.have.clone_from(&news.mark);
                let more = (news.kind == Kind::Part).then_some(self);
                return Some((Ok(news.event()), more));
            }
            self.news.changed().await.ok()?;
        }
    }
}
