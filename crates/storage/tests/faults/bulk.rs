//! Bulk operations that are killed half-way or meet what they cannot erase: G34.

use crate::app::{AGENT, App, looks, open, say, space_holds};
use crate::child::Worker;
use crate::orders::{Job, Order};
use crate::stores::{Store, wait_for};
use ambit_storage::address::{DEFAULT_TENANT, Space};
use ambit_storage::conformance::DriverFixture;
use ambit_storage::lease::{LEASE_LIFE, OnBusy};
use ambit_storage::{Ambit, BulkReport, Context, Error, LiveAgent, Result, SessionIdentity};

async fn erase(ambit: &Ambit, removes: bool) -> Result<BulkReport> {
    let all = Context::named(ambit, AGENT);
    if removes {
        all.remove().await
    } else {
        all.clear().await
    }
}

/// What a tenant's sessions look like, and what their leases have left.
#[derive(Debug, PartialEq, Eq)]
struct TenantState {
    looks: String,
    leases: Vec<String>,
}

async fn state(app: &App, tenant: &str) -> TenantState {
    let ambit = app.tenant(tenant);
    let mut leases = Vec::new();
    for chat in ["a", "b"] {
        let agent = open(&ambit, chat).await.unwrap();
        for scope in ["chatHistory", "usage", "notes", "memory"] {
            let identity = agent.context().identity().with_scope(scope).unwrap();
            let lease = Space::of(tenant, &identity).lease();
            leases.extend(space_holds(&*app.store, &lease.space).await);
        }
    }
    TenantState {
        looks: looks(&ambit).await.unwrap(),
        leases,
    }
}

pub fn g034_a_killed_bulk_operation_ends_like_an_undisturbed_one_when_repeated(
    store: &'static Store,
) {
    wait_for(async {
        let mut app = App::over(store).await;
        for removes in [false, true] {
            let undisturbed = format!("removes: {removes}, undisturbed");
            app.furnished(&undisturbed).await;
            let ambit = app.tenant(&undisturbed);
            let report = erase(&ambit, removes).await.unwrap();
            assert_eq!(report.failed, []);
            let expected = state(&app, &undisturbed).await;
            let steps = (report.done.len() + report.unchanged.len()) as u64;
            assert!(steps >= 4, "{steps} steps are few to be killed between");
            let step = (1..=steps).map(|times| ("bulk.step", times));
            let erased = (1..steps).map(|times| ("removal.erased", times));
            // Within a write too: of each session, the first acquires the lease and the second erases.
            let points = store.fault_points.iter();
            let within = points.flat_map(|point| [(*point, 2), (*point, 3)]);
            for (point, times) in step.chain(erased).chain(within) {
                let erasure = KilledErasure {
                    removes,
                    point,
                    times,
                };
                app = app.renewed().await;
                killed_and_repeated(&app, &erasure, &expected).await;
            }
        }
    });
}

/// A bulk operation in a process that dies at the point, when it is reached for that time.
struct KilledErasure<'a> {
    removes: bool,
    point: &'a str,
    times: u64,
}

async fn killed_and_repeated(app: &App, erasure: &KilledErasure<'_>, expected: &TenantState) {
    let KilledErasure {
        removes,
        point,
        times,
    } = *erasure;
    let tenant = format!("removes: {removes}, killed at {point} {times}");
    app.furnished(&tenant).await;
    let job = Job::Erase {
        tenant: tenant.clone(),
        removes,
    };
    let mut worker = Worker::start(&Order {
        dies_at: Some((Some(point.to_owned()), times)),
        ..Order::new(&app.fresh.place.url, job)
    });
    assert_eq!(worker.rest(), Vec::<String>::new(), "{tenant}");
    assert!(!worker.ended_well(), "{tenant}: it was never reached");
    // A lease that the dead process held ends by itself.
    app.fresh.clock().advance(LEASE_LIFE);
    let report = erase(&app.tenant(&tenant), removes).await.unwrap();
    assert_eq!(report.failed, [], "{tenant}");
    assert_eq!(&state(app, &tenant).await, expected, "{tenant}");
}

pub fn g034_a_bulk_report_names_each_identity_that_failed(store: &'static Store) {
    wait_for(async {
        let app = App::over(store).await;
        let ambit = app.tenant(DEFAULT_TENANT);
        for removes in [false, true] {
            let busy = busy(&ambit).await;
            let report = erase(&ambit, removes).await.unwrap();
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
                    .all(|(_, error)| matches!(error, Error::Busy { .. })),
                "{:?}",
                report.failed
            );
            for agent in &busy {
                // What failed is as it was, and still tracked.
                assert_eq!(agent.history().count().await.unwrap(), 1);
                agent.context().end_turn().await.unwrap();
            }
            let again = erase(&ambit, removes).await.unwrap();
            assert_eq!(again.failed, []);
            assert_eq!(again.done, expected);
        }
    });
}

/// Five sessions; turns are running in two of them.
async fn busy(ambit: &Ambit) -> Vec<LiveAgent> {
    let mut busy = Vec::new();
    for number in 0..5 {
        let agent = open(ambit, &format!("chat {number}")).await.unwrap();
        say(&agent, "hello").await.unwrap();
        agent.context().save().await.unwrap();
        if number % 2 == 1 {
            agent.context().begin_turn(OnBusy::Reject).await.unwrap();
            busy.push(agent);
        }
    }
    busy
}
