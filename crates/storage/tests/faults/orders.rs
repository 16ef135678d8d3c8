//! What further processes of these tests do: a node of its own, or a writer above a disk that fails.

use crate::app::{AGENT, Notes, Plain, open, say, spend};
use crate::stores::wait_for;
use crate::{child, patience};
use ambit_storage::driver::{self, Driver, DriverOptions, Durability, FaultPoints};
use ambit_storage::lease::{LeaseEnd, OnBusy};
use ambit_storage::{Ambit, Caller, Context, Error, Result, Stores};
use serde::{Deserialize, Serialize};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// What a process does, and on which stores.
#[derive(Clone, Serialize, Deserialize)]
pub struct Order {
    /// The store of the index, and of all the rest if there is no other.
    pub url: String,
    /// The store of the data, where it is another one.
    pub data: Option<String>,
    pub job: Job,
    /// It kills itself when it comes to this point, or to any, for the so-manyth time.
    pub dies_at: Option<(Option<String>, u64)>,
    /// Every commit is synced.
    pub is_synced: bool,
}

#[derive(Clone, Serialize, Deserialize)]
pub enum Job {
    /// Runs turns of two messages each in a chat; says `done` or `busy` and the turn's name.
    Turns {
        chat: String,
        names: Vec<String>,
        waits: bool,
    },
    /// Begins a turn, says `held`, and waits to be killed.
    Hold,
    /// Begins a turn, keeps a message, says `held`; ends the turn when it is interrupted.
    Yield,
    /// Opens sessions of these names and saves a message in each; says the name.
    Open(Vec<String>),
    /// Saves a session's first message, usage and note in one go.
    First,
    /// Clears or removes all sessions of a tenant.
    Erase { tenant: String, removes: bool },
    /// Writes to a disk; see `power.rs`.
    Write(crate::power::Writing),
    /// Does what it is told line by line; see `disk.rs`.
    Serve,
}

impl Order {
    pub fn new(url: &str, job: Job) -> Self {
        Self {
            url: url.to_owned(),
            data: None,
            job,
            dies_at: None,
            is_synced: false,
        }
    }

    fn options(&self) -> DriverOptions {
        let durability = if self.is_synced {
            Durability::Full
        } else {
            Durability::Normal
        };
        DriverOptions {
            durability,
            fault_points: self
                .dies_at
                .clone()
                .map_or_else(FaultPoints::default, |(point, times)| dies_at(point, times)),
            ..DriverOptions::default()
        }
    }
}

fn dies_at(point: Option<String>, times: u64) -> FaultPoints {
    let left = AtomicU64::new(times);
    FaultPoints::new(move |reached| {
        let is_it = point.as_ref().is_none_or(|point| point == reached);
        if is_it && left.fetch_sub(1, Ordering::SeqCst) == 1 {
            child::die();
        }
    })
}

/// Does what the environment orders; false where it orders nothing, as in the test itself.
pub fn obey() -> bool {
    let Some(order) = child::order::<Order>() else {
        return false;
    };
    if let Err(error) = wait_for(work(&order)) {
        panic!("the process failed: {error}");
    }
    true
}

async fn work(order: &Order) -> Result<()> {
    // One counts the points of all stores.
    let options = order.options();
    let store = driver::open(&patience::patient(&order.url), options.clone()).await?;
    match &order.job {
        Job::Write(writing) => crate::power::write(store, writing).await,
        Job::Serve => crate::disk::serve(&*store).await,
        job => {
            let ambit = node(order, options, store).await?;
            run(&ambit, job).await?;
            ambit.close().await
        }
    }
}

/// The application over the order's stores.
async fn node(order: &Order, options: DriverOptions, store: Arc<dyn Driver>) -> Result<Ambit> {
    let mut stores = Stores::builder(options.clone()).driver("main", store);
    if let Some(url) = &order.data {
        let data = driver::open(&patience::patient(url), options).await?;
        stores = stores.driver("data", data);
        for scope in ["chatHistory", "usage", "notes"] {
            stores = stores.scope_drivers(scope, &["data"]);
        }
    }
    Ok(Ambit::builder(stores.build()?).agent(Plain).build())
}

async fn run(ambit: &Ambit, job: &Job) -> Result<()> {
    match job {
        Job::Turns { chat, names, waits } => {
            for name in names {
                turn(ambit, chat, name, *waits).await?;
            }
        }
        Job::Hold => {
            let agent = open(ambit, "a").await?;
            agent.context().begin_turn(OnBusy::Reject).await?;
            println!("held");
            std::future::pending::<()>().await;
        }
        Job::Yield => until_interrupted(ambit).await?,
        Job::Open(names) => {
            for name in names {
                let agent = open(ambit, name).await?;
                say(&agent, "first").await?;
                agent.context().save().await?;
                println!("{name}");
            }
        }
        Job::First => {
            let agent = open(ambit, "a").await?;
            say(&agent, "first").await?;
            spend(&agent)?;
            let notes = agent.context().storage::<Notes>().await?;
            notes.add("note".to_owned())?;
            agent.context().save().await?;
            println!("saved");
        }
        Job::Erase { tenant, removes } => {
            let ambit = ambit.acting_as(&Caller::system(tenant));
            let all = Context::named(&ambit, AGENT);
            let report = if *removes {
                all.remove().await?
            } else {
                all.clear().await?
            };
            println!("{report:?}");
        }
        Job::Write(_) | Job::Serve => {}
    }
    Ok(())
}

async fn turn(ambit: &Ambit, chat: &str, name: &str, waits: bool) -> Result<()> {
    let on_busy = if waits { OnBusy::Queue } else { OnBusy::Reject };
    let agent = open(ambit, chat).await?;
    match agent.context().begin_turn(on_busy).await {
        Err(Error::Busy { reason, .. }) => {
            println!("busy {name}: {reason}");
            return Ok(());
        }
        begun => begun?,
    }
    for part in ["question", "answer"] {
        say(&agent, &format!("{name} {part}")).await?;
        agent.context().save().await?;
    }
    agent.context().end_turn().await?;
    println!("done {name}");
    Ok(())
}

async fn until_interrupted(ambit: &Ambit) -> Result<()> {
    let agent = open(ambit, "a").await?;
    agent.context().begin_turn(OnBusy::Reject).await?;
    say(&agent, "settled").await?;
    agent.context().save().await?;
    println!("held");
    let lease = agent.context().lease().expect("a turn is running");
    assert_eq!(lease.ended().await, LeaseEnd::Interrupted);
    say(&agent, "cancelled").await?;
    agent.context().save().await?;
    agent.context().end_turn().await?;
    println!("interrupted");
    Ok(())
}
