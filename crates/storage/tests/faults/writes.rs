//! A write that fails, at every place where there is one: G23.

use crate::app::{AGENT, App, Notes, looks, say, spend};
use crate::reads::whole;
use crate::stores::{Store, wait_for};
use ambit_storage::conformance::FaultKind;
use ambit_storage::lease::OnBusy;
use ambit_storage::storage::Message;
use ambit_storage::{Context, LiveAgent, Result};
use futures::future::BoxFuture;

type Work = fn(LiveAgent) -> BoxFuture<'static, Result<()>>;

/// A write: what is staged first, and the call that makes it durable, which may be repeated.
struct Writing {
    name: &'static str,
    stage: Work,
    call: Work,
    /// Repeating the call repeats nothing, even where the first one was done and nobody heard of it.
    is_idempotent: bool,
}

macro_rules! writing {
    ($name:literal, $is_idempotent:literal, |$staged:ident| $stage:expr, |$called:ident| $call:expr) => {
        Writing {
            name: $name,
            stage: |$staged| Box::pin(async move { $stage.await.map(drop) }),
            call: |$called| Box::pin(async move { $call.await.map(drop) }),
            is_idempotent: $is_idempotent,
        }
    };
}

const WRITINGS: &[Writing] = &[
    writing!("save of appends", true, |agent| staged(&agent), |agent| {
        agent.context().save()
    }),
    writing!(
        "save of a large message",
        true,
        |agent| async { say(&agent, &"wide ".repeat(20_000)).await },
        |agent| agent.context().save()
    ),
    writing!(
        "save of a replaced view",
        true,
        |agent| async {
            agent
                .history()
                .replace_messages(vec![Message::user("all")])
                .await
        },
        |agent| agent.context().save()
    ),
    writing!(
        "save of fewer notes",
        true,
        |agent| async {
            agent
                .context()
                .storage::<Notes>()
                .await?
                .remove_item(|note| note == "note")
                .await
        },
        |agent| agent.context().save()
    ),
    writing!(
        "save of a clear",
        true,
        |agent| async { agent.context().clear().await },
        |agent| agent.context().save()
    ),
    writing!(
        "history.save",
        true,
        |agent| async { say(&agent, "one").await },
        |agent| async { agent.history().save().await }
    ),
    writing!("erase", true, |agent| nothing(&agent), |agent| async {
        let first = agent.history().archive(1, 1).await?;
        agent.history().erase(&[first[0].id.as_str()]).await
    }),
    writing!("restore", false, |agent| nothing(&agent), |agent| async {
        let shown = agent.history().overlay_id().await?;
        agent
            .history()
            .restore(shown.as_deref().unwrap_or_default())
            .await
    }),
    writing!("remove", true, |agent| nothing(&agent), |agent| agent
        .context()
        .remove()),
    writing!(
        "bulk clear",
        false,
        |agent| nothing(&agent),
        |agent| async { whole(&query(&agent).clear().await?) }
    ),
    writing!(
        "bulk remove",
        false,
        |agent| nothing(&agent),
        |agent| async { whole(&query(&agent).remove().await?) }
    ),
    writing!("memory.set", true, |agent| nothing(&agent), |agent| async {
        agent.context().memory()?.set("word", "new", None).await
    }),
    writing!(
        "memory.push",
        false,
        |agent| nothing(&agent),
        |agent| async { agent.context().memory()?.push("list", &[4]).await }
    ),
    writing!(
        "memory.incr",
        false,
        |agent| nothing(&agent),
        |agent| async { agent.context().memory()?.incr("number", 1.0).await }
    ),
    writing!("memory.del", true, |agent| nothing(&agent), |agent| async {
        agent.context().memory()?.del("*").await
    }),
    writing!(
        "begin_turn",
        false,
        |agent| nothing(&agent),
        |agent| async { agent.context().begin_turn(OnBusy::Reject).await }
    ),
    writing!(
        "end_turn",
        true,
        |agent| async { agent.context().begin_turn(OnBusy::Reject).await },
        |agent| async { agent.context().end_turn().await }
    ),
];

async fn nothing(_agent: &LiveAgent) -> Result<()> {
    Ok(())
}

async fn staged(agent: &LiveAgent) -> Result<()> {
    say(agent, "one").await?;
    say(agent, "two").await?;
    spend(agent)?;
    let notes = agent.context().storage::<Notes>().await?;
    notes.add("another".to_owned())
}

fn query(agent: &LiveAgent) -> ambit_storage::SessionQuery {
    Context::named(agent.context().ambit(), AGENT)
}

/// A furnished tenant in which something is staged, and whether that made it dirty.
async fn prepared(app: &App, tenant: &str, writing: &Writing) -> (LiveAgent, bool) {
    let agent = app.furnished(tenant).await;
    (writing.stage)(agent.clone()).await.expect(tenant);
    let is_dirty = agent.context().is_dirty();
    (agent, is_dirty)
}

/// Lets each write of a call fail in turn; the repeated call then leaves what an undisturbed one does.
async fn each_write(
    store: &'static Store,
    fault: FaultKind,
    writings: impl Iterator<Item = &Writing>,
) {
    let mut app = App::over(store).await;
    for writing in writings {
        app = app.renewed().await;
        let undisturbed = format!("{} undisturbed", writing.name);
        let (agent, _) = prepared(&app, &undisturbed, writing).await;
        let before = app.flaky.seen(FaultKind::Write);
        (writing.call)(agent.clone()).await.expect(writing.name);
        let writes = app.flaky.seen(FaultKind::Write) - before;
        assert!(writes > 0, "{} writes nothing", writing.name);
        let expected = looks(agent.context().ambit()).await.expect(&undisturbed);
        for failing in 0..writes {
            let place = format!("{}, write {} of {writes}", writing.name, failing + 1);
            let (agent, is_dirty) = prepared(&app, &place, writing).await;
            app.flaky.fail_after(failing, fault, 1);
            let error = (writing.call)(agent.clone()).await.expect_err(&place);
            assert!(
                error.to_string().contains("told to fail"),
                "{place}: {error}"
            );
            assert_eq!(agent.context().is_dirty(), is_dirty, "{place}");
            (writing.call)(agent.clone()).await.expect(&place);
            assert!(!agent.context().is_dirty(), "{place}");
            let found = looks(agent.context().ambit()).await.expect(&place);
            assert_eq!(found, expected, "{place}");
            // Whoever held a lease has given it back, so that the next turn starts at once.
            if writing.name != "begin_turn" {
                let next = agent.context().begin_turn(OnBusy::Reject).await;
                next.expect(&place);
                agent.context().end_turn().await.expect(&place);
            }
        }
    }
}

pub fn g023_a_failed_write_reaches_the_caller_and_is_done_once_when_repeated(
    store: &'static Store,
) {
    wait_for(async {
        each_write(store, FaultKind::Write, WRITINGS.iter()).await;
    });
}

pub fn g023_a_write_whose_answer_was_lost_is_done_once_when_repeated(store: &'static Store) {
    wait_for(async {
        let idempotent = WRITINGS.iter().filter(|writing| writing.is_idempotent);
        each_write(store, FaultKind::Answer, idempotent).await;
    });
}
