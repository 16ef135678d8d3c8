//! `ctx.memory.<ns>.Search`: what is found, and every error text.

use crate::support::Stage;
use serde_json::json;

#[tokio::test]
async fn values_are_found_by_the_words_of_their_key_and_texts() {
    let stage = Stage::new();
    let found = stage
        .value(
            "(() => { const m = ctx.memory.user;
              m.Set('lamp', 1); m.Set('likes', {a: ['blue LAMPS', {b: 'and chairs'}], n: 2}); m.Set('gone', 'lamp'); m.Del('gone');
              ctx.memory.team.Set('lamp', 'of others');
              const keys = (text, options) => m.Search(text, options).map(found => found.key);
              const best = m.Search('chair', {limit: 1})[0];
              return [keys('lamp'), keys('lamp', {pattern: 'li*'}), keys('lamp', {filter: {n: {$gt: 1}}}), keys('table'),
                keys(''), m.Search('')[0].score, [best.key, best.value.n, best.snippet, best.score > 0 && best.score <= 1]]; })()",
        )
        .await;
    assert_eq!(
        found,
        json!([
            ["lamp", "likes"],
            ["likes"],
            ["likes"],
            [],
            ["lamp", "likes"],
            null,
            ["likes", 2, "likes blue LAMPS and chairs", true],
        ])
    );
}

#[tokio::test]
async fn nobodys_memory_has_nothing_to_be_found() {
    let mut stage = Stage::new();
    stage.authorized = ambit_runtime::Authorized::default();
    assert_eq!(stage.value("ctx.memory.user.Search('a')").await, json!([]));
}

#[tokio::test]
async fn wrong_searches_are_refused() {
    let stage = Stage::new();
    for (call, says) in [
        ("Search()", "Search requires a text argument"),
        ("Search(1)", "text must be a string"),
        ("Search('a', 1)", "options must be an object"),
        ("Search('a', {limit: 0})", "limit must be 1 to 100, not 0"),
        ("Search('a', {limit: 'x'})", "limit must be an integer"),
        ("Search('a', {pattern: 1})", "pattern must be a string"),
        (
            "Search('a', {filter: 1})",
            "filter \"\" must be an object of paths and conditions",
        ),
    ] {
        let found = stage
            .attempt(&format!("return ctx.memory.user.{call}"))
            .await;
        assert_eq!(found, json!(["invalid_argument", says]), "{call}");
    }
}

#[tokio::test]
async fn options_that_do_nothing_are_named_in_the_trace() {
    let stage = Stage::new();
    let found = "ctx.memory.user.Search('a', { limits: 3, limit: 1 })";
    assert_eq!(stage.value(found).await, json!([]));
    let told = serde_json::to_string(&stage.tree().logs).unwrap();
    let warning =
        "ctx.memory.user.Search: unknown option \\\"limits\\\"; did you mean \\\"limit\\\"?";
    assert!(told.contains(warning), "{told}");
}
