//! Nothing depends on dropping a value: G25.

use crate::app::{AGENT, App, looks, open, say, spend};
use crate::stores::{Store, wait_for};
use ambit_storage::Context;
use ambit_storage::conformance::FaultKind;
use std::fmt;
use std::sync::{Arc, Mutex};
use tracing::field::{Field, Visit};
use tracing::span;

pub fn g025_leaked_agents_lose_nothing_that_was_committed(store: &'static Store) {
    wait_for(async {
        let app = App::over(store).await;
        drop(app.furnished("dropped").await);
        let leaked = app.furnished("leaked").await;
        for number in 0..20 {
            let agent = open(leaked.context().ambit(), &format!("leak {number}")).await;
            let agent = agent.unwrap();
            say(&agent, "kept").await.unwrap();
            agent.context().save().await.unwrap();
            say(&agent, "only staged").await.unwrap();
            std::mem::forget(agent);
        }
        let ambit = leaked.context().ambit().clone();
        std::mem::forget(leaked);
        for number in 0..20 {
            let agent = open(&ambit, &format!("leak {number}")).await.unwrap();
            let messages = agent.history().messages().await.unwrap();
            let texts: Vec<String> = messages.iter().map(|message| message.text()).collect();
            assert_eq!(texts, ["kept"]);
        }
        let one = Context::named(&ambit, AGENT).for_chat("a").count().await;
        let other = Context::named(app.tenant("dropped"), AGENT).for_chat("a");
        assert_eq!(one.unwrap(), other.count().await.unwrap());
    });
}

pub fn g025_opening_counting_and_listing_write_nothing(store: &'static Store) {
    wait_for(async {
        let app = App::over(store).await;
        let agent = app.furnished("t").await;
        let ambit = agent.context().ambit();
        let (before, writes) = (app.holds("t").await, app.flaky.seen(FaultKind::Write));
        for chat in ["a", "b", "never written"] {
            let opened = open(ambit, chat).await.unwrap();
            opened.context().read().await.unwrap();
            opened.history().count().await.unwrap();
            opened.context().save().await.unwrap();
            opened.storage_keys().await.unwrap();
        }
        ambit.agent(AGENT).unwrap().make().await.unwrap();
        let query = Context::named(ambit, AGENT);
        assert_eq!(query.count().await.unwrap(), 5);
        assert_eq!(query.page(None, 100).await.unwrap().items.len(), 5);
        query.first_agent().await.unwrap();
        looks(ambit).await.unwrap();
        assert_eq!(app.flaky.seen(FaultKind::Write), writes);
        assert_eq!(app.holds("t").await, before);
    });
}

pub fn g025_a_dropped_dirty_context_writes_nothing_and_logs_its_key(store: &'static Store) {
    wait_for(async {
        let app = App::over(store).await;
        let agent = app.furnished("t").await;
        let (before, writes) = (app.holds("t").await, app.flaky.seen(FaultKind::Write));
        say(&agent, "only staged").await.unwrap();
        spend(&agent).unwrap();
        let log = Log::new();
        tracing::subscriber::with_default(log.clone(), || drop(agent));
        let clean = open(&app.tenant("t"), "b").await.unwrap();
        tracing::subscriber::with_default(log.clone(), || drop(clean));
        let warning = "WARN message=a context with staged changes was dropped; they are lost \
                       session.key=\"Agent_a\"";
        assert_eq!(log.lines(), [warning]);
        assert_eq!(app.flaky.seen(FaultKind::Write), writes);
        assert_eq!(app.holds("t").await, before);
    });
}

pub fn a_chat_s_name_makes_no_line_and_no_field_of_the_log(store: &'static Store) {
    wait_for(async {
        let app = App::over(store).await;
        let name = "a\nERROR request.id=\"r1\"";
        let agent = open(&app.tenant("t"), name).await.unwrap();
        say(&agent, "only staged").await.unwrap();
        let log = Log::new();
        tracing::subscriber::with_default(log.clone(), || drop(agent));
        let line = log.lines().concat();
        let key = format!("Agent_{name}");
        let is_quoted = line.ends_with(&format!(" session.key={key:?}"));
        assert!(is_quoted && !line.contains('\n'), "{line}");
    });
}

/// Listens to all that no case listens to. Events that nobody listened to when they first came, in whatever case that was, would
/// be left out later too.
pub fn listen_to_all() {
    tracing::subscriber::set_global_default(Log(None)).unwrap();
}

/// Wants to be told of every event, and keeps each as a line where it has lines.
#[derive(Clone)]
struct Log(Option<Arc<Mutex<Vec<String>>>>);

impl Log {
    /// One with lines.
    fn new() -> Self {
        Self(Some(Arc::default()))
    }

    fn lines(&self) -> Vec<String> {
        let lines = self.0.as_ref().unwrap();
        lines.lock().unwrap().clone()
    }
}

impl tracing::Subscriber for Log {
    fn enabled(&self, _: &tracing::Metadata<'_>) -> bool {
        true
    }

    fn new_span(&self, _: &span::Attributes<'_>) -> span::Id {
        span::Id::from_u64(1)
    }

    fn record(&self, _: &span::Id, _: &span::Record<'_>) {}

    fn record_follows_from(&self, _: &span::Id, _: &span::Id) {}

    fn event(&self, event: &tracing::Event<'_>) {
        let Some(lines) = &self.0 else {
            return;
        };
        let mut line = Line(event.metadata().level().to_string());
        event.record(&mut line);
        lines.lock().unwrap().push(line.0);
    }

    fn enter(&self, _: &span::Id) {}

    fn exit(&self, _: &span::Id) {}
}

struct Line(String);

impl Visit for Line {
    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        self.0.push_str(&format!(" {}={value:?}", field.name()));
    }
}
