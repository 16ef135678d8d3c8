//! Canaries: each text has a word of its own, and nobody who searches finds a word that is not for them, by whichever route.

mod questions;
mod world;

use futures::stream::{self, StreamExt};
use questions::Question;
use rand::SeedableRng;
use rand::rngs::StdRng;
use std::collections::BTreeSet;
use world::World;

/// So many searches are made.
const SEARCHES: usize = 10_000;
/// So many at once.
const AT_ONCE: usize = 8;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn g202_ten_thousand_searches_find_no_word_that_is_not_theirs() {
    let world = World::new().await;
    let mut random = StdRng::seed_from_u64(202);
    let questions = (0..SEARCHES).map(|_| Question::random(&mut random, &world));
    let questions: Vec<Question> = questions.collect();
    let found = stream::iter(&questions)
        .map(|question| question.found(&world))
        .buffer_unordered(AT_ONCE)
        .collect::<Vec<BTreeSet<String>>>()
        .await;
    let found: BTreeSet<String> = found.into_iter().flatten().collect();
    let all: BTreeSet<String> = world.canaries.keys().cloned().collect();
    assert_eq!(found, all, "each word is found by those it is for");
}
