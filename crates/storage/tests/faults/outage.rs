//! A chain whose secondary, a real Redis server, is out of reach for a while: G29, G30, G33.

use crate::app::{AGENT, Plain, open, say, space_holds, spend};
use crate::proxy::Proxy;
use crate::stores::{Fresh, STORES, Store, wait_for};
use ambit_storage::address::{DEFAULT_TENANT, Space};
use ambit_storage::conformance::DriverFixture;
use ambit_storage::driver::chain::WritePolicy;
use ambit_storage::driver::{self, Driver, DriverOptions};
use ambit_storage::storage::StorageState;
use ambit_storage::{Ambit, Context, Error, LiveAgent, Stores};
use std::sync::Arc;

/// A primary of some kind, and a secondary behind a way that can be cut.
struct Pair {
    proxy: Proxy,
    primary: Arc<dyn Driver>,
    secondary: Arc<dyn Driver>,
    _place: Fresh,
}

impl Pair {
    async fn over(store: &'static Store) -> Self {
        let fresh = store.fresh();
        let primary = fresh.open().await;
        let redis = STORES.iter().find(|store| store.name == "redis").unwrap();
        let place = redis.fresh().place;
        let server = place.url.trim_start_matches("redis://");
        let end = server.find(['/', '?']).unwrap_or(server.len());
        let (server, rest) = server.split_at(end);
        let proxy = Proxy::to(server.to_owned());
        let through = format!("redis://127.0.0.1:{}{rest}", proxy.port);
        let secondary = driver::open(&through, DriverOptions::default())
            .await
            .unwrap();
        Self {
            proxy,
            primary,
            secondary,
            _place: fresh,
        }
    }

    /// The application over the chain, as after a start of the process.
    fn ambit(&self, policy: WritePolicy) -> Ambit {
        let stores = Stores::builder(DriverOptions::default())
            .driver("main", self.primary.clone())
            .driver("cache", self.secondary.clone())
            .default_drivers(&["main", "cache"])
            .policy(policy);
        Ambit::builder(stores.build().unwrap()).agent(Plain).build()
    }

    /// What both drivers hold of a session; they hold the same.
    async fn holds(&self, agent: &LiveAgent) -> Vec<String> {
        let base = agent.context().identity();
        let mut found = Vec::new();
        for scope in ["chatHistory", "usage", "memory"] {
            let space = Space::of(DEFAULT_TENANT, &base.with_scope(scope).unwrap());
            let here = space_holds(&*self.primary, &space).await;
            assert_eq!(space_holds(&*self.secondary, &space).await, here, "{scope}");
            found.extend(here);
        }
        found
    }

    /// Waits until the secondary answers again: its connection is made anew in the background.
    async fn mend(&self, space: &Space) {
        self.proxy.mend();
        while self.secondary.logs(space).await.is_err() {
            tokio::task::yield_now().await;
        }
    }
}

async fn session(ambit: &Ambit, chat: &str) -> LiveAgent {
    let agent = open(ambit, chat).await.unwrap();
    say(&agent, "hello").await.unwrap();
    spend(&agent).unwrap();
    agent.context().save().await.unwrap();
    agent
}

fn space(agent: &LiveAgent) -> Space {
    Space::of(DEFAULT_TENANT, agent.history().identity())
}

pub fn g029_a_save_in_an_outage_is_partial_and_done_once_when_repeated(store: &'static Store) {
    wait_for(async {
        let pair = Pair::over(store).await;
        let ambit = pair.ambit(WritePolicy::All);
        let agent = session(&ambit, "a").await;
        pair.proxy.cut();
        say(&agent, "in the outage").await.unwrap();
        spend(&agent).unwrap();
        for _ in 0..2 {
            let error = agent.context().save().await.unwrap_err();
            let Error::Partial { done, failed } = &error else {
                panic!("{error}");
            };
            let failed: Vec<&str> = failed.iter().map(|(name, _)| name.as_str()).collect();
            assert_eq!(
                (done.as_slice(), failed.as_slice()),
                (&["main".to_owned()][..], &["cache"][..])
            );
            assert!(agent.context().is_dirty());
        }
        pair.mend(&space(&agent)).await;
        agent.context().save().await.unwrap();
        assert!(!agent.context().is_dirty());
        assert!(!pair.holds(&agent).await.is_empty());
        let spent = agent.usage().aggregate().await.unwrap().unwrap();
        assert_eq!((spent.records, spent.total_tokens), (2, 14));
        assert_eq!(agent.history().count().await.unwrap(), 2);
    });
}

pub fn g030_what_was_erased_in_an_outage_never_comes_back(store: &'static Store) {
    wait_for(async {
        let pair = Pair::over(store).await;
        let ambit = pair.ambit(WritePolicy::Primary);
        let (cleared, removed) = (session(&ambit, "a").await, session(&ambit, "b").await);
        pair.proxy.cut();
        cleared.context().clear().await.unwrap();
        let report = cleared.context().save().await.unwrap();
        assert!(report.degraded.iter().any(|(name, _)| name == "cache"));
        removed.context().remove().await.unwrap();
        pair.mend(&space(&cleared)).await;
        // The process starts again, and knows of the outage only what the stores know.
        let again = pair.ambit(WritePolicy::Primary);
        for (chat, state) in [("a", StorageState::Empty), ("b", StorageState::Absent)] {
            let agent = open(&again, chat).await.unwrap();
            assert_eq!(agent.history().state().await.unwrap(), state);
            assert_eq!(agent.history().messages().await.unwrap(), []);
            assert_eq!(agent.context().usage().records().await.unwrap(), []);
            say(&agent, "anew").await.unwrap();
            agent.context().save().await.unwrap();
            let messages = agent.history().messages().await.unwrap();
            assert_eq!(messages.len(), 1, "{chat}");
            let held = pair.holds(&agent).await.concat();
            assert!(held.contains("anew") && !held.contains("hello"), "{held}");
        }
    });
}

pub fn g033_an_outage_of_the_secondary_stops_nobody_where_it_is_best_effort(store: &'static Store) {
    wait_for(async {
        let pair = Pair::over(store).await;
        let ambit = pair.ambit(WritePolicy::Primary);
        let agent = session(&ambit, "a").await;
        pair.proxy.cut();
        say(&agent, "in the outage").await.unwrap();
        let report = agent.context().save().await.unwrap();
        let degraded: Vec<&str> = report
            .degraded
            .iter()
            .map(|(name, _)| name.as_str())
            .collect();
        assert!(degraded.contains(&"cache"), "{degraded:?}");
        assert_eq!(agent.history().count().await.unwrap(), 2);
        assert_eq!(Context::named(&ambit, AGENT).count().await.unwrap(), 2);
        pair.mend(&space(&agent)).await;
        say(&agent, "afterwards").await.unwrap();
        agent.context().save().await.unwrap();
        assert!(pair.holds(&agent).await.concat().contains("in the outage"));
    });
}
