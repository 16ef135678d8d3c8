//! Scans: patterns, pages and order.

use super::steps::*;
use super::{ConformanceCase, DriverFixture};
use crate::address::Space;
use crate::batch::{Batch, WriteOutcome};
use crate::driver::{Driver, ValuePart, ValueScan};
use std::sync::Arc;

pub(super) const CASES: &[ConformanceCase] = cases![
    g102_only_the_star_is_a_wildcard,
    g102_a_wipe_takes_what_matches_in_its_own_space,
    names_come_in_byte_order,
    g081_pages_of_names_join_without_gap,
    a_scan_gives_the_part_that_is_asked_for,
    a_scan_tells_about_each_value,
];

const NAMES: &[&str] = &[
    "a", "a*", "a*b", "a:1", "a:2", "aXb", "a\\b", "a_b", "a%b", "a?b", "[ab]", "ab", "abc", "b:1",
    "A:1", "ä:1", "日本:1",
];

async fn fill(driver: &dyn Driver, here: &Space, names: &[&str]) {
    let writes = names.iter().map(|name| apply(&here.key(*name), set("1")));
    must(driver.commit(Batch::of(writes)).await);
}

async fn names(driver: &dyn Driver, here: &Space, pattern: &str) -> Vec<String> {
    let found = values(driver, here, pattern).await;
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

async fn g102_only_the_star_is_a_wildcard(fixture: Arc<dyn DriverFixture>) {
    let driver = fixture.open().await;
    let here = space("s");
    fill(&*driver, &here, NAMES).await;
    fill(&*driver, &space("t"), &["a:9", "x"]).await;
    for (pattern, expected) in PATTERNS {
        let found = names(&*driver, &here, pattern).await;
        assert_eq!(found, sorted(expected), "{pattern}");
    }
}

async fn g102_a_wipe_takes_what_matches_in_its_own_space(fixture: Arc<dyn DriverFixture>) {
    let driver = fixture.open().await;
    let (here, there) = (space("s"), space("t"));
    fill(&*driver, &there, NAMES).await;
    write(&*driver, append(&here.log("a:1"), &[("a", "1")])).await;
    let others = snapshot(&*driver, &there).await;
    for (pattern, gone) in PATTERNS {
        fill(&*driver, &here, NAMES).await;
        let count = gone.len() as u64;
        let erased = write(&*driver, wipe(&here, pattern)).await;
        assert_eq!(erased, WriteOutcome::Erased(count), "{pattern}");
        let left: Vec<&str> = NAMES
            .iter()
            .filter(|name| !gone.contains(name))
            .copied()
            .collect();
        assert_eq!(
            names(&*driver, &here, "*").await,
            sorted(&left),
            "{pattern}"
        );
    }
    assert_eq!(snapshot(&*driver, &there).await, others);
    assert_eq!(
        entries(&*driver, &here.log("a:1")).await,
        [entry(1, "a", "1")]
    );
}

async fn names_come_in_byte_order(fixture: Arc<dyn DriverFixture>) {
    let driver = fixture.open().await;
    let here = space("s");
    let expected = [
        "\u{0}", "\u{0}a", " ", "!", "10", "9", "A", "Z", "_", "a", "a\u{0}b", "a b", "ab", "b",
        "é", "ü", "א", "日", "\u{fffd}", "😀",
    ];
    let mut mixed = expected.to_vec();
    mixed.sort_by_key(|name| name.len() * 7 % 5);
    fill(&*driver, &here, &mixed).await;
    assert_eq!(names(&*driver, &here, "*").await, expected);
}

async fn g081_pages_of_names_join_without_gap(fixture: Arc<dyn DriverFixture>) {
    let driver = fixture.open().await;
    let here = space("s");
    fill(&*driver, &here, NAMES).await;
    for (pattern, expected) in PATTERNS {
        for limit in [1, 2, 3, 100] {
            let mut found: Vec<String> = Vec::new();
            loop {
                let page = ValueScan {
                    after: found.last().cloned(),
                    ..scan(pattern, limit)
                };
                let page = must(driver.scan(&here, &page).await);
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
    let found = must(driver.scan(&here, &behind).await);
    assert_eq!(found.len(), 1, "only a:2 is behind a:15: {found:?}");
    assert_eq!(must(driver.scan(&here, &scan("*", 0)).await), []);
}

async fn a_scan_gives_the_part_that_is_asked_for(fixture: Arc<dyn DriverFixture>) {
    let driver = fixture.open().await;
    let here = space("s");
    for (name, value) in [("list", "[1,2,3]"), ("text", "\"abc\"")] {
        act(&*driver, &here.key(name), set(value)).await;
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
            let entry = must(driver.get(&here.key(name), part).await);
            expected.push((name.to_owned(), some(entry)));
        }
        assert_eq!(must(driver.scan(&here, &scan).await), expected, "{part:?}");
    }
}

async fn a_scan_tells_about_each_value(fixture: Arc<dyn DriverFixture>) {
    let driver = fixture.open().await;
    let here = space("s");
    write(&*driver, apply_for(&here.key("a"), set("[1,2]"), HOUR)).await;
    write(&*driver, apply(&here.key("b"), set("{\"x\":1}"))).await;
    let mut expected = Vec::new();
    for name in ["a", "b"] {
        expected.push((name.to_owned(), some(get(&*driver, &here.key(name)).await)));
    }
    assert_eq!(must(driver.scan(&here, &scan("*", MANY)).await), expected);
    assert_eq!(must(driver.scan(&space("t"), &scan("*", MANY)).await), []);
}
