//! What the further processes of `processes.rs` do.

#![expect(clippy::expect_used, reason = "helpers of tests fail the test")]

use ambit_storage::address::{DEFAULT_TENANT, Space, ValueKey};
use ambit_storage::batch::{Batch, BatchCheck, BatchWrite, NewEntry, WriteOutcome};
use ambit_storage::directory::TrackRequest;
use ambit_storage::driver::{self, Driver, DriverOptions, FaultPoints};
use ambit_storage::operation::{Operation, OperationOutput};
use ambit_storage::{Json, Result, SessionIdentity};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};

/// What a worker does, and where.
#[derive(Clone, Serialize, Deserialize)]
pub struct Order {
    pub url: String,
    pub job: Job,
    /// The worker kills itself when a write comes to this point for the so-manyth time.
    pub dies_at: Option<(String, u64)>,
}

/// A worker says each thing that the store has acknowledged on a line of its own.
#[derive(Clone, Serialize, Deserialize)]
pub enum Job {
    /// Adds one to the number so many times.
    Increment(u64),
    /// Appends entries of these ids to one log; says `seq id`.
    Append(Vec<String>),
    /// Takes items of the list until it is empty; says each.
    Pop,
    /// Adds these items to the set, one by one.
    AddToSet(Vec<String>),
    /// Tracks sessions of these names, each with its first entry; says the name.
    Begin(Vec<String>),
    /// Writes so many batches, each to two spaces and every kind of thing; says the number.
    Write(u64),
    /// Takes the lease, says its epoch, waits for a line and writes under the epoch; says what came of it.
    Hold,
}

pub fn identity(chat: &str) -> SessionIdentity {
    let agent = SessionIdentity::builder("Agent");
    agent.chat_name(chat).build().expect("a proper name")
}

pub fn space(chat: &str) -> Space {
    Space::of(DEFAULT_TENANT, &identity(chat))
}

pub fn apply(key: &ValueKey, op: Operation) -> BatchWrite {
    BatchWrite::apply(key.clone(), op, None)
}

pub fn acquire(holder: &str) -> BatchWrite {
    BatchWrite::apply(
        space("s").lease(),
        Operation::Acquire {
            holder: holder.to_owned(),
        },
        Some(3_600_000),
    )
}

pub fn append(space: &Space, id: &str) -> BatchWrite {
    BatchWrite::append(
        space.log("items"),
        vec![NewEntry::new(id, Json::of(id).expect("text is JSON"))],
    )
}

pub fn track(chat: &str) -> BatchWrite {
    let identity = identity(chat);
    BatchWrite::Track(Box::new(TrackRequest {
        id: format!("row of {chat} by {}", std::process::id()),
        tenant: DEFAULT_TENANT.to_owned(),
        agent: identity.agent_name().to_owned(),
        base: identity.base(),
        identity,
        placement: vec!["main".to_owned()],
        created_by: None,
        team: None,
        labels: BTreeMap::new(),
    }))
}

/// Does what the environment orders; false where it orders nothing, as in the test itself.
pub fn obey() -> bool {
    let Some(order) = super::child::order::<Order>() else {
        return false;
    };
    let work = async {
        let options = DriverOptions {
            fault_points: order
                .dies_at
                .map_or_else(FaultPoints::default, |(point, times)| dies_at(point, times)),
            ..DriverOptions::default()
        };
        let driver = driver::open(&super::patience::patient(&order.url), options).await?;
        work(&*driver, order.job).await?;
        driver.close().await
    };
    if let Err(error) = super::stores::wait_for(work) {
        panic!("the worker failed: {error}");
    }
    true
}

fn dies_at(point: String, times: u64) -> FaultPoints {
    let left = AtomicU64::new(times);
    FaultPoints::new(move |reached| {
        if reached == point && left.fetch_sub(1, Ordering::SeqCst) == 1 {
            super::child::die();
        }
    })
}

async fn work(driver: &dyn Driver, job: Job) -> Result<()> {
    let here = space("s");
    let one = async |write| driver.commit(Batch::of([write])).await;
    match job {
        Job::Increment(times) => {
            for _ in 0..times {
                one(apply(&here.key("number"), Operation::Incr(1.into()))).await?;
            }
        }
        Job::Append(ids) => {
            for id in ids {
                let outcomes = driver
                    .commit(Batch::of([append(&here, &id), track("s")]))
                    .await?;
                if let WriteOutcome::Appended { seqs, .. } = &outcomes[0] {
                    println!("{} {id}", seqs[0]);
                }
            }
        }
        Job::Pop => {
            while let WriteOutcome::Applied {
                output: OperationOutput::Taken(Some(item)),
                ..
            } = &one(apply(&here.key("list"), Operation::Pop)).await?[0]
            {
                println!("{}", item.json());
            }
        }
        Job::AddToSet(items) => {
            for item in items {
                one(apply(
                    &here.key("set"),
                    Operation::AddToSet(vec![Json::of(&item)?]),
                ))
                .await?;
            }
        }
        Job::Begin(names) => {
            for name in names {
                let batch = Batch::of([append(&space(&name), "first"), track(&name)]);
                driver.commit(batch).await?;
                println!("{name}");
            }
        }
        Job::Write(times) => {
            for number in 1..=times {
                driver.commit(numbered(number)).await?;
                println!("{number}");
            }
        }
        Job::Hold => hold(driver).await?,
    }
    Ok(())
}

/// The batch that brings everything it touches from the number before to this one.
pub fn numbered(number: u64) -> Batch {
    let (here, there) = (space("s"), space("t"));
    let value = Json::stored(number.to_string());
    Batch::of([
        track("s"),
        append(&here, &number.to_string()),
        apply(&here.key("list"), Operation::Push(vec![value.clone()])),
        apply(&there.key("number"), Operation::Incr(1.into())),
        apply(&there.key("value"), Operation::Set(value.into())),
        append(&there, &number.to_string()),
    ])
}

async fn hold(driver: &dyn Driver) -> Result<()> {
    let outcomes = driver.commit(Batch::of([acquire("worker")])).await?;
    let WriteOutcome::Applied {
        output: OperationOutput::Epoch(epoch),
        ..
    } = outcomes[0]
    else {
        panic!("{outcomes:?} is no grant");
    };
    println!("{epoch}");
    let mut line = String::new();
    std::io::stdin().read_line(&mut line).expect("a line");
    let check = BatchCheck::lease(space("s").lease(), epoch);
    let late = Batch::of([append(&space("s"), "late")]).checking(check);
    match driver.commit(late).await {
        Ok(_) => println!("written"),
        Err(error) => println!("{error}"),
    }
    Ok(())
}
