//! Further processes of a test: the test binary starts itself with an order in its environment.

#![expect(clippy::expect_used, reason = "helpers of tests fail the test")]

use ambit_storage::address::{DEFAULT_TENANT, Key, Space};
use ambit_storage::batch::{Batch, Check, NewEntry, Outcome, Write};
use ambit_storage::directory::Track;
use ambit_storage::driver::{self, Driver, FaultPoints, Options};
use ambit_storage::op::{Op, Output};
use ambit_storage::{Json, Result, SessionIdentity};
use rustix::process::{Pid, Signal, getpid, kill_process};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Lines, Write as _};
use std::os::unix::process::ExitStatusExt;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::atomic::{AtomicU64, Ordering};

const VARIABLE: &str = "AMBIT_WORKER";

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

pub fn apply(key: &Key, op: Op) -> Write {
    Write::Apply {
        key: key.clone(),
        op,
        life: None,
    }
}

pub fn acquire(holder: &str) -> Write {
    Write::Apply {
        key: space("s").lease(),
        op: Op::Acquire {
            holder: holder.to_owned(),
        },
        life: Some(3_600_000),
    }
}

pub fn append(space: &Space, id: &str) -> Write {
    Write::Append {
        log: space.log("items"),
        entries: vec![NewEntry {
            id: id.to_owned(),
            body: Json::of(id).expect("text is JSON"),
        }],
    }
}

pub fn track(chat: &str) -> Write {
    let identity = identity(chat);
    Write::Track(Box::new(Track {
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
    let Some(order) = std::env::var_os(VARIABLE) else {
        return false;
    };
    let order: Order = serde_json::from_slice(order.as_encoded_bytes()).expect("an order");
    let work = async {
        let options = Options {
            fault_points: order.dies_at.map_or_else(FaultPoints::default, dies_at),
            ..Options::default()
        };
        let driver = driver::open(&order.url, options).await?;
        work(&*driver, order.job).await?;
        driver.close().await
    };
    if let Err(error) = super::stores::wait_for(work) {
        panic!("the worker failed: {error}");
    }
    true
}

fn dies_at((point, times): (String, u64)) -> FaultPoints {
    let left = AtomicU64::new(times);
    FaultPoints::new(move |reached| {
        if reached == point && left.fetch_sub(1, Ordering::SeqCst) == 1 {
            kill_process(getpid(), Signal::KILL).expect("a process may kill itself");
        }
    })
}

async fn work(driver: &dyn Driver, job: Job) -> Result<()> {
    let here = space("s");
    let one = async |write| driver.commit(Batch::of([write])).await;
    match job {
        Job::Increment(times) => {
            for _ in 0..times {
                one(apply(&here.key("number"), Op::Incr(1.into()))).await?;
            }
        }
        Job::Append(ids) => {
            for id in ids {
                let outcomes = driver
                    .commit(Batch::of([append(&here, &id), track("s")]))
                    .await?;
                if let Outcome::Appended { seqs, .. } = &outcomes[0] {
                    println!("{} {id}", seqs[0]);
                }
            }
        }
        Job::Pop => {
            while let Outcome::Applied {
                output: Output::Taken(Some(item)),
                ..
            } = &one(apply(&here.key("list"), Op::Pop)).await?[0]
            {
                println!("{}", item.json());
            }
        }
        Job::AddToSet(items) => {
            for item in items {
                one(apply(
                    &here.key("set"),
                    Op::AddToSet(vec![Json::of(&item)?]),
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
        apply(&here.key("list"), Op::Push(vec![value.clone()])),
        apply(&there.key("number"), Op::Incr(1.into())),
        apply(&there.key("value"), Op::Set(value.into())),
        append(&there, &number.to_string()),
    ])
}

async fn hold(driver: &dyn Driver) -> Result<()> {
    let outcomes = driver.commit(Batch::of([acquire("worker")])).await?;
    let Outcome::Applied {
        output: Output::Epoch(epoch),
        ..
    } = outcomes[0]
    else {
        panic!("{outcomes:?} is no grant");
    };
    println!("{epoch}");
    let mut line = String::new();
    std::io::stdin().read_line(&mut line).expect("a line");
    let check = Check::Lease {
        key: space("s").lease(),
        epoch,
    };
    let late = Batch::of([append(&space("s"), "late")]).checking(check);
    match driver.commit(late).await {
        Ok(_) => println!("written"),
        Err(error) => println!("{error}"),
    }
    Ok(())
}

/// A process at work; it ends with this value.
pub struct Worker {
    child: Child,
    input: ChildStdin,
    lines: Lines<BufReader<ChildStdout>>,
}

impl Worker {
    /// Starts this binary again with an order.
    pub fn start(order: &Order) -> Self {
        let order = serde_json::to_string(order).expect("an order is JSON");
        let mut child = Command::new(std::env::current_exe().expect("this binary"))
            .env(VARIABLE, order)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("this binary starts again");
        let input = child.stdin.take().expect("a pipe");
        let output = child.stdout.take().expect("a pipe");
        Self {
            child,
            input,
            lines: BufReader::new(output).lines(),
        }
    }

    /// The next line it says; waits for it.
    pub fn next(&mut self) -> Option<String> {
        self.lines.next().map(|line| line.expect("a line of text"))
    }

    /// All it still says until its end.
    pub fn rest(&mut self) -> Vec<String> {
        std::iter::from_fn(|| self.next()).collect()
    }

    pub fn say(&mut self, line: &str) {
        writeln!(self.input, "{line}").expect("it listens");
    }

    pub fn send(&self, signal: Signal) {
        let id = i32::try_from(self.child.id()).expect("a process id");
        kill_process(Pid::from_raw(id).expect("a process id"), signal).expect("it runs");
    }

    /// Waits for its end; true where it did all it was ordered to, false where it was killed.
    pub fn ended_well(&mut self) -> bool {
        let status = self.child.wait().expect("it ends");
        let was_killed = status.signal() == Some(Signal::KILL.as_raw());
        assert!(status.success() || was_killed, "the worker: {status}");
        status.success()
    }
}

impl Drop for Worker {
    fn drop(&mut self) {
        // A worker that has ended cannot be killed, and need not be.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
