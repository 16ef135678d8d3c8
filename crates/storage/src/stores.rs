//! The open drivers of an installation by name, and which of them a storage uses.

use crate::debug::opaque_debug;
use crate::driver::chain::{ChainDriver, WritePolicy};
use crate::driver::{self, CommitCounts, CountedDriver, Driver, DriverOptions};
use crate::kind::check_scope;
use crate::lease::{LeaseCounters, LeaseCounts};
use crate::{Error, Result, memory, suggestion};
use parking_lot::Mutex;
use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;
use std::time::Duration;
use tokio::time::timeout;

/// How long closing waits for writes that have begun.
const PATIENCE: Duration = Duration::from_secs(5);

/// Where a storage is kept: driver names, the primary first, and the driver that they make together.
#[derive(Clone)]
pub struct Placement {
    names: Vec<String>,
    driver: Arc<dyn Driver>,
}

impl Placement {
    /// The names, the primary first.
    pub fn names(&self) -> &[String] {
        &self.names
    }

    /// What reads and writes there.
    pub fn driver(&self) -> &Arc<dyn Driver> {
        &self.driver
    }
}

opaque_debug!(Placement, |this| names: this.names);

/// How what an index row names in place of drivers begins while nobody may write.
pub(crate) const MOVING: &str = "moving from ";

/// Every open driver by name, and the defaults.
///
/// Conversations in one file, usage in another:
///
/// ```
/// # #[tokio::main]
/// # async fn main() -> ambit_storage::Result<()> {
/// use ambit_storage::Stores;
/// use ambit_storage::driver::{self, DriverOptions};
///
/// # let folder = std::env::temp_dir().join(format!("ambit-stores-{:x}", std::process::id()));
/// # let folder = folder.display();
/// let options = DriverOptions::default();
/// let usage = driver::open(&format!("sqlite:{folder}/usage.db"), options.clone()).await?;
/// let stores = Stores::builder(options)
///     .open(&format!("sqlite:{folder}/chats.db"))
///     .await?
///     .driver("billing", usage)
///     .scope_drivers("usage", &["billing"])
///     .build()?;
///
/// // The first store that is added keeps whatever nothing else is said about.
/// assert_eq!(stores.for_scope("chatHistory")?.names(), ["sqlite"]);
/// assert_eq!(stores.for_scope("usage")?.names(), ["billing"]);
/// // A chain writes to all of its stores, and reads from the first that answers.
/// assert_eq!(stores.chain(&["sqlite", "memory"])?.names(), ["sqlite", "memory"]);
/// # stores.close().await?;
/// # std::fs::remove_dir_all(folder.to_string()).expect("a temporary folder");
/// # Ok(())
/// # }
/// ```
pub struct Stores {
    drivers: BTreeMap<String, Arc<dyn Driver>>,
    /// The same drivers.
    counted: BTreeMap<String, Arc<CountedDriver>>,
    default: Vec<String>,
    scopes: HashMap<String, Vec<String>>,
    temporary: Vec<String>,
    policy: WritePolicy,
    chains: Mutex<HashMap<Vec<String>, OpenChain>>,
    leases: LeaseCounters,
    options: DriverOptions,
}

/// A chain, and the same as a driver whose commits are counted.
#[derive(Clone)]
struct OpenChain {
    chain: Arc<ChainDriver>,
    counted: Arc<CountedDriver>,
}

/// The name of the driver that every installation has: this process's memory.
pub const MEMORY: &str = "memory";

impl Stores {
    /// Starts a set of stores; the process's memory is always among them.
    pub fn builder(options: DriverOptions) -> StoresBuilder {
        let memory = driver::memory::MemoryDriver::new(options.clone());
        let names = || vec![MEMORY.to_owned()];
        let mut stores = Self {
            drivers: BTreeMap::new(),
            counted: BTreeMap::new(),
            default: names(),
            scopes: HashMap::new(),
            temporary: names(),
            policy: WritePolicy::All,
            chains: Mutex::default(),
            leases: LeaseCounters::default(),
            options,
        };
        stores.add(MEMORY.to_owned(), Arc::new(memory));
        StoresBuilder { stores }
    }

    /// Returns stores of the same names, empty and in this process's memory alone: what is kept there ends with them.
    pub fn in_memory(&self) -> Self {
        let Self {
            options, policy, ..
        } = self;
        let mut stores = Self {
            default: self.default.clone(),
            scopes: self.scopes.clone(),
            temporary: self.temporary.clone(),
            policy: *policy,
            ..Self::builder(options.clone()).stores
        };
        for name in self.drivers.keys().filter(|name| *name != MEMORY) {
            let memory = driver::memory::MemoryDriver::new(options.clone());
            stores.add(name.clone(), Arc::new(memory));
        }
        stores
    }

    fn add(&mut self, name: String, driver: Arc<dyn Driver>) {
        let counted = CountedDriver::new(driver);
        self.counted.insert(name.clone(), counted.clone());
        self.drivers.insert(name, counted);
    }

    /// The placement of these names: one driver, or a chain of them.
    pub fn chain<S: AsRef<str>>(&self, names: &[S]) -> Result<Placement> {
        let names: Vec<String> = names
            .iter()
            .map(|name| self.resolve(name.as_ref()))
            .collect::<Result<_>>()?;
        if names
            .iter()
            .enumerate()
            .any(|(at, name)| names[..at].contains(name))
        {
            return Err(Error::invalid(
                "drivers",
                format!("{} names a driver twice", names.join(", ")),
            ));
        }
        match names.as_slice() {
            [] => Err(Error::invalid(
                "drivers",
                "is an empty list; name at least one driver",
            )),
            [name] => Ok(Placement {
                driver: self.drivers[name].clone(),
                names,
            }),
            _ => Ok(Placement {
                driver: self.open_chain(&names)?.counted,
                names,
            }),
        }
    }

    /// Those of these names, as an index row has them, that are not set up here; none while what the row names is being moved.
    pub fn missing<'a>(&self, names: &'a [String]) -> Vec<&'a str> {
        let names = names.iter().map(String::as_str);
        let is_missing = |name: &&str| !name.starts_with(MOVING) && self.resolve(name).is_err();
        names.filter(is_missing).collect()
    }

    /// Where storages of this scope are kept unless their agent says otherwise.
    pub fn for_scope(&self, scope: &str) -> Result<Placement> {
        self.chain(self.scopes.get(scope).unwrap_or(&self.default))
    }

    /// Where the index is kept.
    pub fn index(&self) -> Result<Placement> {
        self.chain(&self.default)
    }

    /// Where temporary sessions are kept.
    pub fn temporary(&self) -> Result<Placement> {
        self.chain(&self.temporary)
    }

    /// How the stores were opened.
    pub fn options(&self) -> &DriverOptions {
        &self.options
    }

    /// Every driver by name.
    pub fn drivers(&self) -> &BTreeMap<String, Arc<dyn Driver>> {
        &self.drivers
    }

    /// What chains could not write to their secondaries since the last call.
    pub(crate) fn degraded(&self) -> Vec<(String, String)> {
        let chains = self.chains.lock();
        let missed = chains.values().flat_map(|open| open.chain.degraded());
        missed.collect()
    }

    /// What was counted of the commits of each store; a chain is one too, named by its drivers with `+` between them.
    pub fn commit_counts(&self) -> BTreeMap<String, CommitCounts> {
        let stores = self.counted.iter();
        let stores = stores.map(|(name, counted)| (name.clone(), counted.counts()));
        let chains = self.chains.lock();
        let chains = chains
            .iter()
            .map(|(names, open)| (names.join("+"), open.counted.counts()));
        stores.chain(chains).collect()
    }

    /// What was counted of the leases of conversations.
    pub fn lease_counts(&self) -> LeaseCounts {
        self.leases.counts()
    }

    pub(crate) fn lease_counters(&self) -> &LeaseCounters {
        &self.leases
    }

    /// Closes every driver, and tells the first failure. Writes of chains that go on without their callers are waited for, but not for
    /// ever: a secondary may hang.
    pub async fn close(&self) -> Result<()> {
        let mut open: Vec<OpenChain> = self.chains.lock().values().cloned().collect();
        open.retain(|open| open.chain.names().len() > 1);
        if !open.is_empty() {
            let writes = async {
                for open in &open {
                    open.chain.settle().await;
                }
            };
            let _ = timeout(PATIENCE, writes).await;
        }
        let mut closed = Ok(());
        for driver in self.drivers.values() {
            closed = closed.and(driver.close().await);
        }
        closed
    }

    /// The one chain of these drivers, whose names are as they are here.
    pub(crate) fn chained(&self, names: &[String]) -> Result<Arc<ChainDriver>> {
        Ok(self.open_chain(names)?.chain)
    }

    fn open_chain(&self, names: &[String]) -> Result<OpenChain> {
        let mut chains = self.chains.lock();
        if let Some(open) = chains.get(names) {
            return Ok(open.clone());
        }
        let links = names
            .iter()
            .map(|name| (name.clone(), self.drivers[name].clone()));
        let chain = Arc::new(ChainDriver::new(links.collect(), self.policy)?);
        let counted = CountedDriver::new(chain.clone());
        let open = OpenChain { chain, counted };
        chains.insert(names.to_vec(), open.clone());
        Ok(open)
    }

    /// The name as it is here; the names that LarAgent's configurations use are understood where nothing has them.
    fn resolve(&self, name: &str) -> Result<String> {
        let known = match name {
            here if self.drivers.contains_key(here) => here,
            "in_memory" => MEMORY,
            "json" => "file",
            "cache" => "redis",
            "database" | "database-simple" if self.drivers.contains_key("postgres") => "postgres",
            "database" | "database-simple" => "sqlite",
            other => other,
        };
        if self.drivers.contains_key(known) {
            return Ok(known.to_owned());
        }
        let have: Vec<&str> = self.drivers.keys().map(String::as_str).collect();
        let reason = match name {
            "session" => "\"session\" has no equivalent: nothing is kept in a web session; use \"memory\" or \"redis\"".to_owned(),
            moving if moving.starts_with(MOVING) => format!(
                "are on record as \"{moving}\": nobody can use them until that is over; if it was interrupted, \
                 repeat `ambit context move` or run `ambit doctor --repair`"
            ),
            _ if driver::has(known) => {
                format!("\"{name}\" is not set up here; set up are {}", have.join(", "))
            }
            _ => {
                let near = suggestion::nearest(name, have.iter().copied());
                let advice = match near {
                    Some(near) => format!("did you mean \"{near}\"?"),
                    None => format!("name one of them, or set it up with `--store {name}=URL`"),
                };
                format!("\"{name}\" is unknown; set up are {}; {advice}", have.join(", "))
            }
        };
        Err(Error::invalid("drivers", reason))
    }
}

opaque_debug!(Stores, |this| names: this.drivers.keys(), default: this.default);

/// Collects drivers and defaults.
#[derive(Debug)]
pub struct StoresBuilder {
    stores: Stores,
}

impl StoresBuilder {
    /// Opens the driver behind this URL under the name of its scheme; the first one opened becomes the default.
    pub async fn open(self, url: &str) -> Result<Self> {
        let scheme = url.split(':').next().unwrap_or_default().to_owned();
        let driver = driver::open(url, self.stores.options.clone()).await?;
        Ok(self.driver(scheme, driver))
    }

    /// Adds an open driver under a name; the first one added becomes the default.
    pub fn driver(mut self, name: impl Into<String>, driver: Arc<dyn Driver>) -> Self {
        let name = name.into();
        if self.stores.drivers.len() == 1 {
            self.stores.default = vec![name.clone()];
        }
        self.stores.add(name, driver);
        self
    }

    /// Where everything is kept unless said otherwise, the index included.
    pub fn default_drivers(mut self, names: &[&str]) -> Self {
        self.stores.default = names.iter().map(|name| (*name).to_owned()).collect();
        self
    }

    /// Where storages of one scope are kept.
    pub fn scope_drivers(mut self, scope: &str, names: &[&str]) -> Self {
        self.stores.scopes.insert(
            scope.to_owned(),
            names.iter().map(|name| (*name).to_owned()).collect(),
        );
        self
    }

    /// Where temporary sessions are kept.
    pub fn temporary_drivers(mut self, names: &[&str]) -> Self {
        self.stores.temporary = names.iter().map(|name| (*name).to_owned()).collect();
        self
    }

    /// What a write to a chain waits for.
    pub fn policy(mut self, policy: WritePolicy) -> Self {
        self.stores.policy = policy;
        self
    }

    /// The stores, or `Invalid` where a default names a driver that is not there.
    pub fn build(self) -> Result<Stores> {
        self.stores.index()?;
        self.stores.temporary()?;
        for scope in self.stores.scopes.keys() {
            check_scope(scope)?;
            if scope == memory::SCOPE {
                let reason =
                    "\"memory\" has no drivers of its own; it is kept with its chatHistory";
                return Err(Error::invalid("scope", reason));
            }
            self.stores.for_scope(scope)?;
        }
        Ok(self.stores)
    }
}
