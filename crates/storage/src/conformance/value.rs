//! Values: what each operation does to a missing value, to one it fits, and to one it does not.

use super::steps::*;
use super::{ConformanceCase, TestStore};
use crate::batch::{Batch, BatchCheck, ValueEntry, WriteOutcome};
use crate::operation::OperationOutput::{Nothing, Number, Taken};
use crate::operation::{DatedContent, MAX_SAFE, Operation};
use crate::{Json, StoredValue};
use std::collections::BTreeMap;

pub(super) const CASES: &[ConformanceCase] = cases![
    g101_every_value_comes_back_as_itself,
    g101_a_missing_value_is_nothing,
    a_value_is_deleted_with_or_without_being_taken,
    numbers_are_counted_up_and_down,
    g096_numbers_are_exact_or_refused,
    g096_a_number_with_a_fraction_is_counted,
    g099_a_version_is_never_used_again,
    versions_grow_with_each_change,
    a_missing_value_has_no_version,
    sums_are_kept_by_name,
    sums_have_any_names_and_labels,
    a_sum_beyond_its_range_is_refused,
    g152_an_operation_on_the_wrong_type_is_refused,
    set_and_replace_take_the_place_of_any_type,
    a_dated_value_keeps_the_time_of_its_creation,
];

const EVERY_VALUE: &[(&str, &str, u64)] = &[
    ("null", "null", 1),
    ("false", "boolean", 1),
    ("true", "boolean", 1),
    ("0", "number", 1),
    ("-1.5", "number", 1),
    ("\"\"", "string", 1),
    ("\"text\"", "string", 1),
    ("{}", "object", 1),
    ("{\"b\":1,\"a\":[true,null]}", "object", 1),
    ("[]", "list", 0),
    ("[1,\"two\",[3],{\"four\":4},null]", "list", 5),
];

async fn g101_every_value_comes_back_as_itself(store: TestStore) {
    let other = store.open().await;
    for (number, (text, kind, length)) in EVERY_VALUE.iter().enumerate() {
        let key = space("s").key(format!("k{number}"));
        let outcome = store.write(apply(&key, set(text))).await;
        let WriteOutcome::Applied {
            output: Nothing,
            version: Some(version),
        } = outcome
        else {
            panic!("{outcome:?} does not follow Set({text})");
        };
        let expected = ValueEntry {
            kind,
            length: *length,
            value: json(text),
            version,
            expires_at: None,
            stale_possible: false,
        };
        for handle in [&store, &other] {
            assert_eq!(handle.value(&key).await, Some(expected.clone()));
        }
    }
}

async fn g101_a_missing_value_is_nothing(store: TestStore) {
    let key = space("s").key("k");
    assert_eq!(store.value(&key).await, None);
    store.act(&key, set("null")).await;
    assert_eq!(store.text(&key).await.as_deref(), Some("null"));
    store.act(&key, Operation::Del).await;
    assert_eq!(store.value(&key).await, None);
}

async fn a_value_is_deleted_with_or_without_being_taken(store: TestStore) {
    let key = space("s").key("k");
    assert_eq!(store.act(&key, Operation::Del).await, Nothing);
    assert_eq!(store.act(&key, Operation::GetDel).await, Taken(None));
    for (value, _, _) in EVERY_VALUE {
        store.act(&key, set(value)).await;
        let taken = store.write(apply(&key, Operation::GetDel)).await;
        assert_eq!(
            taken,
            WriteOutcome::applied(Taken(Some(StoredValue::from(json(value)))), None)
        );
        assert_eq!(store.value(&key).await, None, "{value} was taken");
        store.act(&key, set(value)).await;
        assert_eq!(store.act(&key, Operation::Del).await, Nothing);
        assert_eq!(store.value(&key).await, None, "{value} was deleted");
    }
}

async fn numbers_are_counted_up_and_down(store: TestStore) {
    let key = space("s").key("k");
    for (by, sum) in [(1, "1"), (41, "42"), (-50, "-8"), (0, "-8")] {
        let answer = store.act(&key, incr(by)).await;
        assert_eq!(answer, Number(json(sum)));
        assert_eq!(store.text(&key).await.as_deref(), Some(sum));
    }
}

async fn g096_numbers_are_exact_or_refused(store: TestStore) {
    let key = space("s").key("k");
    for bound in [MAX_SAFE, -MAX_SAFE] {
        let almost = bound - bound.signum();
        store.act(&key, set(&almost.to_string())).await;
        assert_eq!(
            store.act(&key, incr(bound.signum())).await,
            Number(json(&bound.to_string()))
        );
        let before = store.value(&key).await;
        for by in [bound.signum(), bound, i64::MAX, i64::MIN] {
            if by.signum() != bound.signum() {
                continue;
            }
            assert_eq!(
                refusal(store.attempt(apply(&key, incr(by))).await),
                "Incr: result out of range for key \"k\""
            );
        }
        assert_eq!(store.value(&key).await, before);
    }
}

async fn g096_a_number_with_a_fraction_is_counted(store: TestStore) {
    let key = space("s").key("k");
    let by = |text: &str| Operation::Incr(must(json(text).to()));
    for (delta, sum) in [
        ("0.5", "0.5"),
        ("0.25", "0.75"),
        ("0.25", "1"),
        ("2e3", "2001"),
    ] {
        let answer = store.act(&key, by(delta)).await;
        assert_eq!(answer, Number(json(sum)));
        assert_eq!(store.text(&key).await.as_deref(), Some(sum));
    }
    assert_eq!(
        refusal(store.attempt(apply(&key, by("1e300"))).await),
        "Incr: result out of range for key \"k\""
    );
}

async fn g099_a_version_is_never_used_again(store: TestStore) {
    let key = space("s").key("k");
    let seen = store.version_after(&key, set("1")).await;
    let check = |version| BatchCheck::version(key.clone(), version);
    let guarded = |version| Batch::of([apply(&key, set("\"mine\""))]).checking(check(version));
    for erase in [
        apply(&key, Operation::Del),
        remove(&key.space),
        clear(&key.space),
        wipe(&key.space, "k"),
    ] {
        store.write(erase).await;
        assert_eq!(
            refusal(store.commit(guarded(Some(seen))).await),
            format!("{key} changed since it was read: expected {seen}, found nothing")
        );
        let now = store.version_after(&key, set("1")).await;
        assert!(now > seen, "{now} follows {seen}");
        assert_eq!(
            refusal(store.commit(guarded(Some(seen))).await),
            format!("{key} changed since it was read: expected {seen}, found {now}")
        );
        assert_eq!(
            refusal(store.commit(guarded(None)).await),
            format!("{key} changed since it was read: expected nothing, found {now}")
        );
        assert_eq!(store.text(&key).await.as_deref(), Some("1"));
    }
    let now = some(store.value(&key).await).version;
    must(store.commit(guarded(Some(now))).await);
    assert_eq!(store.text(&key).await.as_deref(), Some("\"mine\""));
}

async fn versions_grow_with_each_change(store: TestStore) {
    let key = space("s").key("k");
    let mut last = 0;
    for op in [
        set("1"),
        set("1"),
        incr(1),
        set("[]"),
        replace("1"),
        replace("[]"),
        push(&["1", "2"]),
        add_to_set(&["2", "3"]),
        Operation::ArraySet(0, json("9")),
        Operation::Pop,
        Operation::Pull(1),
        Operation::PullAll,
    ] {
        let version = store.version_after(&key, op.clone()).await;
        assert!(version > last, "{} gave {version} after {last}", op.name());
        assert_eq!(some(store.value(&key).await).version, version);
        last = version;
    }
}

async fn a_missing_value_has_no_version(store: TestStore) {
    let key = space("s").key("k");
    for op in [
        Operation::Del,
        Operation::GetDel,
        Operation::Pop,
        Operation::Pull(2),
        Operation::PullAll,
    ] {
        let outcome = store.write(apply(&key, op.clone())).await;
        let WriteOutcome::Applied { version: None, .. } = outcome else {
            panic!("{} on a missing value gave {outcome:?}", op.name());
        };
        assert_eq!(store.value(&key).await, None);
    }
}

fn tally(labels: &str, add: &[(&str, i64)]) -> Operation {
    Operation::Tally {
        labels: json(labels),
        add: add
            .iter()
            .map(|(name, delta)| ((*name).to_owned(), *delta))
            .collect::<BTreeMap<_, _>>(),
    }
}

async fn sums_are_kept_by_name(store: TestStore) {
    let key = space("s").key("k");
    let answer = store
        .act(&key, tally("{\"day\":\"a\"}", &[("tokens", 3)]))
        .await;
    assert_eq!(answer, Nothing);
    let more = tally("{\"day\":\"b\"}", &[("tokens", -1), ("cost", 7)]);
    store.act(&key, more).await;
    assert_eq!(
        store.text(&key).await.as_deref(),
        Some("{\"labels\":{\"day\":\"a\"},\"sums\":{\"cost\":7,\"tokens\":2}}")
    );
}

async fn sums_have_any_names_and_labels(store: TestStore) {
    let names = ["", "é", "\u{1}", "\u{7f}", "a\"b", "a\\b", "a\0b", "Z"];
    for (at, labels) in [
        r#"{"text":"a\u0000 \ud800 \",\"sums\":{","sums":{"a":1}}"#,
        r#"[{"sums":{"a":1}},"}}"]"#,
        "null",
    ]
    .into_iter()
    .enumerate()
    {
        let key = space("s").key(format!("k{at}"));
        for name in names {
            store
                .act(&key, tally(labels, &[(name, 1), ("a", -1)]))
                .await;
            store.act(&key, tally("1", &[("a", -1)])).await;
        }
        let mut sums: BTreeMap<&str, i64> = names.map(|name| (name, 1)).into();
        sums.insert("a", -16);
        let sums = serde_json::to_string(&sums).unwrap_or_default();
        let wanted = format!("{{\"labels\":{labels},\"sums\":{sums}}}");
        assert_eq!(store.text(&key).await, Some(wanted));
    }
}

async fn a_sum_beyond_its_range_is_refused(store: TestStore) {
    let key = space("s").key("k");
    store
        .act(&key, tally("null", &[("a", i64::MAX), ("b", 1)]))
        .await;
    let before = store.value(&key).await;
    let more = tally("null", &[("a", 1), ("b", 1)]);
    assert_eq!(
        refusal(store.attempt(apply(&key, more)).await),
        "Tally: result out of range for key \"k\""
    );
    assert_eq!(store.value(&key).await, before);
}

async fn g152_an_operation_on_the_wrong_type_is_refused(store: TestStore) {
    let key = space("s").key("k \"q\"");
    let list_ops = [
        push(&["1"]),
        Operation::Pop,
        Operation::Pull(1),
        Operation::PullAll,
        add_to_set(&["1"]),
        Operation::ArraySet(0, json("1")),
    ];
    for (value, kind, _) in EVERY_VALUE {
        store.act(&key, set(value)).await;
        let before = store.value(&key).await;
        let mut refused: Vec<(Operation, &str)> = Vec::new();
        if *kind != "number" {
            refused.push((incr(1), "number"));
        }
        if *kind != "list" {
            refused.extend(list_ops.iter().map(|op| (op.clone(), "list")));
        }
        for (op, wants) in refused {
            assert_eq!(
                refusal(store.attempt(apply(&key, op.clone())).await),
                format!(
                    "{}: key \"k \"q\"\" holds a {kind}, not a {wants}",
                    op.name()
                )
            );
        }
        assert_eq!(store.value(&key).await, before, "{value} is unchanged");
    }
}

async fn set_and_replace_take_the_place_of_any_type(store: TestStore) {
    let key = space("s").key("k");
    let texts: Vec<&str> = EVERY_VALUE.iter().map(|(text, _, _)| *text).collect();
    for first in &texts {
        for second in ["[1,2]", "[]", "\"plain\""] {
            for replacing in [set(second), replace(second)] {
                let name = replacing.name();
                let batch = Batch::of([apply(&key, set(first)), apply(&key, replacing)]);
                must(store.commit(batch).await);
                let found: Option<Json> = store.value(&key).await.map(|entry| entry.value);
                assert_eq!(found, Some(json(second)), "{name} {second} after {first}");
            }
        }
    }
}

async fn a_dated_value_keeps_the_time_of_its_creation(store: TestStore) {
    let key = space("s").key("k");
    let dated = |at, name, text| {
        let json = json(text);
        Operation::SetDated(DatedContent { at, name, json })
    };
    let first = dated(5, "value", "{\"a\":[1]}");
    assert_eq!(store.act(&key, first).await, Nothing);
    let stored = r#"{"created_at":5,"updated_at":5,"value":{"a":[1]}}"#;
    assert_eq!(store.text(&key).await.as_deref(), Some(stored));
    let before = some(store.value(&key).await).version;
    let second = apply_for(&key, dated(7, "data", "\"x\""), HOUR);
    store.write(second).await;
    let after = some(store.value(&key).await);
    let stored = r#"{"created_at":5,"updated_at":7,"data":"x"}"#;
    assert_eq!(after.value.as_str(), stored);
    assert!(after.version > before && after.expires_at.is_some());
    // The life is the write's own, as with any other value that is replaced.
    store.act(&key, dated(8, "value", "null")).await;
    assert_eq!(some(store.value(&key).await).expires_at, None);
    // What is no dated value is replaced by one.
    for other in ["1", "[1]", "{\"created_at\":\"long ago\"}"] {
        store.act(&key, set(other)).await;
        store.act(&key, dated(9, "value", "1")).await;
        let stored = r#"{"created_at":9,"updated_at":9,"value":1}"#;
        assert_eq!(store.text(&key).await.as_deref(), Some(stored), "{other}");
    }
    store.act(&key, Operation::Del).await;
    store.act(&key, dated(11, "value", "1")).await;
    let stored = r#"{"created_at":11,"updated_at":11,"value":1}"#;
    assert_eq!(store.text(&key).await.as_deref(), Some(stored));
}
