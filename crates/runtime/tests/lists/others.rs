//! Contexts, memory, usage and traces.

use crate::bed::{Bed, ann, bob, chief, cid, person, twin};
use crate::chats::ALL;
use crate::names::share;
use ambit_runtime::Code;
use ambit_runtime::inspect::contexts::{self, Action, ItemFilter, RowFilter};
use ambit_runtime::inspect::memory::{self, Which};
use ambit_runtime::inspect::traces::{self, TraceFilter};
use ambit_runtime::inspect::usage::{self, Sums, UsageFilter};
use ambit_storage::UsageField;
use futures::FutureExt;
use serde_json::json;
use std::time::Duration;

pub const CASES: &[(&str, crate::Run)] = &[
    ("a_context_shows_its_row_and_its_items", |bed| {
        shows(bed).boxed()
    }),
    (
        "g057_a_context_of_others_answers_like_an_unknown_one",
        |bed| foreign(bed).boxed(),
    ),
    (
        "g150_sizes_out_of_range_and_foreign_cursors_are_refused",
        |bed| cursors(bed).boxed(),
    ),
    ("g146_an_unknown_scope_is_refused_with_the_nearest", |bed| {
        scope(bed).boxed()
    }),
    ("g065_one_context_is_cleared_and_removed_alone", |bed| {
        acts(bed).boxed()
    }),
    ("g054_bulk_removal_takes_exactly_what_matches", |bed| {
        bulk(bed).boxed()
    }),
    (
        "g058_bulk_removal_spares_what_the_caller_may_not_see",
        |bed| bulk_of_others(bed).boxed(),
    ),
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
    ("usage_is_summed_by_what_is_asked", |bed| sums(bed).boxed()),
    ("g153_contradictions_about_usage_are_refused", |bed| {
        contradictions(bed).boxed()
    }),
    ("traces_are_listed_newest_first_and_filtered", |bed| {
        listed(bed).boxed()
    }),
    ("the_log_of_a_trace_is_read_and_followed", |bed| {
        log(bed).boxed()
    }),
];

fn history(chat: &str) -> RowFilter {
    RowFilter {
        chat: Some(chat.to_owned()),
        scope: Some("chatHistory".to_owned()),
        ..RowFilter::default()
    }
}

async fn id(bed: &Bed, chat: &str) -> String {
    let page = contexts::list(&bed.ambit, &ann(), &history(chat), (None, 2)).await;
    let [row] = &page.unwrap().items[..] else {
        panic!("one row was expected");
    };
    row.id.clone()
}

async fn shows(bed: Bed) {
    let live = bed.talk(&ann(), "support", "c", "one").await;
    let id = id(&bed, "c").await;
    let row = contexts::get(&bed.ambit, &ann(), &id).await.unwrap();
    let expected = json!({
        "id": live.context().row_id().unwrap(), "agent_name": "support", "chat_name": "c", "user_id": "ann",
        "group": null, "scope": "chatHistory", "key": "chatHistory_support_ann", "state": "live", "items": 2,
        "created_at": row.created_at, "last_activity_at": row.last_activity_at, "agents": ["support"], "labels": {},
    });
    assert_eq!(json!(row), expected);
    let page = |before, limit| {
        let filter = ItemFilter {
            before,
            limit,
            archive: false,
        };
        contexts::items(&bed.ambit, &ANN, &id, filter)
    };
    let last = page(None, 1).await.unwrap();
    assert_eq!((last.items[0].position, last.next), (2, Some(2)));
    assert!(last.items[0].item.as_str().contains("to one"));
    let before = page(last.next, 1).await.unwrap();
    assert_eq!((before.items[0].position, before.next), (1, None));
    let scopes = contexts::list(&bed.ambit, &ann(), &RowFilter::default(), (None, 10)).await;
    let mut scopes: Vec<_> = scopes
        .unwrap()
        .items
        .into_iter()
        .map(|row| row.scope.unwrap())
        .collect();
    scopes.sort();
    assert_eq!(scopes, ["chatHistory", "memory", "usage"]);
}

static ANN: std::sync::LazyLock<ambit_runtime::Authorized> = std::sync::LazyLock::new(ann);

async fn foreign(bed: Bed) {
    bed.talk(&ann(), "support", "c", "one").await;
    let known = id(&bed, "c").await;
    for who in [bob(), cid(), twin(), chief("t2"), crate::bed::nobody("t1")] {
        for id in [known.as_str(), "never", "a\0b", ""] {
            let told = |error: ambit_runtime::Error| (error.code, error.message);
            let expected = (Code::NotFound, format!("context \"{id}\" not found"));
            let ambit = &bed.ambit;
            let got = contexts::get(ambit, &who, id).await.unwrap_err();
            assert_eq!(told(got), expected);
            let got = contexts::items(ambit, &who, id, ItemFilter::default())
                .await
                .unwrap_err();
            assert_eq!(told(got), expected);
            for action in [Action::Clear, Action::Remove] {
                let got = contexts::act(ambit, &who, id, action).await.unwrap_err();
                assert_eq!(told(got), expected);
            }
        }
    }
    assert!(contexts::get(&bed.ambit, &ann(), &known).await.is_ok());
}

async fn cursors(bed: Bed) {
    for chat in ["a", "b", "c"] {
        bed.talk(&ann(), "support", chat, chat).await;
        bed.talk(&bob(), "support", chat, &format!("bob {chat}"))
            .await;
    }
    let all = RowFilter::default();
    let ambit = &bed.ambit;
    let first = contexts::list(ambit, &ann(), &all, (None, 2))
        .await
        .unwrap();
    let cursor = first.next.unwrap();
    let next = contexts::list(ambit, &ann(), &all, (Some(&cursor), 100))
        .await
        .unwrap();
    assert_eq!((first.items.len() + next.items.len(), next.next), (9, None));
    let forged = format!("{}x", &cursor[..cursor.len() - 1]);
    for (who, cursor, limit) in [
        (ann(), Some(forged.as_str()), 2),
        (ann(), Some("x"), 2),
        (bob(), Some(cursor.as_str()), 2),
        (twin(), Some(cursor.as_str()), 2),
        (chief("t1"), Some(cursor.as_str()), 2),
        (ann(), None, 0),
        (ann(), None, 1_000_000_000),
    ] {
        let error = contexts::list(ambit, &who, &all, (cursor, limit))
            .await
            .unwrap_err();
        let param = if limit == 2 { "cursor" } else { "limit" };
        assert_eq!(
            (error.code, error.param.as_deref()),
            (Code::InvalidArgument, Some(param))
        );
    }
    bed.clock.advance(Duration::from_secs(25 * 3_600));
    let error = contexts::list(ambit, &ann(), &all, (Some(&cursor), 2))
        .await
        .unwrap_err();
    assert_eq!(error.param.as_deref(), Some("cursor"));
}

async fn scope(bed: Bed) {
    let filter = RowFilter {
        scope: Some("chathistory".to_owned()),
        ..RowFilter::default()
    };
    let error = contexts::list(&bed.ambit, &ann(), &filter, (None, 1))
        .await
        .unwrap_err();
    assert_eq!(error.param.as_deref(), Some("scope"));
    assert!(
        error.message.ends_with("did you mean \"chatHistory\"?"),
        "{}",
        error.message
    );
}

async fn count(bed: &Bed, filter: &RowFilter) -> usize {
    let page = contexts::list(&bed.ambit, &chief("t1"), filter, (None, 1_000)).await;
    page.unwrap().items.len()
}

async fn acts(bed: Bed) {
    bed.talk(&ann(), "support", "c", "one").await;
    bed.talk(&ann(), "support", "d", "two").await;
    let (one, other) = (id(&bed, "c").await, id(&bed, "d").await);
    contexts::act(&bed.ambit, &ann(), &one, Action::Clear)
        .await
        .unwrap();
    let row = contexts::get(&bed.ambit, &ann(), &one).await.unwrap();
    assert_eq!(json!(row.state), "cleared");
    contexts::act(&bed.ambit, &ann(), &one, Action::Remove)
        .await
        .unwrap();
    let left = RowFilter {
        chat: Some("c".to_owned()),
        ..RowFilter::default()
    };
    // A history takes its memory along; usage is a context of its own.
    assert_eq!(count(&bed, &left).await, 1);
    assert_eq!(count(&bed, &RowFilter::default()).await, 4);
    let row = contexts::get(&bed.ambit, &ann(), &other).await.unwrap();
    assert_eq!((json!(row.state), row.items), (json!("live"), 2));
}

async fn bulk(bed: Bed) {
    for chat in ["a_b", "axb", "a%", "a*"] {
        bed.talk(&ann(), "support", chat, chat).await;
    }
    for chat in ["a%", "a*", "a_b"] {
        let before = count(&bed, &RowFilter::default()).await;
        let filter = history(chat);
        let dry = contexts::act_on_all(&bed.ambit, &ann(), (&filter, true), Action::Remove).await;
        let expected = json!({
            "done": ["chatHistory_support_ann"], "unchanged": [], "skipped": [], "failed": [],
        });
        assert_eq!(json!(dry.unwrap()), expected);
        assert_eq!(count(&bed, &RowFilter::default()).await, before);
        let done = contexts::act_on_all(&bed.ambit, &ann(), (&filter, false), Action::Remove).await;
        assert_eq!(json!(done.unwrap()), expected);
        assert_eq!(count(&bed, &RowFilter::default()).await, before - 2);
    }
    assert_eq!(count(&bed, &history("axb")).await, 1);
}

async fn bulk_of_others(bed: Bed) {
    for who in [ann(), bob(), twin()] {
        bed.talk(&who, "support", "c", "one").await;
    }
    let all = RowFilter::default();
    for action in [Action::Clear, Action::Remove] {
        let of_bob = RowFilter {
            user: Some("bob".to_owned()),
            ..RowFilter::default()
        };
        let report = contexts::act_on_all(&bed.ambit, &ann(), (&of_bob, false), action).await;
        assert_eq!(
            json!(report.unwrap()),
            json!({"done": [], "unchanged": [], "skipped": [], "failed": []})
        );
        contexts::act_on_all(&bed.ambit, &ann(), (&all, false), action)
            .await
            .unwrap();
    }
    let left = contexts::list(&bed.ambit, &chief("t1"), &all, (None, 100))
        .await
        .unwrap();
    assert!(
        left.items
            .iter()
            .all(|row| row.user_id.as_deref() == Some("bob"))
    );
    assert_eq!(left.items.len(), 3);
    let theirs = contexts::list(&bed.ambit, &twin(), &all, (None, 100))
        .await
        .unwrap();
    assert_eq!(theirs.items.len(), 3);
}

fn which<'a>(space: &'a str, owner: Option<&'a str>) -> Which<'a> {
    Which {
        space,
        owner,
        assistant_id: None,
    }
}

async fn ownerless(bed: Bed) {
    let alone = person("t1", "dan", None);
    let open = memory::open(&bed.ambit, &alone, which("team", None))
        .await
        .unwrap();
    assert_eq!(open.list(None, ALL).await.unwrap().total, 0);
    let value = ambit_storage::Json::of(&1).unwrap();
    let error = open.set("k", &value, None).await.unwrap_err();
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
            open.set(&format!("{space}:{key}"), &value, None)
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
        let error = open.delete("a*").await.unwrap_err();
        assert_eq!(error.code, Code::InvalidArgument);
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
        open.set(key, &value, ttl).await.unwrap();
    };
    put("a", json!("text"), None).await;
    put("b", json!([1, 2]), Some("1h")).await;
    put("c", json!({"x": null}), None).await;
    let found = open.list(None, ALL).await.unwrap();
    let end = found.items[1].expires_at.unwrap();
    assert!(end > bed.clock.now());
    assert_eq!(
        json!(found.items),
        json!([
            {"key": "a", "type": "string", "bytes": 6, "expires_at": null},
            {"key": "b", "type": "list", "bytes": 5, "expires_at": end},
            {"key": "c", "type": "object", "bytes": 10, "expires_at": null},
        ])
    );
    let second = ambit_runtime::chats::Window { skip: 1, limit: 1 };
    let page = open.list(None, second).await.unwrap();
    assert_eq!((page.items[0].key.as_str(), page.total), ("b", 3));
    assert_eq!(open.get("c").await.unwrap().as_str(), "{\"x\":null}");
    open.delete("c").await.unwrap();
    open.delete("c").await.unwrap();
    assert_eq!(open.get("c").await.unwrap_err().code, Code::NotFound);
    bed.clock.advance(Duration::from_secs(3_601));
    assert_eq!(open.list(None, ALL).await.unwrap().total, 1);
}

async fn memories(bed: Bed) {
    bed.talk(&ann(), "support", "c", "one").await;
    let open = memory::open(&bed.ambit, &ann(), which("chat", Some("c")))
        .await
        .unwrap();
    assert_eq!(open.get("key-one").await.unwrap().as_str(), "\"one\"");
    for (who, space, owner, code) in [
        (bob(), "chat", "c", Some(Code::NotFound)),
        (bob(), "chat", "never", Some(Code::NotFound)),
        (bob(), "user", "ann", Some(Code::NotFound)),
        (bob(), "user", "never", Some(Code::NotFound)),
        (bob(), "user", "bob", None),
        (bob(), "team", "red", None),
        (cid(), "team", "red", Some(Code::NotFound)),
        (chief("t1"), "user", "ann", None),
        (chief("t1"), "chat", "c", None),
        (chief("t2"), "chat", "c", Some(Code::NotFound)),
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
    open.set("note", &value, None).await.unwrap();
    let hers = memory::open(&bed.ambit, &ann(), which("chat", Some("c")))
        .await
        .unwrap();
    assert_eq!(hers.get("note").await.unwrap(), value);
    // It is still Ann's, and goes with her chat.
    let filter = RowFilter {
        scope: Some("memory".to_owned()),
        ..RowFilter::default()
    };
    assert_eq!(count(&bed, &filter).await, 1);
}

async fn sums(bed: Bed) {
    bed.talk(&ann(), "support", "c", "one").await;
    bed.talk(&ann(), "sales", "d", "two").await;
    bed.talk(&bob(), "support", "e", "three").await;
    let by = async |who: &ambit_runtime::Authorized, filter: UsageFilter| {
        let sums = usage::sums(&bed.ambit, who, &filter, None).await.unwrap();
        match sums {
            Sums::All(totals) => (totals.records, totals.total_tokens),
            other => panic!("totals were expected, not {other:?}"),
        }
    };
    assert_eq!(by(&ann(), UsageFilter::default()).await, (2, 16));
    assert_eq!(by(&bob(), UsageFilter::default()).await, (1, 8));
    assert_eq!(by(&chief("t1"), UsageFilter::default()).await, (3, 24));
    assert_eq!(by(&chief("t2"), UsageFilter::default()).await, (0, 0));
    let of = |set: fn(&mut UsageFilter, String), value: &str| {
        let mut filter = UsageFilter::default();
        set(&mut filter, value.to_owned());
        filter
    };
    let ann = ann();
    assert_eq!(
        by(
            &ann,
            of(|filter, value| filter.agent = Some(value), "sales")
        )
        .await,
        (1, 8)
    );
    assert_eq!(
        by(&ann, of(|filter, value| filter.chat = Some(value), "c")).await,
        (1, 8)
    );
    assert_eq!(
        by(
            &ann,
            of(|filter, value| filter.model = Some(value), "model-two")
        )
        .await,
        (1, 8)
    );
    assert_eq!(
        by(&ann, of(|filter, value| filter.user = Some(value), "bob")).await,
        (0, 0)
    );
    let row = id(&bed, "c").await;
    assert_eq!(
        by(&ann, of(|filter, value| filter.context = Some(value), &row)).await,
        (1, 8)
    );
    let theirs = of(|filter, value| filter.context = Some(value), &row);
    let error = usage::sums(&bed.ambit, &bob(), &theirs, None)
        .await
        .unwrap_err();
    assert_eq!(error.code, Code::NotFound);
    let groups = usage::sums(
        &bed.ambit,
        &ann,
        &UsageFilter::default(),
        Some(UsageField::Agent),
    )
    .await;
    let Sums::Groups(groups) = groups.unwrap() else {
        panic!("groups were expected");
    };
    let groups: Vec<_> = groups
        .iter()
        .map(|(agent, totals)| (agent.as_str(), totals.records))
        .collect();
    assert_eq!(groups, [("sales", 1), ("support", 1)]);
}

async fn contradictions(bed: Bed) {
    let set = |change: fn(&mut UsageFilter)| {
        let mut filter = UsageFilter::default();
        change(&mut filter);
        filter
    };
    for (filter, param) in [
        (
            set(|filter| filter.date = Some("2026-02-30".to_owned())),
            "date",
        ),
        (
            set(|filter| filter.time_zone = Some("Mars".to_owned())),
            "time_zone",
        ),
        (
            set(|filter| {
                filter.date_from = Some("2026-03-02".to_owned());
                filter.date_to = Some("2026-03-01".to_owned());
            }),
            "date_to",
        ),
    ] {
        let error = usage::sums(&bed.ambit, &ann(), &filter, Some(UsageField::Day))
            .await
            .unwrap_err();
        assert_eq!(error.code, Code::InvalidArgument, "{filter:?}");
        assert_eq!(
            error.param.as_deref(),
            Some(param),
            "{filter:?}: {}",
            error.message
        );
    }
}

async fn listed(bed: Bed) {
    let live = bed.talk(&ann(), "support", "c", "one").await;
    bed.clock.advance(Duration::from_secs(10));
    bed.turn(&live, "r-two", "two").await;
    bed.clock.advance(Duration::from_secs(10));
    bed.talk(&ann(), "sales", "d", "three").await;
    let ids = async |filter: TraceFilter| {
        let part = traces::list(&bed.ambit, &ann(), &filter, ALL)
            .await
            .unwrap();
        assert_eq!(part.total, part.items.len() as u64);
        let ids = part.items.into_iter().map(|row| row.trace_id);
        ids.collect::<Vec<_>>()
    };
    let text = |text: &str| Some(text.to_owned());
    assert_eq!(
        ids(TraceFilter::default()).await,
        ["r-three", "r-two", "r-one"]
    );
    let of = |chat_id, request_id, status| TraceFilter {
        chat_id,
        request_id,
        status,
        assistant_id: None,
    };
    assert_eq!(ids(of(text("c"), None, None)).await, ["r-two", "r-one"]);
    assert_eq!(ids(of(None, text("r-one"), None)).await, ["r-one"]);
    assert_eq!(ids(of(text("d"), text("r-one"), None)).await, [""; 0]);
    assert_eq!(ids(of(None, None, Some("failed"))).await, [""; 0]);
    assert_eq!(ids(of(text("never"), None, None)).await, [""; 0]);
    let row = traces::open(&bed.ambit, &ann(), "r-two").await.unwrap().row;
    let expected = json!({
        "trace_id": "r-two", "request_id": "r-two", "chat_id": "c", "assistant_id": "support",
        "status": "completed", "duration_ms": 60, "created_at": row.created_at,
    });
    assert_eq!(json!(row), expected);
    let error = TraceFilter::status("complete").unwrap_err();
    assert!(
        error.message.ends_with("did you mean \"completed\"?"),
        "{}",
        error.message
    );
}

async fn log(bed: Bed) {
    bed.talk(&ann(), "support", "c", "one").await;
    let log = traces::open(&bed.ambit, &ann(), "r-one").await.unwrap();
    let all = log.all().await.unwrap();
    assert_eq!(all.len(), 1);
    assert_eq!(
        all[0].body.as_str(),
        "{\"type\":\"init\",\"about\":\"one\"}"
    );
    assert!(log.after(1, 10).await.unwrap().is_empty());
    for who in [bob(), twin()] {
        for id in ["r-one", "never"] {
            let error = traces::open(&bed.ambit, &who, id).await.err().unwrap();
            assert_eq!(error.message, format!("trace \"{id}\" not found"));
        }
    }
}
