//! Parts of logs and of values.

use super::steps::*;
use super::{ConformanceCase, TestStore};
use crate::driver::{LogRange, ValuePart};

pub(super) const CASES: &[ConformanceCase] = cases![
    a_range_gives_its_part_of_a_log,
    a_part_gives_its_window_of_a_list,
    a_window_of_anything_else_is_the_whole,
    nothing_of_a_value_tells_about_it,
    a_limit_may_be_as_large_as_a_number_can_be,
];

async fn a_range_gives_its_part_of_a_log(store: TestStore) {
    let log = space("s").log("items");
    let five = [("a", "1"), ("b", "2"), ("c", "3"), ("d", "4"), ("e", "5")];
    store.append(&log, &five).await;
    let whole = store.page(&log).await;
    for (range, expected) in [
        (LogRange::from(1, 10), vec![1, 2, 3, 4, 5]),
        (LogRange::from(0, 2), vec![1, 2]),
        (LogRange::from(2, 2), vec![2, 3]),
        (LogRange::from(5, 3), vec![5]),
        (LogRange::from(6, 3), vec![]),
        (LogRange::from(u64::MAX, 3), vec![]),
        (LogRange::from(1, 0), vec![]),
        (LogRange::last(2), vec![5, 4]),
        (LogRange::last(10), vec![5, 4, 3, 2, 1]),
        (LogRange::back_from(3, 2), vec![3, 2]),
        (LogRange::back_from(1, 5), vec![1]),
        (LogRange::back_from(0, 5), vec![]),
        (LogRange::back_from(99, 1), vec![5]),
        (LogRange::head(), vec![]),
    ] {
        let page = must(store.read(&log, range).await);
        let entries: Vec<_> = expected
            .iter()
            .map(|seq: &u64| whole.entries[*seq as usize - 1].clone())
            .collect();
        assert_eq!(page.head, whole.head, "{range:?}");
        assert_eq!(page.entries, entries, "{range:?}");
    }
}

async fn a_part_gives_its_window_of_a_list(store: TestStore) {
    let key = space("s").key("k");
    store.act(&key, push(&["0", "1", "2", "3", "4"])).await;
    let whole = some(store.value(&key).await);
    for (from, to, expected) in [
        (0, -1, "[0,1,2,3,4]"),
        (0, 0, "[0]"),
        (1, 3, "[1,2,3]"),
        (-2, -1, "[3,4]"),
        (-99, 1, "[0,1]"),
        (3, 99, "[3,4]"),
        (-1, -1, "[4]"),
        (3, 1, "[]"),
        (5, 9, "[]"),
        (0, -6, "[]"),
        (i64::MIN, i64::MAX, "[0,1,2,3,4]"),
        (i64::MAX, i64::MIN, "[]"),
    ] {
        let part = must(store.get(&key, ValuePart::Items(from, to)).await);
        let mut entry = whole.clone();
        entry.value = json(expected);
        assert_eq!(part, Some(entry), "items {from} to {to}");
    }
    let absent = space("s").key("absent");
    assert_eq!(
        must(store.get(&absent, ValuePart::Items(0, -1)).await),
        None
    );
}

async fn a_window_of_anything_else_is_the_whole(store: TestStore) {
    for (name, value) in [
        ("text", "\"abc\""),
        ("object", "{\"a\":[1]}"),
        ("null", "null"),
    ] {
        let key = space("s").key(name);
        store.act(&key, set(value)).await;
        let whole = some(store.value(&key).await);
        assert_eq!(whole.value, json(value));
        let part = must(store.get(&key, ValuePart::Items(5, 9)).await);
        assert_eq!(part, Some(whole));
    }
}

async fn nothing_of_a_value_tells_about_it(store: TestStore) {
    for (name, value) in [("list", "[1,2,3]"), ("empty", "[]"), ("text", "\"abc\"")] {
        let key = space("s").key(name);
        store.write(apply_for(&key, set(value), HOUR)).await;
        let mut expected = some(store.value(&key).await);
        assert!(expected.expires_at.is_some());
        expected.value = json("null");
        let nothing = must(store.get(&key, ValuePart::Nothing).await);
        assert_eq!(nothing, Some(expected), "{value}");
    }
}

async fn a_limit_may_be_as_large_as_a_number_can_be(store: TestStore) {
    let here = space("s");
    store.append(&here.log("items"), &[("a", "1")]).await;
    store.act(&here.key("k"), set("1")).await;
    let read = must(
        store
            .read(&here.log("items"), LogRange::from(1, usize::MAX))
            .await,
    );
    assert_eq!(read.entries.len(), 1);
    let back = must(
        store
            .read(&here.log("items"), LogRange::last(usize::MAX))
            .await,
    );
    assert_eq!(back.entries, read.entries);
    let found = must(store.scan(&here, &scan("*", usize::MAX)).await);
    assert_eq!(found.len(), 1);
    let filter = crate::directory::RowFilter::default();
    let page = crate::directory::PageRequest::first(usize::MAX);
    assert_eq!(must(store.identities(&filter, &page).await), []);
    assert_eq!(must(store.sweep(usize::MAX).await), 0);
}
