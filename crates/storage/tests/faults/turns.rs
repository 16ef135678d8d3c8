//! Turns of one conversation on two nodes, which are two processes: G1, G3, G4, G7.

use crate::app::{AGENT, App, open, say};
use crate::child::Worker;
use crate::orders::{Job, Order};
use crate::stores::{Store, wait_for};
use ambit_storage::address::{DEFAULT_TENANT, Space};
use ambit_storage::clock::Clock;
use ambit_storage::conformance::DriverFixture;
use ambit_storage::driver::{ValuePart, ValueScan};
use ambit_storage::lease::{LEASE_LIFE, OnBusy, QUEUE_LENGTH};
use ambit_storage::pattern::Pattern;
use ambit_storage::storage::ChatHistoryStorage;
use ambit_storage::{Context, Error, LiveAgent};
use rustix::process::Signal;
use std::collections::BTreeSet;
use std::time::Duration;

fn order(app: &App, job: Job) -> Order {
    Order::new(&app.fresh.place.url, job)
}

async fn session(app: &App) -> LiveAgent {
    open(&app.tenant(DEFAULT_TENANT), "a").await.unwrap()
}

async fn texts(app: &App, chat: &str) -> Vec<String> {
    let agent = open(&app.tenant(DEFAULT_TENANT), chat).await.unwrap();
    let messages = agent.history().messages().await.unwrap();
    messages.iter().map(|message| message.text()).collect()
}

/// Two processes run twenty turns each; what each said.
fn two_by_twenty(app: &App, chat: &str, waits: bool) -> [Vec<String>; 2] {
    let mut nodes = ["one", "other"].map(|node| {
        let names = (0..20).map(|turn| format!("{node}-{turn:02}")).collect();
        let chat = chat.to_owned();
        Worker::start(&order(app, Job::Turns { chat, names, waits }))
    });
    nodes.each_mut().map(|node| {
        let said = node.rest();
        assert!(node.ended_well());
        said
    })
}

/// The names of the turns whose messages are stored; a turn's messages stand together.
async fn turns(app: &App, chat: &str) -> Vec<String> {
    let texts = texts(app, chat).await;
    let turn = |pair: &[String]| {
        let name = pair[0]
            .strip_suffix(" question")
            .expect(&pair[0])
            .to_owned();
        assert_eq!(pair[1], format!("{name} answer"));
        name
    };
    texts.chunks(2).map(turn).collect()
}

pub fn g001_turns_of_two_processes_are_in_order_or_refused_busy(store: &'static Store) {
    wait_for(async {
        let app = App::over(store).await;
        for (chat, waits) in [("waiting", true), ("refused", false)] {
            let said = two_by_twenty(&app, chat, waits);
            let stored = turns(&app, chat).await;
            let done = |said: &[String]| -> Vec<String> {
                let done = said.iter().filter_map(|line| line.strip_prefix("done "));
                done.map(str::to_owned).collect()
            };
            for (node, said) in ["one", "other"].iter().zip(&said) {
                assert_eq!(said.len(), 20);
                let busy = said.iter().filter(|line| line.starts_with("busy ")).count();
                assert_eq!(done(said).len() + busy, 20, "{said:?}");
                assert!(!waits || busy == 0, "{said:?}");
                let prefix = format!("{node}-");
                let of_node = stored.iter().filter(|turn| turn.starts_with(&prefix));
                assert_eq!(of_node.cloned().collect::<Vec<_>>(), done(said));
            }
            assert_eq!(stored.len(), done(&said.concat()).len());
        }
    });
}

pub fn g003_a_killed_holders_turn_is_followed_by_the_next(store: &'static Store) {
    wait_for(async {
        let app = App::over(store).await;
        let mut holder = Worker::start(&order(&app, Job::Hold));
        assert_eq!(holder.next().as_deref(), Some("held"));
        holder.send(Signal::KILL);
        assert!(!holder.ended_well());
        let agent = session(&app).await;
        let refused = agent.context().begin_turn(OnBusy::Reject).await;
        assert!(matches!(refused, Err(Error::Busy { .. })), "{refused:?}");
        let clock: Clock = app.fresh.clock();
        clock.advance(LEASE_LIFE);
        agent.context().begin_turn(OnBusy::Reject).await.unwrap();
        say(&agent, "next").await.unwrap();
        agent.context().save().await.unwrap();
        agent.context().end_turn().await.unwrap();
        assert_eq!(texts(&app, "a").await, ["next"]);
    });
}

pub fn g004_a_second_turn_is_rejected_on_two_nodes(store: &'static Store) {
    wait_for(async {
        let app = App::over(store).await;
        let agent = session(&app).await;
        agent.context().begin_turn(OnBusy::Reject).await.unwrap();
        let job = |name: &str| Job::Turns {
            chat: "a".to_owned(),
            names: vec![name.to_owned()],
            waits: false,
        };
        let refused = Worker::start(&order(&app, job("early"))).rest();
        assert!(refused[0].starts_with("busy early: held by"), "{refused:?}");
        agent.context().end_turn().await.unwrap();
        let done = Worker::start(&order(&app, job("late"))).rest();
        assert_eq!(done, ["done late"]);
        assert_eq!(turns(&app, "a").await, ["late"]);
    });
}

/// Waits until so many wait for the conversation.
async fn queue_of(app: &App, agent: &LiveAgent, length: usize) {
    let lease = Space::of(DEFAULT_TENANT, agent.history().identity()).lease();
    let scan = ValueScan::first(Pattern::all(), 1_000, ValuePart::Nothing);
    loop {
        let found = app.store.scan(&lease.space, &scan).await.unwrap();
        let waiting = found.iter().filter(|(name, _)| *name != lease.name);
        if waiting.count() == length {
            return;
        }
        tokio::task::yield_now().await;
    }
}

pub fn g004_waiting_turns_run_in_order_of_arrival_on_two_nodes(store: &'static Store) {
    wait_for(async {
        let app = App::over(store).await;
        let agent = session(&app).await;
        agent.context().begin_turn(OnBusy::Reject).await.unwrap();
        let names = ["first", "second", "third", "fourth"];
        let mut waiting = Vec::new();
        for (before, name) in names.iter().enumerate() {
            waiting.push(Worker::start(&order(
                &app,
                Job::Turns {
                    chat: "a".to_owned(),
                    names: vec![(*name).to_owned()],
                    waits: true,
                },
            )));
            queue_of(&app, &agent, before + 1).await;
        }
        // Waits behind the others, so that the conversation is not free when they are done, however slow who comes late is.
        let last = session(&app).await;
        let held = tokio::spawn(async move {
            last.context().begin_turn(OnBusy::Queue).await?;
            Ok::<_, Error>(last)
        });
        queue_of(&app, &agent, names.len() + 1).await;
        agent.context().end_turn().await.unwrap();
        // Who comes now does not overtake those who wait.
        let late = session(&app).await;
        let refused = late.context().begin_turn(OnBusy::Reject).await;
        assert!(matches!(refused, Err(Error::Busy { .. })), "{refused:?}");
        for (worker, name) in waiting.iter_mut().zip(names) {
            assert_eq!(worker.rest(), [format!("done {name}")]);
            assert!(worker.ended_well());
        }
        let last = held.await.unwrap().unwrap();
        last.context().end_turn().await.unwrap();
        assert_eq!(turns(&app, "a").await, names);
    });
}

pub fn g004_the_queue_is_bounded_on_two_nodes(store: &'static Store) {
    wait_for(async {
        let app = App::over(store).await;
        // The other node sees those who wait here although they are late to say that they are still there.
        app.fresh.clock().advance(Duration::from_secs(60));
        let agent = session(&app).await;
        agent.context().begin_turn(OnBusy::Reject).await.unwrap();
        let mut waiting = tokio::task::JoinSet::new();
        for _ in 0..QUEUE_LENGTH {
            let waiter = session(&app).await;
            waiting.spawn(async move { waiter.context().begin_turn(OnBusy::Queue).await });
        }
        queue_of(&app, &agent, QUEUE_LENGTH).await;
        let job = Job::Turns {
            chat: "a".to_owned(),
            names: vec!["too many".to_owned()],
            waits: true,
        };
        let refused = Worker::start(&order(&app, job)).rest();
        assert_eq!(
            refused,
            ["busy too many: 32 turns are waiting for it already"]
        );
        assert!(waiting.try_join_next().is_none());
    });
}

pub fn g004_a_running_turn_is_interrupted_from_another_node(store: &'static Store) {
    wait_for(async {
        let app = App::over(store).await;
        let mut running = Worker::start(&order(&app, Job::Yield));
        assert_eq!(running.next().as_deref(), Some("held"));
        let agent = session(&app).await;
        agent.context().begin_turn(OnBusy::Interrupt).await.unwrap();
        assert_eq!(texts(&app, "a").await, ["settled", "cancelled"]);
        assert_eq!(running.rest(), ["interrupted"]);
        assert!(running.ended_well());
        agent.context().end_turn().await.unwrap();
    });
}

pub fn g007_sessions_opened_by_eight_processes_are_all_tracked(store: &'static Store) {
    wait_for(async {
        let app = App::over(store).await;
        let mut nodes: Vec<Worker> = (0..8)
            .map(|node| {
                let names = (0..125).map(|number| format!("chat {node}-{number}"));
                Worker::start(&order(&app, Job::Open(names.collect())))
            })
            .collect();
        let said: BTreeSet<String> = nodes.iter_mut().flat_map(Worker::rest).collect();
        assert!(nodes.iter_mut().all(Worker::ended_well));
        let ambit = app.tenant(DEFAULT_TENANT);
        let all = Context::named(&ambit, AGENT);
        assert_eq!(all.count().await.unwrap(), 1_000);
        let histories = all.for_storage::<ChatHistoryStorage>();
        let chats =
            histories.map(async |identity| Ok(identity.chat_name().unwrap_or_default().to_owned()));
        let chats: BTreeSet<String> = chats.await.unwrap().into_iter().collect();
        assert_eq!(chats.len(), 1_000);
        assert_eq!(chats, said);
    });
}
