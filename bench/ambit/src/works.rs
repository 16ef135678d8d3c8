//! The works, one file each.

pub mod cores;
mod ctx;
mod growth;
mod hook;
mod index;
mod load;
mod memory;
mod model;
mod nodes;
mod parallel;
mod process;
mod recall;
mod search;
mod served;
mod shared;
mod stream;
mod tokens;
mod turn;
mod waiting;

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
    ("W8", |bench| Box::pin(served::run(bench))),
    ("W9", |bench| Box::pin(stream::run(bench))),
    ("W10", |bench| Box::pin(process::run(bench))),
    ("W11", |bench| Box::pin(waiting::run(bench))),
    ("W12", |bench| Box::pin(model::run(bench))),
    ("W13", |bench| Box::pin(search::index(bench))),
    ("W14", |bench| Box::pin(search::query(bench))),
    ("W15", |bench| Box::pin(tokens::run(bench))),
    ("W17", |bench| Box::pin(growth::run(bench))),
    ("W18", |bench| Box::pin(cores::run(bench))),
    ("W19", |bench| Box::pin(nodes::run(bench))),
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

    /// The address of a store that a server of its own begins for this work; none where servers are not measured.
    pub fn served(&self, work: &str) -> Option<String> {
        let is_plain = !self.store.contexts && !self.store.normal;
        match self.scheme() {
            "memory" if is_plain => Some("memory:".to_owned()),
            "sqlite" if is_plain => Some(format!("{}-{work}", self.store.url)),
            _ => None,
        }
    }

    /// The same; over PostgreSQL the database that all works share.
    pub fn served_or_shared(&self, work: &str) -> Option<String> {
        let is_plain = !self.store.contexts && !self.store.normal;
        match self.scheme() {
            "postgres" if is_plain => Some(self.store.url.clone()),
            _ => self.served(work),
        }
    }

    fn scheme(&self) -> &str {
        self.store.url.split(':').next().unwrap_or_default()
    }
}

/// A conversation with so many messages.
async fn seed(level: &dyn Level, chat: &str, messages: usize) -> Result<Session> {
    seed_with(level, Session::new("user", chat), messages, pair).await
}

/// The same for this session, with the messages that each turn has here.
async fn seed_with(
    level: &dyn Level,
    session: Session,
    messages: usize,
    of_turn: fn(usize) -> Vec<String>,
) -> Result<Session> {
    level.start(&session).await?;
    let turns: Vec<usize> = (0..messages / 2).collect();
    for some in turns.chunks(500) {
        let texts = some.iter().flat_map(|turn| of_turn(*turn)).collect();
        level.append(&session, texts).await?;
    }
    Ok(session)
}
