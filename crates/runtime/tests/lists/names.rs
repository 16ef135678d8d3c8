//! Which conversation a request opens, and finding the one that a request belongs to.

use crate::bed::{Bed, ann, bob, chief, cid, nobody, twin};
use ambit_runtime::chats::{self, ChatName};
use ambit_runtime::{Authorized, ErrorCode, Result, turn_location};
use ambit_storage::{LiveAgent, ids};
use futures::FutureExt;
use serde_json::json;

pub const CASES: &[(&str, crate::Run)] = &[
    ("a_chat_name_is_each_persons_own", |bed| own(bed).boxed()),
    ("no_name_makes_a_new_unguessable_one", |bed| {
        unnamed(bed).boxed()
    }),
    ("a_name_that_is_no_name_is_refused_as_chat_id", |bed| {
        bad_name(bed).boxed()
    }),
    ("g057_a_shared_chat_is_opened_by_the_team_alone", |bed| {
        shared(bed).boxed()
    }),
    ("ones_own_chat_wins_over_a_shared_one", |bed| {
        own_wins(bed).boxed()
    }),
    (
        "nobody_in_particular_uses_names_that_were_made_for_them",
        |bed| nameless(bed).boxed(),
    ),
    ("temporary_chats_are_their_persons_alone", |bed| {
        temporary(bed).boxed()
    }),
    (
        "g057_a_request_is_found_by_those_who_may_use_its_chat",
        |bed| found(bed).boxed(),
    ),
    ("a_request_that_is_over_for_too_long_is_unknown", |bed| {
        over(bed).boxed()
    }),
    ("g057_a_temporary_request_is_found_by_its_person", |bed| {
        temporary_request(bed).boxed()
    }),
];

async fn open(bed: &Bed, who: Authorized, agent: &str, chat: Option<&str>) -> Result<LiveAgent> {
    chats::open(&bed.ambit, &who, agent, chat).await
}

async fn heard(bed: &Bed, who: &Authorized, chat: &str) -> Vec<String> {
    let opened = chats::open(&bed.ambit, who, "support", Some(chat));
    let messages = opened.await.unwrap().history().messages().await.unwrap();
    messages.iter().map(|message| message.text()).collect()
}

async fn own(bed: Bed) {
    for (who, text) in [(ann(), "one"), (bob(), "two"), (twin(), "three")] {
        bed.talk(&who, "support", "billing", text).await;
    }
    assert_eq!(heard(&bed, &ann(), "billing").await, ["one", "to one"]);
    assert_eq!(heard(&bed, &bob(), "billing").await, ["two", "to two"]);
    assert_eq!(heard(&bed, &twin(), "billing").await, ["three", "to three"]);
    assert!(heard(&bed, &cid(), "billing").await.is_empty());
}

async fn unnamed(bed: Bed) {
    let who = ann();
    let one = chats::open(&bed.ambit, &who, "support", None)
        .await
        .unwrap();
    let other = chats::open(&bed.ambit, &who, "support", None)
        .await
        .unwrap();
    let names = [one.chat_name().unwrap(), other.chat_name().unwrap()];
    assert!(
        names.iter().all(|name| ids::is_unguessable(name)),
        "{names:?}"
    );
    assert_ne!(names[0], names[1]);
    assert_eq!(one.context().identity().user_id(), Some("ann"));
}

async fn bad_name(bed: Bed) {
    for name in ["", "a\0b", &"x".repeat(201)] {
        let opened = open(&bed, ann(), "support", Some(name));
        let error = opened.await.unwrap_err();
        assert_eq!(error.code, ErrorCode::InvalidArgument, "{name:?}");
        assert_eq!(error.param.as_deref(), Some("chat_id"), "{name:?}");
    }
    let opened = open(&bed, ann(), "suport", None);
    assert_eq!(opened.await.unwrap_err().code, ErrorCode::NotFound);
}

/// Shares a chat of Ann's agent `support` with her team.
pub async fn share(bed: &Bed, chat_id: &str, with: &str) {
    let change = json!({"share": with});
    let name = ChatName {
        chat_id,
        assistant_id: Some("support"),
        context: None,
    };
    let change = change.as_object().unwrap();
    chats::update(&bed.ambit, &ann(), name, change)
        .await
        .unwrap();
}

async fn shared(bed: Bed) {
    bed.talk(&ann(), "support", "plans", "one").await;
    assert!(heard(&bed, &bob(), "plans").await.is_empty());
    share(&bed, "plans", "team").await;
    let live = bed.talk(&bob(), "support", "plans", "two").await;
    assert_eq!(live.context().identity().user_id(), Some("ann"));
    let both = ["one", "to one", "two", "to two"];
    assert_eq!(heard(&bed, &bob(), "plans").await, both);
    assert_eq!(heard(&bed, &ann(), "plans").await, both);
    for other in [cid(), twin(), chief("t1"), chief("t2")] {
        assert!(heard(&bed, &other, "plans").await.is_empty(), "{other:?}");
    }
    let mut alone = bob();
    alone.constraints.owner_only = true;
    assert!(heard(&bed, &alone, "plans").await.is_empty());
    share(&bed, "plans", "private").await;
    assert!(heard(&bed, &bob(), "plans").await.is_empty());
    for _ in 0..20 {
        futures::join!(
            share(&bed, "plans", "team"),
            share(&bed, "plans", "private")
        );
        // Whoever takes it back last has done so, whatever was done at the same moment.
        share(&bed, "plans", "private").await;
        assert!(heard(&bed, &bob(), "plans").await.is_empty());
    }
}

async fn own_wins(bed: Bed) {
    bed.talk(&bob(), "support", "plans", "mine").await;
    bed.talk(&ann(), "support", "plans", "hers").await;
    share(&bed, "plans", "team").await;
    assert_eq!(heard(&bed, &bob(), "plans").await, ["mine", "to mine"]);
    // Another agent's conversation of that name is another one.
    let opened = open(&bed, bob(), "sales", Some("plans"));
    assert_eq!(opened.await.unwrap().history().count().await.unwrap(), 0);
}

async fn nameless(bed: Bed) {
    let who = nobody("t1");
    let guesses = [
        ("billing", ErrorCode::InvalidArgument),
        ("", ErrorCode::InvalidArgument),
        ("_temp_1", ErrorCode::InvalidArgument),
        (&ids::unguessable(), ErrorCode::NotFound),
    ];
    for (guess, expected) in guesses {
        let opened = chats::open(&bed.ambit, &who, "support", Some(guess));
        let error = opened.await.unwrap_err();
        assert_eq!(error.code, expected, "{guess}");
    }
    let live = chats::open(&bed.ambit, &who, "support", None)
        .await
        .unwrap();
    bed.turn(&live, "r1", "one").await;
    let name = live.chat_name().unwrap().to_owned();
    assert_eq!(heard(&bed, &who, &name).await, ["one", "to one"]);
    let elsewhere = open(&bed, nobody("t2"), "support", Some(&name));
    assert_eq!(elsewhere.await.unwrap_err().code, ErrorCode::NotFound);
    // A person's own chat is not nobody's, however well its name is known.
    let own = open(&bed, ann(), "support", None).await.unwrap();
    bed.turn(&own, "r2", "two").await;
    let opened = chats::open(&bed.ambit, &who, "support", own.chat_name());
    assert_eq!(opened.await.unwrap_err().code, ErrorCode::NotFound);
    let opened = chats::open(&bed.ambit, &who, "support", Some("_temp"));
    let temporary = opened.await.unwrap();
    bed.turn(&temporary, "r3", "three").await;
    let name = temporary.chat_name().unwrap().to_owned();
    assert!(name.starts_with("_temp_"), "{name}");
    assert_eq!(heard(&bed, &who, &name).await, ["three", "to three"]);
}

async fn temporary(bed: Bed) {
    bed.talk(&ann(), "support", "_temp_x", "one").await;
    assert_eq!(heard(&bed, &ann(), "_temp_x").await, ["one", "to one"]);
    for other in [bob(), twin()] {
        assert!(heard(&bed, &other, "_temp_x").await.is_empty());
    }
    let window = chats::PageWindow { skip: 0, limit: 10 };
    let all = &chats::ChatFilter::default();
    let listed = chats::list(&bed.ambit, &ann(), all, window).await.unwrap();
    assert_eq!(listed.total, 0);
}

async fn finds(bed: &Bed, who: &Authorized, request: &str) -> bool {
    match turn_location::find(&bed.ambit, who, request).await {
        Ok(_) => true,
        Err(error) => {
            let unknown = turn_location::find(&bed.ambit, who, "never")
                .await
                .unwrap_err();
            assert_eq!(error.code, ErrorCode::NotFound);
            let same = unknown.message.replace("never", request);
            assert_eq!(error.message, same);
            false
        }
    }
}

async fn found(bed: Bed) {
    let live = bed.talk(&ann(), "support", "plans", "one").await;
    let place = turn_location::find(&bed.ambit, &ann(), "r-one")
        .await
        .unwrap();
    assert_eq!(place.space, live.context().place().0);
    assert_eq!(place.row.unwrap().id, live.context().row_id().unwrap());
    let asked = [
        ann(),
        bob(),
        cid(),
        twin(),
        chief("t1"),
        chief("t2"),
        nobody("t1"),
    ];
    let mut seen = Vec::new();
    for who in &asked {
        seen.push(finds(&bed, who, "r-one").await);
    }
    assert_eq!(seen, [true, false, false, false, true, false, false]);
    share(&bed, "plans", "team").await;
    assert!(finds(&bed, &bob(), "r-one").await);
    assert!(!finds(&bed, &cid(), "r-one").await);
    for odd in ["", "a\0b", &"x".repeat(5_000)] {
        assert!(!finds(&bed, &ann(), odd).await, "{odd:?}");
    }
    let live = open(&bed, nobody("t1"), "support", None);
    bed.turn(&live.await.unwrap(), "r-two", "two").await;
    assert!(finds(&bed, &nobody("t1"), "r-two").await);
    assert!(!finds(&bed, &nobody("t2"), "r-two").await);
    assert!(!finds(&bed, &ann(), "r-two").await);
    let name = ChatName {
        chat_id: "plans",
        assistant_id: None,
        context: None,
    };
    chats::remove(&bed.ambit, &ann(), name).await.unwrap();
    assert!(!finds(&bed, &ann(), "r-one").await);
}

async fn over(bed: Bed) {
    bed.talk(&ann(), "support", "plans", "one").await;
    assert!(finds(&bed, &ann(), "r-one").await);
    bed.clock.advance(std::time::Duration::from_secs(3_601));
    assert!(!finds(&bed, &ann(), "r-one").await);
}

async fn temporary_request(bed: Bed) {
    bed.talk(&ann(), "support", "_temp", "one").await;
    let place = turn_location::find(&bed.ambit, &ann(), "r-one")
        .await
        .unwrap();
    assert!(place.row.is_none());
    let log = place.space.log("turn/r-one/trace");
    let range = ambit_storage::driver::LogRange::from(1, 10);
    assert_eq!(
        place.driver.read(&log, range).await.unwrap().entries.len(),
        1
    );
    for other in [bob(), twin(), nobody("t1"), chief("t2")] {
        assert!(!finds(&bed, &other, "r-one").await, "{other:?}");
    }
}
