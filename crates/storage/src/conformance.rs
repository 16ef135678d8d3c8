//! The suite that every driver passes, yours too: implement [`DriverFixture`] for your store and run every [`cases`] on it,
//! each with a fixture of its own. A case fails by panicking and never names a driver.
//!
//! Names that begin with `g` and three digits prove the guarantee of that number.

/// A table of cases, each named like the function that it runs.
macro_rules! cases {
    ($($name:ident),* $(,)?) => {
        &[$($crate::conformance::ConformanceCase {
            name: stringify!($name),
            run: |fixture| {
                Box::pin(async { $name($crate::conformance::TestStore::of(fixture).await).await })
            },
        }),*]
    };
}

mod batch;
mod close;
mod directory;
mod drop;
mod expiry;
mod filter;
mod flaky_driver;
mod lease;
mod limits;
mod list;
mod log;
mod mirror;
mod placement;
mod race;
mod random;
mod read;
mod scan;
mod space;
mod steps;
mod test_store;
mod text;
mod value;
mod watch;

pub use flaky_driver::{FaultKind, FlakyDriver};

use crate::batch::SizeLimits;
use crate::clock::Clock;
use crate::driver::Driver;
use async_trait::async_trait;
use futures::future::BoxFuture;
use std::sync::Arc;
use test_store::{SpaceSnapshot, TestStore};

/// One behaviour that a driver must have.
pub struct ConformanceCase {
    /// The behaviour, as a sentence.
    pub name: &'static str,
    /// Proves it on a fresh store, or panics.
    pub run: fn(Arc<dyn DriverFixture>) -> BoxFuture<'static, ()>,
}

/// A fresh store that belongs to one case.
#[async_trait]
pub trait DriverFixture: Send + Sync + 'static {
    /// A further handle on the store, as another process would have it. A store that lives in its process gives the
    /// same handle each time.
    async fn open(&self) -> Arc<dyn Driver>;

    /// The clock that every handle was opened with.
    fn clock(&self) -> Clock;

    /// The sizes that every handle was opened with.
    fn limits(&self) -> SizeLimits;

    /// True where other processes can open the store, and what it holds outlives its handles.
    fn is_shared(&self) -> bool;

    /// True where the store promises correctness at small sizes only.
    fn is_small(&self) -> bool;
}

/// The tables of cases, by what they are about.
pub const AREAS: &[(&str, &[ConformanceCase])] = &[
    ("log", log::CASES),
    ("read", read::CASES),
    ("value", value::CASES),
    ("list", list::CASES),
    ("life", expiry::CASES),
    ("lease", lease::CASES),
    ("batch", batch::CASES),
    ("race", race::CASES),
    ("scan", scan::CASES),
    ("space", space::CASES),
    ("drop", drop::CASES),
    ("directory", directory::CASES),
    ("filter", filter::CASES),
    ("mirror", mirror::CASES),
    ("placement", placement::CASES),
    ("watch", watch::CASES),
    ("limits", limits::CASES),
    ("text", text::CASES),
    ("close", close::CASES),
    ("random", random::CASES),
];

/// Every case.
pub fn cases() -> impl Iterator<Item = &'static ConformanceCase> {
    AREAS.iter().flat_map(|(_, cases)| cases.iter())
}
