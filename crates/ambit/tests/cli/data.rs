//! Where the data is: every command over it finds the store that `serve` has made, and makes none of its own.

use crate::app::talk;
use crate::place::{Place, Ran, Serving};
use std::io::Read;
use std::process::Stdio;

/// An app `shop` that takes keys, with a chat of the agent `hello`.
fn shop() -> Place {
    let place = Place::new();
    assert_eq!(place.run_as(&["new", "shop"]).code, 0);
    std::fs::create_dir(place.path("shop/openapi")).unwrap();
    let keys = r#"{"auth": {"api_keys": true}}"#;
    std::fs::write(place.path("shop/openapi/openapi.yao"), keys).unwrap();
    let chat = place.command(&["chat", "hello", "--app", "shop"]);
    assert_eq!(talk(chat, "hello\n").code, 0);
    place
}

/// What is said where this store is not there.
fn no_store(place: &Place, file: &str) -> Ran {
    let folder = place.path("").canonicalize().unwrap();
    let path = folder.join(file);
    Ran::refused(&format!(
        "there is no store at {}, where `ambit serve` would make it; name another one with --app, --data or --store, or in AMBIT_STORE",
        path.display()
    ))
}

/// What is said where not even its folder is.
fn no_folder(place: &Place, folder: &str) -> String {
    let path = place.path("").canonicalize().unwrap().join(folder);
    format!(
        "there is no folder {}, where a store would be; name another one with --app, --data or --store, or in AMBIT_STORE",
        path.display()
    )
}

/// Every command over what is stored.
const COMMANDS: [&[&str]; 8] = [
    &["context", "ls"],
    &["usage"],
    &["doctor"],
    &["backup", "copy.db"],
    &["keys", "ls"],
    &["keys", "revoke", "k1"],
    &["keys", "new", "--user", "ann"],
    &["why", "r1"],
];

#[test]
fn a_store_that_is_not_there_is_not_made() {
    let place = Place::new();
    for command in COMMANDS {
        assert_eq!(
            place.run_as(command),
            no_store(&place, "ambit.db"),
            "{command:?}"
        );
        for option in [["--data", "none"], ["--store", "sqlite:none/a.db"]] {
            let elsewhere = [&option[..], command].concat();
            let expected = Ran::refused(&no_folder(&place, "none"));
            assert_eq!(place.run_as(&elsewhere), expected, "{elsewhere:?}");
        }
    }
    assert_eq!(std::fs::read_dir(place.path("")).unwrap().count(), 0);
}

#[test]
fn what_an_app_has_not_stored_is_looked_at_in_memory_and_not_changed() {
    let place = Place::new();
    assert_eq!(place.run_as(&["new", "shop"]).code, 0);
    std::fs::create_dir(place.path("shop/kb")).unwrap();
    let rules = r#"{"documents": ["docs/*.md"]}"#;
    std::fs::write(place.path("shop/kb/rules.kb.yao"), rules).unwrap();
    std::fs::create_dir(place.path("shop/docs")).unwrap();
    std::fs::write(place.path("shop/docs/tea.md"), "Green tea.").unwrap();
    let found = place.run_as(&["kb", "search", "rules", "tea", "--json", "--app", "shop"]);
    assert_eq!(found.json().len(), 1);
    place.run_as(&["search", "hello", "tea", "--app", "shop"]);
    for change in [
        &["kb", "add", "mine", "shop/docs/tea.md"][..],
        &["kb", "rm", "mine", "tea"],
        &["kb", "reindex", "mine"],
    ] {
        let refused = place.run_as(&[change, &["--app", "shop"]].concat());
        assert_eq!(refused, no_store(&place, "shop/ambit.db"), "{change:?}");
    }
    assert!(!place.path("shop/ambit.db").exists());
    assert!(!place.path("shop/models.db").exists());
}

#[test]
fn one_missing_store_of_several_is_told() {
    let place = Place::new();
    assert_eq!(place.run_as(&["new", "shop"]).code, 0);
    place.make_store("main.db");
    let other = format!("other={}", place.url("other.db"));
    let search = ["kb", "search", "rules", "tea", "--app", "shop"];
    let ran = place.run(&[&["--store", &other], &search[..]].concat());
    assert_eq!(ran, no_store(&place, "other.db"));
}

#[test]
fn a_folder_without_an_app_gets_no_store() {
    let place = Place::new();
    std::fs::create_dir(place.path("shop")).unwrap();
    let folder = place.path("shop").canonicalize().unwrap();
    let expected = format!(
        "there is no app.yao in {}, so it is no app; name the folder of one with --app",
        folder.display()
    );
    for command in [
        &["chat", "hello"][..],
        &["search", "hello", "tea"],
        &["kb", "ls"],
        &["kb", "add", "mine", "tea.md"],
    ] {
        let ran = place.run_as(&[command, &["--app", "shop"]].concat());
        assert_eq!(ran, Ran::refused(&expected), "{command:?}");
    }
    assert_eq!(std::fs::read_dir(folder).unwrap().count(), 0);
}

#[test]
fn the_store_of_an_app_is_found_by_its_folder() {
    let place = shop();
    for command in COMMANDS {
        let ran = place.run_as(&[command, &["--app", "shop"]].concat());
        assert!(!ran.err.contains("there is no store"), "{ran:?}");
        let mut by_variable = place.command(command);
        by_variable.env("AMBIT_APP", "shop");
        let err = by_variable.output().unwrap().stderr;
        let err = String::from_utf8(err).unwrap();
        assert!(!err.contains("there is no store"), "{err}");
    }
    for arguments in [
        &["context", "--app", "shop", "ls", "--json"][..],
        &["context", "ls", "--json", "--app", "shop"],
    ] {
        assert!(!place.run_as(arguments).json().is_empty(), "{arguments:?}");
    }
    assert!(place.path("copy.db").exists());
    assert!(!place.path("ambit.db").exists());
}

#[test]
fn a_server_says_where_its_data_is() {
    let place = shop();
    for app in [&["shop"][..], &["--app", "shop"]] {
        let serve = ["serve", "--listen", "127.0.0.1:0", "--log", "error"];
        let mut serve = place.command(&[&serve[..], app].concat());
        let mut serve = serve.stdout(Stdio::piped()).spawn().unwrap();
        let mut printed = serve.stdout.take().unwrap();
        let mut greeting = Vec::new();
        let mut byte = [0];
        while !greeting.ends_with(b"\ntry: ") {
            printed.read_exact(&mut byte).unwrap();
            greeting.extend(byte);
        }
        serve.kill().unwrap();
        serve.wait().unwrap();
        let greeting = String::from_utf8(greeting).unwrap();
        let file = place.path("shop/ambit.db").canonicalize().unwrap();
        let line = format!("\ndata: {}\n", file.display());
        assert!(greeting.contains(&line), "{greeting}");
    }
}

#[test]
fn a_server_whose_app_is_named_in_both_ways_is_refused() {
    let ran = shop().run_as(&["serve", "shop", "--app", "shop"]);
    assert_eq!((ran.code, ran.out.as_str()), (1, ""));
    for name in ["'[APP]'", "'--app <FOLDER>'"] {
        assert!(ran.err.contains(name), "{name}: {}", ran.err);
    }
}

#[test]
fn a_server_makes_no_store_in_a_folder_that_is_not_there() {
    let place = shop();
    let serve = ["serve", "shop", "--listen", "127.0.0.1:0", "--log", "warn"];
    let folder = place.path("").canonicalize().unwrap().join("none");
    let of_data = format!(
        "--data is none/here, and there is no folder {}; make it, or name another one",
        folder.display()
    );
    let of_store = no_folder(&place, "none");
    for (option, value, expected) in [
        ("--data", "none/here", &of_data),
        ("--store", "sqlite:none/main.db", &of_store),
        ("--store", "file:none/main", &of_store),
    ] {
        for command in [&serve[..], &["chat", "hello", "--app", "shop"]] {
            let ran = place.run_as(&[command, &[option, value]].concat());
            assert_eq!(ran, Ran::refused(expected), "{command:?}");
        }
    }
    assert!(!place.path("none").exists());
}

#[test]
fn a_new_key_is_said_to_be_in_the_store_of_the_app() {
    let place = shop();
    let file = place.path("shop/ambit.db").canonicalize().unwrap();
    for arguments in [
        &["keys", "new", "--user", "ann", "--app", "shop"][..],
        &["keys", "--app", "shop", "new", "--user", "ann"],
        &["--data", "shop", "keys", "new", "--user", "ann"],
    ] {
        let made = place.run_as(arguments);
        assert!(made.code == 0 && made.out.starts_with("ambit_"), "{made:?}");
        let listed = place.run_as(&["keys", "ls", "--app", "shop"]).out;
        let mut ids = listed
            .lines()
            .filter_map(|line| line.split_whitespace().next());
        let told = |id: &str| format!("ambit: key {id} is in {}\n", file.display());
        assert!(ids.any(|id| made.err == told(id)), "{made:?}\n{listed}");
    }
}

#[test]
fn a_role_of_no_app_is_no_role() {
    let place = shop();
    let new = ["keys", "new", "--user", "ann", "--role"];
    let misspelt = place.run_as(&[&new[..], &["admn", "--app", "shop"]].concat());
    let expected = "--role is given \"admn\", which is no role of the app; did you mean \"admin\"? There are admin, user";
    assert_eq!(misspelt, Ran::refused(expected));
    let of_none = place.run_as(&[&new[..], &["admin", "--data", "shop"]].concat());
    let expected = "--role needs the app that it is one of; name its folder with --app";
    assert_eq!(of_none, Ran::refused(expected));
    let listed = place.run_as(&["keys", "ls", "--app", "shop"]);
    assert_eq!(listed, Ran::printed(""));
}

#[test]
fn a_key_of_an_app_that_takes_none_is_made_with_a_word_of_that() {
    let place = shop();
    let made = || {
        let new = ["keys", "new", "--user", "ann", "--app", "shop"];
        place.run_as(&new).err
    };
    assert!(!made().contains("takes no keys"), "{}", made());
    std::fs::remove_dir_all(place.path("shop/openapi")).unwrap();
    let words = "the app takes no keys yet: write {\"auth\": {\"api_keys\": true}} into its openapi/openapi.yao\n";
    assert!(made().ends_with(words), "{}", made());
}

#[test]
fn a_key_that_is_cut_by_its_scopes_says_so_where_it_is_refused() {
    let place = shop();
    let serve = ["serve", "shop", "--listen", "127.0.0.1:0", "--log", "error"];
    let server = Serving::of(place.command(&serve));
    let refused = |more: &[&str]| {
        let new = ["keys", "new", "--user", "ann", "--app", "shop"];
        let key = place.run_as(&[&new[..], more].concat());
        assert_eq!(key.code, 0, "{key:?}");
        let mut chat = place.command(&["chat", "hello", "--url", &server.base]);
        chat.env("AMBIT_TOKEN", key.out.trim());
        talk(chat, "hello\n").err
    };
    let cut = refused(&["--scope", "chat:read:default", "--role", "user"]);
    let expected = "POST /chat/completions is not granted to the caller, whose roles are: user; these grant it, but the key is only for \
        \"chat:read:default\", without chat:write:";
    assert!(cut.contains(expected), "{cut}");
    let whole = refused(&["--role", "admin"]);
    assert!(!whole.contains("only for"), "{whole}");
}
