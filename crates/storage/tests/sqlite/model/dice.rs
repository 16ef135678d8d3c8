//! What is drawn by chance: parts of batches, filters, and the spaces that both stores are about.

use ambit_storage::address::Space;
use ambit_storage::batch::NewEntry;
use ambit_storage::directory::{RowFilter, TrackRequest, Viewer};
use ambit_storage::{Json, SessionIdentity};
use std::collections::BTreeMap;

pub const LOGS: [&str; 3] = ["items", "overlays", "b\u{e4}d'name"];
pub const NAMES: [&str; 5] = ["a", "a\u{0}b", "ab", "b%_", "\u{1f600}"];
pub const AGENTS: [&str; 2] = ["one", "two"];

/// A small generator, so that a run can be repeated by its seed.
#[derive(Clone)]
pub struct Dice(u64);

impl Dice {
    pub fn new(seed: u64) -> Self {
        Self(seed)
    }

    pub fn roll(&mut self, sides: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 11) % sides
    }

    pub fn pick<T: Clone>(&mut self, from: &[T]) -> T {
        let at = self.roll(from.len() as u64);
        from[usize::try_from(at).unwrap()].clone()
    }
}

pub fn identities() -> Vec<SessionIdentity> {
    let make = |agent: &str| SessionIdentity::builder(agent);
    vec![
        make("one").user_id("u1").chat_name("c1").build().unwrap(),
        make("one").user_id("u2").build().unwrap(),
        make("two").chat_name("c1").scope("usage").build().unwrap(),
        make("two").group("g'1").user_id("u1").build().unwrap(),
    ]
}

pub fn spaces() -> Vec<Space> {
    identities()
        .iter()
        .map(|identity| Space::of("t", identity))
        .collect()
}

pub fn any_entry(dice: &mut Dice) -> NewEntry {
    NewEntry::new(format!("e{}", dice.roll(40)), any_json(dice))
}

pub fn any_json(dice: &mut Dice) -> Json {
    let long = format!("\"{}\"", "long ".repeat(150));
    let longer = format!("{{\"a\":{long},\"b\":{long}}}");
    let texts = [
        "1",
        "2.5",
        "\"x\"",
        "{\"a\":1,\"b\":[2]}",
        "{\"b\":[2.0],\"a\":1}",
        "[1,2,[3]]",
        "null",
        "true",
        "\"\\u0000\u{1f600}\"",
        long.as_str(),
        longer.as_str(),
    ];
    Json::parse(dice.pick(&texts)).unwrap()
}

pub fn any_track(dice: &mut Dice) -> TrackRequest {
    let which = dice.roll(4);
    let identity = identities()[usize::try_from(which).unwrap()].clone();
    TrackRequest {
        id: format!("row-{which}"),
        tenant: "t".to_owned(),
        agent: dice.pick(&AGENTS).to_owned(),
        base: identity.base(),
        identity,
        placement: vec!["sqlite".to_owned()],
        created_by: dice.pick(&[None, Some("u1".to_owned()), Some("u9".to_owned())]),
        team: dice.pick(&[None, Some("red".to_owned())]),
        labels: dice.pick(&[
            BTreeMap::new(),
            BTreeMap::from([("l'".to_owned(), "v".to_owned())]),
        ]),
    }
}

pub fn any_filter(dice: &mut Dice) -> RowFilter {
    let mut filter = RowFilter::default();
    let maybe = |dice: &mut Dice, values: &[&str]| {
        (dice.roll(4) == 0).then(|| dice.pick(values).to_owned())
    };
    filter.tenant = (dice.roll(5) > 0).then(|| "t".to_owned());
    filter.id = maybe(dice, &["row-0", "row-1"]);
    filter.storage_key = maybe(dice, &[&identities()[0].storage_key()]);
    filter.key = maybe(dice, &[&identities()[1].key()]);
    filter.agent = maybe(dice, &AGENTS);
    filter.user = maybe(dice, &["u1", "u2", "u%"]);
    filter.chat = maybe(dice, &["c1"]);
    filter.chat_prefix = maybe(dice, &["c", "c1", "d"]);
    filter.group = maybe(dice, &["g'1"]);
    filter.scope = maybe(dice, &["usage"]);
    filter.created_after = (dice.roll(6) == 0).then_some(5);
    filter.active_before = (dice.roll(6) == 0).then_some(i64::MAX);
    filter.active_after = (dice.roll(6) == 0).then_some(5);
    filter.created_before = (dice.roll(6) == 0).then_some(i64::MAX);
    if dice.roll(4) == 0 {
        filter.labels.insert("l'".to_owned(), "v".to_owned());
    }
    if dice.roll(4) == 0 {
        filter.visible_to = Some(Viewer {
            user: maybe(dice, &["u1", "u9"]),
            team: maybe(dice, &["red"]),
        });
    }
    filter
}
