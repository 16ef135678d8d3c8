//! Lists: both ends of each operation, at every length.

use super::steps::*;
use super::{ConformanceCase, DriverFixture};
use crate::StoredValue;
use crate::batch::Batch;
use crate::operation::{Operation, OperationOutput};
use std::sync::Arc;

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

async fn pushed_items_follow_in_order(fixture: Arc<dyn DriverFixture>) {
    let driver = fixture.open().await;
    let key = space("s").key("k");
    assert_eq!(
        act(&*driver, &key, push(&["1"])).await,
        OperationOutput::Length(1)
    );
    let more = push(&["\"b\"", "1", "null"]);
    assert_eq!(act(&*driver, &key, more).await, OperationOutput::Length(4));
    assert_eq!(
        text(&*driver, &key).await.as_deref(),
        Some("[1,\"b\",1,null]")
    );
}

async fn a_push_of_nothing_makes_an_empty_list(fixture: Arc<dyn DriverFixture>) {
    let driver = fixture.open().await;
    for (name, op) in [("push", push(&[])), ("set", add_to_set(&[]))] {
        let key = space("s").key(name);
        assert_eq!(act(&*driver, &key, op).await, OperationOutput::Length(0));
        assert_eq!(text(&*driver, &key).await.as_deref(), Some("[]"));
    }
}

async fn pop_takes_the_last_item(fixture: Arc<dyn DriverFixture>) {
    let driver = fixture.open().await;
    let key = space("s").key("k");
    assert_eq!(
        act(&*driver, &key, Operation::Pop).await,
        OperationOutput::Taken(None)
    );
    assert_eq!(get(&*driver, &key).await, None);
    act(&*driver, &key, push(&["1", "2"])).await;
    for (taken, left) in [(Some("2"), "[1]"), (Some("1"), "[]"), (None, "[]")] {
        assert_eq!(
            act(&*driver, &key, Operation::Pop).await,
            OperationOutput::Taken(taken.map(|item| StoredValue::from(json(item))))
        );
        assert_eq!(text(&*driver, &key).await.as_deref(), Some(left));
    }
    act(&*driver, &key, push(&["3"])).await;
    assert_eq!(text(&*driver, &key).await.as_deref(), Some("[3]"));
}

async fn pull_takes_the_last_items_in_stored_order(fixture: Arc<dyn DriverFixture>) {
    let driver = fixture.open().await;
    let key = space("s").key("k");
    assert_eq!(
        act(&*driver, &key, Operation::Pull(2)).await,
        OperationOutput::Items(vec![])
    );
    act(&*driver, &key, push(&["1", "2", "3", "4", "5"])).await;
    let pulls: [(u64, &[&str], &str); 4] = [
        (0, &[], "[1,2,3,4,5]"),
        (2, &["4", "5"], "[1,2,3]"),
        (9, &["1", "2", "3"], "[]"),
        (u64::MAX, &[], "[]"),
    ];
    for (count, taken, left) in pulls {
        assert_eq!(
            act(&*driver, &key, Operation::Pull(count)).await,
            OperationOutput::Items(jsons(taken)),
            "pull {count}"
        );
        assert_eq!(text(&*driver, &key).await.as_deref(), Some(left));
    }
}

async fn pull_all_leaves_an_empty_list(fixture: Arc<dyn DriverFixture>) {
    let driver = fixture.open().await;
    let key = space("s").key("k");
    let nothing = OperationOutput::Items(vec![]);
    assert_eq!(act(&*driver, &key, Operation::PullAll).await, nothing);
    assert_eq!(get(&*driver, &key).await, None);
    act(&*driver, &key, push(&["1", "2"])).await;
    assert_eq!(
        act(&*driver, &key, Operation::PullAll).await,
        OperationOutput::Items(jsons(&["1", "2"]))
    );
    assert_eq!(text(&*driver, &key).await.as_deref(), Some("[]"));
    assert_eq!(act(&*driver, &key, Operation::PullAll).await, nothing);
}

async fn a_set_takes_each_item_once(fixture: Arc<dyn DriverFixture>) {
    let driver = fixture.open().await;
    let key = space("s").key("k");
    let first = add_to_set(&["2", "1", "2"]);
    assert_eq!(act(&*driver, &key, first).await, OperationOutput::Length(2));
    let second = add_to_set(&["1", "3", "2", "3"]);
    assert_eq!(
        act(&*driver, &key, second).await,
        OperationOutput::Length(3)
    );
    assert_eq!(text(&*driver, &key).await.as_deref(), Some("[2,1,3]"));
    act(&*driver, &key, Operation::Pop).await;
    assert_eq!(
        act(&*driver, &key, add_to_set(&["3"])).await,
        OperationOutput::Length(3)
    );
    act(&*driver, &key, Operation::ArraySet(0, json("7"))).await;
    let changed = add_to_set(&["7", "2"]);
    assert_eq!(
        act(&*driver, &key, changed).await,
        OperationOutput::Length(4)
    );
    assert_eq!(text(&*driver, &key).await.as_deref(), Some("[7,1,3,2]"));
}

async fn equal_items_of_a_set_are_equal_by_value(fixture: Arc<dyn DriverFixture>) {
    let driver = fixture.open().await;
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
    assert_eq!(
        act(&*driver, &key, add_to_set(&items)).await,
        OperationOutput::Length(6)
    );
    assert_eq!(
        act(&*driver, &key, add_to_set(&items)).await,
        OperationOutput::Length(6)
    );
    assert_eq!(
        text(&*driver, &key).await.as_deref(),
        Some("[{\"a\":1,\"b\":[1,2]},{\"b\":[2,1],\"a\":1},1,\"1\",true,\"é\"]")
    );
}

async fn an_item_is_replaced_from_either_end(fixture: Arc<dyn DriverFixture>) {
    let driver = fixture.open().await;
    let key = space("s").key("k");
    act(&*driver, &key, push(&["0", "1", "2"])).await;
    for (index, item, list) in [
        (0, "\"a\"", "[\"a\",1,2]"),
        (2, "\"c\"", "[\"a\",1,\"c\"]"),
        (-2, "[]", "[\"a\",[],\"c\"]"),
        (-3, "null", "[null,[],\"c\"]"),
    ] {
        let replace = Operation::ArraySet(index, json(item));
        assert_eq!(act(&*driver, &key, replace).await, OperationOutput::Nothing);
        assert_eq!(text(&*driver, &key).await.as_deref(), Some(list));
    }
}

async fn an_index_outside_the_list_is_refused(fixture: Arc<dyn DriverFixture>) {
    let driver = fixture.open().await;
    let (key, absent) = (space("s").key("k"), space("s").key("absent"));
    act(&*driver, &key, push(&["0", "1"])).await;
    let before = get(&*driver, &key).await;
    for index in [2, 5, -3, i64::MAX, i64::MIN] {
        let replace = Operation::ArraySet(index, json("1"));
        assert_eq!(
            refusal(attempt(&*driver, apply(&key, replace)).await),
            format!("ArraySet: index {index} out of range for key \"k\" (length 2)")
        );
    }
    assert_eq!(get(&*driver, &key).await, before);
    let replace = Operation::ArraySet(0, json("1"));
    assert_eq!(
        refusal(attempt(&*driver, apply(&absent, replace)).await),
        "ArraySet: index 0 out of range for key \"absent\" (length 0)"
    );
    assert_eq!(get(&*driver, &absent).await, None);
}

async fn items_are_values_of_any_kind(fixture: Arc<dyn DriverFixture>) {
    let driver = fixture.open().await;
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
    act(&*driver, &key, push(&items)).await;
    for item in items.iter().rev() {
        let expected = OperationOutput::Taken(Some(StoredValue::from(json(item))));
        assert_eq!(act(&*driver, &key, Operation::Pop).await, expected);
    }
}

async fn a_long_list_is_worked_on_at_its_ends(fixture: Arc<dyn DriverFixture>) {
    let driver = fixture.open().await;
    let key = space("s").key("k");
    let count: u64 = if fixture.is_small() { 500 } else { 5_000 };
    let items = (0..count).map(|number| json(&number.to_string()));
    let length = act(&*driver, &key, Operation::Push(items.collect())).await;
    assert_eq!(length, OperationOutput::Length(count));
    let last = json(&(count - 1).to_string());
    assert_eq!(
        act(&*driver, &key, Operation::Pop).await,
        OperationOutput::Taken(Some(StoredValue::from(last)))
    );
    act(&*driver, &key, Operation::ArraySet(-1, json("\"end\""))).await;
    act(&*driver, &key, Operation::ArraySet(0, json("\"start\""))).await;
    let known = add_to_set(&["\"start\"", "7", "\"new\""]);
    assert_eq!(
        act(&*driver, &key, known).await,
        OperationOutput::Length(count)
    );
    assert_eq!(
        act(&*driver, &key, Operation::Pull(2)).await,
        OperationOutput::Items(jsons(&["\"end\"", "\"new\""]))
    );
    let middle = (1..count - 2).map(|number| number.to_string());
    let expected: Vec<String> = std::iter::once("\"start\"".to_owned())
        .chain(middle)
        .collect();
    assert_eq!(
        text(&*driver, &key).await,
        Some(format!("[{}]", expected.join(",")))
    );
}

async fn a_list_is_worked_on_many_times_in_one_batch(fixture: Arc<dyn DriverFixture>) {
    let driver = fixture.open().await;
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
    let outputs: Vec<OperationOutput> = must(driver.commit(batch).await)
        .into_iter()
        .map(output)
        .collect();
    assert_eq!(
        outputs,
        [
            OperationOutput::Length(3),
            OperationOutput::Taken(Some(StoredValue::from(json("3")))),
            OperationOutput::Length(3),
            OperationOutput::Nothing,
            OperationOutput::Items(jsons(&["2", "\"four\""])),
            OperationOutput::Length(2),
        ]
    );
    assert_eq!(text(&*driver, &key).await.as_deref(), Some("[1,5]"));
}

async fn a_replaced_list_leaves_no_item_behind(fixture: Arc<dyn DriverFixture>) {
    let driver = fixture.open().await;
    let key = space("s").key("k");
    for end in [
        apply(&key, Operation::Del),
        apply(&key, set("\"text\"")),
        apply(&key, set("[9]")),
        wipe(&key.space, "*"),
        clear(&key.space),
        remove(&key.space),
    ] {
        write(&*driver, apply(&key, set("[1,2,3]"))).await;
        write(&*driver, end).await;
        write(&*driver, apply(&key, Operation::Del)).await;
        assert_eq!(
            act(&*driver, &key, add_to_set(&["3", "1"])).await,
            OperationOutput::Length(2)
        );
        assert_eq!(text(&*driver, &key).await.as_deref(), Some("[3,1]"));
        write(&*driver, apply(&key, Operation::Del)).await;
    }
}
