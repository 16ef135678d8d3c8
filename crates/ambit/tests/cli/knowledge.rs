//! `ambit kb`: collections from the command line.

use crate::place::{Place, Ran};
use std::fs;

/// An app with one document in a collection of files; its embedder is down.
const APP: &[(&str, &str)] = &[
    ("app.yao", r#"{"name": "Shop"}"#),
    (
        "connectors/down.conn.yao",
        r#"{"type": "openai", "options": {"model": "e5", "key": "k", "host": "http://127.0.0.1:1"}}"#,
    ),
    ("connectors/up.conn.yao", r#"{"type": "scripted"}"#),
    (
        "kb/handbook.kb.yao",
        r#"{"documents": ["docs/*.md"], "embedding": "down"}"#,
    ),
    ("docs/returns.md", "# Returns\n\nLamps can be\n\nreturned."),
];

struct Shop(Place);

impl Shop {
    fn new() -> Self {
        let shop = Self(Place::new());
        APP.iter().for_each(|(file, text)| shop.write(file, text));
        shop
    }

    fn write(&self, file: &str, text: &str) {
        let path = self.0.path("app").join(file);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    fn kb(&self, command: &str, arguments: &[&str]) -> Ran {
        let app = self.0.path("app");
        let shell = ["kb", command, "--app", app.to_str().unwrap()];
        self.0.run(&[&shell, arguments].concat())
    }

    /// A file beside the app.
    fn file(&self, name: &str, text: &str) -> String {
        let path = self.0.path(name);
        fs::write(&path, text).unwrap();
        path.to_str().unwrap().to_owned()
    }
}

fn said(out: &str, err: &str) -> Ran {
    Ran {
        err: err.to_owned(),
        ..Ran::printed(out)
    }
}

#[test]
fn an_embedder_that_is_down_delays_no_command() {
    let shop = Shop::new();
    let listed = shop.kb("ls", &["handbook"]);
    let expected = "DOCUMENT                  STATUS     CHUNKS  TITLE\n\
        handbook:docs/returns.md  embedding  1       Returns\n";
    assert_eq!(listed, Ran::printed(expected));
    let missing = "1 of 1 documents have no vectors yet, and words alone find them";
    let found = shop.kb("search", &["handbook", "lamps"]);
    assert_eq!(found.err, format!("ambit: {missing}\n"));
    assert!(
        found
            .out
            .ends_with("  handbook:docs/returns.md  Returns\n       Lamps can be returned.\n"),
        "{found:?}"
    );

    let line = r#"{"query": "lamps", "relevant": ["handbook:docs/returns.md"]}"#;
    let questions = shop.file("questions.jsonl", line);
    let eval = ["handbook", &questions, "--patience", "0"];
    let measured = shop.kb("eval", &eval);
    let expected = "1 question\nnDCG@10    1.0000\nrecall@10  1.0000\nMRR@10     1.0000\n";
    let err = format!("ambit: {missing}: the figures are those of this state\n");
    assert_eq!(measured, said(expected, &err));

    // Another embedder is waited for.
    shop.write(
        "kb/handbook.kb.yao",
        r#"{"documents": ["docs/*.md"], "embedding": "up"}"#,
    );
    assert_eq!(shop.kb("eval", &eval[..2]), Ran::printed(expected));
    let collections = shop.kb("ls", &["--json"]).json();
    assert_eq!(collections[0]["embedding"]["dimension"], 64);
}

#[test]
fn a_file_of_a_collection_that_cannot_be_read_is_told() {
    let shop = Shop::new();
    shop.write("kb/bad.kb.yao", r#"{"documents": ["docs/*.md"]"#);
    let listed = shop.kb("ls", &[]);
    assert_eq!(listed.code, 0);
    assert!(
        listed.err.starts_with("ambit: kb/bad.kb.yao:1:"),
        "{listed:?}"
    );
}

#[test]
fn a_document_that_is_added_again_is_replaced_and_one_can_be_removed() {
    let shop = Shop::new();
    let tea = shop.file("tea.txt", "Green tea.");
    let waiting = shop.kb("add", &["books", &tea]);
    assert_eq!(waiting.out, "tea.txt waits as books:tea.txt\n");
    assert!(
        waiting
            .err
            .contains("`ambit kb ls books` shows how far they are"),
        "{waiting:?}"
    );
    shop.file("tea.txt", "Black tea.");
    let added = shop.kb("add", &["books", &tea, "--wait"]);
    assert_eq!(added, Ran::printed("tea.txt is found as books:tea.txt\n"));
    let again = shop.kb("add", &["books", &tea]);
    assert_eq!(again, Ran::printed("tea.txt is there as books:tea.txt\n"));
    let found = shop.kb("search", &["books", "tea"]);
    assert!(
        found
            .out
            .ends_with("  books:tea.txt  tea.txt\n       Black tea.\n"),
        "{found:?}"
    );

    let none = shop.kb("search", &["books", "pianos"]);
    assert_eq!(none, said("", "ambit: nothing is found\n"));
    let empty = shop.kb("search", &["books", " "]);
    assert_eq!(
        empty,
        Ran::refused("the query is empty: say what to look for")
    );

    let other = shop.kb(
        "rm",
        &["books", "books:tea.txt", "handbook:docs/returns.md"],
    );
    assert_eq!(
        other,
        Ran::refused("document \"handbook:docs/returns.md\" is none of collection \"books\"")
    );
    let removed = shop.kb("rm", &["books", "books:tea.txt"]);
    assert_eq!(removed, Ran::printed("books:tea.txt is removed\n"));
    assert_eq!(shop.kb("ls", &["books"]), Ran::printed(""));
}

#[test]
fn ids_of_documents_are_their_names_or_the_one_that_is_given() {
    let shop = Shop::new();
    fs::create_dir_all(shop.0.path("manuals/old")).unwrap();
    let new = shop.file("manuals/lamp.txt", "A lamp.");
    let old = shop.file("manuals/old/lamp.txt", "An old lamp.");
    let twice = shop.kb("add", &["books", &new, &old]);
    assert_eq!(twice.code, 1);
    assert!(
        twice.err.contains("two of them are called \"lamp.txt\""),
        "{twice:?}"
    );
    let folder = shop.0.path("manuals");
    let empty = shop.0.path("empty");
    fs::create_dir_all(&empty).unwrap();
    let refused = shop.kb("add", &["nothing", empty.to_str().unwrap()]);
    assert!(refused.err.contains("empty holds no files"), "{refused:?}");
    assert!(!shop.kb("ls", &[]).out.contains("nothing"));
    let all = shop.kb("add", &["books", folder.to_str().unwrap(), "--wait"]);
    let expected = "lamp.txt is found as books:manuals/lamp.txt\n\
        lamp.txt is found as books:manuals/old/lamp.txt\n";
    assert_eq!(all, Ran::printed(expected));
    let named = shop.kb("add", &["books", &new, "--id", "lamp", "--wait"]);
    assert_eq!(named, Ran::printed("lamp.txt is found as lamp\n"));
    let elsewhere = shop.kb("add", &["other", &new, "--id", "lamp"]);
    assert_eq!(
        elsewhere,
        Ran::refused("--id document \"lamp\" is one of collection \"books\": choose another")
    );
}

#[test]
fn questions_that_only_one_measurement_has_and_ids_that_are_wrong_are_told() {
    let shop = Shop::new();
    shop.write(
        "kb/handbook.kb.yao",
        r#"{"documents": ["docs/*.md", "docs/*.jsonl"]}"#,
    );
    shop.write(
        "docs/words.jsonl",
        "{\"_id\": \"w1\", \"text\": \"A chandelier.\"}\n",
    );
    let lamps = r#"{"query": "lamps", "relevant": ["handbook:docs/returns.md"]}"#;
    let words = r#"{"query": "chandelier", "relevant": ["w1"]}"#;
    let wrong = r#"{"query": "returned", "relevant": ["handbook:docs/nope.md"]}"#;
    let first = shop.file("first.jsonl", &format!("{lamps}\n{words}\n"));
    let second = shop.file("second.jsonl", &format!("{lamps}\n{wrong}\n"));
    let base = shop.0.path("base.json");
    let base = base.to_str().unwrap();
    let saved = shop.kb("eval", &["handbook", &first, "--save", base]);
    assert_eq!((saved.code, saved.err.as_str()), (0, ""));
    assert!(saved.out.contains("nDCG@10    1.0000"), "{saved:?}");
    let compared = shop.kb("eval", &["handbook", &second, "--baseline", base]);
    assert_eq!(
        compared.err,
        "ambit: ids in \"relevant\" that collection \"handbook\" does not have (1): handbook:docs/nope.md\n"
    );
    let told = "nDCG +0.0000 against the baseline, over 1 of 2 questions\n\
        not compared: 1 not in the baseline\nnot compared: 1 in the baseline alone\n";
    assert!(compared.out.ends_with(told), "{compared:?}");
}
