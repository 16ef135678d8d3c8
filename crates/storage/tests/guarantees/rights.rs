//! What is somebody else's: G57, G61.

use crate::agents::{Plain, Team};
use crate::bed::{Bed, Case, Notes, chat, heard, spend};
use ambit_storage::storage::Message;
use ambit_storage::{Ambit, Caller, Context, Error};

pub const CASES: &[Case] = cases![
    g057_a_shared_history_leads_nobody_to_what_another_member_keeps,
    g057_a_storage_that_is_not_on_record_opens_nobody_elses_conversation,
    g061_an_empty_user_or_team_matches_nothing,
];

fn ambit(bed: &Bed) -> Ambit {
    let builder = Ambit::builder(bed.stores().build().unwrap());
    builder.agent(Plain("Support")).agent(Team).build()
}

fn acting(ambit: &Ambit, user: &str, team: &str) -> Ambit {
    ambit.acting_as(&Caller::user("default", user).with_team(team))
}

async fn g057_a_shared_history_leads_nobody_to_what_another_member_keeps(bed: Bed) {
    let ambit = ambit(&bed);
    let (ann, bob) = (acting(&ambit, "ann", "red"), acting(&ambit, "bob", "red"));
    let anns = ann.agent("Team").unwrap().for_user_id("ann").await.unwrap();
    let text = Message::user("to all");
    anns.history().add_message(text).await.unwrap();
    let notes = anns.context().storage::<Notes>().await.unwrap();
    notes.add("private".to_owned()).unwrap();
    spend(&anns, 5);
    anns.context().save().await.unwrap();
    let before = bed.snapshot().await;
    let shared = Context::named(&bob, "Team").first().await.unwrap().unwrap();
    let team = bob.agent("Team").unwrap();
    let bobs = team.from_identity(&shared).await.unwrap();
    assert_eq!(heard(&bobs).await, ["to all"]);
    assert_eq!(bobs.context().identity(), &shared.base());
    let notes = bobs.context().storage::<Notes>().await.unwrap();
    assert_eq!(notes.get().await.unwrap(), Vec::<String>::new());
    assert_eq!(bobs.context().usage().records().await.unwrap(), []);
    assert_eq!(bed.snapshot().await, before);
    // Ann herself is led to all of it.
    let team = ann.agent("Team").unwrap();
    let again = team.from_identity(&shared).await.unwrap();
    assert_eq!(again.context().identity(), anns.context().identity());
}

async fn g057_a_storage_that_is_not_on_record_opens_nobody_elses_conversation(bed: Bed) {
    let ambit = ambit(&bed);
    let anns = chat(&acting(&ambit, "ann", "red"), "c", &["secret"]).await;
    let bob = acting(&ambit, "bob", "blue").agent("Support").unwrap();
    let base = anns.context().identity();
    for scope in [None, Some("chatHistory"), Some("usage"), Some("notes")] {
        let identity = scope.map_or(Ok(base.clone()), |scope| base.with_scope(scope));
        let opened = bob.from_identity(&identity.unwrap()).await;
        assert!(
            matches!(opened, Err(Error::NotFound { .. })),
            "{scope:?} {opened:?}"
        );
    }
}

async fn g061_an_empty_user_or_team_matches_nothing(bed: Bed) {
    let ambit = ambit(&bed);
    let nobody = Caller::user("default", "")
        .with_team("")
        .with_claim("c", "");
    let acting = ambit.acting_as(&nobody);
    chat(&acting, "c", &["hi"]).await;
    assert_eq!(Context::named(&acting, "Support").count().await.unwrap(), 0);
    let refused = [nobody.user_id(), nobody.team_id(), nobody.claim("c")];
    for refused in refused {
        assert!(matches!(refused, Err(Error::Denied { .. })), "{refused:?}");
    }
    let opened = acting.agent("Team").unwrap().for_chat("c").await;
    assert!(matches!(opened, Err(Error::Denied { .. })), "{opened:?}");
}
