//! Several nodes of one installation: `ambit serve` processes over one store. Every case runs on every store that nodes can
//! share.

#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "a failed assumption fails its case"
)]

mod causes;
mod dying;
#[path = "../support/feed.rs"]
mod feed;
mod full;
mod limits;
mod logs;
mod mcp;
#[path = "../support/mcp.rs"]
#[expect(dead_code, reason = "what the tests of the whole server use of it too")]
mod mcp_requests;
mod metrics;
#[path = "../support/page.rs"]
mod page;
mod place;
mod production;
mod readers;
mod responses;
#[path = "../../../storage/tests/support/run_tally.rs"]
mod run_tally;
#[path = "../clients/server.rs"]
#[expect(dead_code, reason = "what the tests with clients use of it too")]
mod server;
mod sharing;
#[path = "../http/site.rs"]
#[expect(dead_code, reason = "what the tests of the whole server use of it too")]
mod site;
mod stand_ins;
#[path = "../../../runtime/tests/support/stopwatch.rs"]
mod stopwatch;
#[path = "../../../runtime/tests/support/stores.rs"]
mod stores;

use libtest_mimic::{Arguments, Trial};
use place::{Place, STORES};

type Run = fn(Place) -> futures::future::BoxFuture<'static, ()>;

fn main() {
    let arguments = Arguments::from_args();
    let mut trials = Vec::new();
    for store in STORES {
        let cases = [
            causes::CASES,
            dying::CASES,
            full::CASES,
            limits::CASES,
            logs::CASES,
            mcp::CASES,
            metrics::CASES,
            readers::CASES,
            responses::CASES,
            sharing::CASES,
        ];
        for (name, run) in cases.concat() {
            let trial = Trial::test(format!("{}::{name}", store.name), move || {
                let runtime = tokio::runtime::Builder::new_current_thread()
                    .enable_all()
                    .build()?;
                runtime.block_on(run(Place::over(store)));
                Ok(())
            });
            // As in the storage crate: a store whose server is not configured has no cases.
            if (store.place)().is_some() {
                trials.push(trial);
            }
        }
    }
    trials.extend(production::trial());
    libtest_mimic::run(&arguments, trials).exit();
}
