//! Lists: both ends of each operation, at every length.

use super::steps::*;
use super::{ConformanceCase, TestStore};
use crate::StoredValue;
use crate::batch::Batch;
use crate::operation::Operation;
use crate::operation::OperationOutput::{self, Items, Length, Nothing, Taken};

pub(super) const CASES: &[ConformanceCase] = cases![
    pushed_items_follow_in_order,
    a_push_of_nothing_makes_an_empty_list,
    pop_takes_the_last_item,
    pull_takes_the_last_items_in_stored_order,
    pull_all_leaves_an_empty_list,
    a_set_takes_each_item_once,
    equal_items_of_a_set_are_equal_by_value,
    an_item_is_replaced_from_either_end,
    an_index_outside_the_list_is_refused,
    items_are_values_of_any_kind,
    a_long_list_is_worked_on_at_its_ends,
    a_list_is_worked_on_many_times_in_one_batch,
    a_replaced_list_leaves_no_item_behind,
];

async fn pushed_items_follow_in_order(store: TestStore) {
    let key = space("s").key("k");
    assert_eq!(store.act(&key, push(&["1"])).await, Length(1));
    let more = push(&["\"b\"", "1", "null"]);
    assert_eq!(store.act(&key, more).await, Length(4));
    assert_eq!(store.text(&key).await.as_deref(), Some("[1,\"b\",1,null]"));
}

async fn a_push_of_nothing_makes_an_empty_list(store: TestStore) {
    for (name, op) in [("push", push(&[])), ("set", add_to_set(&[]))] {
        let key = space("s").key(name);
        assert_eq!(store.act(&key, op).await, Length(0));
        assert_eq!(store.text(&key).await.as_deref(), Some("[]"));
    }
}

async fn pop_takes_the_last_item(store: TestStore) {
    let key = space("s").key("k");
    assert_eq!(store.act(&key, Operation::Pop).await, Taken(None));
    assert_eq!(store.value(&key).await, None);
    store.act(&key, push(&["1", "2"])).await;
    for (taken, left) in [(Some("2"), "[1]"), (Some("1"), "[]"), (None, "[]")] {
        assert_eq!(
            store.act(&key, Operation::Pop).await,
            Taken(taken.map(|item| StoredValue::from(json(item))))
        );
        assert_eq!(store.text(&key).await.as_deref(), Some(left));
    }
    store.act(&key, push(&["3"])).await;
    assert_eq!(store.text(&key).await.as_deref(), Some("[3]"));
}

async fn pull_takes_the_last_items_in_stored_order(store: TestStore) {
    let key = space("s").key("k");
    assert_eq!(store.act(&key, Operation::Pull(2)).await, Items(vec![]));
    store.act(&key, push(&["1", "2", "3", "4", "5"])).await;
    let pulls: [(u64, &[&str], &str); 4] = [
        (0, &[], "[1,2,3,4,5]"),
        (2, &["4", "5"], "[1,2,3]"),
        (9, &["1", "2", "3"], "[]"),
        (u64::MAX, &[], "[]"),
    ];
    for (count, taken, left) in pulls {
        assert_eq!(
            store.act(&key, Operation::Pull(count)).await,
            Items(jsons(taken)),
            "pull {count}"
        );
        assert_eq!(store.text(&key).await.as_deref(), Some(left));
    }
}

async fn pull_all_leaves_an_empty_list(store: TestStore) {
    let key = space("s").key("k");
    let nothing = Items(vec![]);
    assert_eq!(store.act(&key, Operation::PullAll).await, nothing);
    assert_eq!(store.value(&key).await, None);
    store.act(&key, push(&["1", "2"])).await;
    assert_eq!(
        store.act(&key, Operation::PullAll).await,
        Items(jsons(&["1", "2"]))
    );
    assert_eq!(store.text(&key).await.as_deref(), Some("[]"));
    assert_eq!(store.act(&key, Operation::PullAll).await, nothing);
}

async fn a_set_takes_each_item_once(store: TestStore) {
    let key = space("s").key("k");
    let first = add_to_set(&["2", "1", "2"]);
    assert_eq!(store.act(&key, first).await, Length(2));
    let second = add_to_set(&["1", "3", "2", "3"]);
    assert_eq!(store.act(&key, second).await, Length(3));
    assert_eq!(store.text(&key).await.as_deref(), Some("[2,1,3]"));
    store.act(&key, Operation::Pop).await;
    assert_eq!(store.act(&key, add_to_set(&["3"])).await, Length(3));
    store.act(&key, Operation::ArraySet(0, json("7"))).await;
    let changed = add_to_set(&["7", "2"]);
    assert_eq!(store.act(&key, changed).await, Length(4));
    assert_eq!(store.text(&key).await.as_deref(), Some("[7,1,3,2]"));
}

async fn equal_items_of_a_set_are_equal_by_value(store: TestStore) {
    let key = space("s").key("k");
    let items = [
        "{\"a\":1,\"b\":[1,2]}",
        "{\"b\":[1,2],\"a\":1}",
        "{\"b\":[2,1],\"a\":1}",
        "1",
        "1.0",
        "\"1\"",
        "true",
        "\"é\"",
        "\"\\u00e9\"",
    ];
    assert_eq!(store.act(&key, add_to_set(&items)).await, Length(6));
    assert_eq!(store.act(&key, add_to_set(&items)).await, Length(6));
    assert_eq!(
        store.text(&key).await.as_deref(),
        Some("[{\"a\":1,\"b\":[1,2]},{\"b\":[2,1],\"a\":1},1,\"1\",true,\"é\"]")
    );
}

async fn an_item_is_replaced_from_either_end(store: TestStore) {
    let key = space("s").key("k");
    store.act(&key, push(&["0", "1", "2"])).await;
    for (index, item, list) in [
        (0, "\"a\"", "[\"a\",1,2]"),
        (2, "\"c\"", "[\"a\",1,\"c\"]"),
        (-2, "[]", "[\"a\",[],\"c\"]"),
        (-3, "null", "[null,[],\"c\"]"),
    ] {
        let replace = Operation::ArraySet(index, json(item));
        assert_eq!(store.act(&key, replace).await, Nothing);
        assert_eq!(store.text(&key).await.as_deref(), Some(list));
    }
}

async fn an_index_outside_the_list_is_refused(store: TestStore) {
    let (key, absent) = (space("s").key("k"), space("s").key("absent"));
    store.act(&key, push(&["0", "1"])).await;
    let before = store.value(&key).await;
    for index in [2, 5, -3, i64::MAX, i64::MIN] {
        let replace = Operation::ArraySet(index, json("1"));
        assert_eq!(
            refusal(store.attempt(apply(&key, replace)).await),
            format!("ArraySet: index {index} out of range for key \"k\" (length 2)")
        );
    }
    assert_eq!(store.value(&key).await, before);
    let replace = Operation::ArraySet(0, json("1"));
    assert_eq!(
        refusal(store.attempt(apply(&absent, replace)).await),
        "ArraySet: index 0 out of range for key \"absent\" (length 0)"
    );
    assert_eq!(store.value(&absent).await, None);
}

async fn items_are_values_of_any_kind(store: TestStore) {
    let key = space("s").key("k");
    let items = [
        "[1,[2]]",
        "{\"z\":1,\"a\":2}",
        "null",
        "\"\"",
        "false",
        "1e2",
        "[]",
    ];
    store.act(&key, push(&items)).await;
    for item in items.iter().rev() {
        let expected = Taken(Some(StoredValue::from(json(item))));
        assert_eq!(store.act(&key, Operation::Pop).await, expected);
    }
}

async fn a_long_list_is_worked_on_at_its_ends(store: TestStore) {
    let key = space("s").key("k");
    let count: u64 = if store.fixture.is_small() { 500 } else { 5_000 };
    let items = (0..count).map(|number| json(&number.to_string()));
    let length = store.act(&key, Operation::Push(items.collect())).await;
    assert_eq!(length, Length(count));
    let last = json(&(count - 1).to_string());
    assert_eq!(
        store.act(&key, Operation::Pop).await,
        Taken(Some(StoredValue::from(last)))
    );
    store
        .act(&key, Operation::ArraySet(-1, json("\"end\"")))
        .await;
    store
        .act(&key, Operation::ArraySet(0, json("\"start\"")))
        .await;
    let known = add_to_set(&["\"start\"", "7", "\"new\""]);
    assert_eq!(store.act(&key, known).await, Length(count));
    assert_eq!(
        store.act(&key, Operation::Pull(2)).await,
        Items(jsons(&["\"end\"", "\"new\""]))
    );
    let middle = (1..count - 2).map(|number| number.to_string());
    let expected: Vec<String> = std::iter::once("\"start\"".to_owned())
        .chain(middle)
        .collect();
    assert_eq!(
        store.text(&key).await,
        Some(format!("[{}]", expected.join(",")))
    );
}

async fn a_list_is_worked_on_many_times_in_one_batch(store: TestStore) {
    let key = space("s").key("k");
    let ops = [
        push(&["1", "2", "3"]),
        Operation::Pop,
        add_to_set(&["2", "4"]),
        Operation::ArraySet(-1, json("\"four\"")),
        Operation::Pull(2),
        push(&["5"]),
    ];
    let batch = Batch::of(ops.map(|op| apply(&key, op)));
    let outputs: Vec<OperationOutput> = must(store.commit(batch).await)
        .into_iter()
        .map(output)
        .collect();
    assert_eq!(
        outputs,
        [
            Length(3),
            Taken(Some(StoredValue::from(json("3")))),
            Length(3),
            Nothing,
            Items(jsons(&["2", "\"four\""])),
            Length(2),
        ]
    );
    assert_eq!(store.text(&key).await.as_deref(), Some("[1,5]"));
}

async fn a_replaced_list_leaves_no_item_behind(store: TestStore) {
    let key = space("s").key("k");
    for end in [
        apply(&key, Operation::Del),
        apply(&key, set("\"text\"")),
        apply(&key, set("[9]")),
        wipe(&key.space, "*"),
        clear(&key.space),
        remove(&key.space),
    ] {
        store.write(apply(&key, set("[1,2,3]"))).await;
        store.write(end).await;
        store.write(apply(&key, Operation::Del)).await;
        assert_eq!(store.act(&key, add_to_set(&["3", "1"])).await, Length(2));
        assert_eq!(store.text(&key).await.as_deref(), Some("[3,1]"));
        store.write(apply(&key, Operation::Del)).await;
    }
}
