//! Bulk operations that are killed half-way or meet what they cannot erase: G34.

use crate::app::{AGENT, App, looks, open, say, space_holds};
use crate::child::Worker;
use crate::orders::{Job, Order};
use crate::stores::{Store, wait_for};
use ambit_storage::address::{DEFAULT_TENANT, Space};
use ambit_storage::lease::OnBusy;
use ambit_storage::{BulkReport, Context, Result, SessionIdentity};

async fn erase(app: &App, removes: bool) -> Result<BulkReport> {
    let ambit = app.tenant(DEFAULT_TENANT);
    let all = Context::named(&ambit, AGENT);
    if removes {
        all.remove().await
    } else {
        all.clear().await
    }
}

/// What the tenant's sessions look like, and what their leases have left.
async fn state(app: &App) -> (String, Vec<String>) {
    let ambit = app.tenant(DEFAULT_TENANT);
    let mut leases = Vec::new();
    for chat in ["a", "b"] {
        for scope in ["chatHistory", "usage", "notes", "memory"] {
            let base = open(&ambit, chat)
                .await
                .unwrap()
                .context()
                .identity()
                .clone();
            let space = Space::of(DEFAULT_TENANT, &base.with_scope(scope).unwrap());
            leases.extend(space_holds(&*app.store, &space.lease().space).await);
        }
    }
    (looks(&ambit).await.unwrap(), leases)
}

pub fn g034_a_killed_bulk_operation_ends_like_an_undisturbed_one_when_repeated(
    store: &'static Store,
) {
    for removes in [false, true] {
        let (expected, steps) = wait_for(async {
            let app = App::over(store).await;
            app.furnished(DEFAULT_TENANT).await;
            let report = erase(&app, removes).await.unwrap();
            assert_eq!(report.failed, []);
            (
                state(&app).await,
                report.done.len() + report.unchanged.len(),
            )
        });
        assert!(
            steps >= 4,
            "{steps} steps are not enough to be killed between"
        );
        let steps = steps as u64;
        let step = (1..=steps).map(|times| ("bulk.step", times));
        let erased = (1..=steps - 1).map(|times| ("removal.erased", times));
        for (point, times) in step.chain(erased) {
            killed_and_repeated(store, removes, (point, times), &expected);
        }
    }
}

fn killed_and_repeated(
    store: &'static Store,
    removes: bool,
    (point, times): (&str, u64),
    expected: &(String, Vec<String>),
) {
    let place = format!("removes: {removes}, killed at {point} {times}");
    let fresh = store.fresh();
    let order = Order {
        dies_at: Some((Some(point.to_owned()), times)),
        ..Order::new(&fresh.place.url, Job::Erase { removes })
    };
    wait_for(async {
        let app = App::at(fresh, store).await;
        app.furnished(DEFAULT_TENANT).await;
        let mut worker = Worker::start(&order);
        assert_eq!(worker.rest(), Vec::<String>::new(), "{place}");
        assert!(!worker.ended_well(), "{place} was never reached");
        let report = erase(&app, removes).await.unwrap();
        assert_eq!(report.failed, [], "{place}");
        assert_eq!(&state(&app).await, expected, "{place}");
    });
}

pub fn g034_a_bulk_report_names_each_identity_that_failed(store: &'static Store) {
    wait_for(async {
        let app = App::over(store).await;
        for removes in [false, true] {
            let busy = busy(&app).await;
            let report = erase(&app, removes).await.unwrap();
            let failed: Vec<&SessionIdentity> =
                report.failed.iter().map(|(identity, _)| identity).collect();
            let expected: Vec<_> = busy
                .iter()
                .map(|agent| agent.history().identity().clone())
                .collect();
            assert_eq!(failed, expected.iter().collect::<Vec<_>>());
            assert!(
                report
                    .failed
                    .iter()
                    .all(|(_, error)| error.contains("busy")),
                "{:?}",
                report.failed
            );
            for agent in &busy {
                // What failed is as it was, and still tracked.
                assert_eq!(agent.history().count().await.unwrap(), 1);
                agent.context().end_turn().await.unwrap();
            }
            let again = erase(&app, removes).await.unwrap();
            assert_eq!(again.failed, []);
            assert_eq!(again.done, expected);
        }
    });
}

/// Five sessions; turns are running in two of them.
async fn busy(app: &App) -> Vec<ambit_storage::LiveAgent> {
    let ambit = app.tenant(DEFAULT_TENANT);
    let mut busy = Vec::new();
    for number in 0..5 {
        let agent = open(&ambit, &format!("chat {number}")).await.unwrap();
        say(&agent, "hello").await.unwrap();
        agent.context().save().await.unwrap();
        if number % 2 == 1 {
            agent.context().begin_turn(OnBusy::Reject).await.unwrap();
            busy.push(agent);
        }
    }
    busy
}
