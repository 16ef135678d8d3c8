//! Arguments that make no sense: the message names the argument and what would do, and the program ends with 1.

use crate::place::{Place, Ran, say, session};
use ambit_storage::{Ambit, LiveAgent};

async fn stored(place: &Place) {
    let ambit: Ambit = place.open(&["SupportAgent"]).await;
    let agent: LiveAgent = session(&ambit, "SupportAgent", "ann").await;
    say(&agent, &["hello"]).await;
    ambit.close().await.unwrap();
}

#[tokio::test]
async fn g146_an_unknown_name_is_refused_with_the_nearest_valid_one() {
    let place = Place::new();
    stored(&place).await;
    let cases: [(&[&str], &str); 10] = [
        (
            &["context", "ls", "--usr", "ann"],
            "a similar argument exists: '--user'",
        ),
        (&["contxt", "ls"], "a similar subcommand exists: 'context'"),
        (&["context", "lss"], "a similar subcommand exists: 'ls'"),
        (
            &["usage", "--by", "modle"],
            "a similar value exists: 'model'",
        ),
        (
            &["context", "ls", "SuportAgent"],
            "did you mean \"SupportAgent\"?",
        ),
        (
            &["context", "clear", "supportagent", "--yes"],
            "did you mean \"SupportAgent\"?",
        ),
        (
            &["usage", "--agent", "SupportAgnt"],
            "did you mean \"SupportAgent\"?",
        ),
        (
            &["context", "ls", "--scope", "chatHistori"],
            "did you mean \"chatHistory\"?",
        ),
        (
            &["--drivers", "sqlit", "context", "ls"],
            "set up are memory, sqlite",
        ),
        (
            &["--store", "sqlit:x.db", "context", "ls"],
            "did you mean \"sqlite\"?",
        ),
    ];
    for (arguments, offer) in cases {
        let ran = place.run(arguments);
        assert_eq!((ran.code, ran.out.as_str()), (1, ""), "{arguments:?}");
        assert!(ran.err.contains(offer), "{arguments:?}: {}", ran.err);
    }
}

/// Filters that make no sense, and what is said about each.
const FILTERS: [(&[&str], &str); 15] = [
    (
        &["--active-before", "yesterday"],
        "'yesterday' for '--active-before",
    ),
    (
        &["--active-after", "2026-02-30"],
        "'2026-02-30' for '--active-after",
    ),
    (
        &["--created-before", "2026-11-21T10:00:00"],
        "for '--created-before",
    ),
    (&["--created-after", ""], "--created-after"),
    (
        &[
            "--active-after",
            "2026-02-01",
            "--active-before",
            "2026-01-01",
        ],
        "--active-after 2026-02-01 00:00:00Z is not before --active-before 2026-01-01 00:00:00Z",
    ),
    (
        &[
            "--created-after",
            "2026-02-01",
            "--created-before",
            "2026-02-01",
        ],
        "--created-after 2026-02-01 00:00:00Z is not before --created-before",
    ),
    (
        &[
            "--created-after",
            "2026-02-01",
            "--active-before",
            "2026-01-01",
        ],
        "--created-after 2026-02-01 00:00:00Z is not before --active-before",
    ),
    (
        &["--label", "team=red", "--label", "team=blue"],
        "--label wants team to be both \"red\" and \"blue\"",
    ),
    (&["--label", "team"], "write it as name=value"),
    (
        &["--user", "ann", "--user", "bob"],
        "'--user <USER>' cannot be used multiple times",
    ),
    (&["--user", ""], "--user"),
    (&["--chat", ""], "--chat"),
    (&["--group", "\u{7f}", "--scope", ""], "--scope"),
    (
        &["--data", ".", "--user", "ann"],
        "--data cannot be given together with --store",
    ),
    (&["surplus"], "unexpected argument 'surplus'"),
];

#[tokio::test]
async fn g153_malformed_reversed_and_contradicting_filters_are_refused_by_name() {
    let place = Place::new();
    stored(&place).await;
    let long = "x".repeat(201);
    let too_long: (&[&str], &str) = (&["--user", &long], "--user");
    for (filter, words) in FILTERS.into_iter().chain([too_long]) {
        for command in ["ls", "clear", "remove"] {
            let arguments = [&["context", command, "SupportAgent"], filter].concat();
            let ran = place.run(&arguments);
            assert_eq!((ran.code, ran.out.as_str()), (1, ""), "{arguments:?}");
            assert!(ran.err.contains(words), "{arguments:?}: {}", ran.err);
        }
    }
}

#[tokio::test]
async fn g153_malformed_reversed_and_contradicting_days_are_refused_by_name() {
    let place = Place::new();
    stored(&place).await;
    let usage: [(&[&str], &str); 5] = [
        (
            &["--date", "21.11.2026"],
            "ambit: --date \"21.11.2026\" is not a date, or too late a one; write it as 2026-11-21\n",
        ),
        (
            &["--date-from", "2026-11-22", "--date-to", "2026-11-21"],
            "ambit: --date-to lies before the beginning of the range\n",
        ),
        (
            &["--date", "2026-11-21", "--date-to", "2026-11-22"],
            "ambit: --date cannot be given together with --date-from or --date-to\n",
        ),
        (
            &["--time-zone", "Mars/Base"],
            "ambit: --time-zone \"Mars/Base\" is unknown; use a name such as Europe/Berlin\n",
        ),
        (&["--by", ""], "'--by <FIELD>'"),
    ];
    for (filter, words) in usage {
        let ran = place.run(&[&["usage"], filter].concat());
        assert_eq!((ran.code, ran.out.as_str()), (1, ""), "{filter:?}");
        assert!(ran.err.contains(words), "{filter:?}: {}", ran.err);
    }
}

#[tokio::test]
async fn the_store_is_read_from_the_environment_and_options_win() {
    let place = Place::new();
    stored(&place).await;
    let with = |value: &str, arguments: &[&str]| {
        let mut command = place.command(arguments);
        crate::place::told(command.env("AMBIT_STORE", value).output().unwrap())
    };
    let listed = with(&place.url("main.db"), &["context", "ls", "--json"]);
    assert_eq!(listed.json().len(), 1);
    let both = with(
        "sqlite:none.db",
        &["--store", &place.url("main.db"), "context", "ls", "--json"],
    );
    assert_eq!(both.json().len(), 1);
    let empty = with(" ", &["context", "ls"]);
    let words =
        "AMBIT_STORE is set but empty; name a store's URL, as in sqlite:ambit.db, or unset it";
    assert_eq!(empty, Ran::refused(words));
    let twice = with("sqlite:main.db sqlite:main.db", &["context", "ls"]);
    let words =
        "--store is given two stores called \"sqlite\"; name one of them, as in old-sqlite=URL";
    assert_eq!(twice, Ran::refused(words));
}

#[tokio::test]
async fn options_for_stores_stand_before_or_behind_the_command_but_not_both() {
    let place = Place::new();
    stored(&place).await;
    let store = place.url("main.db");
    let behind = place.run_as(&[
        "context",
        "ls",
        "--json",
        "--store",
        &store,
        "--tenant=default",
    ]);
    assert_eq!(behind.json().len(), 1);
    let both: [(&str, &[&str]); 3] = [
        (
            "--store",
            &[
                "--store",
                &store,
                "context",
                "ls",
                "--store",
                "old=sqlite:main.db",
            ],
        ),
        (
            "--tenant",
            &[
                "--store",
                &store,
                "--tenant=a",
                "context",
                "ls",
                "--tenant",
                "b",
            ],
        ),
        (
            "--drivers",
            &[
                "--store",
                &store,
                "--drivers",
                "a",
                "context",
                "--drivers=b",
                "ls",
            ],
        ),
    ];
    for (option, arguments) in both {
        let words = format!(
            "{option} is given in several places; give it in one, before the command or behind it"
        );
        assert_eq!(place.run_as(arguments), Ran::refused(&words));
    }
}

#[test]
fn a_password_in_a_url_is_not_repeated() {
    let place = Place::new();
    for url in [
        "pg://me:secret@host/db",
        "x=pg://me:secret@host/db",
        "secret",
    ] {
        let ran = place.run_as(&["--store", url, "context", "ls"]);
        assert_eq!(ran.code, 1);
        let is_scheme = url == "secret";
        assert_eq!(ran.err.contains("secret"), is_scheme, "{}", ran.err);
    }
}

#[tokio::test]
async fn a_refusal_does_not_pass_stored_control_signs_on_to_the_terminal() {
    let place = Place::new();
    let ambit = place.open(&["Support\u{1b}[31m"]).await;
    let agent = ambit.agent("Support\u{1b}[31m").unwrap();
    say(&agent.for_chat("c").await.unwrap(), &["hello"]).await;
    ambit.close().await.unwrap();
    let ran = place.run(&["context", "ls", "Suport"]);
    assert!(ran.err.contains("Support\\u{1b}[31m"), "{ran:?}");
    assert!(!ran.err.contains('\u{1b}'), "{ran:?}");
}

#[test]
fn a_filter_of_the_log_that_is_none_is_refused_with_how_to_write_one() {
    let ran = Place::new().run_as(&["serve", "--listen", "127.0.0.1:0", "--log", "ambit=loud"]);
    assert_eq!((ran.code, ran.out.as_str()), (1, ""));
    let advice = "; write it as `warn` or `info,ambit=debug`";
    assert!(ran.err.trim_end().ends_with(advice), "{}", ran.err);
}
