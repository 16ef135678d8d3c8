//! A read that fails, at every place where there is one: G20 to G22.

use crate::app::{AGENT, App, Notes, looks, open, say, space_holds, spend};
use crate::stores::{Store, wait_for};
use ambit_storage::address::Space;
use ambit_storage::conformance::FaultKind;
use ambit_storage::storage::{ChatHistoryStorage, Message, StorageState};
use ambit_storage::{BulkReport, Context, Error, LiveAgent, Result, Usage, UsageField};
use futures::future::BoxFuture;

/// Something that is done with an open session.
type Work = fn(LiveAgent) -> BoxFuture<'static, Result<()>>;

/// A row of a table of works: how it is called, and the calls it makes.
macro_rules! works {
    ($($name:literal: |$agent:ident| $work:expr;)*) => {
        &[$(($name, |$agent| Box::pin(async move { $work.await.map(drop) }))),*]
    };
}

/// What reads through a context.
const CONTEXT: &[(&str, Work)] = works! {
    "messages": |agent| agent.history().messages();
    "range": |agent| agent.history().range(0, 10);
    "tail": |agent| agent.history().tail(2);
    "last_message": |agent| agent.history().last_message();
    "count": |agent| agent.history().count();
    "state": |agent| agent.history().state();
    "archive": |agent| agent.history().archive(1, 10);
    "model_view": |agent| agent.history().model_view();
    "overlay_id": |agent| agent.history().overlay_id();
    "replace_messages": |agent| agent.history().replace_messages(vec![Message::user("all")]);
    "remove_message": |agent| agent.history().remove_message("no such id");
    "history.clear": |agent| agent.history().clear();
    "records": |agent| agent.context().usage().records();
    "context.read": |agent| agent.context().read();
    "context.clear": |agent| agent.context().clear();
    "notes.get": |agent| async { agent.context().storage::<Notes>().await?.get().await };
    "notes.set": |agent| async {
        agent.context().storage::<Notes>().await?.set(&["new".to_owned()]).await
    };
    "notes.remove_item": |agent| async {
        agent.context().storage::<Notes>().await?.remove_item(|note| note == "note").await
    };
    "notes.last": |agent| async { agent.context().storage::<Notes>().await?.last().await };
    "erase": |agent| async {
        let id = MESSAGE.to_owned();
        agent.history().erase(&[id.as_str()]).await
    };
    "amend": |agent| agent.history().amend("no such turn", |_| None);
    "restore": |agent| agent.history().restore("no such overlay");
};

/// An id that no message has: what is looked for everywhere is not found.
const MESSAGE: &str = "no such message";

/// What reads without a context's storages.
const QUERIES: &[(&str, Work)] = works! {
    "first": |agent| query(&agent).first();
    "last": |agent| query(&agent).last();
    "count": |agent| query(&agent).count();
    "count, filtered": |agent| query(&agent).filter(|_| true).count();
    "exists": |agent| query(&agent).exists();
    "is_empty": |agent| query(&agent).is_empty();
    "page": |agent| query(&agent).page(None, 2);
    "second page": |agent| async {
        let first = query(&agent).page(None, 2).await?;
        query(&agent).page(first.next.as_deref(), 2).await
    };
    "each": |agent| async { query(&agent).each(async |_| Ok(())).await };
    "map": |agent| async { query(&agent).map(async |_| Ok(())).await };
    "first_agent": |agent| async { query(&agent).first_agent().await };
    "each_agent": |agent| async { query(&agent).each_agent(async |_| Ok(())).await };
    "dry clear": |agent| async { whole(&query(&agent).dry_run().clear().await?) };
    "storage_keys": |agent| agent.storage_keys();
    "chat_keys": |agent| agent.chat_keys();
    "usage_identities": |agent| agent.usage_identities();
    "from_identity": |agent| async {
        let definition = agent.context().ambit().agent(AGENT)?;
        definition.from_identity(agent.context().identity()).await
    };
    "aggregate": |agent| async { agent.usage().aggregate().await };
    "aggregate from an instant": |agent| async {
        Usage::all(agent.context().ambit()).from_instant(1).aggregate().await
    };
    "group_by": |agent| async {
        Usage::all(agent.context().ambit()).group_by(UsageField::Chat).await
    };
    "memory.get": |agent| async { agent.context().memory()?.get("word").await };
    "memory.has": |agent| async { agent.context().memory()?.has("word").await };
    "memory.keys": |agent| async { agent.context().memory()?.keys(None).await };
    "memory.len": |agent| async { agent.context().memory()?.len().await };
    "memory.is_empty": |agent| async { agent.context().memory()?.is_empty().await };
    "memory.array_len": |agent| async { agent.context().memory()?.array_len("list").await };
    "memory.array_get": |agent| async { agent.context().memory()?.array_get("list", 0).await };
    "memory.array_all": |agent| async { agent.context().memory()?.array_all("list").await };
};

fn query(agent: &LiveAgent) -> ambit_storage::SessionQuery {
    Context::named(agent.context().ambit(), AGENT)
}

/// A report without failures, or the first one as an error.
pub fn whole(report: &BulkReport) -> Result<()> {
    match report.failed.first() {
        None => Ok(()),
        Some((identity, error)) => Err(Error::Partial {
            done: Vec::new(),
            failed: vec![(identity.key(), error.to_string())],
        }),
    }
}

/// How many reads a work does where none fails.
async fn reads(app: &App, name: &str, work: Work) -> u64 {
    let agent = app.furnished(&undisturbed(name)).await;
    // A store makes its secret for cursors at the first one it gives out, and from then on reads it.
    query(&agent).page(None, 1).await.expect("a cursor");
    let before = app.flaky.seen(FaultKind::Read);
    // Some works look for what is not there; they have read all the same.
    let _ = work(agent).await;
    app.flaky.seen(FaultKind::Read) - before
}

fn undisturbed(name: &str) -> String {
    format!("{name} undisturbed")
}

/// Does each work once for each of its reads, with that read failing, in sessions opened anew.
async fn each_read(
    store: &'static Store,
    works: &[(&str, Work)],
    look: impl AsyncFn(&App, &str, LiveAgent, &str),
) {
    let mut app = App::over(store).await;
    for (name, work) in works {
        app = app.renewed().await;
        let reads = reads(&app, name, *work).await;
        assert!(reads > 0, "{name} reads nothing");
        let tenant = undisturbed(name);
        for failing in 0..reads {
            let agent = open(&app.tenant(&tenant), "a").await.expect(name);
            let before = app.holds(&tenant).await;
            app.flaky.fail_after(failing, FaultKind::Read, 1);
            let error = work(agent.clone()).await;
            let place = format!("{name}, read {} of {reads}", failing + 1);
            let error = error.expect_err(&place).to_string();
            assert!(error.contains("told to fail: Read"), "{place}: {error}");
            assert_eq!(app.holds(&tenant).await, before, "{place}");
            look(&app, &place, agent, &tenant).await;
        }
    }
}

pub fn g020_a_failed_read_fails_the_operation_and_changes_nothing(store: &'static Store) {
    wait_for(async {
        each_read(store, QUERIES, async |_, place, agent, _| {
            // The same question is answered as soon as the store does.
            let again = query(&agent).count().await;
            assert_eq!(again.expect(place), 5, "{place}");
        })
        .await;
    });
}

pub fn g021_after_a_failed_read_a_context_writes_nothing_until_one_succeeds(store: &'static Store) {
    wait_for(async {
        each_read(store, CONTEXT, async |app, place, agent, tenant| {
            let (context, before) = (agent.context(), app.holds(tenant).await);
            agent.context().discard();
            spend(&agent).expect("staging reads nothing");
            let refused = [
                ("save", context.save().await.map(drop)),
                ("history.save", agent.history().save().await.map(drop)),
                ("remove", context.remove().await.map(drop)),
                ("erase", agent.history().erase(&["x"]).await.map(drop)),
                ("restore", agent.history().restore("x").await),
            ];
            for (write, refused) in refused {
                let error = refused.expect_err(place).to_string();
                let says_why = error.contains("its last read failed");
                assert!(says_why, "{write} after {place}: {error}");
            }
            assert_eq!(app.holds(tenant).await, before, "{place}");
            assert!(context.is_dirty(), "{place}");
            context.read().await.expect(place);
            let report = context.save().await.expect(place);
            assert_eq!(report.written, ["usage_Agent_a"], "{place}");
            assert_ne!(app.holds(tenant).await, before, "{place}");
        })
        .await;
    });
}

/// Erasures, which look before they write; session by session.
const ERASURES: &[(&str, Work)] = works! {
    "save of a clear": |agent| async {
        agent.context().read().await?;
        agent.context().clear().await?;
        agent.context().save().await
    };
    "remove": |agent| async {
        agent.context().read().await?;
        agent.context().remove().await
    };
    "bulk clear": |agent| async { whole(&query(&agent).clear().await?) };
    "bulk remove": |agent| async { whole(&query(&agent).remove().await?) };
    "bulk remove of histories": |agent| async {
        whole(&query(&agent).for_storage::<ChatHistoryStorage>().remove().await?)
    };
};

pub fn g020_a_failed_read_of_an_erasure_keeps_what_it_reports(store: &'static Store) {
    wait_for(async {
        let mut app = App::over(store).await;
        for (name, work) in ERASURES {
            app = app.renewed().await;
            let reads = reads(&app, name, *work).await;
            let expected = looks(&app.tenant(&undisturbed(name))).await.unwrap();
            for failing in 0..reads {
                let place = format!("{name}, read {} of {reads}", failing + 1);
                let tenant = place.as_str();
                let agent = app.furnished(tenant).await;
                let before = kept(&app, tenant).await;
                app.flaky.fail_after(failing, FaultKind::Read, 1);
                let error = work(agent.clone()).await.expect_err(tenant);
                if !matches!(error, Error::Partial { .. }) && !name.starts_with("remove") {
                    assert_eq!(kept(&app, tenant).await, before, "{place}: {error}");
                }
                work(agent).await.expect(tenant);
                let ambit = app.tenant(tenant);
                assert_eq!(looks(&ambit).await.unwrap(), expected, "{place}");
            }
        }
    });
}

/// The contents of the histories: an erasure that failed as a whole has touched none.
async fn kept(app: &App, tenant: &str) -> Vec<String> {
    let mut kept = Vec::new();
    for chat in ["a", "b"] {
        let agent = open(&app.tenant(tenant), chat).await.unwrap();
        let space = Space::of(tenant, agent.history().identity());
        kept.extend(space_holds(&*app.store, &space).await);
    }
    kept
}

pub fn g022_absent_empty_and_failed_are_three_answers(store: &'static Store) {
    wait_for(async {
        let app = App::over(store).await;
        let ambit = app.tenant("t");
        let state = async |expected: StorageState| {
            // Each look is a session of its own: what is stored is read, and nothing remembered.
            let agent = open(&ambit, "a").await.unwrap();
            let history = agent.history();
            assert_eq!(history.state().await.unwrap(), expected);
            app.flaky.fail(FaultKind::Read, 2);
            let failed = [
                history.state().await.is_err(),
                history.messages().await.is_err(),
            ];
            assert_eq!(failed, [true, true], "where it is {expected:?}");
        };
        let agent = open(&ambit, "a").await.unwrap();
        state(StorageState::Absent).await;
        say(&agent, "hello").await.unwrap();
        agent.context().save().await.unwrap();
        state(StorageState::Live).await;
        agent.clear().await.unwrap();
        state(StorageState::Empty).await;
        agent.context().remove().await.unwrap();
        state(StorageState::Absent).await;
        drop(agent);
        app.store.close().await.unwrap();
        if store.is_shared {
            let again = App::at(app.fresh, store).await;
            let agent = open(&again.tenant("t"), "a").await.unwrap();
            assert_eq!(agent.history().state().await.unwrap(), StorageState::Absent);
        }
    });
}
