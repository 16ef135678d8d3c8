//! Lives: what has expired is absent at once, and gone after a sweep.

use super::steps::*;
use super::{ConformanceCase, DriverFixture};
use crate::StoredValue;
use crate::batch::{Batch, BatchCheck, WriteOutcome};
use crate::driver::{Driver, ValuePart};
use crate::operation::{Operation, OperationOutput};
use std::sync::Arc;
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
async fn expired(fixture: &dyn DriverFixture, driver: &dyn Driver, name: &str, value: &str) {
    let key = space("s").key(name);
    write(driver, apply_for(&key, set(value), MINUTE)).await;
    fixture.clock().advance(2 * MINUTE);
}

async fn g094_an_expired_value_is_absent_to_every_reader(fixture: Arc<dyn DriverFixture>) {
    let driver = fixture.open().await;
    let other = fixture.open().await;
    let here = space("s");
    write(&*driver, apply(&here.key("b"), set("\"alive\""))).await;
    expired(&*fixture, &*driver, "a", "[1,2,3]").await;
    expired(&*fixture, &*driver, "c", "3").await;
    for handle in [&driver, &other] {
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

async fn g094_an_expired_value_is_absent_to_every_operation(fixture: Arc<dyn DriverFixture>) {
    let driver = fixture.open().await;
    let key = space("s").key("k");
    let refused = "ArraySet: index 0 out of range for key \"k\" (length 0)";
    let list = |items: &[&str]| Some(format!("[{}]", items.join(",")));
    for old in ["[1,2,3]", "41", "\"text\""] {
        for (op, answer, left) in [
            (Operation::Del, OperationOutput::Nothing, None),
            (Operation::GetDel, OperationOutput::Taken(None), None),
            (
                incr(1),
                OperationOutput::Number(json("1")),
                Some("1".to_owned()),
            ),
            (push(&["4"]), OperationOutput::Length(1), list(&["4"])),
            (Operation::Pop, OperationOutput::Taken(None), None),
            (Operation::Pull(2), OperationOutput::Items(vec![]), None),
            (Operation::PullAll, OperationOutput::Items(vec![]), None),
            (add_to_set(&["1"]), OperationOutput::Length(1), list(&["1"])),
        ] {
            expired(&*fixture, &*driver, "k", old).await;
            let name = op.name();
            assert_eq!(act(&*driver, &key, op).await, answer, "{name} on {old}");
            assert_eq!(text(&*driver, &key).await, left, "{name} on {old}");
        }
        expired(&*fixture, &*driver, "k", old).await;
        let replace = apply(&key, Operation::ArraySet(0, json("1")));
        assert_eq!(refusal(attempt(&*driver, replace).await), refused);
        assert_eq!(get(&*driver, &key).await, None);
    }
}

async fn g094_an_expired_value_is_absent_to_checks(fixture: Arc<dyn DriverFixture>) {
    let driver = fixture.open().await;
    let key = space("s").key("k");
    write(&*driver, apply_for(&key, set("1"), MINUTE)).await;
    let seen = some(get(&*driver, &key).await).version;
    fixture.clock().advance(2 * MINUTE);
    let check = |version| BatchCheck::Version {
        key: key.clone(),
        version,
    };
    let batch = || Batch::of([apply(&key, incr(5))]);
    assert_eq!(
        refusal(driver.commit(batch().checking(check(Some(seen)))).await),
        format!("{key} changed since it was read: expected {seen}, found nothing")
    );
    must(driver.commit(batch().checking(check(None))).await);
    assert_eq!(text(&*driver, &key).await.as_deref(), Some("5"));
}

async fn g095_only_set_replaces_the_life(fixture: Arc<dyn DriverFixture>) {
    let driver = fixture.open().await;
    let (number, list) = (space("s").key("number"), space("s").key("list"));
    write(&*driver, apply_for(&number, set("1"), HOUR)).await;
    write(&*driver, apply_for(&list, set("[1,2,3]"), HOUR)).await;
    let ends = [&number, &list].map(|key| key.clone());
    let mut before = Vec::new();
    for key in &ends {
        before.push(some(get(&*driver, key).await).expires_at);
    }
    fixture.clock().advance(MINUTE);
    write(&*driver, apply_for(&number, incr(1), 9 * HOUR)).await;
    for op in [
        push(&["4"]),
        Operation::Pop,
        Operation::Pull(1),
        add_to_set(&["9"]),
        Operation::ArraySet(0, json("0")),
        Operation::PullAll,
    ] {
        let name = op.name();
        write(&*driver, apply_for(&list, op, 9 * HOUR)).await;
        let entry = some(get(&*driver, &list).await);
        assert_eq!(entry.expires_at, before[1], "{name} keeps the life");
    }
    assert_eq!(some(get(&*driver, &number).await).expires_at, before[0]);
    write(&*driver, apply_for(&number, set("2"), 9 * HOUR)).await;
    let longer = some(get(&*driver, &number).await).expires_at;
    assert!(longer > before[0], "Set replaces the life");
    write(&*driver, apply(&list, set("[]"))).await;
    assert_eq!(some(get(&*driver, &list).await).expires_at, None);
    fixture.clock().advance(2 * HOUR);
    assert_eq!(text(&*driver, &number).await.as_deref(), Some("2"));
}

async fn g095_a_value_that_an_operation_makes_gets_the_life_of_the_write(
    fixture: Arc<dyn DriverFixture>,
) {
    let driver = fixture.open().await;
    for (name, op) in [
        ("number", incr(1)),
        ("list", push(&["1"])),
        ("set", add_to_set(&["1"])),
    ] {
        let key = space("s").key(name);
        for _ in 0..2 {
            write(&*driver, apply_for(&key, op.clone(), MINUTE)).await;
            assert!(some(get(&*driver, &key).await).expires_at.is_some());
            fixture.clock().advance(2 * MINUTE);
            assert_eq!(get(&*driver, &key).await, None);
        }
        write(&*driver, apply(&key, op)).await;
        assert_eq!(some(get(&*driver, &key).await).expires_at, None);
    }
}

async fn a_value_lives_until_its_end(fixture: Arc<dyn DriverFixture>) {
    let driver = fixture.open().await;
    let key = space("s").key("k");
    write(&*driver, apply_for(&key, set("1"), 2 * HOUR)).await;
    let first = some(get(&*driver, &key).await);
    fixture.clock().advance(HOUR);
    assert_eq!(get(&*driver, &key).await, Some(first.clone()));
    write(&*driver, apply_for(&key, set("1"), 2 * HOUR)).await;
    let second = some(get(&*driver, &key).await);
    let longer = some(second.expires_at) - some(first.expires_at);
    assert!(
        (millis(HOUR)..millis(HOUR + MINUTE)).contains(&longer),
        "an hour later, not {longer} ms"
    );
    write(&*driver, apply_for(&key, set("2"), Duration::MAX)).await;
    fixture.clock().advance(1_000 * HOUR);
    assert_eq!(text(&*driver, &key).await.as_deref(), Some("2"));
}

async fn a_wipe_counts_the_living(fixture: Arc<dyn DriverFixture>) {
    let driver = fixture.open().await;
    let here = space("s");
    expired(&*fixture, &*driver, "a:1", "1").await;
    expired(&*fixture, &*driver, "a:2", "[1]").await;
    for name in ["a:3", "a:4", "b:1"] {
        write(&*driver, apply(&here.key(name), set("1"))).await;
    }
    assert_eq!(
        write(&*driver, wipe(&here, "a:*")).await,
        WriteOutcome::Erased(2)
    );
    assert_eq!(
        values(&*driver, &here, "*").await,
        [("b:1".to_owned(), "1".to_owned())]
    );
    assert_eq!(must(driver.sweep(MANY).await), 0, "a wipe erases the dead");
}

async fn g084_expired_values_are_gone_after_sweeps_of_any_size(fixture: Arc<dyn DriverFixture>) {
    let driver = fixture.open().await;
    let here = space("s");
    let dead = (0..10).map(|number| {
        let value = if number % 2 == 0 { "[1,2,3]" } else { "\"x\"" };
        apply_for(&here.key(format!("dead{number}")), set(value), MINUTE)
    });
    must(driver.commit(Batch::of(dead)).await);
    fixture.clock().advance(2 * MINUTE);
    let mut swept = Vec::new();
    for _ in 0..4 {
        swept.push(must(driver.sweep(4).await));
    }
    assert_eq!(swept, [4, 4, 2, 0]);
    fixture.clock().set_back(10 * MINUTE);
    assert_eq!(
        values(&*driver, &here, "*").await,
        [],
        "what was swept does not come back with the old time"
    );
}

async fn a_sweep_takes_only_what_has_expired(fixture: Arc<dyn DriverFixture>) {
    let driver = fixture.open().await;
    let here = space("s");
    write(&*driver, apply(&here.key("forever"), set("[1]"))).await;
    write(&*driver, apply_for(&here.key("later"), set("2"), HOUR)).await;
    write(&*driver, append(&here.log("items"), &[("a", "1")])).await;
    write(&*driver, track("row", &identity("s"))).await;
    let before = snapshot(&*driver, &here).await;
    expired(&*fixture, &*driver, "dead", "[1,2]").await;
    assert_eq!(must(driver.sweep(MANY).await), 1);
    assert_eq!(must(driver.sweep(MANY).await), 0);
    assert_eq!(snapshot(&*driver, &here).await, before);
}

async fn expired_values_end_with_their_space(fixture: Arc<dyn DriverFixture>) {
    let driver = fixture.open().await;
    let here = space("s");
    for end in [remove(&here), clear(&here)] {
        expired(&*fixture, &*driver, "dead", "[1,2]").await;
        write(&*driver, end).await;
        assert_eq!(must(driver.sweep(MANY).await), 0);
    }
    expired(&*fixture, &*driver, "k", "[1,2]").await;
    act(&*driver, &here.key("k"), push(&["3"])).await;
    assert_eq!(
        act(&*driver, &here.key("k"), Operation::GetDel).await,
        OperationOutput::Taken(Some(StoredValue::from(json("[3]"))))
    );
    assert_eq!(must(driver.sweep(MANY).await), 0);
}
