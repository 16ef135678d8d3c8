//! Stores of an app.

use crate::place::{person, place, value};
use serde_json::{Value, json};
use std::time::{SystemTime, UNIX_EPOCH};

const LRU: (&str, &str) = ("stores/s.lru.yao", r#"{"option": {"size": 100}}"#);
const DATABASE: (&str, &str) = ("stores/s.xun.yao", r#"{"name": "Shared"}"#);
const FILE: [(&str, &str); 2] = [
    ("stores/s.store.yao", r#"{"connector": "kept"}"#),
    (
        "connectors/kept.conn.yao",
        r#"{"type": "sqlite3", "options": {"file": "s.db"}}"#,
    ),
];

/// Every method once, and what they answer.
const EVERY: &str = "(() => { const s = Store('s'); return [
    s.Get('none'), s.Set('a', {x: [1]}), s.Get('a'), s.Has('a'), s.GetSet('a', 2), s.GetSet('g', 2), s.GetSet('f', (key: string) => key + '!', 60), s.GetDel('g'),
    s.Keys(), s.Keys('f*'), s.Len(), s.Incr('n'), s.Incr('n', 2.5), s.Decr('n'),
    s.Push('l', [1, 2], 3), s.AddToSet('l', [3, 4]), s.Pop('l'), s.Pull('l', 2), s.ArrayLen('l'), s.ArrayGet('l', -1), s.ArraySet('l', 0, 'x'), s.Push('l', 5),
    s.ArraySlice('l', 0), s.ArrayPage('l', 1, 1), s.ArrayAll('l'), s.PullAll('l'), s.Del('a'), s.Has('a'), s.Clear(), s.Len(), Object.keys(s)].map(v => v ?? null); })()";

fn every() -> Value {
    json!([
        null, null, {"x": [1]}, true, {"x": [1]}, 2, "f!", 2,
        ["a", "f"], ["f"], 2, 1, 3.5, 2.5,
        3, 4, 4, [2, 3], 1, 1, null, 2,
        ["x", 5], ["x"], ["x", 5], ["x", 5], null, false, null, 0, []
    ])
}

#[tokio::test]
async fn every_kind_of_store_has_every_method() {
    for files in [&[LRU][..], &[DATABASE], &FILE] {
        assert_eq!(value(files, EVERY).await, every(), "{files:?}");
    }
}

#[tokio::test]
async fn a_store_behind_redis_has_every_method_and_is_shared_by_apps() {
    #[expect(
        clippy::disallowed_methods,
        reason = "the runner of the tests names the server in the environment"
    )]
    let url = std::env::var("TEST_REDIS_URL").unwrap();
    let place = url.strip_prefix("redis://").unwrap();
    let (place, db) = place.split_once('/').unwrap();
    let (host, port) = place.split_once(':').unwrap();
    let connector = json!({"type": "redis", "options": {"host": host, "port": port, "db": db}});
    let connector = connector.to_string();
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap();
    let name = format!("test-{}", now.as_nanos());
    let file = format!("stores/{name}.redis.yao");
    let files = [
        (file.as_str(), r#"{"connector": "cache"}"#),
        ("connectors/cache.conn.yao", connector.as_str()),
    ];
    let named = |text: &str| text.replace("Store('s')", &format!("Store('{name}')"));
    assert_eq!(value(&files, &named(EVERY)).await, every());
    value(&files, &named("Store('s').Set('k', 'from one app', 60)")).await;
    let found = value(&files, &named("Store('s').GetDel('k')")).await;
    assert_eq!(found, json!("from one app"));
}

#[tokio::test]
async fn a_store_is_the_apps_and_not_the_users() {
    for files in [[LRU], [DATABASE]] {
        let place = place(&files, "Store('s').Push('who', [Authorized().user_id])").await;
        assert_eq!(place.answer(&person("ann")).await, json!(1));
        let mut bob = person("bob");
        bob.tenant_id = Some("other".to_owned());
        assert_eq!(place.answer(&bob).await, json!(2));
        place.runtime.reload().await.unwrap();
        assert_eq!(
            place.answer(&person("ann")).await,
            json!(3),
            "a reload keeps it"
        );
    }
}

#[tokio::test]
async fn a_store_in_memory_holds_so_many_values_and_its_life_is_theirs() {
    let long = r#"{"option": {"size": 2, "ttl": "1h"}}"#;
    let short = r#"{"option": {"size": 2, "ttl": "50ms"}}"#;
    let held = "(() => { const s = Store('s'); s.Set('a', 1); s.Set('b', 1); s.Set('c', 1); const keys = s.Keys();
        s.Set('d', 1, 3600); s.Set('e', 1, 0); s.Set('f', 1); return [keys, s.Keys()]; })()";
    let ended = "(() => { const s = Store('s'); s.Set('kept', 1, 0); s.Set('gone', 1); time.Sleep(60); return s.Keys(); })()";
    let own = "(() => { const s = Store('s'); s.Set('d', 1, 3600); s.Set('e', 1, 0); time.Sleep(60); return s.Keys(); })()";
    for (option, expression, expected) in [
        (long, held, json!([["b", "c"], ["e", "f"]])),
        (short, ended, json!(["kept"])),
        (short, own, json!(["d", "e"])),
    ] {
        let files = [("stores/s.lru.yao", option)];
        assert_eq!(value(&files, expression).await, expected, "{expression}");
    }
}

#[tokio::test]
async fn methods_are_processes_too() {
    let expression = "[Process('stores.s.Set', 'k', {a: 1}, 60), Process('stores.s.Get', 'k'), Process('stores.s.get', 'k'), Process('stores.s.GetSet', 'k', 2), Store('s').Get('k'), Process('stores.s.Incr', 'n', 5)]";
    let expected = json!([null, {"a": 1}, {"a": 1}, {"a": 1}, {"a": 1}, 5]);
    assert_eq!(value(&[LRU], expression).await, expected);
}

/// A call, and the code and the text of what it throws.
const WRONG: &[(&str, &str, &str)] = &[
    ("Store('S2')", "not_found", "unknown store \"S2\""),
    (
        "Store('session')",
        "not_found",
        "unknown store \"session\" (did you mean \"sessions\"?)",
    ),
    (
        "Store('__yao.session')",
        "permission_denied",
        "permission_denied: store __yao.session",
    ),
    (
        "Process('stores.__yao.session.Get', 'k')",
        "permission_denied",
        "permission_denied: store __yao.session",
    ),
    (
        "Process('stores.session.Get', 'k')",
        "not_found",
        "process not found: stores.session.Get (did you mean \"stores.sessions.Get\"?)",
    ),
    (
        "Process('stores.sessions.Gett', 'k')",
        "not_found",
        "process not found: stores.sessions.Gett (did you mean \"stores.sessions.Get\"?)",
    ),
    (
        "Process('stores.sessions.Get')",
        "invalid_argument",
        "Get requires a key argument",
    ),
    (
        "Process('stores.sessions.Set', 'k', 1, 'soon')",
        "invalid_argument",
        "invalid ttl soon",
    ),
    (
        "Store()",
        "invalid_argument",
        "Store requires an id argument",
    ),
    ("Store(5)", "invalid_argument", "id must be a string"),
    (
        "Store('sessions').Get()",
        "invalid_argument",
        "Get requires a key argument",
    ),
    (
        "Store('sessions').GetSet('k')",
        "invalid_argument",
        "GetSet requires key and value arguments",
    ),
    (
        "(Store('sessions').Set('k', 'x'), Store('sessions').Incr('k'))",
        "invalid_argument",
        "Incr: key \"k\" holds a string, not a number",
    ),
    (
        "Store('sessions').Set('k', 'x'.repeat(2 << 20))",
        "limit_exceeded",
        "value exceeds 1048576 bytes",
    ),
    (
        "Store('sessions').GetSet('k', () => { throw new Exception('mine', 'own'); })",
        "own",
        "mine",
    ),
];

#[tokio::test]
async fn wrong_calls_say_what_is_wrong() {
    for (call, code, message) in WRONG {
        let found = value(&[("stores/sessions.xun.yao", "{}")], call).await;
        assert_eq!(found, json!([code, message]), "{call}");
    }
}

#[tokio::test]
async fn a_store_that_cannot_be_reached_says_so_without_its_password() {
    let files = [
        ("stores/s.redis.yao", r#"{"connector": "away"}"#),
        (
            "connectors/away.conn.yao",
            r#"{"type": "redis", "options": {"port": 1, "pass": "canary"}}"#,
        ),
    ];
    let found = value(&files, "Store('s').Get('k')").await;
    assert_eq!(found[0], "unavailable");
    let message = found[1].as_str().unwrap();
    assert!(
        message.starts_with("store \"s\": ") && !message.contains("canary"),
        "{message}"
    );
}
