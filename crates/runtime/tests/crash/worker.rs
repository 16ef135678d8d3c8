//! A node in a process of its own, that can be killed.

use crate::app::{node, request};
use crate::child::Worker;
use crate::store::{self, Fresh};
use crate::tools::Tools;
use ambit_runtime::TurnRequest;
use ambit_runtime::stream::StreamEntry;
use ambit_storage::driver::FaultPoints;
use ambit_storage::lease::OnBusy;
use serde::{Deserialize, Serialize};
use std::io::BufRead as _;
use std::path::PathBuf;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::Receiver;
use std::time::Duration;

/// What a worker does, and where.
#[derive(Clone, Serialize, Deserialize)]
pub struct Order {
    pub url: String,
    pub folder: PathBuf,
    /// Whether it uses the tool servers of the app.
    pub has_servers: bool,
    /// How far its clock is ahead, in seconds.
    pub ahead: u64,
    /// It kills itself when a turn comes to this point for the so-manyth time.
    pub dies_at: Option<(String, u64)>,
    pub job: Job,
}

/// A worker says each thing it has got on a line of its own.
#[derive(Clone, Serialize, Deserialize)]
pub enum Job {
    /// Asks this, says its request id and every entry of the stream (`number text`), and waits for its input's end.
    Ask(Box<TurnRequest>),
    /// Asks so many times in one chat; says `done` or `busy`, the text and the number of marks its model calls could leave.
    Turns {
        name: String,
        count: usize,
        queue: bool,
    },
    /// Takes up what others have left, until its input ends.
    Serve,
}

impl Order {
    /// A job on this store, to be done to its end.
    pub fn new(fresh: &Fresh, job: Job) -> Self {
        Self {
            url: fresh.url.clone(),
            folder: fresh.folder.path().to_owned(),
            has_servers: fresh.has_servers,
            ahead: 0,
            dies_at: None,
            job,
        }
    }

    /// The worker does not get further than this point.
    pub fn dying_at(self, point: &str, times: u64) -> Self {
        Self {
            dies_at: Some((point.to_owned(), times)),
            ..self
        }
    }
}

impl Job {
    /// A question to `hello`.
    pub fn ask(text: &str) -> Self {
        Self::ask_agent("hello", text)
    }

    /// A question to this agent.
    pub fn ask_agent(agent: &str, text: &str) -> Self {
        Self::Ask(Box::new(TurnRequest {
            agent: agent.to_owned(),
            ..request("chat", text)
        }))
    }
}

/// All that a worker says until it is killed at its point.
pub async fn killed(order: Order) -> Vec<String> {
    let said = tokio::task::spawn_blocking(move || {
        let mut worker = Worker::start(&order);
        let said = worker.rest();
        assert!(!worker.ended_well(), "no turn came to the point");
        said
    });
    said.await.unwrap()
}

/// All that a worker says until it has done its job.
pub async fn done(order: Order) -> Vec<String> {
    let said = tokio::task::spawn_blocking(move || {
        let mut worker = Worker::start(&order);
        let said = worker.rest();
        assert!(worker.ended_well());
        said
    });
    said.await.unwrap()
}

/// A worker that has said these first lines, up to the one that is such.
pub async fn until(order: Order, is_it: fn(&str) -> bool) -> (Worker, Vec<String>) {
    let started = tokio::task::spawn_blocking(move || {
        let mut worker = Worker::start(&order);
        let mut said: Vec<String> = Vec::new();
        while !said.last().is_some_and(|line| is_it(line)) {
            said.push(worker.next().expect("it goes on"));
        }
        (worker, said)
    });
    started.await.unwrap()
}

/// Does what the environment orders; false where it orders nothing, as in the test itself.
pub fn obey() -> bool {
    let Some(order) = crate::child::order::<Order>() else {
        return false;
    };
    crate::wait_for(work(order));
    true
}

/// Each line lets one call of `wait` through; the end of the input ends the worker. A thread of its own, because nothing may
/// wait for it where the worker ends by itself.
fn each_line(act: impl Fn() + Send + 'static) -> tokio::sync::oneshot::Receiver<()> {
    let (tell, told) = tokio::sync::oneshot::channel();
    std::thread::spawn(move || {
        for _ in std::io::stdin().lock().lines() {
            act();
        }
        tell.send(()).unwrap();
    });
    told
}

async fn work(order: Order) {
    // What is said of a turn's beginning is said before a point behind it is reached.
    let (heard, hears) = std::sync::mpsc::channel();
    let fault_points = match order.dies_at.clone() {
        Some((point, times)) => dies_at(point, times, hears),
        None => FaultPoints::default(),
    };
    let ahead = Duration::from_secs(order.ahead);
    let stores = store::open(&order.url, ahead, fault_points).await;
    let (tools, gate, mut came) = Tools::new(&order.folder.join("marks"));
    let tools = (!order.has_servers).then_some(tools);
    let node = node(&order.folder, stores, tools).await;
    // Whoever reads knows of which turn it is said.
    let tell_who_waits = async move {
        while came.recv().await.is_some() {
            println!("waiting");
        }
    };
    let told = each_line(move || gate.open());
    match order.job {
        Job::Ask(asked) => {
            let mut started = node.start(*asked).await.unwrap();
            println!("{}", started.request_id);
            tokio::spawn(tell_who_waits);
            let _ = heard.send(true);
            while let Some(entries) = started.stream.next().await.unwrap() {
                entries.iter().for_each(say);
            }
            println!("end");
            if order.dies_at.is_some() {
                return;
            }
        }
        Job::Turns { name, count, queue } => {
            for number in 0..count {
                let text = format!("turn {number} of {name}");
                let on_busy = if queue { OnBusy::Queue } else { OnBusy::Reject };
                let asked = TurnRequest {
                    on_busy,
                    ..request("chat", &text)
                };
                match node.start(asked).await {
                    Ok(mut started) => {
                        while started.stream.next().await.unwrap().is_some() {}
                        println!("done {text}");
                    }
                    Err(error) => println!("{} {text}", error.code),
                }
            }
            return;
        }
        Job::Serve => {
            tokio::spawn(tell_who_waits);
            let _ = heard.send(true);
            println!("serving");
        }
    }
    told.await.unwrap();
}

fn say(entry: &StreamEntry) {
    println!("{} {}", entry.number, entry.text);
}

/// Points that a turn passes before anybody knows of it.
const EARLY: [&str; 2] = ["turn.held", "turn.begun"];

fn dies_at(point: String, times: u64, begun: Receiver<bool>) -> FaultPoints {
    let (left, begun) = (AtomicU64::new(times), Mutex::new(begun));
    FaultPoints::new(move |reached| {
        if reached == point && left.fetch_sub(1, Ordering::SeqCst) == 1 {
            if !EARLY.contains(&reached) {
                begun.lock().unwrap().recv().unwrap();
            }
            crate::child::die();
        }
    })
}

/// What a worker still says of its stream.
pub async fn up_to_end(mut worker: Worker) -> Vec<String> {
    let said = tokio::task::spawn_blocking(move || {
        let lines = std::iter::from_fn(|| worker.next());
        lines.take_while(|line| line != "end").collect()
    });
    said.await.unwrap()
}
