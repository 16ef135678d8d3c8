//! Who sees which conversations, and how they are listed, shown, changed and removed. Every case runs on every store.

#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "a failed assumption fails its case"
)]

mod bed;
mod changes;
mod chats;
mod contexts;
mod counting;
mod filters;
mod leases;
mod memory;
mod memory_bed;
mod memory_erasure;
mod memory_index;
mod messages;
mod names;
mod pages;
mod recall;
mod recall_bed;
mod recall_erasure;
mod scale;
mod sight;
mod spent;
#[path = "../support/stores.rs"]
mod stores;
mod vectors;
mod vectors_bed;

use bed::{Bed, STORES};
use libtest_mimic::{Arguments, Trial};

type Run = fn(Bed) -> futures::future::BoxFuture<'static, ()>;

fn main() {
    let arguments = Arguments::from_args();
    let cases = [
        changes::CASES,
        chats::CASES,
        contexts::CASES,
        filters::CASES,
        leases::CASES,
        memory::CASES,
        memory_erasure::CASES,
        memory_index::CASES,
        messages::CASES,
        names::CASES,
        pages::CASES,
        recall::CASES,
        recall_erasure::CASES,
        scale::CASES,
        sight::CASES,
        spent::CASES,
        vectors::CASES,
    ];
    let mut trials = Vec::new();
    for store in STORES {
        let long: &'static [(&str, Run)] = match store.name {
            "memory" => recall::LONG_CASES,
            _ => &[],
        };
        let cases = cases.iter().flat_map(|cases| cases.iter());
        for (name, run) in cases.chain(long) {
            let trial = Trial::test(format!("{}::{name}", store.name), move || {
                let runtime = tokio::runtime::Builder::new_multi_thread()
                    .worker_threads(2)
                    .enable_all()
                    .build()?;
                runtime.block_on(async { run(Bed::new(store).await).await });
                Ok(())
            });
            // As in the storage crate: a store whose server is not configured has no cases.
            if (store.place)().is_some() {
                trials.push(trial);
            }
        }
    }
    libtest_mimic::run(&arguments, trials).exit();
}
