//! Contexts: rows, items, cursors, clearing and removing.

use crate::bed::{Bed, ann, bob, chief, cid, over_with_histories_apart, twin};
use ambit_runtime::ErrorCode;
use ambit_runtime::inspect::contexts::{
    self, ContextAction, ContextActionReport, ContextBulk, ContextItemFilter, ContextRowFilter,
};
use ambit_storage::directory::RowState;
use futures::FutureExt;
use serde_json::json;
use std::time::Duration;

pub const CASES: &[(&str, crate::Run)] = &[
    ("a_context_shows_its_row_and_its_items", |bed| {
        shows(bed).boxed()
    }),
    (
        "a_row_apart_from_its_data_says_what_that_is_and_is_found_by_it",
        |bed| apart(bed).boxed(),
    ),
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
        "g057_events_of_a_session_are_for_those_who_list_its_history",
        |bed| listed(bed).boxed(),
    ),
    (
        "g058_bulk_removal_spares_what_the_caller_may_not_see",
        |bed| bulk_of_others(bed).boxed(),
    ),
];

fn history(chat: &str) -> ContextRowFilter {
    ContextRowFilter {
        chat: Some(chat.to_owned()),
        scope: Some("chatHistory".to_owned()),
        ..ContextRowFilter::default()
    }
}

pub async fn id(bed: &Bed, chat: &str) -> String {
    let page = history(chat).list(&bed.ambit, &ann(), None, 2).await;
    let [row] = &page.unwrap().items[..] else {
        panic!("one row was expected");
    };
    row.id.clone()
}

async fn listed(bed: Bed) {
    let of_ann = bed.talk(&ann(), "support", "own", "one").await;
    let acting = bed.ambit.acting_as(&ann().caller());
    let of_nobody = acting.agent("support").unwrap().for_chat("free").await;
    let of_nobody = of_nobody.unwrap();
    let unknown = acting.agent("support").unwrap().for_chat("never").await;
    bed.turn(&of_nobody, "r", "two").await;
    let mut seen = Vec::new();
    for who in [
        ann(),
        bob(),
        cid(),
        twin(),
        chief("t1"),
        crate::bed::nobody("t1"),
    ] {
        for (chat, live) in [
            ("own", &of_ann),
            ("free", &of_nobody),
            ("never", unknown.as_ref().unwrap()),
        ] {
            let reach = ambit_runtime::DataAccess::of(&who);
            let lists = reach.lists(&bed.ambit, live.context().identity()).await;
            let page = history(chat).list(&bed.ambit, &who, None, 2).await;
            let is_listed = !page.unwrap().items.is_empty();
            // Whoever lists everything is told of what is in no list, too.
            let expected = is_listed || reach.is_whole();
            let in_tenant = reach.tenant() == "t1";
            assert_eq!(
                lists.unwrap() && in_tenant,
                expected && in_tenant,
                "{who:?} {chat}"
            );
            seen.push(is_listed);
        }
    }
    // Of each conversation somebody sees something and somebody does not.
    assert_eq!(
        seen.iter().filter(|is_listed| **is_listed).count(),
        5,
        "{seen:?}"
    );
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
        let filter = ContextItemFilter {
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
    let scopes = ContextRowFilter::default()
        .list(&bed.ambit, &ann(), None, 10)
        .await;
    let mut scopes: Vec<_> = scopes
        .unwrap()
        .items
        .into_iter()
        .map(|row| row.scope.unwrap())
        .collect();
    scopes.sort();
    assert_eq!(scopes, ["chatHistory", "memory", "usage"]);
}

async fn apart(mut bed: Bed) {
    bed.ambit = over_with_histories_apart(bed.driver.clone(), bed.options.clone());
    for chat in ["c", "d", "e"] {
        bed.talk(&ann(), "support", chat, chat).await;
    }
    let cleared = id(&bed, "c").await;
    contexts::act(&bed.ambit, &ann(), &cleared, ContextAction::Clear)
        .await
        .unwrap();
    let row = contexts::get(&bed.ambit, &chief("t1"), &cleared).await;
    assert!(row.unwrap().generation.is_some_and(|number| number > 0));
    let of_state = |state: Option<RowState>| ContextRowFilter {
        state,
        scope: Some("chatHistory".to_owned()),
        ..ContextRowFilter::default()
    };
    let page = async |state: Option<RowState>, cursor: Option<&str>| {
        let filter = of_state(state);
        filter.list(&bed.ambit, &ann(), cursor, 1).await
    };
    let listed = async |state: Option<RowState>| {
        let (mut rows, mut cursor): (Vec<_>, Option<String>) = (Vec::new(), None);
        loop {
            let found = page(state, cursor.as_deref()).await.unwrap();
            let told = found.items.into_iter();
            rows.extend(told.map(|row| (row.chat_name.unwrap(), row.state, row.items)));
            cursor = found.next;
            if cursor.is_none() {
                return rows;
            }
        }
    };
    let row = |chat: &str, state: RowState, items: u64| (chat.to_owned(), Some(state), Some(items));
    let gone = vec![row("c", RowState::Cleared, 0)];
    let left = vec![row("d", RowState::Live, 2), row("e", RowState::Live, 2)];
    let all = [gone.clone(), left.clone()].concat();
    assert_eq!(listed(None).await, all);
    assert_eq!(listed(Some(RowState::Cleared)).await, gone);
    assert_eq!(listed(Some(RowState::Live)).await, left);
    let cursor = page(Some(RowState::Live), None).await.unwrap().next;
    for state in [None, Some(RowState::Cleared)] {
        let refused = page(state, cursor.as_deref()).await.unwrap_err();
        assert_eq!(refused.param.as_deref(), Some("cursor"), "{state:?}");
    }
    let filter = of_state(Some(RowState::Cleared));
    let removed = acted(&bed, &filter, ContextAction::Remove, false).await;
    assert_eq!(removed.done, ["chatHistory_support_ann"]);
    assert_eq!(listed(None).await, left);
}

static ANN: std::sync::LazyLock<ambit_runtime::Authorized> = std::sync::LazyLock::new(ann);

async fn foreign(bed: Bed) {
    bed.talk(&ann(), "support", "c", "one").await;
    let known = id(&bed, "c").await;
    for who in [bob(), cid(), twin(), chief("t2"), crate::bed::nobody("t1")] {
        for id in [known.as_str(), "never", "a\0b", ""] {
            let told = |error: ambit_runtime::Error| (error.code, error.message);
            let expected = (ErrorCode::NotFound, format!("context \"{id}\" not found"));
            let ambit = &bed.ambit;
            let got = contexts::get(ambit, &who, id).await.unwrap_err();
            assert_eq!(told(got), expected);
            let got = contexts::items(ambit, &who, id, ContextItemFilter::default())
                .await
                .unwrap_err();
            assert_eq!(told(got), expected);
            for action in [ContextAction::Clear, ContextAction::Remove] {
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
    let all = ContextRowFilter::default();
    let ambit = &bed.ambit;
    let first = all.list(ambit, &ann(), None, 2).await.unwrap();
    let cursor = first.next.unwrap();
    let next = all.list(ambit, &ann(), Some(&cursor), 100).await.unwrap();
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
        let error = all.list(ambit, &who, cursor, limit).await.unwrap_err();
        let param = if limit == 2 { "cursor" } else { "limit" };
        assert_eq!(
            (error.code, error.param.as_deref()),
            (ErrorCode::InvalidArgument, Some(param))
        );
    }
    bed.clock.advance(Duration::from_secs(25 * 3_600));
    let error = all.list(ambit, &ann(), Some(&cursor), 2).await.unwrap_err();
    assert_eq!(error.param.as_deref(), Some("cursor"));
}

async fn scope(bed: Bed) {
    let filter = ContextRowFilter {
        scope: Some("chathistory".to_owned()),
        ..ContextRowFilter::default()
    };
    let error = filter.list(&bed.ambit, &ann(), None, 1).await.unwrap_err();
    assert_eq!(error.param.as_deref(), Some("scope"));
    assert!(
        error.message.ends_with("did you mean \"chatHistory\"?"),
        "{}",
        error.message
    );
}

pub async fn count(bed: &Bed, filter: &ContextRowFilter) -> usize {
    let page = filter.list(&bed.ambit, &chief("t1"), None, 1_000).await;
    page.unwrap().items.len()
}

async fn acts(bed: Bed) {
    bed.talk(&ann(), "support", "c", "one").await;
    bed.talk(&ann(), "support", "d", "two").await;
    let (one, other) = (id(&bed, "c").await, id(&bed, "d").await);
    contexts::act(&bed.ambit, &ann(), &one, ContextAction::Clear)
        .await
        .unwrap();
    let row = contexts::get(&bed.ambit, &ann(), &one).await.unwrap();
    assert_eq!(json!(row.state), "cleared");
    contexts::act(&bed.ambit, &ann(), &one, ContextAction::Remove)
        .await
        .unwrap();
    let left = ContextRowFilter {
        chat: Some("c".to_owned()),
        ..ContextRowFilter::default()
    };
    // A history takes its memory along; usage is a context of its own.
    assert_eq!(count(&bed, &left).await, 1);
    assert_eq!(count(&bed, &ContextRowFilter::default()).await, 4);
    let row = contexts::get(&bed.ambit, &ann(), &other).await.unwrap();
    assert_eq!((json!(row.state), row.items), (json!("live"), Some(2)));
}

/// What Ann's action on all that match comes to.
async fn acted(
    bed: &Bed,
    filter: &ContextRowFilter,
    action: ContextAction,
    is_dry: bool,
) -> ContextActionReport {
    let bulk = ContextBulk {
        action,
        is_dry,
        ids: None,
    };
    let rows = filter.act(&bed.ambit, &ann(), &bulk).await;
    rows.unwrap().into()
}

async fn bulk(bed: Bed) {
    for chat in ["a_b", "axb", "a%", "a*"] {
        bed.talk(&ann(), "support", chat, chat).await;
    }
    for chat in ["a%", "a*", "a_b"] {
        let before = count(&bed, &ContextRowFilter::default()).await;
        let filter = history(chat);
        let dry = acted(&bed, &filter, ContextAction::Remove, true).await;
        let expected = json!({
            "done": ["chatHistory_support_ann"], "unchanged": [], "skipped": [], "failed": [],
        });
        assert_eq!(json!(dry), expected);
        assert_eq!(count(&bed, &ContextRowFilter::default()).await, before);
        let done = acted(&bed, &filter, ContextAction::Remove, false).await;
        assert_eq!(json!(done), expected);
        assert_eq!(count(&bed, &ContextRowFilter::default()).await, before - 2);
    }
    assert_eq!(count(&bed, &history("axb")).await, 1);
}

async fn bulk_of_others(bed: Bed) {
    for who in [ann(), bob(), twin()] {
        bed.talk(&who, "support", "c", "one").await;
    }
    let all = ContextRowFilter::default();
    for action in [ContextAction::Clear, ContextAction::Remove] {
        let of_bob = ContextRowFilter {
            user: Some("bob".to_owned()),
            ..ContextRowFilter::default()
        };
        let report = acted(&bed, &of_bob, action, false).await;
        assert_eq!(
            json!(report),
            json!({"done": [], "unchanged": [], "skipped": [], "failed": []})
        );
        acted(&bed, &all, action, false).await;
    }
    let left = all.list(&bed.ambit, &chief("t1"), None, 100).await.unwrap();
    assert!(
        left.items
            .iter()
            .all(|row| row.user_id.as_deref() == Some("bob"))
    );
    assert_eq!(left.items.len(), 3);
    let theirs = all.list(&bed.ambit, &twin(), None, 100).await.unwrap();
    assert_eq!(theirs.items.len(), 3);
}
