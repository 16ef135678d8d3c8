//! Moves between every two drivers that last: `from::to`. The doctor finds nothing wrong before and after.

#![expect(
    clippy::unwrap_used,
    reason = "these are tests, though clippy only knows those with #[test]"
)]

#[path = "support/stores.rs"]
#[expect(dead_code, reason = "points at which to kill are for other tests")]
mod stores;
#[path = "../examples/own_driver/snapshot.rs"]
mod toy;

use ambit_storage::address::Space;
use ambit_storage::conformance::DriverFixture;
use ambit_storage::doctor::{DoctorMode, examine};
use ambit_storage::driver::{Driver, DriverOptions, LogRange, ValuePart, ValueScan};
use ambit_storage::pattern::Pattern;
use ambit_storage::relocation::relocate;
use ambit_storage::storage::{INLINE, Message};
use ambit_storage::{Agent, Ambit, Context, Stores};
use libtest_mimic::{Arguments, Trial};
use stores::{STORES, Store, wait_for};

fn main() {
    let lasting = || STORES.iter().filter(|store| store.is_shared);
    let pairs = lasting().flat_map(|from| lasting().map(move |to| (from, to)));
    let trials = pairs.map(|(from, to)| {
        let name = format!("{}::{}", from.name, to.name);
        let trial = Trial::test(name, move || {
            wait_for(moves(from, to));
            Ok(())
        });
        trial.with_ignored_flag(from.is_missing() || to.is_missing())
    });
    libtest_mimic::run(&Arguments::from_args(), trials.collect()).exit();
}

struct Support;

impl Agent for Support {
    fn name(&self) -> &str {
        "Support"
    }
}

/// A conversation moves there and back, and is the same in each place and gone from the other.
async fn moves(from: &'static Store, to: &'static Store) {
    let (here, there) = (from.fresh(), to.fresh());
    let drivers = [here.open().await, there.open().await];
    let builder = Stores::builder(DriverOptions::default());
    let stores = builder
        .driver("here", drivers[0].clone())
        .driver("there", drivers[1].clone());
    let ambit = Ambit::builder(stores.build().unwrap())
        .agent(Support)
        .build();
    converse(&ambit).await;
    let query = Context::named(&ambit, "Support").for_scope("chatHistory");
    let row = query.rows().next().await.unwrap().unwrap().remove(0);
    let memory = row.identity.with_scope("memory").unwrap();
    let spaces = [&row.identity, &memory].map(|identity| Space::of("default", identity));
    let before = held(drivers[0].as_ref(), &spaces).await;
    for (name, at) in [("there", 1), ("here", 0)] {
        relocate(&ambit, &row.id, &[name]).await.unwrap();
        let placed = query.rows().next().await.unwrap().unwrap().remove(0);
        assert_eq!(
            (&placed.id, placed.placement),
            (&row.id, vec![name.to_owned()])
        );
        assert_eq!(held(drivers[at].as_ref(), &spaces).await, before, "{name}");
        let left = held(drivers[1 - at].as_ref(), &spaces).await;
        assert_eq!(left, Vec::<String>::new(), "{name}");
        let mut found = Vec::new();
        let mut tell = |finding: &_| found.push(format!("{finding:?}"));
        let examined = examine(&ambit, DoctorMode::Report, &mut tell)
            .await
            .unwrap();
        assert_eq!((examined.rows, found), (2, Vec::new()), "{name}");
    }
    ambit.close().await.unwrap();
}

async fn converse(ambit: &Ambit) {
    let agent = ambit.agent("Support").unwrap();
    let agent = agent.for_user_id("a_b%*").await.unwrap();
    for text in ["hello", "\u{1f600}\0", &"long ".repeat(INLINE)] {
        agent
            .history()
            .add_message(Message::user(text))
            .await
            .unwrap();
    }
    agent.context().save().await.unwrap();
    let memory = agent.context().memory().unwrap();
    memory.incr("visits", 2.0).await.unwrap();
    memory.push("list", &[1, 2, 3]).await.unwrap();
}

/// All that a driver holds of these spaces.
async fn held(driver: &dyn Driver, spaces: &[Space]) -> Vec<String> {
    let mut held = Vec::new();
    for space in spaces {
        for name in driver.logs(space).await.unwrap() {
            let page = driver
                .read(&space.log(name.as_str()), LogRange::from(1, 100))
                .await;
            held.push(format!("{name} {:?}", page.unwrap()));
        }
        let scan = ValueScan::first(Pattern::all(), 100, ValuePart::Whole);
        for (name, entry) in driver.scan(space, &scan).await.unwrap() {
            held.push(format!("{name} {entry:?}"));
        }
    }
    held
}
