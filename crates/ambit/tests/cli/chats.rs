//! `ambit chats`: conversations as their people know them.

use crate::app::talk;
use crate::place::{Place, Ran};
use serde_json::{Value, json};

/// An app in which Ann has two chats, and Bob has one of the same name.
fn shop() -> Place {
    let place = Place::new();
    assert_eq!(place.run_as(&["new", "shop"]).code, 0);
    for (user, chat, line) in [
        ("ann", "lamps", "are there lamps?\n"),
        ("bob", "lamps", "how bright?\nand how dear?\n"),
        ("ann", "tables", "hello\n"),
    ] {
        let chat = [
            "chat", "hello", "--app", "shop", "--user", user, "--chat", chat,
        ];
        assert_eq!(talk(place.command(&chat), line).code, 0);
    }
    place
}

fn chats(place: &Place, arguments: &[&str]) -> Ran {
    place.run_as(&[&["chats", "--app", "shop"], arguments].concat())
}

#[test]
fn a_chat_is_one_row() {
    let place = shop();
    let table = chats(&place, &["ls"]);
    assert_eq!((table.code, table.err.as_str()), (0, ""));
    let first = |line: &str| line.split_whitespace().next().unwrap().to_owned();
    let names: Vec<String> = table.out.lines().map(first).collect();
    assert_eq!(names, ["CHAT", "tables", "lamps", "lamps"]);
    let bobs: Vec<&str> = table
        .out
        .lines()
        .nth(2)
        .unwrap()
        .split_whitespace()
        .collect();
    let expected = ["lamps", "how", "bright?", "hello", "bob", "active"];
    assert_eq!(bobs[..6], expected);
    let part = chats(&place, &["ls", "--limit", "1"]);
    assert_eq!(part.out.lines().count(), 2);
    assert_eq!(part.err, "2 more; --limit shows more of them\n");
}

#[test]
fn a_person_sees_their_own_chats() {
    let place = shop();
    let named = |ran: Ran| {
        let rows = ran.json().into_iter();
        let chats = rows.map(|row| json!([row["chat_id"], row["title"], row["user_id"]]));
        chats.collect::<Vec<Value>>()
    };
    let anns = [
        json!(["tables", "hello", "ann"]),
        json!(["lamps", "are there lamps?", "ann"]),
    ];
    assert_eq!(
        named(chats(&place, &["ls", "--user", "ann", "--json"])),
        anns
    );
    assert_eq!(
        named(chats(&place, &["--user", "ann", "ls", "--json"])),
        anns
    );
    let filtered = ["ls", "--title", "lamps", "--agent", "hello", "--json"];
    assert_eq!(named(chats(&place, &filtered)), anns[1..]);
    for nobodys in [&["ls", "--user", "eve"][..], &["ls", "--tenant", "other"]] {
        let expected = Ran {
            err: "no chat matches\n".to_owned(),
            ..Ran::printed("")
        };
        assert_eq!(chats(&place, nobodys), expected, "{nobodys:?}");
    }
    let of_nobody = chats(&place, &["ls", "--team", "red"]);
    let expected = "--team needs the person who acts in it; name one with --user";
    assert_eq!(of_nobody, Ran::refused(expected));
}

#[test]
fn a_chat_is_shown_with_what_was_said() {
    let place = shop();
    let shown = chats(&place, &["show", "lamps", "--user", "bob"]);
    assert_eq!((shown.code, shown.err.as_str()), (0, ""));
    let (about, said) = shown.out.split_once("\n\n").unwrap();
    assert!(
        about.starts_with("chat         lamps\ntitle        how bright?\n"),
        "{about}"
    );
    let words = said.lines().map(|line| line.split_once("Z  ").unwrap().1);
    let words: Vec<&str> = words.collect();
    let expected = [
        "user: how bright?",
        "assistant: echo: how bright?",
        "user: and how dear?",
        "assistant: echo: and how dear?",
    ];
    assert_eq!(words, expected);
    let last = chats(&place, &["show", "lamps", "--user", "bob", "--limit", "1"]);
    assert!(
        last.out.ends_with("assistant: echo: and how dear?\n"),
        "{last:?}"
    );
    assert!(
        last.err.starts_with("earlier messages: --before "),
        "{last:?}"
    );
}

#[test]
fn a_chat_as_json_is_one_object_by_which_it_is_found_again() {
    let place = shop();
    let chat = chats(&place, &["show", "tables", "--json"]).json();
    assert_eq!(chat.len(), 1);
    let texts = chat[0]["messages"].as_array().unwrap().iter();
    let texts: Vec<&Value> = texts.map(|message| &message["props"]["content"]).collect();
    assert_eq!(texts, ["hello", "Hello from your new app."]);
    let context = chat[0]["context"].as_str().unwrap();
    let again = chats(&place, &["show", "--context", context, "--json"]);
    assert_eq!(again.json(), chat);
}

#[test]
fn a_chat_that_cannot_be_meant_is_refused_with_what_would_name_it() {
    let place = shop();
    let unknown = chats(&place, &["show", "tables", "--user", "bob"]);
    let store = place.path("").canonicalize().unwrap();
    let store = store.join("shop/ambit.db");
    let missing = |what: &str| {
        Ran::refused(&format!(
            "{what} not found in {}, tenant \"default\"; `ambit chats ls` lists chats, a person's with --user",
            store.display()
        ))
    };
    assert_eq!(unknown, missing("chat \"tables\""));
    let no_context = chats(&place, &["show", "--context", "x"]);
    assert_eq!(no_context, missing("chat with the context \"x\""));
    let several = chats(&place, &["show", "lamps"]);
    let expected = "several people have a chat \"lamps\"; name one by its id with --context";
    assert_eq!(several, Ran::refused(expected));
    let both = chats(&place, &["show", "lamps", "--context", "x"]);
    assert_eq!((both.code, both.out.as_str()), (1, ""));
}

#[test]
fn chats_in_a_store_that_is_not_given_are_told_beside_the_others() {
    let place = shop();
    place.make_store("archive.db");
    let main = place.url("shop/ambit.db");
    let archive = format!("archive={}", place.url("archive.db"));
    let both = ["--store", main.as_str(), "--store", archive.as_str()];
    let rows = chats(&place, &["ls", "--user", "bob", "--json"]).json();
    let context = rows[0]["context"].as_str().unwrap();
    let moving = ["context", "move", context, "--to", "archive"];
    assert_eq!(place.run_as(&[&both[..], &moving].concat()).code, 0);

    let told = format!(
        "ambit: chat \"lamps\" (context {context}) is not listed: it lies in the store \"archive\", which is not given; \
         name all stores, that of the index first: --store sqlite=URL --store archive=URL\n"
    );
    let names = |ran: &Ran| {
        let lines = ran.out.lines().skip(1);
        let names = lines.map(|line| line.split_whitespace().next().unwrap().to_owned());
        names.collect::<Vec<String>>()
    };
    let listed = chats(&place, &["ls"]);
    assert_eq!((listed.code, &listed.err), (2, &told), "{listed:?}");
    assert_eq!(names(&listed), ["tables", "lamps"]);
    let json = chats(&place, &["ls", "--json"]);
    assert_eq!((json.code, &json.err), (2, &told), "{json:?}");
    assert_eq!(json.out.lines().count(), 2);
    // Nobody knows whether its title has the word.
    let titled = chats(&place, &["ls", "--title", "hello"]);
    assert_eq!((titled.code, &titled.err), (2, &told), "{titled:?}");
    assert_eq!(names(&titled), ["tables"]);
    let alone = chats(&place, &["ls", "--user", "bob"]);
    assert_eq!((alone.code, &alone.err), (2, &told), "{alone:?}");

    let whole = place.run_as(&[&both[..], &["chats", "ls"]].concat());
    assert_eq!((whole.code, whole.err.as_str()), (0, ""), "{whole:?}");
    assert_eq!(names(&whole).len(), 3);
}
