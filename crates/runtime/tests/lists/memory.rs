//! Memories: whose they are, what is listed of them, and patterns.

use crate::bed::{Bed, ann, bob, chief, cid, person};
use crate::chats::ALL;
use crate::contexts::count;
use crate::names::share;
use ambit_runtime::ErrorCode;
use ambit_runtime::inspect::contexts::ContextRowFilter;
use ambit_runtime::inspect::memory::{self, MemorySelector};
use ambit_storage::memory::{ExpectedVersion, MemoryWrite, ValueLife};
use futures::FutureExt;
use serde_json::json;
use std::time::Duration;

pub const CASES: &[(&str, crate::Run)] = &[
    (
        "g103_a_space_without_an_owner_is_empty_and_refuses_writes",
        |bed| ownerless(bed).boxed(),
    ),
    ("g102_patterns_match_their_own_space_alone", |bed| {
        patterns(bed).boxed()
    }),
    ("a_memory_shows_kind_size_and_end_of_its_values", |bed| {
        values(bed).boxed()
    }),
    (
        "g057_the_memory_of_others_answers_like_an_unknown_one",
        |bed| memories(bed).boxed(),
    ),
];

/// A write of whatever is there.
const ANYHOW: MemoryWrite = MemoryWrite {
    expect: ExpectedVersion::Any,
    life: ValueLife::Renew(None),
};

pub fn which<'a>(space: &'a str, owner: Option<&'a str>) -> MemorySelector<'a> {
    MemorySelector {
        space,
        owner,
        assistant_id: None,
        context: None,
    }
}

async fn ownerless(bed: Bed) {
    let alone = person("t1", "dan", None);
    let open = memory::open(&bed.ambit, &alone, which("team", None))
        .await
        .unwrap();
    assert_eq!(open.list(None, ALL).await.unwrap().total, 0);
    let value = ambit_storage::Json::of(&1).unwrap();
    let error = open.set("k", &value, ANYHOW).await.unwrap_err();
    assert_eq!(error.message, "memory.team needs authorized.team_id");
    let error = memory::open(&bed.ambit, &alone, which("chat", None))
        .await
        .err()
        .unwrap();
    assert_eq!(error.param.as_deref(), Some("owner"));
    let error = memory::open(&bed.ambit, &alone, which("users", None))
        .await
        .err()
        .unwrap();
    assert!(
        error.message.ends_with("did you mean \"user\"?"),
        "{}",
        error.message
    );
}

async fn patterns(bed: Bed) {
    bed.talk(&ann(), "support", "c", "one").await;
    let value = ambit_storage::Json::of("v").unwrap();
    for (space, owner) in [("user", None), ("team", None), ("chat", Some("c"))] {
        let open = memory::open(&bed.ambit, &ann(), which(space, owner))
            .await
            .unwrap();
        for key in ["a_b", "axb", "a%", "a*", "a?"] {
            open.set(&format!("{space}:{key}"), &value, ANYHOW)
                .await
                .unwrap();
        }
        for (pattern, expected) in [
            ("*:a_b", 1),
            ("*:a%", 1),
            ("*:a\\*", 1),
            ("*:a?", 1),
            ("*:a*", 5),
            ("user:*", 5),
        ] {
            let expected = if pattern == "user:*" && space != "user" {
                0
            } else {
                expected
            };
            let found = open.list(Some(pattern), ALL).await.unwrap();
            assert_eq!(found.total, expected, "{pattern} in {space}");
        }
        let error = open.delete("a*", ExpectedVersion::Any).await.unwrap_err();
        assert_eq!(error.code, ErrorCode::InvalidArgument);
        assert_eq!(
            open.list(Some(&format!("{space}:*")), ALL)
                .await
                .unwrap()
                .total,
            5
        );
    }
}

async fn values(bed: Bed) {
    let open = memory::open(&bed.ambit, &ann(), which("user", None))
        .await
        .unwrap();
    let put = async |key: &str, value: serde_json::Value, ttl: Option<&str>| {
        let value = ambit_storage::Json::of(&value).unwrap();
        let ttl = ttl.map(|ttl| ambit_storage::memory::Ttl::parse(ttl).unwrap());
        let life = ValueLife::Renew(ttl);
        let expect = ExpectedVersion::Absent;
        let write = MemoryWrite { expect, life };
        open.set(key, &value, write).await.unwrap()
    };
    let a = put("a", json!("text"), None).await;
    let b = put("b", json!([1, 2]), Some("1h")).await;
    let c = put("c", json!({"x": null}), None).await;
    let found = open.list(None, ALL).await.unwrap();
    let end = found.items[1].expires_at.unwrap();
    assert!(end > bed.clock.now());
    assert_eq!(
        json!(found.items),
        json!([
            {"key": "a", "type": "string", "bytes": 6, "version": a, "expires_at": null},
            {"key": "b", "type": "list", "bytes": 5, "version": b, "expires_at": end},
            {"key": "c", "type": "object", "bytes": 10, "version": c, "expires_at": null},
        ])
    );
    let second = ambit_runtime::chats::PageWindow { skip: 1, limit: 1 };
    let page = open.list(None, second).await.unwrap();
    assert_eq!((page.items[0].key.as_str(), page.total), ("b", 3));
    assert_eq!(open.get("c").await.unwrap().value.as_str(), "{\"x\":null}");
    open.delete("c", ExpectedVersion::Exactly(c)).await.unwrap();
    open.delete("c", ExpectedVersion::Any).await.unwrap();
    assert_eq!(open.get("c").await.unwrap_err().code, ErrorCode::NotFound);
    bed.clock.advance(Duration::from_secs(3_601));
    assert_eq!(open.list(None, ALL).await.unwrap().total, 1);
}

async fn memories(bed: Bed) {
    bed.talk(&ann(), "support", "c", "one").await;
    let open = memory::open(&bed.ambit, &ann(), which("chat", Some("c")))
        .await
        .unwrap();
    assert_eq!(open.get("key-one").await.unwrap().value.as_str(), "\"one\"");
    for (who, space, owner, code) in [
        (bob(), "chat", "c", Some(ErrorCode::NotFound)),
        (bob(), "chat", "never", Some(ErrorCode::NotFound)),
        (bob(), "user", "ann", Some(ErrorCode::NotFound)),
        (bob(), "user", "never", Some(ErrorCode::NotFound)),
        (bob(), "user", "bob", None),
        (bob(), "team", "red", None),
        (cid(), "team", "red", Some(ErrorCode::NotFound)),
        (chief("t1"), "user", "ann", None),
        (chief("t1"), "chat", "c", None),
        (chief("t2"), "chat", "c", Some(ErrorCode::NotFound)),
    ] {
        let found = memory::open(&bed.ambit, &who, which(space, Some(owner))).await;
        let found = found.err().map(|error| error.code);
        assert_eq!(found, code, "{space} of {owner} for {who:?}");
    }
    share(&bed, "c", "team").await;
    let open = memory::open(&bed.ambit, &bob(), which("chat", Some("c")))
        .await
        .unwrap();
    let value = ambit_storage::Json::of("bob's").unwrap();
    open.set("note", &value, ANYHOW).await.unwrap();
    let hers = memory::open(&bed.ambit, &ann(), which("chat", Some("c")))
        .await
        .unwrap();
    assert_eq!(hers.get("note").await.unwrap().value, value);
    // It is still Ann's, and goes with her chat.
    let filter = ContextRowFilter {
        scope: Some("memory".to_owned()),
        ..ContextRowFilter::default()
    };
    assert_eq!(count(&bed, &filter).await, 1);
}
