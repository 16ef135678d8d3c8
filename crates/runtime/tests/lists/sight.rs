//! Who sees what: every list and every look, by everybody, searched for texts that only one conversation has.

use crate::bed::{Bed, ann, bob, chief, cid, nobody, person, twin};
use crate::chats::{ALL, named};
use crate::names::share;
use ambit_runtime::chats::{self, ChatFilter, ChatOrder, MessageFilter};
use ambit_runtime::inspect::contexts::{
    self, ContextAction, ContextBulk, ContextItemFilter, ContextRowFilter,
};
use ambit_runtime::inspect::memory::{self, MemorySelector};
use ambit_runtime::inspect::traces::{self, TraceFilter};
use ambit_runtime::inspect::usage;
use ambit_runtime::{Authorized, turn_location};
use ambit_storage::UsageField;
use futures::FutureExt;

pub const CASES: &[(&str, crate::Run)] = &[
    (
        "g059_everybody_sees_their_own_and_what_is_shared_with_them",
        |bed| sees(bed).boxed(),
    ),
    ("g061_a_constraint_without_its_value_sees_nothing", |bed| {
        denied(bed).boxed()
    }),
    (
        "g061_a_team_without_a_user_has_what_is_no_persons_in_it_and_nothing_else",
        |bed| userless(bed).boxed(),
    ),
];

/// Each text is in one conversation: in its name, title, messages, memory, usage and trace.
const CANARIES: [&str; 5] = ["anns-own", "anns-shared", "bobs", "cids", "twins"];

async fn populate(bed: &Bed) {
    for (who, text) in [
        (ann(), "anns-own"),
        (ann(), "anns-shared"),
        (bob(), "bobs"),
        (cid(), "cids"),
        (twin(), "twins"),
    ] {
        bed.talk(&who, "support", &format!("chat-{text}"), text)
            .await;
        let which = which("user", None);
        let own = memory::open(&bed.ambit, &who, which).await.unwrap();
        own.memory
            .set(&format!("of-{text}"), text, None)
            .await
            .unwrap();
    }
    share(bed, "chat-anns-shared", "team").await;
}

fn which<'a>(space: &'a str, owner: Option<&'a str>) -> MemorySelector<'a> {
    MemorySelector {
        space,
        owner,
        assistant_id: None,
        context: None,
    }
}

/// Everything that this caller is told, by any list and by every way to look at one thing.
async fn told(bed: &Bed, who: &Authorized) -> Vec<(String, String)> {
    let ambit = &bed.ambit;
    let mut told = Vec::new();
    let mut tell = |what: &str, text: String| told.push((what.to_owned(), text));
    for (order, keywords) in [
        ("created_at", None),
        ("sort", None),
        ("updated_at", Some("s")),
    ] {
        let filter = ChatFilter {
            keywords: keywords.map(str::to_owned),
            order: ChatOrder::parse(order).unwrap(),
            ..ChatFilter::default()
        };
        tell(
            "chats",
            format!("{:?}", chats::list(ambit, who, &filter, ALL).await),
        );
    }
    let rows = ContextRowFilter::default()
        .list(ambit, who, None, 100)
        .await;
    tell("contexts", format!("{rows:?}"));
    for action in [ContextAction::Clear, ContextAction::Remove] {
        let bulk = ContextBulk {
            action,
            is_dry: true,
            ids: None,
        };
        let report = ContextRowFilter::default().act(ambit, who, &bulk).await;
        tell("bulk", format!("{report:?}"));
    }
    let filter = TraceFilter::default();
    tell(
        "traces",
        format!("{:?}", traces::list(ambit, who, &filter, ALL).await),
    );
    for field in [UsageField::Chat, UsageField::Model] {
        let usage = usage::visible(ambit, who, None).await.unwrap();
        let sums = usage.group_by(field).await;
        tell("usage", format!("{sums:?}"));
    }
    let own = memory::open(ambit, who, which("user", None)).await.unwrap();
    tell("own memory", format!("{:?}", own.list(None, ALL).await));
    told
}

/// What is told of one conversation, asked for by its ids; empty where that is nothing.
async fn told_of(bed: &Bed, who: &Authorized, text: &str, rows: &[String]) -> Vec<String> {
    let (ambit, chat) = (&bed.ambit, format!("chat-{text}"));
    let mut told = Vec::new();
    let mut tell = |what: &str, is_told: bool| {
        if is_told {
            told.push(what.to_owned());
        }
    };
    let filter = MessageFilter {
        limit: 100,
        ..MessageFilter::default()
    };
    tell("chat", chats::get(ambit, who, named(&chat)).await.is_ok());
    let messages = chats::messages(ambit, who, named(&chat), &filter).await;
    tell(
        "messages",
        messages.is_ok_and(|messages| messages.items.len() == 2),
    );
    let request = format!("r-{text}");
    tell(
        "request",
        turn_location::find(ambit, who, &request).await.is_ok(),
    );
    tell("trace", traces::open(ambit, who, &request).await.is_ok());
    let filter = TraceFilter {
        request_id: Some(request),
        ..TraceFilter::default()
    };
    let found = traces::list(ambit, who, &filter, ALL).await.unwrap();
    tell("trace by request", found.total == 1);
    tell(
        "memory",
        memory::open(ambit, who, which("chat", Some(&chat)))
            .await
            .is_ok(),
    );
    for id in rows {
        let filter = ContextItemFilter {
            limit: 10,
            ..ContextItemFilter::default()
        };
        let row = contexts::get(ambit, who, id).await.is_ok();
        let items = contexts::items(ambit, who, id, filter).await.is_ok();
        tell("row", row);
        tell("items", items);
    }
    told
}

/// What each caller sees: in lists, and by its ids.
fn sights() -> Vec<(Authorized, Vec<&'static str>)> {
    let mut alone = bob();
    alone.constraints.owner_only = true;
    vec![
        (ann(), vec!["anns-own", "anns-shared"]),
        (bob(), vec!["anns-shared", "bobs"]),
        (alone, vec!["bobs"]),
        (cid(), vec!["cids"]),
        (twin(), vec!["twins"]),
        (chief("t1"), vec!["anns-own", "anns-shared", "bobs", "cids"]),
        (chief("t2"), vec!["twins"]),
        (person("t1", "eve", Some("red")), vec!["anns-shared"]),
        (person("t1", "eve", None), vec![]),
        (person("t3", "ann", Some("red")), vec![]),
        (nobody("t1"), vec![]),
    ]
}

async fn sees(bed: Bed) {
    populate(&bed).await;
    for (who, seen) in sights() {
        let told = told(&bed, &who).await;
        for canary in CANARIES {
            let tells: Vec<&str> = told
                .iter()
                .filter(|(_, text)| text.contains(canary))
                .map(|(what, _)| what.as_str())
                .collect();
            let is_seen = seen.contains(&canary);
            assert_eq!(
                !tells.is_empty(),
                is_seen,
                "{canary} for {who:?} by {tells:?}"
            );
            let rows = history_rows(&bed, canary).await;
            let of = told_of(&bed, &who, canary, &rows).await;
            let expected: &[&str] = match is_seen {
                true => &WAYS,
                false => &[],
            };
            assert_eq!(of, expected, "{canary} for {who:?}");
        }
    }
}

/// The ways to look at one conversation.
const WAYS: [&str; 8] = [
    "chat",
    "messages",
    "request",
    "trace",
    "trace by request",
    "memory",
    "row",
    "items",
];

/// The ids of the rows of a conversation's history.
async fn history_rows(bed: &Bed, text: &str) -> Vec<String> {
    let tenant = if text == "twins" { "t2" } else { "t1" };
    let filter = ContextRowFilter {
        chat: Some(format!("chat-{text}")),
        scope: Some("chatHistory".to_owned()),
        ..ContextRowFilter::default()
    };
    let page = filter.list(&bed.ambit, &chief(tenant), None, 10).await;
    page.unwrap().items.into_iter().map(|row| row.id).collect()
}

async fn denied(bed: Bed) {
    populate(&bed).await;
    let mut who = ann();
    who.team_id = None;
    who.constraints.team_only = true;
    let mut empty = ann();
    empty.user_id = Some(String::new());
    let mut nameless = nobody("t1");
    nameless.constraints.owner_only = true;
    nameless.team_id = Some("red".to_owned());
    for who in [who, empty, nameless] {
        for (what, text) in told(&bed, &who).await {
            if what != "own memory" {
                let found = CANARIES.iter().find(|canary| text.contains(**canary));
                assert_eq!(found, None, "{what} for {who:?}");
            }
        }
    }
}

/// Nobody in particular in a team, as default constraints leave them.
fn team(tenant: &str, team: &str) -> Authorized {
    let mut who = nobody(tenant);
    who.team_id = Some(team.to_owned());
    who.constraints.team_only = true;
    who
}

async fn userless(bed: Bed) {
    populate(&bed).await;
    let red = team("t1", "red");
    let live = chats::open(&bed.ambit, &red, "support", None)
        .await
        .unwrap();
    bed.turn(&live, "r-teams", "teams").await;
    for (who, is_seen) in [
        (red.clone(), true),
        (bob(), true),
        (cid(), false),
        (team("t1", "blue"), false),
        (team("t2", "red"), false),
        (nobody("t1"), false),
    ] {
        let found = turn_location::find(&bed.ambit, &who, "r-teams").await;
        assert_eq!(found.is_ok(), is_seen, "{who:?}");
        let listed = chats::list(&bed.ambit, &who, &ChatFilter::default(), ALL).await;
        let mut listed = listed.unwrap().items.into_iter();
        let is_listed = listed.any(|chat| Some(chat.chat_id.as_str()) == live.chat_name());
        assert_eq!(is_listed, is_seen, "{who:?}");
    }
    for (what, text) in told(&bed, &red).await {
        let found = CANARIES.iter().find(|canary| text.contains(**canary));
        assert_eq!(found, None, "{what}");
    }
}
