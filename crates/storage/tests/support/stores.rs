//! The drivers under test. Adding one is one row here (and its file, if it is not of this crate).

#![expect(clippy::expect_used, reason = "helpers of tests fail the test")]

use ambit_storage::batch::SizeLimits;
use ambit_storage::clock::Clock;
use ambit_storage::conformance::DriverFixture;
use ambit_storage::driver::{self, Driver, DriverOpener, DriverOptions, Durability, FaultPoints};
use async_trait::async_trait;
use std::future::Future;
use std::sync::{Arc, Mutex, PoisonError};
use tempfile::TempDir;

/// A kind of store.
pub struct Store {
    /// What its cases are called by.
    pub name: &'static str,
    /// How its address is opened.
    pub open: DriverOpener,
    /// A fresh place for it; `None` where no server is configured, so that its cases are skipped.
    pub place: fn() -> Option<Place>,
    /// True where other processes can open it.
    pub is_shared: bool,
    /// True where it promises correctness at small sizes only.
    pub is_small: bool,
    /// The points of a write at which a process may be killed.
    pub fault_points: &'static [&'static str],
}

pub const STORES: &[Store] = &[
    Store {
        name: "memory",
        open: BY_SCHEME,
        place: || Place::at("memory:"),
        is_shared: false,
        is_small: false,
        fault_points: &["memory.commit"],
    },
    Store {
        name: "toy",
        open: super::toy::open,
        place: || Place::at("toy"),
        is_shared: false,
        is_small: true,
        fault_points: &["snapshot.commit"],
    },
    Store {
        name: "file",
        open: BY_SCHEME,
        place: || Place::in_folder("file", ""),
        is_shared: true,
        is_small: true,
        fault_points: &[
            "file.begin",
            "file.redo_unnamed",
            "file.redo_written",
            "file.partly_applied",
            "file.applied",
        ],
    },
    Store {
        name: "sqlite",
        open: BY_SCHEME,
        place: || Place::in_folder("sqlite", "/ambit.db"),
        is_shared: true,
        is_small: false,
        fault_points: &[
            "sqlite.begin",
            "sqlite.before_commit",
            "sqlite.after_commit",
        ],
    },
    Store {
        name: "postgres",
        open: BY_SCHEME,
        place: || Place::on_server("TEST_POSTGRES_URL", "ambit_schema"),
        is_shared: true,
        is_small: false,
        fault_points: &["postgres.begin", "postgres.written", "postgres.committed"],
    },
    Store {
        name: "redis",
        open: BY_SCHEME,
        place: || Place::on_server("TEST_REDIS_URL", "ambit_prefix"),
        is_shared: true,
        is_small: false,
        fault_points: &["redis.before_script", "redis.after_script"],
    },
];

/// Opens the address by the crate's own table of drivers.
pub const BY_SCHEME: DriverOpener =
    |url, options| Box::pin(async move { driver::open(&url, options).await });

/// Where one store lies; a folder goes with it.
pub struct Place {
    pub url: String,
    _folder: Option<TempDir>,
}

impl Place {
    fn at(url: impl Into<String>) -> Option<Self> {
        Some(Self {
            url: url.into(),
            _folder: None,
        })
    }

    fn in_folder(scheme: &str, file: &str) -> Option<Self> {
        let folder = tempfile::tempdir().expect("a temporary folder");
        Some(Self {
            url: format!("{scheme}:{}{file}", folder.path().display()),
            _folder: Some(folder),
        })
    }

    /// A part of the server that the variable names.
    pub fn on_server(variable: &str, parameter: &str) -> Option<Self> {
        let server = std::env::var_os(variable)?;
        let server = server.to_str().expect("the server's address is text");
        let join = if server.contains('?') { '&' } else { '?' };
        Self::at(format!(
            "{server}{join}{parameter}=t{:016x}",
            rand::random::<u64>()
        ))
    }
}

/// One fresh store of a kind.
pub struct Fresh {
    pub place: Place,
    store: &'static Store,
    options: DriverOptions,
    /// The one handle of a store that lives in this process.
    only: Mutex<Option<Arc<dyn Driver>>>,
}

impl Store {
    /// True where its server is not configured.
    pub fn is_missing(&self) -> bool {
        (self.place)().is_none()
    }

    /// A fresh store.
    pub fn fresh(&'static self) -> Fresh {
        self.fresh_with(FaultPoints::default())
    }

    /// A fresh store whose handles in this process call this at each point of a write.
    pub fn fresh_with(&'static self, fault_points: FaultPoints) -> Fresh {
        let options = DriverOptions {
            durability: Durability::Normal,
            fault_points,
            ..DriverOptions::default()
        };
        Fresh {
            place: (self.place)().expect("a store whose server is not configured is skipped"),
            store: self,
            options,
            only: Mutex::new(None),
        }
    }
}

#[async_trait]
impl DriverFixture for Fresh {
    async fn open(&self) -> Arc<dyn Driver> {
        let known = || self.only.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(driver) = known().clone() {
            return driver;
        }
        let opened = (self.store.open)(self.place.url.clone(), self.options.clone()).await;
        let driver =
            opened.unwrap_or_else(|error| panic!("{} did not open: {error}", self.place.url));
        if !self.store.is_shared {
            *known() = Some(driver.clone());
        }
        driver
    }

    fn clock(&self) -> Clock {
        self.options.clock.clone()
    }

    fn limits(&self) -> SizeLimits {
        self.options.limits
    }

    fn is_shared(&self) -> bool {
        self.store.is_shared
    }

    fn is_small(&self) -> bool {
        self.store.is_small
    }
}

/// Each case has a runtime of its own, so that a driver's tasks end with it.
pub fn wait_for<T>(work: impl Future<Output = T>) -> T {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()
        .expect("a runtime");
    runtime.block_on(work)
}
