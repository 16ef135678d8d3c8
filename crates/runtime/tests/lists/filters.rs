//! Contexts by label, state and time, in every order, and what is told of them to whom.

use crate::bed::{Bed, ann, bob, chief, twin};
use crate::contexts::id;
use ambit_runtime::Authorized;
use ambit_runtime::inspect::contexts::{
    self, ContextAction, ContextActionRow, ContextBulk, ContextField, ContextLabel, ContextRow,
    ContextRowFilter, ContextValueFilter,
};
use ambit_storage::SessionIdentity;
use ambit_storage::batch::BatchWrite;
use ambit_storage::directory::{RowOrder, RowState, TrackRequest};
use futures::FutureExt;
use serde_json::json;
use std::collections::BTreeMap;
use std::time::Duration;

pub const CASES: &[(&str, crate::Run)] = &[
    (
        "contexts_are_filtered_by_label_state_and_time_in_every_order",
        |bed| filters(bed).boxed(),
    ),
    ("marked_contexts_alone_are_cleared", |bed| {
        marked(bed).boxed()
    }),
    ("a_marked_memory_is_removed_beside_its_history", |bed| {
        marked_memory(bed).boxed()
    }),
    (
        "marked_usage_of_more_than_a_session_is_skipped_unless_asked_for",
        |bed| marked_usage(bed).boxed(),
    ),
    ("values_of_a_field_are_those_of_visible_contexts", |bed| {
        values(bed).boxed()
    }),
    (
        "how_a_context_is_kept_is_told_to_callers_without_constraints",
        |bed| details(bed).boxed(),
    ),
];

/// The row of a storage of a chat of Ann's.
fn tracked(id: &str, chat: &str, scope: &str) -> TrackRequest {
    let base = SessionIdentity::builder("support").user_id("ann");
    let base = base.chat_name(chat).build().unwrap();
    TrackRequest {
        id: id.to_owned(),
        tenant: "t1".to_owned(),
        identity: base.with_scope(scope).unwrap(),
        agent: "support".to_owned(),
        base,
        placement: vec!["main".to_owned()],
        created_by: Some("ann".to_owned()),
        team: Some("red".to_owned()),
        labels: BTreeMap::new(),
    }
}

/// The row of a history of Ann's with a label.
fn labelled(chat: &str, name: &str, value: &str) -> BatchWrite {
    BatchWrite::Track(Box::new(TrackRequest {
        labels: BTreeMap::from([(name.to_owned(), value.to_owned())]),
        ..tracked(&format!("row-{chat}"), chat, "chatHistory")
    }))
}

/// The chats of Ann's histories that match.
async fn chats(bed: &Bed, filter: ContextRowFilter) -> Vec<String> {
    let filter = ContextRowFilter {
        scope: Some("chatHistory".to_owned()),
        ..filter
    };
    let page = filter.list(&bed.ambit, &ann(), None, 10).await.unwrap();
    let rows = page.items.into_iter();
    rows.map(|row| row.chat_name.unwrap()).collect()
}

/// The row of a history of Ann's.
async fn row(bed: &Bed, chat: &str) -> ContextRow {
    let id = id(bed, chat).await;
    contexts::get(&bed.ambit, &ann(), &id).await.unwrap()
}

/// A filter with one condition.
fn by(set: impl FnOnce(&mut ContextRowFilter)) -> ContextRowFilter {
    let mut filter = ContextRowFilter::default();
    set(&mut filter);
    filter
}

fn plan(value: &str) -> Option<ContextLabel> {
    Some(ContextLabel {
        name: "plan".to_owned(),
        value: value.to_owned(),
    })
}

async fn filters(bed: Bed) {
    let live = bed.talk(&ann(), "support", "a", "one").await;
    bed.clock.advance(Duration::from_secs(60));
    bed.talk(&ann(), "support", "b", "two").await;
    bed.commit([labelled("c", "plan", "free")]).await;
    bed.clock.advance(Duration::from_secs(60));
    bed.turn(&live, "r-more", "more").await;
    let made = row(&bed, "b").await.created_at;
    let active = row(&bed, "a").await.last_activity_at;
    for (filter, expected) in [
        (by(|_| ()), vec!["a", "b", "c"]),
        (by(|f| f.order = RowOrder::Newest), vec!["c", "b", "a"]),
        (by(|f| f.order = RowOrder::Recent), vec!["a", "c", "b"]),
        (by(|f| f.label = plan("free")), vec!["c"]),
        (by(|f| f.label = plan("paid")), vec![]),
        (by(|f| f.created_after = Some(made)), vec!["b", "c"]),
        (by(|f| f.created_before = Some(made)), vec!["a"]),
        (by(|f| f.active_after = Some(active)), vec!["a"]),
        (by(|f| f.active_before = Some(active)), vec!["b", "c"]),
    ] {
        assert_eq!(chats(&bed, filter.clone()).await, expected, "{filter:?}");
    }
    let cleared = id(&bed, "b").await;
    contexts::act(&bed.ambit, &ann(), &cleared, ContextAction::Clear)
        .await
        .unwrap();
    for (state, expected) in [
        (RowState::Cleared, vec!["b"]),
        (RowState::Live, vec!["a", "c"]),
    ] {
        let filter = by(|f| f.state = Some(state));
        assert_eq!(chats(&bed, filter).await, expected, "{state:?}");
    }
}

async fn marked(bed: Bed) {
    bed.talk(&ann(), "support", "a", "one").await;
    bed.talk(&ann(), "support", "b", "two").await;
    let (id, other) = (id(&bed, "a").await, id(&bed, "b").await);
    let known = |items| ContextActionRow {
        id: id.clone(),
        key: Some("chatHistory_support_ann".to_owned()),
        agent_name: Some("support".to_owned()),
        user_id: Some("ann".to_owned()),
        chat_name: Some("a".to_owned()),
        items,
        agents: vec!["support".to_owned()],
        reason: None,
    };
    let unknown = |id: &str| ContextActionRow {
        id: id.to_owned(),
        reason: Some("no context that you may see has this id and matches".to_owned()),
        ..ContextActionRow::default()
    };
    let mut bulk = ContextBulk {
        action: ContextAction::Clear,
        is_dry: true,
        ids: Some(vec![id.clone(), id.clone(), "~".to_owned()]),
    };
    let filter = by(|f| f.chat = Some("a".to_owned()));
    for is_dry in [true, false] {
        bulk.is_dry = is_dry;
        let report = filter.act(&bed.ambit, &ann(), &bulk).await.unwrap();
        assert_eq!(report.done, [known(2)]);
        assert_eq!(report.unchanged, [unknown("~")]);
    }
    let report = filter.act(&bed.ambit, &ann(), &bulk).await.unwrap();
    assert_eq!(report.unchanged, [unknown("~"), known(0)]);
    bulk.ids = Some(vec![other.clone()]);
    let report = filter.act(&bed.ambit, &ann(), &bulk).await.unwrap();
    assert_eq!(report.unchanged, [unknown(&other)]);
    assert_eq!(row(&bed, "b").await.items, Some(2));
}

/// The ids of these rows.
fn ids(rows: &[ContextActionRow]) -> Vec<&str> {
    rows.iter().map(|row| row.id.as_str()).collect()
}

async fn marked_memory(bed: Bed) {
    let rows = [("row-1", "chatHistory"), ("row-2", "memory")];
    let track = |(id, scope)| BatchWrite::Track(Box::new(tracked(id, "c", scope)));
    bed.commit(rows.map(track)).await;
    let filter = ContextRowFilter::default();
    for is_dry in [true, false] {
        let bulk = ContextBulk {
            action: ContextAction::Remove,
            is_dry,
            ids: Some(rows.map(|(id, _)| id.to_owned()).to_vec()),
        };
        let report = filter.act(&bed.ambit, &ann(), &bulk).await.unwrap();
        let told = (ids(&report.done), ids(&report.unchanged));
        assert_eq!(told, (vec!["row-2", "row-1"], vec![]));
    }
}

async fn marked_usage(bed: Bed) {
    let firm = SessionIdentity::builder("support").group("firm").build();
    let usage = TrackRequest {
        identity: firm.unwrap().with_scope("usage").unwrap(),
        ..tracked("row-1", "c", "usage")
    };
    bed.commit([BatchWrite::Track(Box::new(usage))]).await;
    let bulk = ContextBulk {
        action: ContextAction::Remove,
        is_dry: false,
        ids: Some(vec!["row-1".to_owned()]),
    };
    for (filter, expected) in [
        (by(|_| ()), (vec!["row-1"], vec![])),
        (
            by(|f| f.scope = Some("usage".to_owned())),
            (vec![], vec!["row-1"]),
        ),
    ] {
        let report = filter.act(&bed.ambit, &chief("t1"), &bulk).await.unwrap();
        assert_eq!((ids(&report.skipped), ids(&report.done)), expected);
    }
}

async fn values(bed: Bed) {
    bed.talk(&ann(), "support", "a", "one").await;
    bed.talk(&ann(), "sales", "b", "two").await;
    bed.talk(&bob(), "support", "c", "three").await;
    let by_user = ContextField::User;
    for (who, field, prefix, limit, expected) in [
        (ann(), by_user, "", 9, vec![("ann", 6)]),
        (chief("t1"), by_user, "", 9, vec![("ann", 6), ("bob", 3)]),
        (chief("t1"), by_user, "", 1, vec![("ann", 6)]),
        (chief("t1"), by_user, "b", 9, vec![("bob", 3)]),
        (twin(), by_user, "", 9, vec![]),
        (
            ann(),
            ContextField::Agent,
            "s",
            9,
            vec![("sales", 3), ("support", 3)],
        ),
        (
            ann(),
            ContextField::Scope,
            "",
            9,
            vec![("chatHistory", 2), ("memory", 2), ("usage", 2)],
        ),
        (ann(), ContextField::Group, "", 9, vec![]),
        (ann(), ContextField::Team, "", 9, vec![]),
    ] {
        let filter = ContextValueFilter { field, prefix };
        let found = contexts::values(&bed.ambit, &who, filter, limit).await;
        let found = found.unwrap().items.into_iter();
        let found: Vec<_> = found.map(|item| (item.value, item.count)).collect();
        let expected = expected.into_iter();
        let expected: Vec<_> = expected
            .map(|(value, count)| (value.to_owned(), count))
            .collect();
        assert_eq!(found, expected, "{who:?} {field:?}");
    }
    let filter = ContextValueFilter {
        field: ContextField::Team,
        prefix: "",
    };
    let teams = contexts::values(&bed.ambit, &chief("t1"), filter, 9).await;
    let teams = teams.unwrap().items.into_iter();
    assert_eq!(teams.map(|item| item.value).collect::<Vec<_>>(), ["red"]);
}

/// The history of a chat of Ann's, as somebody lists it and as they are shown it.
async fn shown(bed: &Bed, who: &Authorized, chat: &str) -> ContextRow {
    let filter = ContextRowFilter {
        chat: Some(chat.to_owned()),
        scope: Some("chatHistory".to_owned()),
        ..ContextRowFilter::default()
    };
    let page = filter.list(&bed.ambit, who, None, 1).await.unwrap();
    let id = id(bed, chat).await;
    let row = contexts::get(&bed.ambit, who, &id).await.unwrap();
    assert_eq!(page.items, std::slice::from_ref(&row));
    row
}

async fn details(bed: Bed) {
    bed.talk(&ann(), "support", "c", "one").await;
    let whole = shown(&bed, &chief("t1"), "c").await;
    let touch = &whole.touches.as_ref().unwrap()[0];
    let touches = json!([{
        "agent": "support", "key": "support_ann", "first_at": touch.first_at, "last_at": touch.last_at,
    }]);
    let expected = (json!(["main"]), json!("red"), json!("ann"), touches);
    let told = (
        json!(whole.placement),
        json!(whole.team),
        json!(whole.created_by),
        json!(whole.touches),
    );
    assert_eq!(told, expected);
    assert!(whole.generation.is_some());
    let own = json!(shown(&bed, &ann(), "c").await);
    for field in ["placement", "team", "created_by", "generation", "touches"] {
        assert_eq!(own.get(field), None, "{field}");
    }
}
