//! A server over a file, on threads of its own, and what it holds.

use crate::mix::{self, Caller};
use crate::site::{HELLO, Site, write};
use ambit_storage::Stores;
use ambit_storage::driver::{self, DriverOptions};
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::runtime::{Builder, Runtime};

/// Clients at once.
const CLIENTS: usize = 4;
/// How long a server may take to let go of everything.
const PATIENCE: Duration = Duration::from_secs(60);
/// How long nothing may change for it to be at rest.
const REST: Duration = Duration::from_secs(10);
const LOOK: Duration = Duration::from_millis(10);

/// The server and those who call it.
pub struct Bed {
    server: Runtime,
    clients: Runtime,
    site: Site,
}

/// What a process holds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Held {
    /// The server's tasks.
    tasks: usize,
    /// Open files that are neither connections nor the store's: that has a few more for each two reads that happen to overlap.
    files: usize,
    /// Connections, and what listens for them.
    sockets: usize,
}

/// What a process holds and what that takes.
pub struct State {
    pub held: Held,
    /// Bytes that are resident.
    pub resident: u64,
}

impl Bed {
    pub fn open() -> Self {
        let threads = |name: &str| {
            let mut builder = Builder::new_multi_thread();
            builder.worker_threads(2).thread_name(name).enable_all();
            builder.build().unwrap()
        };
        let server = threads("server");
        let site = server.block_on(site());
        Self {
            site,
            server,
            clients: threads("clients"),
        }
    }

    /// Every client does everything once; they leave at its end.
    pub fn round(&self, round: usize) {
        self.clients.block_on(async {
            let calls = (0..CLIENTS).map(|number| {
                let caller = Caller {
                    client: reqwest::Client::new(),
                    url: self.site.url.clone(),
                    chat: format!("chat-{round}-{number}"),
                };
                tokio::spawn(async move { mix::all(&caller, number).await })
            });
            for call in calls.collect::<Vec<_>>() {
                call.await.unwrap();
            }
        });
    }

    /// What the server holds when it has come to rest.
    pub fn settled(&self) -> State {
        let (mut last, mut since) = (self.held(), Instant::now());
        self.look(|held| {
            if *held != last {
                (last, since) = (held.clone(), Instant::now());
            }
            since.elapsed() >= REST
        })
    }

    /// What the server holds when it is where it was, or when it had the time to be.
    pub fn back_at(&self, before: &State) -> State {
        self.look(|held| *held == before.held)
    }

    /// Looks until this holds, or until patience is at its end.
    fn look(&self, mut is_it: impl FnMut(&Held) -> bool) -> State {
        let start = Instant::now();
        self.clients.block_on(async {
            let mut ticks = tokio::time::interval(LOOK);
            while !is_it(&self.held()) && start.elapsed() < PATIENCE {
                ticks.tick().await;
            }
        });
        State {
            held: self.held(),
            resident: resident(),
        }
    }

    fn held(&self) -> Held {
        let entries = std::fs::read_dir("/proc/self/fd").unwrap();
        let links = entries.filter_map(|entry| std::fs::read_link(entry.unwrap().path()).ok());
        let names = links.map(|link| link.to_string_lossy().into_owned());
        let names = names.filter(|name| !name.contains("/ambit.db"));
        let (sockets, files): (Vec<_>, Vec<_>) =
            names.partition(|name| name.starts_with("socket:"));
        Held {
            tasks: self.server.metrics().num_alive_tasks(),
            files: files.len(),
            sockets: sockets.len(),
        }
    }
}

async fn site() -> Site {
    let folder = tempfile::tempdir().unwrap();
    for (name, text) in HELLO.iter().chain(mix::APP) {
        write(&folder.path().join(name), text);
    }
    let url = format!("sqlite:{}", folder.path().join("ambit.db").display());
    let store = driver::open(&url, DriverOptions::default()).await.unwrap();
    let stores = Stores::builder(DriverOptions::default()).driver("sqlite", store);
    let stores = Arc::new(stores.build().unwrap());
    Site::over(stores, Arc::new(folder), |_| {}).await
}

fn resident() -> u64 {
    let text = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = text.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    let kilobytes = line.unwrap().trim().strip_suffix(" kB").unwrap();
    kilobytes.parse::<u64>().unwrap() << 10
}
