//! `ambit` alone, `context ls`, `context show` and `context messages`.

use crate::place::{Place, Ran, say, session, spend};
use ambit_storage::storage::{Message, ToolCall};
use serde_json::json;

#[test]
fn the_demo_runs_and_goes_on_when_run_again() {
    let place = Place::new();
    let first = place.run_as(&["demo"]);
    assert_eq!(
        first,
        Ran::printed(
            "opened sqlite:ambit-example.db\n\
             wrote chatHistory_SupportAgent_user-123, usage_SupportAgent_user-123\n\
             found chatHistory_SupportAgent_user-123 again; it holds:\n\
             \x20 User: hello, this is visit 1\n\
             \x20 Assistant: hello again, how can I help?\n\
             spent 20 tokens in 1 model call\n\
             run it again: the conversation goes on where it was\n"
        )
    );
    let second = place.run_as(&["demo"]);
    assert!(
        second.out.contains("User: hello, this is visit 2"),
        "{second:?}"
    );
    let rows = place.run_as(&[
        "--store",
        "sqlite:ambit-example.db",
        "context",
        "ls",
        "SupportAgent",
        "--scope",
        "chatHistory",
        "--json",
    ]);
    assert_eq!(rows.json()[0]["items"], json!(4));
}

#[test]
fn help_and_version_are_answers() {
    let place = Place::new();
    let version = place.run_as(&["--version"]);
    assert_eq!((version.code, version.err.as_str()), (0, ""));
    // The commit follows in parentheses, where it is known.
    let released = format!("ambit {}", env!("CARGO_PKG_VERSION"));
    let rest = version.out.strip_prefix(&released).unwrap().trim_end();
    let commit = rest
        .strip_prefix(" (")
        .and_then(|rest| rest.strip_suffix(')'));
    let is_commit = |commit: &str| commit.chars().all(|sign| sign.is_ascii_hexdigit());
    assert!(
        rest.is_empty() || commit.is_some_and(is_commit),
        "{version:?}"
    );
    for arguments in [
        &["--help"][..],
        &["context", "--help"],
        &["context", "move", "--help"],
        &["help", "usage"],
    ] {
        let help = place.run_as(arguments);
        assert_eq!((help.code, help.err.as_str()), (0, ""), "{arguments:?}");
        assert!(help.out.contains("Usage: ambit"), "{help:?}");
    }
}

#[tokio::test]
async fn listed_contexts_have_their_fields_in_json() {
    let place = Place::new();
    let ambit = place.open(&["Support"]).await;
    let agent = ambit
        .agent("Support")
        .unwrap()
        .for_user_id("ann")
        .chat("billing")
        .await
        .unwrap();
    say(&agent, &["hello", "hi", "bye"]).await;
    ambit.close().await.unwrap();
    let rows = place.run(&["context", "ls", "Support", "--json"]).json();
    assert_eq!(rows.len(), 1);
    let mut row = rows[0].clone();
    for opaque in ["id", "created_at", "last_activity_at"] {
        assert!(!row[opaque].is_null(), "{opaque}");
        row.as_object_mut().unwrap().remove(opaque);
    }
    assert_eq!(
        row,
        json!({
            "agent_name": "Support", "chat_name": "billing", "user_id": "ann", "group": null,
            "scope": "chatHistory", "key": "chatHistory_Support_ann", "state": "live", "items": 3,
            "agents": ["Support"], "labels": {}, "drivers": ["sqlite"]
        })
    );
}

#[tokio::test]
async fn the_table_has_a_line_for_each_context() {
    let place = Place::new();
    let ambit = place.open(&["Support"]).await;
    for user in ["ann", "bob"] {
        let agent = ambit
            .agent("Support")
            .unwrap()
            .for_user_id(user)
            .await
            .unwrap();
        say(&agent, &["hello"]).await;
    }
    ambit.close().await.unwrap();
    let table = place.run(&["context", "ls"]);
    let words: Vec<Vec<&str>> = table
        .out
        .lines()
        .map(|line| line.split_whitespace().collect())
        .collect();
    assert_eq!(
        words[0],
        [
            "ID", "AGENT", "USER", "CHAT", "GROUP", "SCOPE", "STATE", "ITEMS", "LAST", "ACTIVE"
        ]
    );
    let users: Vec<&str> = words[1..].iter().map(|words| words[2]).collect();
    assert_eq!(users, ["ann", "bob"]);
    assert_eq!(words[1][5..8], ["chatHistory", "live", "1"]);
}

/// Users that would match each other if wildcards in ids were more than letters.
const WILD: [&str; 6] = ["a_b", "axb", "a%", "a*", "a?b", "a\\_b"];

#[tokio::test]
async fn g054_wildcards_in_the_arguments_are_letters() {
    let place = Place::new();
    let ambit = place.open(&["a_t", "axt"]).await;
    for agent in ["a_t", "axt"] {
        for user in WILD {
            let definition = ambit.agent(agent).unwrap();
            say(&definition.for_user_id(user).await.unwrap(), &["hello"]).await;
        }
    }
    ambit.close().await.unwrap();
    for user in WILD {
        let rows = place
            .run(&["context", "ls", "a_t", "--user", user, "--json"])
            .json();
        let found: Vec<_> = rows
            .iter()
            .map(|row| (&row["agent_name"], &row["user_id"]))
            .collect();
        assert_eq!(found, [(&json!("a_t"), &json!(user))]);
    }
    let removed = place.run(&["context", "remove", "a_t", "--user", "a_b", "--yes"]);
    assert_eq!(
        removed,
        Ran::printed("done 1, unchanged 0, skipped 0, failed 0\n")
    );
    assert_eq!(place.run(&["context", "ls", "--json"]).json().len(), 11);
}

#[tokio::test]
async fn more_contexts_than_a_page_are_all_listed_once() {
    let place = Place::new();
    let ambit = place.open(&["Support"]).await;
    let definition = ambit.agent("Support").unwrap();
    for number in 0..1_050 {
        say(
            &definition.for_chat(format!("chat-{number}")).await.unwrap(),
            &["hello"],
        )
        .await;
    }
    ambit.close().await.unwrap();
    let rows = place.run(&["context", "ls", "Support", "--json"]).json();
    let chats: Vec<String> = rows
        .iter()
        .map(|row| row["chat_name"].as_str().unwrap().to_owned())
        .collect();
    let expected: Vec<String> = (0..1_050).map(|number| format!("chat-{number}")).collect();
    assert_eq!(chats, expected);
    let found = place
        .run(&["context", "ls", "Support", "--chat", "chat-1049", "--json"])
        .json();
    assert_eq!(found.len(), 1);
}

#[tokio::test]
async fn nothing_that_matches_is_said_and_is_no_error() {
    let place = Place::new();
    let ambit = place.open(&["Support"]).await;
    let agent = session(&ambit, "Support", "ann").await;
    say(&agent, &["hello"]).await;
    ambit.close().await.unwrap();
    let filters: [&[&str]; 5] = [
        &["--user", "bob"],
        &["--active-before", "2020-01-01"],
        &["--created-after", "2999-01-01T00:00:00Z"],
        &["--label", "team=red"],
        &["--id", "none"],
    ];
    for filter in filters {
        let ran = place.run(&[&["context", "ls", "Support"], filter].concat());
        let expected = Ran {
            code: 0,
            out: String::new(),
            err: "no context matches\n".to_owned(),
        };
        assert_eq!(ran, expected, "{filter:?}");
    }
    let both = [
        "--active-after",
        "2020-01-01",
        "--created-before",
        "2999-01-01",
    ];
    let found = place.run(&[&["context", "ls", "Support", "--json"], &both[..]].concat());
    assert_eq!(found.json().len(), 1);
}

#[tokio::test]
async fn a_shown_context_says_where_it_is_and_who_touched_it() {
    let place = Place::new();
    let ambit = place.open(&["Support"]).await;
    let agent = ambit
        .agent("Support")
        .unwrap()
        .for_chat("c\n1")
        .await
        .unwrap();
    say(&agent, &["hello"]).await;
    ambit.close().await.unwrap();
    let id = place.id(&["--scope", "chatHistory"]);
    let shown = place.run(&["context", "show", &id]);
    for line in [
        "chat         c\\n1",
        "drivers      sqlite",
        "items        1",
        "state        live",
    ] {
        assert!(
            shown.out.lines().any(|found| found == line),
            "{line}: {}",
            shown.out
        );
    }
    assert!(
        shown
            .out
            .contains("touched by   Support as Support_c\\n1, "),
        "{}",
        shown.out
    );
    let as_json = place.run(&["context", "show", &id, "--json"]).json();
    assert_eq!(as_json[0]["chat_name"], json!("c\n1"));
    let unknown = place.run(&["context", "show", "none"]);
    assert_eq!(unknown, Ran::no_context("none", &[place.path("main.db")]));
    assert_eq!(place.run(&["context", "messages", "none"]), unknown);
}

#[tokio::test]
async fn messages_are_printed_in_parts_and_from_the_archive() {
    let place = Place::new();
    let ambit = place.open(&["Support"]).await;
    let agent = session(&ambit, "Support", "ann").await;
    let texts: Vec<String> = (1..=450).map(|number| format!("text {number}")).collect();
    say(
        &agent,
        &texts.iter().map(String::as_str).collect::<Vec<_>>(),
    )
    .await;
    let history = agent.history();
    let kept = history.tail(5).await.unwrap();
    history.replace_messages(kept).await.unwrap();
    agent.context().save().await.unwrap();
    ambit.close().await.unwrap();
    let id = place.id(&["--scope", "chatHistory"]);
    let positions = |arguments: &[&str]| {
        let ran = place.run(&[&["context", "messages", &id, "--json"], arguments].concat());
        let said = |line: &serde_json::Value| {
            (
                line["position"].as_u64().unwrap(),
                line["item"]["parts"][0]["text"].clone(),
            )
        };
        ran.json().iter().map(said).collect::<Vec<_>>()
    };
    let text = |number: u64| json!(format!("text {number}"));
    let view: Vec<_> = (1..=5).map(|at| (at, text(445 + at))).collect();
    assert_eq!(positions(&[]), view);
    assert_eq!(positions(&["--limit", "2"]), view[3..]);
    assert_eq!(positions(&["--before", "3"]), view[..2]);
    let archive: Vec<_> = (1..=450).map(|at| (at, text(at))).collect();
    assert_eq!(positions(&["--archive"]), archive);
    assert_eq!(
        positions(&["--archive", "--before", "301", "--limit", "250"]),
        archive[50..300]
    );
    let aliased = place.run(&["context", "items", &id, "--limit", "1", "--json"]);
    assert_eq!(aliased.json().len(), 1);
}

#[tokio::test]
async fn messages_are_readable_and_cannot_drive_the_terminal() {
    let place = Place::new();
    let ambit = place.open(&["Support"]).await;
    let agent = session(&ambit, "Support", "ann").await;
    let history = agent.history();
    for message in [
        Message::user("red \x1b[31m\nand more"),
        Message::calling([ToolCall::new("1", "weather", json!({"city": "Bonn"}))]),
        Message::result("1", "sunny"),
    ] {
        history.add_message(message).await.unwrap();
    }
    agent.context().save().await.unwrap();
    spend(&agent, "m", 4).await;
    ambit.close().await.unwrap();
    let id = place.id(&["--scope", "chatHistory"]);
    let said = place.run(&["context", "messages", &id]).out;
    // The times are between the position and the text.
    let texts: Vec<&str> = said
        .lines()
        .map(|line| line.split_once("Z  ").map_or(line, |(_, text)| text))
        .collect();
    assert_eq!(
        texts,
        [
            "user: red \\u{1b}[31m",
            "      and more",
            "assistant: calls weather({\"city\":\"Bonn\"}) as 1",
            "tool: 1 gave \"sunny\"",
        ]
    );
    let usage = place.id(&["--scope", "usage"]);
    let records = place.run(&["context", "messages", &usage]).out;
    assert!(records.contains("\"model_name\":\"m\""), "{records}");
}
