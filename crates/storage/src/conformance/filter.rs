//! Filters of the index: each field, all together, and as bytes.

use super::steps::{HOUR, identity, must, request, space, track};
use super::{ConformanceCase, TestStore};
use crate::SessionIdentity;
use crate::address::DEFAULT_TENANT;
use crate::batch::{Batch, BatchWrite};
use crate::directory::{IndexRow, PageRequest, RowFilter, RowOrder, TrackRequest, Viewer};
use crate::identity::IdentityRecord;
use std::collections::BTreeMap;

pub(super) const CASES: &[ConformanceCase] = cases![
    each_field_of_a_filter_selects_its_rows,
    fields_of_a_filter_must_all_hold,
    chats_are_found_by_how_their_names_begin,
    g054_a_filter_compares_ids_as_bytes,
    rows_are_selected_by_time,
    a_viewer_sees_their_own_and_their_teams,
    a_filtered_page_holds_wanted_rows_only,
    the_rows_of_all_tenants_are_found_without_one,
];

/// Rows as `field=value` pairs; the agent is `Agent` where none is given.
const ROWS: [(&str, &str); 7] = [
    ("plain", ""),
    ("ann", "user=ann chat=one by=ann team=red"),
    ("ann2", "user=ann chat=two kind=test"),
    ("bob", "user=bob chat=one team=red scope=usage"),
    ("team", "agent=Other chat=one team=red by=bob"),
    ("group", "agent=Other group=desk chat=one kind=real"),
    ("blue", "chat=three team=blue by=ann scope=usage"),
];

fn made(id: &str, fields: &str) -> TrackRequest {
    let field = |wanted: &str| {
        let mut pairs = fields.split(' ').filter_map(|pair| pair.split_once('='));
        pairs.find(|(name, _)| *name == wanted)
    };
    let text = |wanted: &str| field(wanted).map(|(_, value)| value.to_owned());
    let identity = SessionIdentity::try_from(IdentityRecord {
        agent_name: text("agent").unwrap_or("Agent".to_owned()),
        user_id: text("user"),
        chat_name: text("chat"),
        group: text("group"),
        scope: text("scope"),
        ..IdentityRecord::default()
    });
    TrackRequest {
        created_by: text("by"),
        team: text("team"),
        labels: text("kind").map_or(BTreeMap::new(), |kind| label("kind", &kind)),
        ..request(id, &must(identity))
    }
}

fn bob() -> SessionIdentity {
    let (id, fields) = ROWS[3];
    made(id, fields).identity
}

async fn furnish(store: &TestStore) {
    let tracks = ROWS
        .iter()
        .map(|(id, fields)| BatchWrite::Track(Box::new(made(id, fields))));
    must(store.commit(Batch::of(tracks)).await);
}

/// Expects these rows, in the order they were made, and their number.
async fn finds(store: &TestStore, filter: &RowFilter, expected: &[&str]) {
    let found = store.rows(filter, RowOrder::Oldest).await;
    let ids: Vec<&str> = found.iter().map(|row| row.id.as_str()).collect();
    assert_eq!(ids, expected, "{filter:?}");
    let count = must(store.count(filter).await);
    assert_eq!(count, expected.len() as u64, "{filter:?}");
}

/// A filter of the default tenant.
fn by(set: impl FnOnce(&mut RowFilter)) -> RowFilter {
    let mut filter = RowFilter::tenant(DEFAULT_TENANT);
    set(&mut filter);
    filter
}

fn text(text: &str) -> Option<String> {
    Some(text.to_owned())
}

fn label(name: &str, value: &str) -> BTreeMap<String, String> {
    BTreeMap::from([(name.to_owned(), value.to_owned())])
}

async fn each_field_of_a_filter_selects_its_rows(store: TestStore) {
    furnish(&store).await;
    let all = ROWS.map(|(id, _)| id);
    finds(&store, &by(|_| {}), &all).await;
    let one = ["ann", "bob", "team", "group"];
    for (filter, expected) in [
        (by(|f| f.id = text("bob")), &["bob"][..]),
        (by(|f| f.id = text("nobody")), &[]),
        (by(|f| f.storage_key = Some(bob().storage_key())), &["bob"]),
        (by(|f| f.key = Some(bob().key())), &["bob"]),
        (by(|f| f.key = text("Agent_ann")), &["ann", "ann2"]),
        (by(|f| f.agent = text("Other")), &["team", "group"]),
        (by(|f| f.user = text("ann")), &["ann", "ann2"]),
        (by(|f| f.chat = text("one")), &one),
        (by(|f| f.group = text("desk")), &["group"]),
        (by(|f| f.scope = text("usage")), &["bob", "blue"]),
        (by(|f| f.labels = label("kind", "test")), &["ann2"]),
        (by(|f| f.labels = label("kind", "x")), &[]),
        (RowFilter::tenant("other"), &[]),
    ] {
        finds(&store, &filter, expected).await;
    }
}

async fn fields_of_a_filter_must_all_hold(store: TestStore) {
    furnish(&store).await;
    for (set, expected) in [
        ("chat=one user=ann", &["ann"][..]),
        ("chat=one agent=Other group=desk", &["group"]),
        ("chat=one agent=Agent scope=usage", &["bob"]),
        ("chat=two user=ann kind=real", &[]),
        ("chat=two user=ann kind=test", &["ann2"]),
        ("id=ann user=bob", &[]),
        ("id=ann tenant=other", &[]),
        ("id=ann user=ann agent=Agent chat=one", &["ann"]),
        ("storage_key=bob user=ann", &[]),
        ("storage_key=bob user=bob", &["bob"]),
    ] {
        let filter = by(|filter| {
            for (name, value) in set.split(' ').filter_map(|pair| pair.split_once('=')) {
                match name {
                    "id" => filter.id = text(value),
                    "tenant" => filter.tenant = text(value),
                    "user" => filter.user = text(value),
                    "chat" => filter.chat = text(value),
                    "agent" => filter.agent = text(value),
                    "group" => filter.group = text(value),
                    "scope" => filter.scope = text(value),
                    "kind" => filter.labels = label(name, value),
                    _ => filter.storage_key = Some(bob().storage_key()),
                }
            }
        });
        finds(&store, &filter, expected).await;
    }
}

async fn chats_are_found_by_how_their_names_begin(store: TestStore) {
    let names = [
        "resp",
        "resp_",
        "resp_1",
        "Resp_1",
        "resp_\u{10ffff}",
        "resp`",
        "r%sp_1",
        "a",
    ];
    for name in names {
        let fields = format!("user=ann chat={name}");
        store
            .write(BatchWrite::Track(Box::new(made(name, &fields))))
            .await;
    }
    store
        .write(BatchWrite::Track(Box::new(made("none", "user=ann"))))
        .await;
    let own = Viewer {
        user: text("ann"),
        team: None,
    };
    for (prefix, expected) in [
        ("resp_", &["resp_", "resp_1", "resp_\u{10ffff}"][..]),
        ("r%", &["r%sp_1"]),
        ("resp_1_", &[]),
        ("resp_\u{10ffff}", &["resp_\u{10ffff}"]),
        ("", &names),
    ] {
        finds(&store, &by(|f| f.chat_prefix = text(prefix)), expected).await;
        let seen = by(|f| (f.chat_prefix, f.visible_to) = (text(prefix), Some(own.clone())));
        finds(&store, &seen, expected).await;
    }
}

async fn g054_a_filter_compares_ids_as_bytes(store: TestStore) {
    let texts = [
        "a_b", "axb", "a%", "ab", "a*", "A_B", "é", "e\u{301}", "a'b", "a\"b", "a\\b", " a",
    ];
    for given in texts {
        let identity = must(
            SessionIdentity::builder(given)
                .user_id(given)
                .chat_name(given)
                .scope(given)
                .build(),
        );
        let mut request = request(given, &identity);
        request.labels = label(given, given);
        store.write(BatchWrite::Track(Box::new(request))).await;
    }
    for given in texts {
        for filter in [
            by(|f| f.id = text(given)),
            by(|f| f.agent = text(given)),
            by(|f| f.user = text(given)),
            by(|f| f.chat = text(given)),
            by(|f| f.scope = text(given)),
            by(|f| f.labels = label(given, given)),
        ] {
            finds(&store, &filter, &[given]).await;
        }
        finds(&store, &by(|f| f.group = text(given)), &[]).await;
        finds(&store, &RowFilter::tenant(given), &[]).await;
    }
}

async fn rows_are_selected_by_time(store: TestStore) {
    for id in ["one", "two", "three"] {
        store.write(track(id, &identity(id))).await;
        store.clock().advance(HOUR);
    }
    store
        .append(&space("one").log("items"), &[("a", "1")])
        .await;
    let made = store.rows(&by(|_| {}), RowOrder::Oldest).await;
    let two = made[1].created_at;
    let one = made[0].last_activity_at;
    for (filter, expected) in [
        (by(|f| f.created_before = Some(two)), &["one"][..]),
        (by(|f| f.created_before = Some(two + 1)), &["one", "two"]),
        (by(|f| f.created_after = Some(two)), &["two", "three"]),
        (by(|f| f.created_after = Some(two + 1)), &["three"]),
        (by(|f| f.active_before = Some(two)), &[]),
        (by(|f| f.active_before = Some(two + 1)), &["two"]),
        (by(|f| f.active_before = Some(one)), &["two", "three"]),
        (by(|f| f.active_after = Some(one)), &["one"]),
        (by(|f| f.active_after = Some(one + 1)), &[]),
    ] {
        finds(&store, &filter, expected).await;
    }
    let between = by(|f| (f.active_after, f.active_before) = (Some(two), Some(one)));
    finds(&store, &between, &["two", "three"]).await;
}

async fn a_viewer_sees_their_own_and_their_teams(store: TestStore) {
    furnish(&store).await;
    let sees = |user: Option<&str>, team: Option<&str>| RowFilter {
        visible_to: Some(Viewer {
            user: user.map(str::to_owned),
            team: team.map(str::to_owned),
        }),
        ..by(|_| {})
    };
    for (filter, expected) in [
        (sees(Some("ann"), None), vec!["ann", "ann2", "blue"]),
        (
            sees(Some("ann"), Some("red")),
            vec!["ann", "ann2", "team", "blue"],
        ),
        (sees(Some("bob"), None), vec!["bob", "team"]),
        (sees(Some("bob"), Some("blue")), vec!["bob", "team", "blue"]),
        (sees(None, Some("red")), vec!["team"]),
        (sees(None, None), vec![]),
        (sees(Some("eve"), Some("green")), vec![]),
    ] {
        finds(&store, &filter, &expected).await;
    }
}

async fn a_filtered_page_holds_wanted_rows_only(store: TestStore) {
    furnish(&store).await;
    let filter = by(|f| f.chat = text("one"));
    for (order, expected) in [
        (RowOrder::Oldest, ["ann", "bob", "team", "group"]),
        (RowOrder::Newest, ["group", "team", "bob", "ann"]),
        (RowOrder::Recent, ["group", "team", "bob", "ann"]),
    ] {
        let mut found: Vec<IndexRow> = Vec::new();
        for _ in 0..expected.len() {
            let page = PageRequest {
                order,
                after: found.last().map(IndexRow::position),
                limit: 1,
            };
            found.extend(must(store.identities(&filter, &page).await));
        }
        let ids: Vec<&str> = found.iter().map(|row| row.id.as_str()).collect();
        assert_eq!(ids, expected, "{order:?}");
    }
}

async fn the_rows_of_all_tenants_are_found_without_one(store: TestStore) {
    for name in ["one", "two"] {
        let mut request = request(name, &identity("s"));
        request.tenant = name.to_owned();
        store.write(BatchWrite::Track(Box::new(request))).await;
    }
    finds(&store, &RowFilter::default(), &["one", "two"]).await;
    let by_key = RowFilter {
        storage_key: Some(identity("s").storage_key()),
        ..RowFilter::default()
    };
    finds(&store, &by_key, &["one", "two"]).await;
    let by_id = RowFilter {
        id: text("two"),
        ..RowFilter::default()
    };
    finds(&store, &by_id, &["two"]).await;
}
