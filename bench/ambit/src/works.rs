//! The works, one file each.

mod hook;
mod index;
mod load;
mod memory;
mod parallel;
mod shared;
mod turn;

use crate::level::{self, Level, Session};
use crate::measure::{Output, Sizes, pair};
use crate::{Result, Store};
use ambit_storage::driver::Driver;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;

/// One work.
pub type Work = for<'a> fn(&'a Bench) -> Pin<Box<dyn Future<Output = Result<()>> + 'a>>;

/// All works, by their names in the results.
pub const WORKS: &[(&str, Work)] = &[
    ("W1", |bench| Box::pin(turn::run(bench))),
    ("W2", |bench| Box::pin(load::run(bench))),
    ("W3", |bench| Box::pin(index::run(bench))),
    ("W4", |bench| Box::pin(memory::run(bench))),
    ("W5", |bench| Box::pin(shared::run(bench))),
    ("W6", |bench| Box::pin(parallel::run(bench))),
    ("W7", |bench| Box::pin(hook::run(bench))),
];

/// What a work has to work with.
pub struct Bench {
    pub driver: Arc<dyn Driver>,
    pub store: Store,
    pub sizes: Sizes,
    pub output: Output,
    /// What sets this run's data apart in a store that stays.
    pub run: String,
}

impl Bench {
    /// The store for one work, which finds nothing there.
    pub fn level(&self, work: &str) -> Result<Arc<dyn Level>> {
        level::over(self.driver.clone(), &self.store, &self.tenant(work))
    }

    /// The name under which that work's data is kept.
    pub fn tenant(&self, work: &str) -> String {
        format!("{work}-{}", self.run)
    }

    fn scheme(&self) -> &str {
        self.store.url.split(':').next().unwrap_or_default()
    }
}

/// A conversation with so many messages.
async fn seed(level: &dyn Level, chat: &str, messages: usize) -> Result<Session> {
    let session = Session::new("user", chat);
    level.start(&session).await?;
    let turns: Vec<usize> = (0..messages / 2).collect();
    for some in turns.chunks(500) {
        let texts = some.iter().flat_map(|turn| pair(*turn)).collect();
        level.append(&session, texts).await?;
    }
    Ok(session)
}
