//! Filters with any text in them: G56, G147 and G153.

use crate::bed::{Bed, Case, Notes, invalid, rows};
use ambit_storage::address::DEFAULT_TENANT;
use ambit_storage::batch::{Batch, BatchWrite};
use ambit_storage::directory::{PageRequest, RowFilter, RowOrder, TrackRequest, Viewer};
use ambit_storage::storage::{ChatHistoryStorage, UsageStorage};
use ambit_storage::{Context, SessionIdentity, SessionQuery};
use std::collections::BTreeMap;

pub const CASES: &[Case] = cases![
    g056_filters_with_any_text_answer_as_their_evaluation_in_memory,
    g147_a_condition_that_is_added_never_replaces_one,
    g153_contradicting_filters_are_invalid,
    g153_a_filter_that_no_identity_can_meet_is_invalid,
];

/// Texts that mean something to a database.
const TEXTS: [&str; 30] = [
    "ann",
    "ann%",
    "a_n",
    "*",
    "%",
    "_",
    "' OR '1'='1",
    "'; DROP TABLE rows; --",
    "\" OR \"\"=\"",
    "\\",
    "\\'",
    "$1",
    "?1",
    ":user",
    "{ann}",
    "]]",
    "[ann]",
    "return redis.call('FLUSHALL')",
    "\"]) redis.call('DEL', KEYS[1]) --",
    "\r\n*1\r\n$8\r\nFLUSHALL\r\n",
    "NULL",
    "null",
    "0",
    "1 OR 1=1",
    "ann OR user=bob",
    "a:ann/u:x",
    "user",
    "Ω😀\u{202e}",
    "ann ",
    "Ann",
];

/// Small numbers from a seed, the same in every run.
struct Dice(u64);

impl Dice {
    fn below(&mut self, limit: usize) -> usize {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        usize::try_from(self.0 >> 33).unwrap() % limit
    }

    fn text(&mut self) -> String {
        TEXTS[self.below(TEXTS.len())].to_owned()
    }

    fn maybe(&mut self, one_in: usize) -> Option<String> {
        (self.below(one_in) == 0).then(|| self.text())
    }

    fn labels(&mut self) -> BTreeMap<String, String> {
        let pair = |dice: &mut Self| Some((dice.maybe(3)?, dice.text()));
        pair(self).into_iter().collect()
    }

    fn row(&mut self, number: usize) -> TrackRequest {
        let mut builder = SessionIdentity::builder(self.text()).scope("notes");
        if let Some(user) = self.maybe(2) {
            builder = builder.user_id(user);
        }
        if let Some(chat) = self.maybe(2) {
            builder = builder.chat_name(chat);
        }
        if let Some(group) = self.maybe(3) {
            builder = builder.group(group);
        }
        let identity = builder.build().unwrap();
        TrackRequest {
            id: format!("{} {number}", self.text()),
            tenant: DEFAULT_TENANT.to_owned(),
            agent: identity.agent_name().to_owned(),
            base: identity.base(),
            identity,
            // A storage is never kept in two places.
            placement: vec!["main".to_owned()],
            created_by: self.maybe(2),
            team: self.maybe(2),
            labels: self.labels(),
        }
    }

    fn filter(&mut self) -> RowFilter {
        let viewer = Viewer {
            user: self.maybe(2),
            team: self.maybe(2),
        };
        let has_viewer = self.below(3) == 0;
        let one_in = 2 + self.below(12);
        RowFilter {
            tenant: Some(DEFAULT_TENANT.to_owned()),
            id: self.maybe(20),
            storage_key: self.maybe(20),
            key: self.maybe(20),
            agent: self.maybe(one_in),
            user: self.maybe(one_in),
            chat: self.maybe(one_in),
            group: self.maybe(one_in),
            scope: self.maybe(20),
            labels: if self.below(4) == 0 {
                self.labels()
            } else {
                BTreeMap::new()
            },
            visible_to: has_viewer.then_some(viewer),
            ..RowFilter::default()
        }
    }
}

async fn g056_filters_with_any_text_answer_as_their_evaluation_in_memory(bed: Bed) {
    let filters = if bed.is_small() { 80 } else { 300 };
    let mut dice = Dice(56);
    let tracks = (0..150).map(|number| BatchWrite::Track(Box::new(dice.row(number))));
    bed.driver.commit(Batch::of(tracks)).await.unwrap();
    let all = rows(bed.driver.as_ref()).await;
    assert!(all.len() > 100);
    let (mut found, page) = (
        0,
        PageRequest {
            order: RowOrder::Oldest,
            after: None,
            limit: 1_000,
        },
    );
    for _ in 0..filters {
        let filter = dice.filter();
        let wanted: Vec<_> = all
            .iter()
            .filter(|row| filter.matches(row))
            .cloned()
            .collect();
        found += usize::from(!wanted.is_empty() && wanted.len() < all.len());
        assert_eq!(
            bed.driver.count(&filter).await.unwrap(),
            wanted.len() as u64,
            "{filter:?}"
        );
        let answer = bed.driver.identities(&filter, &page).await.unwrap();
        assert_eq!(answer, wanted, "{filter:?}");
    }
    assert!(found > filters / 6, "{found} filters found something");
    assert_eq!(rows(bed.driver.as_ref()).await, all);
}

async fn chats(query: &SessionQuery) -> Vec<String> {
    let page = query.page(None, 100).await.unwrap();
    let chat =
        |row: ambit_storage::directory::IndexRow| row.identity.chat_name().unwrap().to_owned();
    page.items.into_iter().map(chat).collect()
}

async fn g147_a_condition_that_is_added_never_replaces_one(bed: Bed) {
    bed.track(3).await;
    let ambit = bed.ambit();
    let query = Context::named(&ambit, "Support");
    let now = bed.clock().now();
    // Whichever comes first, the narrower one counts.
    let (early, late) = (now - 60_000, now + 60_000);
    assert_eq!(
        chats(&query.active_before(early).active_before(late)).await,
        [""; 0]
    );
    assert_eq!(
        chats(&query.active_before(late).active_before(early)).await,
        [""; 0]
    );
    assert_eq!(
        chats(&query.created_after(late).created_after(early)).await,
        [""; 0]
    );
    assert_eq!(
        chats(&query.created_after(early).created_after(late)).await,
        [""; 0]
    );
    assert_eq!(chats(&query.for_chat("c1").for_chat("c1")).await, ["c1"]);
    let tested = query
        .filter(|row| row.id != "row0")
        .filter(|row| row.id != "row2");
    assert_eq!(chats(&tested).await, ["c1"]);
    assert_eq!(chats(&query).await, ["c0", "c1", "c2"]);
}

async fn g153_contradicting_filters_are_invalid(bed: Bed) {
    bed.track(3).await;
    let query = Context::named(bed.ambit(), "Support");
    let contradictions = [
        ("user", query.for_user("a").for_user("b")),
        ("chat", query.for_chat("a").for_chat("b").for_chat("a")),
        ("group", query.for_group("a").for_group("b")),
        (
            "scope",
            query
                .for_storage::<UsageStorage>()
                .for_storage::<ChatHistoryStorage>(),
        ),
        ("id", query.with_id("a").with_id("b")),
        ("key", query.find_by_key("a").find_by_key("b")),
        ("label a", query.labelled("a", "1").labelled("a", "2")),
        ("active_before", query.active_before(5).active_after(5)),
        ("active_before", query.active_after(6).active_before(5)),
        ("created_before", query.created_before(5).created_after(6)),
    ];
    for (field, query) in contradictions {
        assert_eq!(invalid(query.first().await), field);
        assert_eq!(invalid(query.last().await), field);
        assert_eq!(invalid(query.count().await), field);
        assert_eq!(invalid(query.exists().await), field);
        assert_eq!(invalid(query.page(None, 1).await), field);
        assert_eq!(invalid(query.dry_run().remove().await), field);
        assert_eq!(invalid(query.clear().await), field);
    }
    let notes = query.for_storage::<Notes>();
    assert_eq!(invalid(notes.chat_identities(None, 1).await), "scope");
    assert!(query.active_before(6).active_after(5).first().await.is_ok());
}

async fn g153_a_filter_that_no_identity_can_meet_is_invalid(bed: Bed) {
    let query = Context::named(bed.ambit(), "Support");
    let long = "x".repeat(201);
    for value in ["", "a\0b", long.as_str()] {
        assert_eq!(invalid(query.for_user(value).first().await), "user");
        assert_eq!(invalid(query.for_chat(value).first().await), "chat");
        assert_eq!(invalid(query.for_group(value).first().await), "group");
        assert_eq!(invalid(query.for_scope(value).first().await), "scope");
        let named = Context::named(bed.ambit(), value);
        assert_eq!(invalid(named.first().await), "agent");
    }
}
