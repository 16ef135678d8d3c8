//! A driver of your own: it keeps everything in a snapshot in memory, and passes every case of the conformance kit.
//!
//! `cargo run -p ambit-storage --example own_driver --features conformance`

mod snapshot;

use ambit_storage::batch::SizeLimits;
use ambit_storage::clock::Clock;
use ambit_storage::conformance::{AREAS, DriverFixture};
use ambit_storage::driver::{Driver, DriverOptions};
use ambit_storage::storage::Message;
use ambit_storage::{Agent, Ambit, Result, Stores};
use async_trait::async_trait;
use std::sync::Arc;

struct Support;

impl Agent for Support {
    fn name(&self) -> &str {
        "Support"
    }
}

/// A fresh store for one case of the kit.
struct Fresh {
    driver: Arc<dyn Driver>,
    options: DriverOptions,
}

impl Fresh {
    async fn open() -> Result<Arc<Self>> {
        let options = DriverOptions::default();
        let driver = snapshot::open(String::new(), options.clone()).await?;
        Ok(Arc::new(Self { driver, options }))
    }
}

#[async_trait]
impl DriverFixture for Fresh {
    async fn open(&self) -> Arc<dyn Driver> {
        self.driver.clone()
    }

    fn clock(&self) -> Clock {
        self.options.clock.clone()
    }

    fn limits(&self) -> SizeLimits {
        self.options.limits
    }

    fn is_shared(&self) -> bool {
        false
    }

    fn is_small(&self) -> bool {
        true
    }
}

/// Keeps a conversation in the driver, then runs the kit on it.
#[tokio::main]
pub async fn main() -> Result<()> {
    let options = DriverOptions::default();
    let driver = snapshot::open(String::new(), options.clone()).await?;
    let stores = Stores::builder(options)
        .driver("snapshot", driver)
        .build()?;
    let ambit = Ambit::builder(stores).agent(Support).build();
    let agent = ambit.agent("Support")?.for_user_id("user-123").await?;
    agent.history().add_message(Message::user("Hello")).await?;
    agent.context().save().await?;
    println!("kept in {:?}", agent.history().placement().names());
    assert_eq!(agent.history().count().await?, 1);

    for (area, cases) in AREAS {
        for case in *cases {
            // A case that does not hold panics and says why.
            (case.run)(Fresh::open().await?).await;
        }
        println!("{area}: {} cases pass", cases.len());
    }
    Ok(())
}
