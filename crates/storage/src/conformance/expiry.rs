//! Lives: what has expired is absent at once, and gone after a sweep.

use super::steps::*;
use super::{ConformanceCase, TestStore};
use crate::StoredValue;
use crate::batch::{Batch, BatchCheck, WriteOutcome};
use crate::driver::ValuePart;
use crate::operation::Operation;
use crate::operation::OperationOutput::{Items, Length, Nothing, Number, Taken};
use std::time::Duration;

pub(super) const CASES: &[ConformanceCase] = cases![
    g094_an_expired_value_is_absent_to_every_reader,
    g094_an_expired_value_is_absent_to_every_operation,
    g094_an_expired_value_is_absent_to_checks,
    g095_only_set_replaces_the_life,
    g095_a_value_that_an_operation_makes_gets_the_life_of_the_write,
    a_value_lives_until_its_end,
    a_wipe_counts_the_living,
    g084_expired_values_are_gone_after_sweeps_of_any_size,
    a_sweep_takes_only_what_has_expired,
    expired_values_end_with_their_space,
];

/// A value that has expired.
async fn expired(store: &TestStore, name: &str, value: &str) {
    let key = space("s").key(name);
    store.write(apply_for(&key, set(value), MINUTE)).await;
    store.clock().advance(2 * MINUTE);
}

async fn g094_an_expired_value_is_absent_to_every_reader(store: TestStore) {
    let other = store.open().await;
    let here = space("s");
    store.write(apply(&here.key("b"), set("\"alive\""))).await;
    expired(&store, "a", "[1,2,3]").await;
    expired(&store, "c", "3").await;
    for handle in [&store, &other] {
        for part in [
            ValuePart::Whole,
            ValuePart::Nothing,
            ValuePart::Items(0, -1),
        ] {
            assert_eq!(must(handle.get(&here.key("a"), part).await), None);
            assert_eq!(must(handle.get(&here.key("c"), part).await), None);
        }
        for scan in [scan("*", 1), scan("*", MANY)] {
            let found = must(handle.scan(&here, &scan).await);
            let names: Vec<&str> = found.iter().map(|(name, _)| name.as_str()).collect();
            assert_eq!(names, ["b"]);
        }
    }
}

async fn g094_an_expired_value_is_absent_to_every_operation(store: TestStore) {
    let key = space("s").key("k");
    let refused = "ArraySet: index 0 out of range for key \"k\" (length 0)";
    let list = |items: &[&str]| Some(format!("[{}]", items.join(",")));
    for old in ["[1,2,3]", "41", "\"text\""] {
        for (op, answer, left) in [
            (Operation::Del, Nothing, None),
            (Operation::GetDel, Taken(None), None),
            (incr(1), Number(json("1")), Some("1".to_owned())),
            (push(&["4"]), Length(1), list(&["4"])),
            (Operation::Pop, Taken(None), None),
            (Operation::Pull(2), Items(vec![]), None),
            (Operation::PullAll, Items(vec![]), None),
            (add_to_set(&["1"]), Length(1), list(&["1"])),
        ] {
            expired(&store, "k", old).await;
            let name = op.name();
            assert_eq!(store.act(&key, op).await, answer, "{name} on {old}");
            assert_eq!(store.text(&key).await, left, "{name} on {old}");
        }
        expired(&store, "k", old).await;
        let replace = apply(&key, Operation::ArraySet(0, json("1")));
        assert_eq!(refusal(store.attempt(replace).await), refused);
        assert_eq!(store.value(&key).await, None);
    }
}

async fn g094_an_expired_value_is_absent_to_checks(store: TestStore) {
    let key = space("s").key("k");
    store.write(apply_for(&key, set("1"), MINUTE)).await;
    let seen = some(store.value(&key).await).version;
    store.clock().advance(2 * MINUTE);
    let check = |version| BatchCheck::version(key.clone(), version);
    let batch = || Batch::of([apply(&key, incr(5))]);
    assert_eq!(
        refusal(store.commit(batch().checking(check(Some(seen)))).await),
        format!("{key} changed since it was read: expected {seen}, found nothing")
    );
    must(store.commit(batch().checking(check(None))).await);
    assert_eq!(store.text(&key).await.as_deref(), Some("5"));
}

async fn g095_only_set_replaces_the_life(store: TestStore) {
    let (number, list) = (space("s").key("number"), space("s").key("list"));
    store.write(apply_for(&number, set("1"), HOUR)).await;
    store.write(apply_for(&list, set("[1,2,3]"), HOUR)).await;
    let ends = [&number, &list].map(|key| key.clone());
    let mut before = Vec::new();
    for key in &ends {
        before.push(some(store.value(key).await).expires_at);
    }
    store.clock().advance(MINUTE);
    store.write(apply_for(&number, incr(1), 9 * HOUR)).await;
    store
        .write(apply_for(&number, replace("7"), 9 * HOUR))
        .await;
    for op in [
        push(&["4"]),
        Operation::Pop,
        Operation::Pull(1),
        add_to_set(&["9"]),
        Operation::ArraySet(0, json("0")),
        Operation::PullAll,
        replace("{\"a\":1}"),
        replace("[1,2]"),
        replace("[]"),
    ] {
        let name = op.name();
        store.write(apply_for(&list, op, 9 * HOUR)).await;
        let entry = some(store.value(&list).await);
        assert_eq!(entry.expires_at, before[1], "{name} keeps the life");
    }
    assert_eq!(some(store.value(&number).await).expires_at, before[0]);
    store.write(apply_for(&number, set("2"), 9 * HOUR)).await;
    let longer = some(store.value(&number).await).expires_at;
    assert!(longer > before[0], "Set replaces the life");
    store.write(apply(&list, set("[]"))).await;
    assert_eq!(some(store.value(&list).await).expires_at, None);
    store.clock().advance(2 * HOUR);
    assert_eq!(store.text(&number).await.as_deref(), Some("2"));
}

async fn g095_a_value_that_an_operation_makes_gets_the_life_of_the_write(store: TestStore) {
    for (name, op) in [
        ("number", incr(1)),
        ("list", push(&["1"])),
        ("plain", replace("1")),
        ("whole list", replace("[1]")),
        ("set", add_to_set(&["1"])),
    ] {
        let key = space("s").key(name);
        for _ in 0..2 {
            store.write(apply_for(&key, op.clone(), MINUTE)).await;
            assert!(some(store.value(&key).await).expires_at.is_some());
            store.clock().advance(2 * MINUTE);
            assert_eq!(store.value(&key).await, None);
        }
        store.write(apply(&key, op)).await;
        assert_eq!(some(store.value(&key).await).expires_at, None);
    }
}

async fn a_value_lives_until_its_end(store: TestStore) {
    let key = space("s").key("k");
    store.write(apply_for(&key, set("1"), 2 * HOUR)).await;
    let first = some(store.value(&key).await);
    store.clock().advance(HOUR);
    assert_eq!(store.value(&key).await, Some(first.clone()));
    store.write(apply_for(&key, set("1"), 2 * HOUR)).await;
    let second = some(store.value(&key).await);
    let longer = some(second.expires_at) - some(first.expires_at);
    assert!(
        (millis(HOUR)..millis(HOUR + MINUTE)).contains(&longer),
        "an hour later, not {longer} ms"
    );
    store.write(apply_for(&key, set("2"), Duration::MAX)).await;
    store.clock().advance(1_000 * HOUR);
    assert_eq!(store.text(&key).await.as_deref(), Some("2"));
}

async fn a_wipe_counts_the_living(store: TestStore) {
    let here = space("s");
    expired(&store, "a:1", "1").await;
    expired(&store, "a:2", "[1]").await;
    for name in ["a:3", "a:4", "b:1"] {
        store.write(apply(&here.key(name), set("1"))).await;
    }
    assert_eq!(
        store.write(wipe(&here, "a:*")).await,
        WriteOutcome::Erased(2)
    );
    assert_eq!(
        store.values(&here, "*").await,
        [("b:1".to_owned(), "1".to_owned())]
    );
    assert_eq!(must(store.sweep(MANY).await), 0, "a wipe erases the dead");
}

async fn g084_expired_values_are_gone_after_sweeps_of_any_size(store: TestStore) {
    let here = space("s");
    let dead = (0..10).map(|number| {
        let value = if number % 2 == 0 { "[1,2,3]" } else { "\"x\"" };
        apply_for(&here.key(format!("dead{number}")), set(value), MINUTE)
    });
    must(store.commit(Batch::of(dead)).await);
    store.clock().advance(2 * MINUTE);
    let mut swept = Vec::new();
    for _ in 0..4 {
        swept.push(must(store.sweep(4).await));
    }
    assert_eq!(swept, [4, 4, 2, 0]);
    store.clock().set_back(10 * MINUTE);
    assert_eq!(
        store.values(&here, "*").await,
        [],
        "what was swept does not come back with the old time"
    );
}

async fn a_sweep_takes_only_what_has_expired(store: TestStore) {
    let here = space("s");
    store.write(apply(&here.key("forever"), set("[1]"))).await;
    store
        .write(apply_for(&here.key("later"), set("2"), HOUR))
        .await;
    store.append(&here.log("items"), &[("a", "1")]).await;
    store.write(track("row", &identity("s"))).await;
    let before = store.snapshot(&here).await;
    expired(&store, "dead", "[1,2]").await;
    assert_eq!(must(store.sweep(MANY).await), 1);
    assert_eq!(must(store.sweep(MANY).await), 0);
    assert_eq!(store.snapshot(&here).await, before);
}

async fn expired_values_end_with_their_space(store: TestStore) {
    let here = space("s");
    for end in [remove(&here), clear(&here)] {
        expired(&store, "dead", "[1,2]").await;
        store.write(end).await;
        assert_eq!(must(store.sweep(MANY).await), 0);
    }
    expired(&store, "k", "[1,2]").await;
    store.act(&here.key("k"), push(&["3"])).await;
    assert_eq!(
        store.act(&here.key("k"), Operation::GetDel).await,
        Taken(Some(StoredValue::from(json("[3]"))))
    );
    assert_eq!(must(store.sweep(MANY).await), 0);
}
