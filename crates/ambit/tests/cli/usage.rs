//! `ambit usage`.

use crate::place::{Place, Ran, say, session, spend};
use ambit_storage::driver::DriverOptions;
use ambit_storage::{Agent, Ambit, Stores};
use serde_json::json;

async fn spent(place: &Place) {
    let ambit = place.open(&["Support", "Sales"]).await;
    for (agent, user, model, tokens) in [
        ("Support", "ann", "large", 100),
        ("Support", "ann", "small", 10),
        ("Support", "bob", "small", 20),
        ("Sales", "ann", "small", 40),
    ] {
        let agent = ambit.agent(agent).unwrap().for_user_id(user).await.unwrap();
        spend(&agent, model, tokens).await;
    }
    let silent = session(&ambit, "Sales", "carl").await;
    say(&silent, &["hello"]).await;
    ambit.close().await.unwrap();
}

#[tokio::test]
async fn sums_are_narrowed_and_grouped() {
    let place = Place::new();
    spent(&place).await;
    let sums = |arguments: &[&str]| {
        let ran = place.run(&[&["usage", "--json"], arguments].concat());
        ran.json()
            .iter()
            .map(|line| line["total_tokens"].as_i64().unwrap())
            .collect::<Vec<_>>()
    };
    assert_eq!(sums(&[]), [170]);
    assert_eq!(sums(&["--agent", "Support"]), [130]);
    assert_eq!(sums(&["--agent", "Support", "--user", "ann"]), [110]);
    assert_eq!(sums(&["--model", "small"]), [70]);
    assert_eq!(sums(&["--by", "model"]), [100, 70]);
    assert_eq!(sums(&["--by", "user"]), [150, 20]);
    assert_eq!(sums(&["--by", "day"]), [170]);
    assert_eq!(
        sums(&["--date-to", "2020-01-01", "--by", "agent"]),
        Vec::<i64>::new()
    );
    assert_eq!(
        sums(&["--date-from", "2020-01-01", "--time-zone", "Europe/Berlin"]),
        [170]
    );
    let line = place
        .run(&["usage", "--agent", "Sales", "--by", "agent", "--json"])
        .json();
    let expected = json!({
        "agent": "Sales", "prompt_tokens": 20, "completion_tokens": 20, "total_tokens": 40,
        "cached_tokens": 0, "reasoning_tokens": 0, "records": 1, "cost": {}
    });
    assert_eq!(line, [expected]);
}

#[tokio::test]
async fn the_table_names_what_it_is_grouped_by() {
    let place = Place::new();
    spent(&place).await;
    let table = place.run(&["usage", "--by", "model"]);
    let expected = "OF     PROMPT  COMPLETION  TOKENS  RECORDS  COST\n\
                    large  50      50          100     1        -\n\
                    small  35      35          70      3        -\n";
    assert_eq!(table, Ran::printed(expected));
}

#[tokio::test]
async fn a_known_agent_that_spent_nothing_is_no_error() {
    let place = Place::new();
    spent(&place).await;
    let ran = place.run(&[
        "usage", "--agent", "Sales", "--user", "carl", "--by", "model",
    ]);
    let expected = Ran {
        code: 0,
        out: String::new(),
        err: "no usage matches\n".to_owned(),
    };
    assert_eq!(ran, expected);
}

/// Books what it uses in the store `b`.
struct Billed;

impl Agent for Billed {
    fn name(&self) -> &str {
        "Billed"
    }

    fn drivers(&self, scope: &str) -> Option<Vec<String>> {
        (scope == "usage").then(|| vec!["b".to_owned()])
    }
}

#[tokio::test]
async fn g089_usage_in_a_store_that_no_agent_names_is_counted() {
    let place = Place::new();
    let stores = Stores::builder(DriverOptions::default())
        .driver("a", place.driver("a.db").await)
        .driver("b", place.driver("b.db").await);
    let ambit = Ambit::builder(stores.build().unwrap());
    let ambit = ambit.agent(Billed).build();
    let agent = session(&ambit, "Billed", "ann").await;
    spend(&agent, "m", 10).await;
    ambit.close().await.unwrap();
    let (a, b) = (
        format!("a={}", place.url("a.db")),
        format!("b={}", place.url("b.db")),
    );
    let ran = place.run_as(&["--store", &a, "--store", &b, "usage", "--json"]);
    assert_eq!(ran.json()[0]["total_tokens"], 10);
}
