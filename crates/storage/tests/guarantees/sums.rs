//! Sums of usage against the records they are made of: G89.

use crate::bed::{Bed, Case, chat, say, spend};
use ambit_storage::driver::memory::MemoryDriver;
use ambit_storage::event::{ContextSaving, Verdict};
use ambit_storage::storage::{StorageKind, UsageRecord, UsageStorage};
use ambit_storage::{
    Agent, Ambit, AmbitSettings, Caller, Context, Json, ModelPrice, OnRemove, SessionIdentity,
    Stores, Usage, UsageField, UsageSettings, UsageTotals,
};
use futures::future::join_all;
use std::collections::BTreeMap;
use std::sync::Arc;

pub const CASES: &[Case] = cases![
    g089_sums_equal_the_records_of_eight_writers,
    g089_sums_of_removed_chats_are_carried_over,
    g089_sums_are_those_of_all_stores_whatever_agents_there_are,
    g089_sums_that_are_in_a_secondary_alone_count,
    g089_sums_go_with_their_chat_where_the_settings_say_so,
    g089_sums_follow_what_a_listener_makes_of_the_records,
    g089_a_record_that_is_recorded_again_counts_once,
    g089_tracking_off_gives_nothing,
    g089_a_temporary_sessions_usage_is_its_own,
];

fn with(bed: &Bed, usage: UsageSettings) -> Ambit {
    let settings = AmbitSettings {
        usage,
        ..AmbitSettings::default()
    };
    crate::bed::with_agents(bed.stores())
        .settings(settings)
        .build()
}

fn priced() -> UsageSettings {
    let price = |currency: &str| ModelPrice {
        prompt: 2_000_000,
        completion: 5_000_000,
        currency: currency.to_owned(),
    };
    let prices =
        [("m0", "EUR"), ("m1", "USD")].map(|(model, currency)| (model.to_owned(), price(currency)));
    UsageSettings {
        prices: BTreeMap::from(prices),
        ..UsageSettings::default()
    }
}

/// A field of a record.
type Value = fn(&UsageRecord) -> Option<&String>;

/// What one writer books: a record for each round, in one of two chats and of one of three models.
async fn write(ambit: &Ambit, writer: i64, rounds: i64) -> Vec<UsageRecord> {
    let support = ambit.agent("Support").unwrap();
    let mut records = Vec::new();
    for round in 0..rounds {
        let user = support.for_user_id(format!("u{}", writer % 2));
        let agent = user.chat(format!("c{}", round % 2)).await.unwrap();
        let record = UsageRecord {
            prompt_tokens: writer * 100 + round,
            completion_tokens: 1,
            total_tokens: (round == 0).then_some(7),
            cached_tokens: (round % 2 == 0).then_some(writer),
            reasoning_tokens: (round % 2 == 1).then_some(1),
            model_name: (round % 3 < 2).then(|| format!("m{}", round % 3)),
            ..UsageRecord::default()
        };
        records.extend(agent.context().usage().record(record).unwrap());
        agent.context().save().await.unwrap();
    }
    records
}

fn total<'a>(records: impl IntoIterator<Item = &'a UsageRecord>) -> UsageTotals {
    let mut totals = UsageTotals::default();
    for record in records {
        totals.prompt_tokens += record.prompt_tokens;
        totals.completion_tokens += record.completion_tokens;
        totals.total_tokens += record.total_tokens.unwrap();
        totals.cached_tokens += record.cached_tokens.unwrap_or(0);
        totals.reasoning_tokens += record.reasoning_tokens.unwrap_or(0);
        totals.records += 1;
        if let Some(cost) = &record.cost {
            *totals.cost.entry(cost.currency.clone()).or_default() += cost.micros;
        }
    }
    totals
}

async fn g089_sums_equal_the_records_of_eight_writers(bed: Bed) {
    let ambit = with(&bed, priced());
    let rounds = if bed.is_small() { 4 } else { 12 };
    let writers = (0..8).map(|writer| {
        let ambit = ambit.clone();
        tokio::spawn(async move { write(&ambit, writer, rounds).await })
    });
    let records: Vec<UsageRecord> = join_all(writers)
        .await
        .into_iter()
        .flat_map(Result::unwrap)
        .collect();
    let all = Usage::all(&ambit);
    assert_eq!(all.aggregate().await.unwrap(), Some(total(&records)));
    let fields: [(UsageField, Value); 5] = [
        (UsageField::Agent, |record| Some(&record.agent_name)),
        (UsageField::User, |record| record.user_id.as_ref()),
        (UsageField::Chat, |record| record.chat_name.as_ref()),
        (UsageField::Model, |record| record.model_name.as_ref()),
        (UsageField::Group, |record| record.group.as_ref()),
    ];
    for (field, value) in fields {
        let mut expected: BTreeMap<String, Vec<&UsageRecord>> = BTreeMap::new();
        for record in &records {
            let name = value(record).map_or("unknown", String::as_str);
            expected.entry(name.to_owned()).or_default().push(record);
        }
        let expected = expected
            .into_iter()
            .map(|(name, records)| (name, total(records)));
        assert_eq!(all.group_by(field).await.unwrap(), Some(expected.collect()));
    }
    let of_one = records
        .iter()
        .filter(|record| record.user_id.as_deref() == Some("u1"));
    let of_one = of_one.filter(|record| record.chat_name.as_deref() == Some("c0"));
    let agent = ambit
        .agent("Support")
        .unwrap()
        .for_user_id("u1")
        .chat("c0")
        .await
        .unwrap();
    let stored = agent.context().usage().records().await.unwrap();
    assert_eq!(
        agent.usage().aggregate().await.unwrap(),
        Some(total(&stored))
    );
    assert_eq!(total(&stored), total(of_one));
}

async fn g089_sums_of_removed_chats_are_carried_over(bed: Bed) {
    let ambit = with(&bed, priced());
    let mut records = write(&ambit, 1, 6).await;
    records.extend(write(&ambit, 2, 6).await);
    let before = Usage::all(&ambit).aggregate().await.unwrap();
    assert_eq!(before, Some(total(&records)));
    let query = Context::named(&ambit, "Support");
    query.for_chat("c0").remove().await.unwrap();
    assert_eq!(Usage::all(&ambit).aggregate().await.unwrap(), before);
    // A chat of the same name counts anew, and its sums join those of the one before.
    records.extend(write(&ambit, 1, 2).await);
    query.remove().await.unwrap();
    let all = Usage::all(&ambit);
    assert_eq!(all.aggregate().await.unwrap(), Some(total(&records)));
    let by_user = all.group_by(UsageField::User).await.unwrap().unwrap();
    assert_eq!(
        by_user,
        BTreeMap::from([("unknown".to_owned(), total(&records))])
    );
    let by_model = all.group_by(UsageField::Model).await.unwrap().unwrap();
    assert_eq!(by_model.len(), 3);
    assert_eq!(
        Usage::all(&ambit).for_chat("c0").aggregate().await.unwrap(),
        Some(UsageTotals::default())
    );
}

/// Books what it uses in these stores.
struct Billed(&'static [&'static str]);

impl Agent for Billed {
    fn name(&self) -> &str {
        "Billed"
    }

    fn create_usage_storage(
        &self,
        base: &SessionIdentity,
        _caller: &Caller,
        stores: &Stores,
    ) -> ambit_storage::Result<UsageStorage> {
        UsageStorage::new(base.clone(), stores.chain(self.0)?)
    }
}

async fn g089_sums_are_those_of_all_stores_whatever_agents_there_are(bed: Bed) {
    for drivers in [&["other"][..], &["main", "other"]] {
        let other = Arc::new(MemoryDriver::new(bed.options()));
        let stores = Arc::new(bed.stores().driver("other", other).build().unwrap());
        let ambit = Ambit::builder(stores.clone())
            .agent(Billed(drivers))
            .build();
        let agent = ambit.agent("Billed").unwrap().make().await.unwrap();
        spend(&agent, 5);
        agent.context().save().await.unwrap();
        let records = agent.context().usage().records().await.unwrap();
        let expected = Some(total(&records));
        let without_agents = Ambit::builder(stores).build();
        for usage in [agent.usage(), Usage::all(&without_agents)] {
            assert_eq!(usage.aggregate().await.unwrap(), expected, "{drivers:?}");
        }
        let usage = Context::named(&without_agents, "Billed").for_scope("usage");
        assert_eq!(usage.remove().await.unwrap().done.len(), 1);
        let left = Usage::all(&without_agents).aggregate().await;
        assert_eq!(left.unwrap(), expected, "carried over: {drivers:?}");
    }
}

async fn g089_sums_that_are_in_a_secondary_alone_count(bed: Bed) {
    let other = Arc::new(MemoryDriver::new(bed.options()));
    let stores = Arc::new(bed.stores().driver("other", other).build().unwrap());
    let before = Ambit::builder(stores.clone()).agent(Billed(&["other"]));
    let agent = before.build().agent("Billed").unwrap().make().await;
    let agent = agent.unwrap();
    spend(&agent, 5);
    agent.context().save().await.unwrap();
    let records = agent.context().usage().records().await.unwrap();
    let now = Ambit::builder(stores).agent(Billed(&["main", "other"]));
    let sums = Usage::all(now.build()).aggregate().await.unwrap();
    assert_eq!(sums, Some(total(&records)));
}

async fn g089_sums_go_with_their_chat_where_the_settings_say_so(bed: Bed) {
    let on_remove = OnRemove::Drop;
    let ambit = with(
        &bed,
        UsageSettings {
            on_remove,
            ..priced()
        },
    );
    let records = write(&ambit, 1, 6).await;
    Context::named(&ambit, "Support")
        .for_chat("c0")
        .remove()
        .await
        .unwrap();
    let left = records
        .iter()
        .filter(|record| record.chat_name.as_deref() == Some("c1"));
    assert_eq!(
        Usage::all(&ambit).aggregate().await.unwrap(),
        Some(total(left))
    );
}

async fn g089_sums_follow_what_a_listener_makes_of_the_records(bed: Bed) {
    let ambit = bed.ambit();
    // Doubles the first record and drops the others.
    ambit.bus().before(|event: &mut ContextSaving| {
        Box::pin(async {
            if let Some(records) = event.staged.get_mut(UsageStorage::PREFIX) {
                let mut first: UsageRecord = records[0].to()?;
                first.prompt_tokens *= 2;
                first.total_tokens = Some(first.prompt_tokens + first.completion_tokens);
                *records = vec![Json::of(&first)?];
            }
            Ok(Verdict::Continue)
        })
    });
    let agent = chat(&ambit, "c", &[]).await;
    spend(&agent, 5);
    spend(&agent, 100);
    say(&agent, &["hi"]).await;
    let stored = agent.context().usage().records().await.unwrap();
    assert_eq!((stored.len(), stored[0].prompt_tokens), (1, 10));
    assert_eq!(
        agent.usage().aggregate().await.unwrap(),
        Some(total(&stored))
    );
    agent.context().remove().await.unwrap();
    assert_eq!(
        Usage::all(&ambit).aggregate().await.unwrap(),
        Some(total(&stored))
    );
}

async fn g089_a_record_that_is_recorded_again_counts_once(bed: Bed) {
    let ambit = bed.ambit();
    let agent = chat(&ambit, "c", &[]).await;
    let (stored, lost) = (spend(&agent, 5), spend(&agent, 7));
    agent.context().discard();
    agent.context().usage().record_again(&stored).unwrap();
    agent.context().save().await.unwrap();
    // Somebody else does not know which of them came to be stored.
    let other = chat(&ambit, "c", &[]).await;
    let usage = other.context().usage();
    for record in [&stored, &lost, &lost] {
        usage.record_again(record).unwrap();
    }
    let new = spend(&other, 11);
    other.context().save().await.unwrap();
    let records = other.context().usage().records().await.unwrap();
    assert_eq!(records, [stored, lost, new]);
    assert_eq!(
        other.usage().aggregate().await.unwrap(),
        Some(total(&records))
    );
    assert!(!other.context().is_dirty());
}

async fn g089_tracking_off_gives_nothing(bed: Bed) {
    write(&bed.ambit(), 1, 2).await;
    let is_tracked = false;
    let ambit = with(
        &bed,
        UsageSettings {
            is_tracked,
            ..UsageSettings::default()
        },
    );
    let agent = chat(&ambit, "c", &["hi"]).await;
    let recorded = agent
        .context()
        .usage()
        .record(UsageRecord::default())
        .unwrap();
    assert_eq!((recorded, agent.context().is_dirty()), (None, false));
    assert_eq!(agent.usage().aggregate().await.unwrap(), None);
    assert_eq!(Usage::all(&ambit).aggregate().await.unwrap(), None);
    assert_eq!(
        Usage::all(&ambit).group_by(UsageField::Day).await.unwrap(),
        None
    );
    assert_eq!(agent.context().usage().records().await.unwrap(), []);
}

async fn g089_a_temporary_sessions_usage_is_its_own(bed: Bed) {
    let ambit = bed.ambit();
    let agent = chat(&ambit, "_temp", &[]).await;
    spend(&agent, 5);
    agent.context().save().await.unwrap();
    let stored = agent.context().usage().records().await.unwrap();
    assert_eq!(
        agent.usage().aggregate().await.unwrap(),
        Some(total(&stored))
    );
    assert_eq!(
        Usage::all(&ambit).aggregate().await.unwrap(),
        Some(UsageTotals::default())
    );
}
