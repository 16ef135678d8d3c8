//! Scans: patterns, pages and order.

use super::steps::*;
use super::{ConformanceCase, TestStore};
use crate::address::Space;
use crate::batch::{Batch, ValueEntry, WriteOutcome};
use crate::driver::{Direction, ValuePart, ValueScan};
use crate::operation::{DatedContent, Operation};

pub(super) const CASES: &[ConformanceCase] = cases![
    g102_only_the_star_is_a_wildcard,
    g102_a_wipe_takes_what_matches_in_its_own_space,
    names_come_in_byte_order,
    g081_pages_of_names_join_without_gap,
    g081_pages_of_names_join_backward_too,
    a_scan_gives_the_part_that_is_asked_for,
    a_scan_tells_about_each_value,
    a_page_ends_with_the_value_that_has_the_last_of_its_bytes,
    of_a_dated_value_the_dates_can_be_read_alone,
];

const NAMES: &[&str] = &[
    "a", "a*", "a*b", "a:1", "a:2", "aXb", "a\\b", "a_b", "a%b", "a?b", "[ab]", "ab", "abc", "b:1",
    "A:1", "ä:1", "日本:1",
];

async fn fill(store: &TestStore, here: &Space, names: &[&str]) {
    let writes = names.iter().map(|name| apply(&here.key(*name), set("1")));
    must(store.commit(Batch::of(writes)).await);
}

async fn names(store: &TestStore, here: &Space, pattern: &str) -> Vec<String> {
    let found = store.values(here, pattern).await;
    found.into_iter().map(|(name, _)| name).collect()
}

fn sorted(names: &[&str]) -> Vec<String> {
    let mut names: Vec<String> = names.iter().map(|name| (*name).to_owned()).collect();
    names.sort();
    names
}

const PATTERNS: &[(&str, &[&str])] = &[
    ("*", NAMES),
    ("a:*", &["a:1", "a:2"]),
    ("*:1", &["a:1", "b:1", "A:1", "ä:1", "日本:1"]),
    ("a\\*", &["a*"]),
    ("a\\**", &["a*", "a*b"]),
    ("a\\\\b", &["a\\b"]),
    ("a_b", &["a_b"]),
    ("a%b", &["a%b"]),
    ("a?b", &["a?b"]),
    ("[ab]", &["[ab]"]),
    ("a*b", &["a*b", "aXb", "a\\b", "a_b", "a%b", "a?b", "ab"]),
    (
        "*b*",
        &[
            "a*b", "aXb", "a\\b", "a_b", "a%b", "a?b", "[ab]", "ab", "abc", "b:1",
        ],
    ),
    ("日*", &["日本:1"]),
    ("a%*", &["a%b"]),
    ("a_*", &["a_b"]),
    ("x*", &[]),
    ("A*", &["A:1"]),
];

async fn g102_only_the_star_is_a_wildcard(store: TestStore) {
    let here = space("s");
    fill(&store, &here, NAMES).await;
    fill(&store, &space("t"), &["a:9", "x"]).await;
    for (pattern, expected) in PATTERNS {
        let found = names(&store, &here, pattern).await;
        assert_eq!(found, sorted(expected), "{pattern}");
    }
}

async fn g102_a_wipe_takes_what_matches_in_its_own_space(store: TestStore) {
    let (here, there) = (space("s"), space("t"));
    fill(&store, &there, NAMES).await;
    store.append(&here.log("a:1"), &[("a", "1")]).await;
    let others = store.snapshot(&there).await;
    for (pattern, gone) in PATTERNS {
        fill(&store, &here, NAMES).await;
        let count = gone.len() as u64;
        let erased = store.write(wipe(&here, pattern)).await;
        assert_eq!(erased, WriteOutcome::Erased(count), "{pattern}");
        let left: Vec<&str> = NAMES
            .iter()
            .filter(|name| !gone.contains(name))
            .copied()
            .collect();
        assert_eq!(names(&store, &here, "*").await, sorted(&left), "{pattern}");
    }
    assert_eq!(store.snapshot(&there).await, others);
    assert_eq!(store.entries(&here.log("a:1")).await, [entry(1, "a", "1")]);
}

async fn names_come_in_byte_order(store: TestStore) {
    let here = space("s");
    let expected = [
        "\u{0}", "\u{0}a", " ", "!", "10", "9", "A", "Z", "_", "a", "a\u{0}b", "a b", "ab", "b",
        "é", "ü", "א", "日", "\u{fffd}", "😀",
    ];
    let mut mixed = expected.to_vec();
    mixed.sort_by_key(|name| name.len() * 7 % 5);
    fill(&store, &here, &mixed).await;
    assert_eq!(names(&store, &here, "*").await, expected);
}

async fn g081_pages_of_names_join_without_gap(store: TestStore) {
    let here = space("s");
    fill(&store, &here, NAMES).await;
    for (pattern, expected) in PATTERNS {
        for limit in [1, 2, 3, 100] {
            let mut found: Vec<String> = Vec::new();
            loop {
                let page = ValueScan {
                    after: found.last().cloned(),
                    ..scan(pattern, limit)
                };
                let page = must(store.scan(&here, &page).await);
                assert!(page.len() <= limit);
                if page.is_empty() {
                    break;
                }
                found.extend(page.into_iter().map(|(name, _)| name));
            }
            assert_eq!(found, sorted(expected), "{pattern} by {limit}");
        }
    }
    let behind = ValueScan {
        after: Some("a:15".to_owned()),
        ..scan("a:*", MANY)
    };
    let found = must(store.scan(&here, &behind).await);
    assert_eq!(found.len(), 1, "only a:2 is behind a:15: {found:?}");
    assert_eq!(must(store.scan(&here, &scan("*", 0)).await), []);
}

async fn g081_pages_of_names_join_backward_too(store: TestStore) {
    let here = space("s");
    let names = [NAMES, &["a\u{10ffff}", "a\u{10ffff}b", "\u{10ffff}"]].concat();
    fill(&store, &here, &names).await;
    fill(&store, &space("t"), &["a:9", "x"]).await;
    let last: &[&str] = &["a\u{10ffff}", "a\u{10ffff}b"];
    for (pattern, expected) in PATTERNS.iter().chain(&[("a\u{10ffff}*", last)]) {
        let forward = must(store.scan(&here, &scan(pattern, MANY)).await);
        assert!(forward.len() >= expected.len());
        for limit in [1, 2, 3, 100] {
            let mut found = Vec::new();
            loop {
                let page = ValueScan {
                    after: found.last().map(|(name, _): &(String, _)| name.clone()),
                    direction: Direction::Backward,
                    ..scan(pattern, limit)
                };
                let page = must(store.scan(&here, &page).await);
                assert!(page.len() <= limit);
                if page.is_empty() {
                    break;
                }
                found.extend(page);
            }
            found.reverse();
            assert_eq!(found, forward, "{pattern} by {limit}");
        }
    }
    for (after, expected) in [
        ("a:15", Some("a:1")),
        ("a:1", None),
        ("A", None),
        ("z", Some("a:2")),
    ] {
        let before = ValueScan {
            after: Some(after.to_owned()),
            direction: Direction::Backward,
            ..scan("a:*", 1)
        };
        let found = must(store.scan(&here, &before).await);
        let names: Vec<&str> = found.iter().map(|(name, _)| name.as_str()).collect();
        assert_eq!(names, Vec::from_iter(expected), "before {after}");
    }
}

async fn a_scan_gives_the_part_that_is_asked_for(store: TestStore) {
    let here = space("s");
    for (name, value) in [("list", "[1,2,3]"), ("text", "\"abc\"")] {
        store.act(&here.key(name), set(value)).await;
    }
    for part in [
        ValuePart::Whole,
        ValuePart::Nothing,
        ValuePart::Items(-2, -1),
        ValuePart::Items(1, 1),
    ] {
        let scan = ValueScan {
            part,
            ..scan("*", MANY)
        };
        let mut expected = Vec::new();
        for name in ["list", "text"] {
            let entry = must(store.get(&here.key(name), part).await);
            expected.push((name.to_owned(), some(entry)));
        }
        assert_eq!(must(store.scan(&here, &scan).await), expected, "{part:?}");
    }
}

async fn a_scan_tells_about_each_value(store: TestStore) {
    let here = space("s");
    store
        .write(apply_for(&here.key("a"), set("[1,2]"), HOUR))
        .await;
    store.write(apply(&here.key("b"), set("{\"x\":1}"))).await;
    let mut expected = Vec::new();
    for name in ["a", "b"] {
        expected.push((name.to_owned(), some(store.value(&here.key(name)).await)));
    }
    assert_eq!(must(store.scan(&here, &scan("*", MANY)).await), expected);
    assert_eq!(must(store.scan(&space("t"), &scan("*", MANY)).await), []);
}

/// The names of all pages of this scan, with a bar behind each page.
async fn pages(store: &TestStore, here: &Space, mut scan: ValueScan) -> String {
    let mut told = String::new();
    loop {
        let page = must(store.scan(here, &scan).await);
        let names: Vec<&str> = page.iter().map(|(name, _)| name.as_str()).collect();
        told += &format!("{}|", names.join(" "));
        if scan.is_last(&page) {
            return told;
        }
        scan.after = page.last().map(|(name, _)| name.clone());
    }
}

async fn a_page_ends_with_the_value_that_has_the_last_of_its_bytes(store: TestStore) {
    let here = space("s");
    let text = format!("\"{}\"", "x".repeat(98));
    let list = format!("[{text},{text}]");
    // One that has ended counts for nothing.
    let ended = apply_for(&here.key("bb"), set(&text), HOUR);
    store.write(ended).await;
    store.clock().advance(2 * HOUR);
    for (name, value) in [("a", &*text), ("b", "1"), ("c", &*list)] {
        store.act(&here.key(name), set(value)).await;
    }
    for (name, value) in [("d", "2"), ("e", &*text), ("other", &*text)] {
        store.act(&here.key(name), set(value)).await;
    }
    for (pattern, limit, bytes, forward, backward) in [
        (
            "*",
            MANY,
            usize::MAX,
            "a b c d e other|",
            "other e d c b a|",
        ),
        ("*", MANY, 1, "a|b|c|d|e|other||", "other|e|d|c|b|a||"),
        ("*", MANY, 101, "a b|c|d e|other|", "other e|d c|b a||"),
        ("*", MANY, 300, "a b c|d e other|", "other e d c|b a|"),
        ("*", 2, 300, "a b|c d|e other||", "other e|d c|b a||"),
        ("*e*", MANY, 100, "e|other||", "other|e||"),
    ] {
        for (direction, expected) in [
            (Direction::Forward, forward),
            (Direction::Backward, backward),
        ] {
            let scan = ValueScan {
                bytes,
                direction,
                ..scan(pattern, limit)
            };
            let found = pages(&store, &here, scan).await;
            assert_eq!(found, expected, "{pattern}, {bytes} bytes, {direction:?}");
        }
    }
}

async fn of_a_dated_value_the_dates_can_be_read_alone(store: TestStore) {
    let here = space("s");
    let text = format!("\"{}\"", "ä日".repeat(40));
    for (name, at) in [("first", 5), ("last", i64::MAX), ("long", i64::MIN)] {
        let (json, name, key) = (json(&text), "value", here.key(name));
        store
            .act(&key, Operation::SetDated(DatedContent { at, name, json }))
            .await;
    }
    for (name, value) in [
        ("list", "[1,2,3]"),
        ("object", "{\"a\":1,\"b\":2,\"c\":3}"),
        ("text", &text),
    ] {
        store.act(&here.key(name), set(value)).await;
    }
    let scan = ValueScan {
        part: ValuePart::Dates,
        ..scan("*", MANY)
    };
    let found = must(store.scan(&here, &scan).await);
    for (name, entry) in &found {
        let whole = some(store.value(&here.key(name)).await);
        let alone = must(store.get(&here.key(name), ValuePart::Dates).await);
        assert_eq!(alone.as_ref(), Some(entry), "{name}");
        let known = |entry: &ValueEntry| (entry.kind, entry.length, entry.version);
        assert_eq!(known(entry), known(&whole), "{name}");
    }
    let told = found
        .iter()
        .map(|(name, entry)| (&**name, entry.value.as_str()));
    let dates = |at: i64| format!("{{\"created_at\":{at},\"updated_at\":{at}}}");
    assert_eq!(
        told.collect::<Vec<_>>(),
        [
            ("first", &*dates(5)),
            ("last", &*dates(i64::MAX)),
            ("list", "null"),
            ("long", &*dates(i64::MIN)),
            ("object", "null"),
            ("text", "null"),
        ]
    );
}
