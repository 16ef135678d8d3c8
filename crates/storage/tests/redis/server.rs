//! What concerns the server itself: its settings, its restart, and others who use it at the same time.

use super::run_tally::RunTally;
use super::{Outcomes, Store, apply, memory_of, number};
use ambit_storage::address::Space;
use ambit_storage::batch::{Batch, BatchWrite, WriteOutcome};
use ambit_storage::clock::Clock;
use ambit_storage::driver::{self, Driver, DriverOptions, FaultPoints, ValuePart, ValueScan};
use ambit_storage::operation::Operation;
use ambit_storage::pattern::Pattern;
use ambit_storage::{Error, StoredValue};
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

/// A server that ends with the test.
struct Own(Child);

impl Own {
    fn start(port: u16, folder: &std::path::Path, settings: &[&str]) -> Outcomes<Self> {
        let child = Command::new("redis-server")
            .args(["--port", &port.to_string(), "--save", ""])
            .args(settings)
            .current_dir(folder)
            .stdout(Stdio::null())
            .spawn()?;
        Ok(Self(child))
    }
}

impl Drop for Own {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// A port that nobody listens on, of those that systems give to nobody who has not asked for it.
fn free_port() -> u16 {
    loop {
        let port = 20_000 + rand::random::<u16>() % 12_000;
        if std::net::TcpListener::bind(("127.0.0.1", port)).is_ok() {
            return port;
        }
    }
}

async fn listening(port: u16) -> Outcomes {
    for _ in 0..1_200 {
        if tokio::net::TcpStream::connect(("127.0.0.1", port))
            .await
            .is_ok()
        {
            return Ok(());
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    Err("the server does not listen".into())
}

pub async fn eviction(_store: &Store) -> Outcomes {
    let (port, folder) = (free_port(), tempfile::tempdir()?);
    let settings = ["--maxmemory", "50mb", "--maxmemory-policy", "allkeys-lru"];
    let _server = Own::start(port, folder.path(), &settings)?;
    listening(port).await?;
    let url = format!("redis://127.0.0.1:{port}/0");
    let Err(refused) = driver::open(&url, DriverOptions::default()).await else {
        return Err("a server that evicts was accepted".into());
    };
    assert!(matches!(refused, Error::Invalid { .. }), "{refused}");
    assert!(refused.to_string().contains("allkeys-lru"), "{refused}");
    let forced = DriverOptions {
        force: true,
        ..DriverOptions::default()
    };
    driver::open(&url, forced).await?;
    Ok(())
}

pub async fn restart(_store: &Store) -> Outcomes {
    let (port, folder) = (free_port(), tempfile::tempdir()?);
    let settings = ["--appendonly", "yes", "--appendfsync", "always"];
    let server = Own::start(port, folder.path(), &settings)?;
    listening(port).await?;
    let url = format!("redis://:secret@127.0.0.1:{port}/0");
    let Err(refused) = driver::open(&url, DriverOptions::default()).await else {
        return Err("a wrong password was accepted".into());
    };
    assert!(!refused.to_string().contains("secret"), "{refused}");

    let driver = driver::open(
        &format!("redis://127.0.0.1:{port}/0"),
        DriverOptions::default(),
    )
    .await?;
    let space = memory_of("u");
    driver
        .commit(apply(&space, "k", Operation::Incr(1.into())))
        .await?;
    let mut watch = driver.watch(&space.log("items")).await?;
    drop(server);
    let down = driver
        .commit(apply(&space, "k", Operation::Incr(1.into())))
        .await;
    let Err(Error::Unavailable { what, .. }) = down else {
        return Err(format!("{down:?}").into());
    };
    assert!(what.contains(&format!("127.0.0.1:{port}")), "{what}");

    let _server = Own::start(port, folder.path(), &settings)?;
    listening(port).await?;
    // Subscribed again, it wakes everybody, as something may have been missed.
    assert!(tokio::time::timeout(Duration::from_secs(60), watch.changed()).await?);
    let entry = driver
        .get(&space.key("k"), ValuePart::Whole)
        .await?
        .ok_or("absent")?;
    assert_eq!(entry.value, number(1));
    driver
        .commit(apply(&space, "k", Operation::Incr(1.into())))
        .await?;
    Ok(())
}

pub async fn wipe_before_end(_store: &Store) -> Outcomes {
    let (port, folder) = (free_port(), tempfile::tempdir()?);
    let settings = ["--appendonly", "yes", "--appendfsync", "always"];
    let server = Own::start(port, folder.path(), &settings)?;
    listening(port).await?;
    let own = Store {
        url: format!("redis://127.0.0.1:{port}/0"),
        prefix: "ambit".to_owned(),
        clock: Clock::default(),
    };
    let ending = Arc::new(Mutex::new(None::<Own>));
    let ends = Arc::clone(&ending);
    let end = move |point: &'static str| {
        if point == "redis.after_script" {
            drop(ends.lock().unwrap().take());
        }
    };
    let options = DriverOptions {
        fault_points: FaultPoints::new(end),
        ..DriverOptions::default()
    };
    let driver = driver::open(&own.url, options).await?;
    let space = memory_of("u");
    let list = Operation::Push(vec![number(1)]);
    driver.commit(apply(&space, "list", list)).await?;
    *ending.lock().unwrap() = Some(server);
    let pattern = Pattern::all();
    let wipe = Batch::of([BatchWrite::Wipe { space, pattern }]);
    assert_eq!(driver.commit(wipe).await?, [WriteOutcome::Erased(1)]);

    let _server = Own::start(port, folder.path(), &settings)?;
    listening(port).await?;
    let is_trash = |key: &String| key.starts_with("ambit:trash:");
    assert!(own.keys().await?.iter().any(is_trash));
    // It erases the list itself.
    driver.sweep(100).await?;
    let mut keys = own.keys().await?;
    keys.sort();
    assert_eq!(keys, ["ambit:counter", "ambit:floor"]);
    Ok(())
}

/// The time that 99 of 100 calls of another user did not exceed while `work` went on.
async fn others_wait(store: &Store, work: impl Future<Output = Outcomes>) -> Outcomes<Duration> {
    let other = store.open().await?;
    let done = Arc::new(std::sync::atomic::AtomicBool::new(false));
    let is_done = Arc::clone(&done);
    let bystander = tokio::spawn(async move {
        let mut waits = Vec::new();
        while !is_done.load(std::sync::atomic::Ordering::Relaxed) || waits.len() < 100 {
            let start = Instant::now();
            other
                .commit(apply(&memory_of("other"), "n", Operation::Incr(1.into())))
                .await?;
            waits.push(start.elapsed());
        }
        Ok::<_, Error>(waits)
    });
    work.await?;
    done.store(true, std::sync::atomic::Ordering::Relaxed);
    let mut waits = bystander.await??;
    waits.sort();
    Ok(waits[waits.len() * 99 / 100])
}

/// Stores 100,000 values, every fourth of them a list.
async fn fill(driver: &dyn Driver, space: &Space) -> Outcomes {
    let set = |at: u64| {
        BatchWrite::apply(
            space.key(format!("k{at:06}")),
            match at % 4 {
                0 => Operation::Push(vec![number(1)]),
                _ => Operation::Set(StoredValue::Plain(number(1))),
            },
            None,
        )
    };
    for first in (0..100_000).step_by(1_000) {
        driver
            .commit(Batch::of((first..first + 1_000).map(set)))
            .await?;
    }
    Ok(())
}

/// The waits of others while all names are listed, and while all values are erased.
async fn waits(store: &Store) -> Outcomes<[Duration; 2]> {
    let driver = store.open().await?;
    let space = memory_of("u");
    let wipe = |pattern: &str| {
        Batch::of([BatchWrite::Wipe {
            space: space.clone(),
            pattern: Pattern::parse(pattern),
        }])
    };
    let names = async {
        let scan = ValueScan::first(Pattern::all(), usize::MAX, ValuePart::Nothing);
        assert_eq!(driver.scan(&space, &scan).await?.len(), 100_000);
        Ok(())
    };
    let clear = async {
        assert_eq!(
            driver.commit(wipe("*")).await?,
            [WriteOutcome::Erased(100_000)]
        );
        Ok(())
    };
    fill(&*driver, &space).await?;
    let listing = others_wait(store, names).await?;
    let clearing = others_wait(store, clear).await?;
    Ok([listing, clearing])
}

pub async fn crowd(store: &Store) -> Outcomes {
    let limit = Duration::from_millis(50);
    let mut runs = RunTally::new();
    // What else the machine does at the time may hold others up too.
    while runs.is_open() {
        let waits = waits(store).await?;
        runs.count(waits, waits.iter().all(|wait| *wait < limit));
    }
    Ok(())
}
