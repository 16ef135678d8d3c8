//! `context clear` and `context remove`.

use crate::place::{Place, Ran, say, spend};
use ambit_storage::batch::{Batch, BatchWrite, MirrorWrite};
use ambit_storage::directory::{PageRequest, RowFilter, RowOrder};

async fn stored(place: &Place) {
    let ambit = place.open(&["Support", "Sales"]).await;
    for agent in ["Support", "Sales"] {
        let definition = ambit.agent(agent).unwrap();
        for user in ["ann", "bob"] {
            let agent = definition.for_user_id(user).await.unwrap();
            say(&agent, &["hello", "hi"]).await;
            spend(&agent, "m", 10).await;
        }
    }
    ambit.close().await.unwrap();
}

fn items(place: &Place, agent: &str) -> Vec<(String, u64)> {
    let ran = place.run(&["context", "ls", agent, "--scope", "chatHistory", "--json"]);
    let of = |row: &serde_json::Value| {
        (
            row["user_id"].as_str().unwrap().to_owned(),
            row["items"].as_u64().unwrap(),
        )
    };
    ran.json().iter().map(of).collect()
}

fn owned(rows: &[(&str, u64)]) -> Vec<(String, u64)> {
    rows.iter()
        .map(|(user, items)| ((*user).to_owned(), *items))
        .collect()
}

#[tokio::test]
async fn cleared_contexts_stay_listed_and_others_are_untouched() {
    let place = Place::new();
    stored(&place).await;
    let clear = [
        "context",
        "clear",
        "Support",
        "--user",
        "ann",
        "--scope",
        "chatHistory",
        "--yes",
    ];
    assert_eq!(
        place.run(&clear),
        Ran::printed("done 1, unchanged 0, skipped 0, failed 0\n")
    );
    assert_eq!(
        place.run(&clear),
        Ran::printed("done 0, unchanged 1, skipped 0, failed 0\n")
    );
    assert_eq!(items(&place, "Support"), owned(&[("ann", 0), ("bob", 2)]));
    assert_eq!(items(&place, "Sales"), owned(&[("ann", 2), ("bob", 2)]));
}

#[tokio::test]
async fn removed_contexts_are_gone_and_then_the_agent_is_unknown() {
    let place = Place::new();
    stored(&place).await;
    let remove = ["context", "remove", "Support", "--yes"];
    assert_eq!(
        place.run(&remove),
        Ran::printed("done 4, unchanged 0, skipped 0, failed 0\n")
    );
    let again = place.run(&remove);
    let words = "the agent \"Support\" is unknown: nothing is stored of it; there are Sales";
    assert_eq!(again, Ran::refused(words));
    assert_eq!(items(&place, "Sales"), owned(&[("ann", 2), ("bob", 2)]));
}

#[tokio::test]
async fn a_dry_run_says_what_would_be_done_and_changes_nothing() {
    let place = Place::new();
    stored(&place).await;
    let before = place.run(&["context", "ls", "--json"]);
    for command in ["clear", "remove"] {
        let ran = place.run(&["context", command, "Support", "--dry-run"]);
        let words = "done 4, unchanged 0, skipped 0, failed 0 (nothing was changed)\n";
        assert_eq!(ran, Ran::printed(words));
    }
    assert_eq!(place.run(&["context", "ls", "--json"]), before);
}

#[tokio::test]
async fn without_yes_and_without_a_terminal_nothing_is_done() {
    let place = Place::new();
    stored(&place).await;
    let before = place.run(&["context", "ls", "--json"]);
    for command in ["clear", "remove"] {
        let words = format!(
            "{command} would erase the data of 4 contexts of Support, and there is no terminal to ask at; \
             give --yes to do it, or --dry-run to see what it would do"
        );
        assert_eq!(
            place.run(&["context", command, "Support"]),
            Ran::refused(&words)
        );
    }
    assert_eq!(place.run(&["context", "ls", "--json"]), before);
}

#[tokio::test]
async fn g034_what_failed_is_named_the_rest_is_done_and_the_exit_code_is_2() {
    let place = Place::new();
    stored(&place).await;
    let driver = place.driver("main.db").await;
    let all = PageRequest {
        order: RowOrder::Oldest,
        after: None,
        limit: 100,
    };
    let bobs = RowFilter {
        user: Some("bob".to_owned()),
        agent: Some("Support".to_owned()),
        scope: Some("chatHistory".to_owned()),
        ..RowFilter::tenant("default")
    };
    let mut row = driver.identities(&bobs, &all).await.unwrap().pop().unwrap();
    row.placement = vec!["away".to_owned()];
    let write = BatchWrite::Mirror(MirrorWrite::Row(Box::new(row)));
    driver.commit(Batch::of([write])).await.unwrap();
    driver.close().await.unwrap();
    let ran = place.run(&["context", "remove", "Support", "--yes"]);
    let expected = Ran {
        code: 2,
        out: "failed chatHistory_Support_bob: drivers \"away\" is unknown; set up are memory, sqlite; \
              name one of them, or set it up with `--store away=URL`\n\
              done 3, unchanged 0, skipped 0, failed 1\n"
            .to_owned(),
        err: String::new(),
    };
    assert_eq!(ran, expected);
    let left = place.run(&["context", "ls", "Support", "--json"]).json();
    assert_eq!(left.len(), 1);
    // Its drivers cannot be asked, and it is listed all the same.
    assert_eq!(
        (&left[0]["user_id"], &left[0]["items"]),
        (&"bob".into(), &serde_json::Value::Null)
    );
}

/// An app in the folder of the place, whose agent `support` has these listeners.
fn app(place: &Place, listeners: &str) {
    let package = r#"{"name": "Support", "connector": "m", "prompts": [{"role": "system", "content": "Help."}]}"#;
    let connector = r#"{"type": "scripted", "options": {"model": "m"}}"#;
    for (file, text) in [
        ("app.yao", r#"{"name": "Shop"}"#),
        ("connectors/m.conn.yao", connector),
        ("assistants/support/package.yao", package),
        ("assistants/support/src/events.ts", listeners),
    ] {
        let path = place.path(file);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }
}

#[test]
fn an_agent_of_the_app_is_known_though_nothing_is_stored_of_it() {
    let place = Place::new();
    app(&place, "export function ContextRemoved() {}\n");
    place.make_store("main.db");
    let nothing = "done 0, unchanged 0, skipped 0, failed 0";
    for command in ["clear", "remove"] {
        let erase = ["context", command, "support"];
        let dry = place.run(&[&erase[..], &["--dry-run"]].concat());
        let expected = format!("{nothing} (nothing was changed)\n");
        assert_eq!(dry, Ran::printed(&expected));
        let done = place.run(&[&erase[..], &["--yes"]].concat());
        assert_eq!(done, Ran::printed(&format!("{nothing}\n")));
    }
    let listed = place.run(&["context", "ls", "support"]);
    assert_eq!(
        (listed.code, listed.err.as_str()),
        (0, "no context matches\n")
    );
    assert_eq!(place.run(&["usage", "--agent", "support"]).code, 0);
    let unknown = place.run(&["context", "remove", "suport", "--yes"]);
    let words =
        "the agent \"suport\" is unknown: nothing is stored of it; did you mean \"support\"?";
    assert_eq!(unknown, Ran::refused(words));
}

#[tokio::test]
async fn a_listener_of_the_app_keeps_contexts_from_being_erased() {
    let place = Place::new();
    let ambit = place.open(&["support"]).await;
    let agent = ambit.agent("support").unwrap();
    let agent = agent.for_user_id("ann").await.unwrap();
    say(&agent, &["hello", "hi"]).await;
    ambit.close().await.unwrap();
    let veto = "export function ContextClearing() { return { veto: 'it is kept by law' }; }
        export function ContextRemoving() { return { veto: 'it is kept by law' }; }\n";
    app(&place, veto);
    for command in ["clear", "remove"] {
        let ran = place.run(&["context", command, "support", "--yes"]);
        assert_eq!((ran.code, ran.err.as_str()), (2, ""), "{ran:?}");
        assert!(ran.out.contains(": it is kept by law\n"), "{ran:?}");
        assert_eq!(items(&place, "support"), owned(&[("ann", 2)]));
    }
}
