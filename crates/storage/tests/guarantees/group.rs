//! Groups, teams and organisations: G64, G66 and G70.

use crate::agents::{Asked, Member, Organisation, Plain, Team, Tenants};
use crate::bed::{Bed, Case, chat, heard, rows, say, spend};
use ambit_storage::{Ambit, Caller, Context, Error, LiveAgent, Usage};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

pub const CASES: &[Case] = cases![
    g064_a_missing_value_refuses_the_session,
    what_is_on_record_is_opened_without_asking_its_agent,
    g066_bulk_removal_acts_on_the_stored_identity,
    g070_agents_of_a_group_read_one_conversation,
    g070_leaving_the_group_is_immediate,
    the_other_agents_are_named_whichever_is_asked_for,
    a_shared_storage_is_listed_once,
];

async fn g064_a_missing_value_refuses_the_session(bed: Bed) {
    let builder = Ambit::builder(bed.stores().build().unwrap());
    let ambit = builder
        .agent(Team)
        .agent(Organisation)
        .agent(Tenants)
        .build();
    let plain = Caller::user("default", "ann");
    let callers = [
        (
            "Team",
            "team_id",
            plain.clone().with_claim("organization_id", "acme"),
        ),
        (
            "Organisation",
            "organization_id",
            plain.clone().with_team("red"),
        ),
        ("Tenants", "tenant_id", plain.with_team("red")),
    ];
    for (name, missing, caller) in callers {
        let agent = ambit.acting_as(&caller).agent(name).unwrap();
        let identity = ambit_storage::SessionIdentity::builder(name).chat_name("c");
        let identity = identity.build().unwrap();
        let refusals = [
            agent.for_chat("c").await.err(),
            agent.make().await.err(),
            agent.for_user_id("ann").await.err(),
            agent.for_user_id("ann").chat("c").await.err(),
        ];
        let text =
            format!("denied: the caller has no {missing}, which this session's identity needs");
        for refusal in refusals {
            assert_eq!(refusal.map(|error| error.to_string()), Some(text.clone()));
        }
        if name != "Tenants" {
            let refused = agent.from_identity(&identity).await;
            assert!(matches!(refused, Err(Error::Denied { .. })), "{refused:?}");
        }
    }
    assert_eq!(rows(bed.driver.as_ref()).await, []);
}

async fn what_is_on_record_is_opened_without_asking_its_agent(bed: Bed) {
    let asked = Arc::new(AtomicU64::new(0));
    let builder = Ambit::builder(bed.stores().build().unwrap());
    let ambit = builder.agent(Team).agent(Asked(asked.clone())).build();
    let red = ambit.acting_as(&Caller::system("default").with_team("red"));
    let team = red.agent("Team").unwrap();
    let agent = team.for_user_id("ann").await.unwrap();
    spend(&agent, 5);
    say(&agent, &["to the team"]).await;
    // Whoever works in the background is in no team.
    let team = ambit.agent("Team").unwrap();
    let history = agent.history().identity().clone();
    let again = team.from_identity(&history).await.unwrap();
    assert_eq!(heard(&again).await, ["to the team"]);
    assert_eq!(again.context().usage().records().await.unwrap().len(), 1);
    let support = chat(&ambit, "c", &["hi"]).await;
    spend(&support, 1);
    support.context().save().await.unwrap();
    assert_ne!(asked.swap(0, Ordering::SeqCst), 0);
    let definition = ambit.agent("Support").unwrap();
    let base = support.context().identity();
    let again = definition.from_identity(base).await.unwrap();
    assert_eq!(heard(&again).await, ["hi"]);
    assert_eq!(asked.load(Ordering::SeqCst), 0);
}

async fn of_team(ambit: &Ambit, team: &str) -> LiveAgent {
    let caller = Caller::system("default").with_team(team);
    let agent = ambit.acting_as(&caller).agent("Team").unwrap();
    agent.for_chat("c").await.unwrap()
}

async fn g066_bulk_removal_acts_on_the_stored_identity(bed: Bed) {
    let ambit = Ambit::builder(bed.stores().build().unwrap())
        .agent(Team)
        .build();
    for team in ["red", "blue"] {
        let agent = of_team(&ambit, team).await;
        spend(&agent, 5);
        say(&agent, &[team]).await;
        let memory = agent.context().memory().unwrap();
        memory.set("team", &team, None).await.unwrap();
    }
    let blue = ambit.acting_as(&Caller::system("default").with_team("blue"));
    let before = bed.snapshot().await;
    let report = Context::of(&blue, "Team")
        .unwrap()
        .for_chat("team-red")
        .remove()
        .await
        .unwrap();
    assert_eq!(report.failed, []);
    let keys: Vec<String> = report
        .done
        .iter()
        .map(|identity| identity.storage_key())
        .collect();
    let removed = [
        "a:Team/c:team-red/s:chatHistory",
        "a:Team/c:team-red/s:memory",
    ];
    assert_eq!(keys, removed);
    let after = bed.snapshot().await;
    let left = before
        .into_iter()
        .filter(|(name, _)| !name.contains("team-red"));
    assert_eq!(after, left.collect());
    assert_eq!(heard(&of_team(&ambit, "blue").await).await, ["blue"]);
    assert_eq!(heard(&of_team(&ambit, "red").await).await, [""; 0]);
}

async fn g070_agents_of_a_group_read_one_conversation(bed: Bed) {
    let is_in = Arc::new(AtomicBool::new(true));
    let builder = Ambit::builder(bed.stores().build().unwrap());
    let builder = builder
        .agent(Member("One", is_in.clone()))
        .agent(Member("Two", is_in));
    let ambit = builder.agent(Plain("Outside")).agent(Plain("desk")).build();
    let open = |name: &'static str| {
        let ambit = ambit.clone();
        async move { ambit.agent(name).unwrap().for_chat("c").await.unwrap() }
    };
    say(&open("One").await, &["of one"]).await;
    let two = open("Two").await;
    spend(&two, 3);
    say(&two, &["of two"]).await;
    assert_eq!(heard(&open("One").await).await, ["of one", "of two"]);
    assert_eq!(heard(&two).await, ["of one", "of two"]);
    let memory = two.context().memory().unwrap();
    memory.set("k", &1, None).await.unwrap();
    let shared = open("One")
        .await
        .context()
        .memory()
        .unwrap()
        .get("k")
        .await
        .unwrap();
    assert_eq!(shared.unwrap().as_str(), "1");
    // Neither another agent nor one that is called like the group.
    for name in ["Outside", "desk"] {
        let outside = open(name).await;
        assert_eq!(heard(&outside).await, [""; 0]);
        let memory = outside.context().memory().unwrap();
        assert_eq!(memory.get("k").await.unwrap(), None);
        assert_eq!(outside.context().usage().records().await.unwrap(), []);
        assert_eq!(Context::of(&ambit, name).unwrap().count().await.unwrap(), 0);
    }
    let group = Usage::all(&ambit)
        .for_group("desk")
        .aggregate()
        .await
        .unwrap()
        .unwrap();
    assert_eq!(group.prompt_tokens, 3);
    let mut rows = rows(bed.driver.as_ref()).await;
    rows.retain(|row| row.identity.scope() == Some("chatHistory"));
    let touched: Vec<&str> = rows[0]
        .touches
        .iter()
        .map(|touch| touch.agent.as_str())
        .collect();
    assert_eq!((rows.len(), touched), (1, vec!["One", "Two"]));
}

async fn g070_leaving_the_group_is_immediate(bed: Bed) {
    let (one, two) = (
        Arc::new(AtomicBool::new(true)),
        Arc::new(AtomicBool::new(true)),
    );
    let builder = Ambit::builder(bed.stores().build().unwrap());
    let ambit = builder
        .agent(Member("One", one))
        .agent(Member("Two", two.clone()))
        .build();
    let agents = [ambit.agent("One").unwrap(), ambit.agent("Two").unwrap()];
    for agent in &agents {
        say(&agent.for_chat("c").await.unwrap(), &["shared"]).await;
    }
    two.store(false, Ordering::SeqCst);
    let alone = agents[1].for_chat("c").await.unwrap();
    assert_eq!(heard(&alone).await, [""; 0]);
    say(&alone, &["alone"]).await;
    assert_eq!(
        heard(&agents[0].for_chat("c").await.unwrap()).await,
        ["shared", "shared"]
    );
    two.store(true, Ordering::SeqCst);
    assert_eq!(
        heard(&agents[1].for_chat("c").await.unwrap()).await,
        ["shared", "shared"]
    );
}

/// An installation of two agents of the group `desk`, both of which have spoken in the chat `c`.
async fn desk(bed: &Bed) -> Ambit {
    let is_in = Arc::new(AtomicBool::new(true));
    let builder = Ambit::builder(bed.stores().build().unwrap());
    let builder = builder.agent(Member("One", is_in.clone()));
    let ambit = builder.agent(Member("Two", is_in)).build();
    for name in ["One", "Two"] {
        say(&at_desk(&ambit, name).await, &[name]).await;
    }
    ambit
}

async fn at_desk(ambit: &Ambit, name: &str) -> LiveAgent {
    ambit.agent(name).unwrap().for_chat("c").await.unwrap()
}

async fn the_other_agents_are_named_whichever_is_asked_for(bed: Bed) {
    for (asked, other) in [("One", "Two"), ("Two", "One")] {
        let ambit = desk(&bed).await;
        let query = Context::of(&ambit, asked).unwrap();
        assert_eq!(query.clear().await.unwrap().shared_with, [other]);
        let agent = at_desk(&ambit, asked).await;
        let report = agent.context().remove().await.unwrap();
        assert_eq!(report.shared_with, [other]);
    }
}

async fn a_shared_storage_is_listed_once(bed: Bed) {
    let ambit = desk(&bed).await;
    for name in ["One", "Two"] {
        let agent = at_desk(&ambit, name).await;
        let keys = agent.storage_keys().await.unwrap().items;
        assert_eq!(keys, ["chatHistory_desk_c", "usage_desk_c"]);
        assert_eq!(agent.chat_identities().await.unwrap().items.len(), 1);
    }
}
