//! What is deleted or erased is found by nobody, and is in no byte of the store.

mod store_bytes;

use crate::bed::{Bed, Person};
use crate::site::{HELLO, Site, TOKENS, write};
use ambit_runtime::{Authorized, CallerReach};
use ambit_storage::Stores;
use ambit_storage::driver::{self, DriverOptions};
use base64::Engine;
use base64::engine::general_purpose::STANDARD_NO_PAD;
use reqwest::Method;
use serde_json::{Value, json};
use std::process::Command;
use std::sync::Arc;
use std::time::Duration;
use store_bytes::StoreKind;
use tempfile::TempDir;

const ROLES: (&str, &str) = (
    "openapi/roles.yml",
    "{own: {scopes: [\"*:*:own\"]}, whole: {scopes: [\"*:*:all\"]}}",
);

/// An agent that searches whatever the people here have.
const FINDER: (&str, &str) = (
    "assistants/finder/package.yao",
    r#"{"name": "Finder", "kb": {"collections": ["anns", "more", "bobs"]}}"#,
);

const ANN: Person = Person("t1", "ann", "red", "own");
const BOB: Person = Person("t1", "bob", "red", "own");
const CHIEF: Person = Person("t1", "chief", "", "whole");

/// Words that nothing else has: of a document, of a collection, of a chat, of a memory; and the same of Bob's, who is erased.
const WORDS: [&str; 7] = [
    "canarydocx",
    "canarycolx",
    "canarychatx",
    "canarymemx",
    "canarybdocx",
    "canarybchatx",
    "canarybmemx",
];

/// Long enough for whatever ends at all.
const LONG: Duration = Duration::from_secs(60);

struct Office {
    bed: Bed,
    /// Where its store has files, if it has any.
    data: TempDir,
    /// The address of its store.
    url: String,
}

impl Office {
    /// Over a fresh store of this kind.
    async fn open(kind: StoreKind) -> Self {
        let data = tempfile::tempdir().unwrap();
        let url = kind.address(data.path());
        let store = driver::open(&url, DriverOptions::default()).await.unwrap();
        let stores = Stores::builder(DriverOptions::default()).driver("memory", store);
        let app = tempfile::tempdir().unwrap();
        for (name, text) in HELLO.iter().chain(&[TOKENS, ROLES, FINDER]) {
            write(&app.path().join(name), text);
        }
        let stores = Arc::new(stores.build().unwrap());
        let site = Site::over(stores, Arc::new(app), |_| {}).await;
        Self {
            bed: Bed::on(site),
            data,
            url,
        }
    }

    async fn send(&self, who: Person, method: Method, path: &str, body: Value) {
        let answer = self.bed.send(who, method, path, &body).await;
        assert!(answer.status < 300, "{path}: {}", answer.text);
    }

    async fn add_document(&self, who: Person, collection: &str, word: &str) {
        let made = json!({"id": collection});
        self.send(who, Method::POST, "/kb/collections", made).await;
        let path = format!("/kb/collections/{collection}/documents/text");
        let document = json!({"doc_id": format!("doc-{collection}"), "name": word, "text": format!("A {word} sings.")});
        self.send(who, Method::POST, &path, document).await;
    }

    async fn talk(&self, who: Person, chat: &str, word: &str) {
        let said = self.bed.turn(who, chat, &format!("a {word} sings")).await;
        assert_eq!(said.status, 200, "{}", said.text);
    }

    async fn remember(&self, who: Person, word: &str) {
        let value = json!({"value": format!("a {word} sings")});
        self.send(who, Method::PUT, "/memory/user/keys/note", value)
            .await;
    }

    /// All that somebody finds of songs.
    async fn finds(&self, who: Person) -> String {
        let asked = json!({"query": "sings", "threshold": 0});
        let found = self.bed.send(who, Method::POST, "/kb/search", &asked);
        let mut all = found.await.text;
        for path in [
            "/kb/collections",
            "/kb/documents",
            "/kb/jobs",
            "/chat/sessions?q=sings",
            "/chat/sessions/anns/messages?q=sings",
            "/chat/sessions/bobs/messages?q=sings",
            "/memory/user/search?q=sings",
        ] {
            all += &self.bed.get(who, path).await.text;
        }
        all
    }

    /// What the command line says, which works for the tenant that has no name.
    fn command(&self, arguments: &[&str]) -> String {
        let mut program = Command::new(env!("CARGO_BIN_EXE_ambit"));
        program
            .env_clear()
            .args(["--store", &self.url])
            .args(arguments);
        let ran = program.current_dir(self.bed.site.folder());
        let ran = ran.output().unwrap();
        String::from_utf8([ran.stdout, ran.stderr].concat()).unwrap()
    }

    /// Removes all that there is of Bob, as whoever runs the server does.
    async fn erase_bob(&self) {
        let person = json!({"user": "bob"});
        self.send(CHIEF, Method::POST, "/contexts/remove", person)
            .await;
        self.send(BOB, Method::DELETE, "/memory/user/keys/note", Value::Null)
            .await;
        let base = self.bed.site.runtime.knowledge().unwrap();
        let whole = CallerReach::of(&Authorized {
            tenant_id: Some("t1".to_owned()),
            user_id: Some("chief".to_owned()),
            ..Authorized::default()
        });
        for job in base.erase_person("t1", "bob").await.unwrap() {
            base.finished_job(&whole, &job).await.unwrap();
        }
    }
}

/// What a word is in base64, wherever it begins there, without what depends on its neighbours.
fn encoded(word: &str) -> [String; 3] {
    [0_usize, 1, 2].map(|before| {
        let text = [&[0; 2][..before], word.as_bytes()].concat();
        let encoded = STANDARD_NO_PAD.encode(&text);
        encoded[(before * 8).div_ceil(6)..text.len() * 8 / 6].to_owned()
    })
}

/// Those of the words that some text has in base64, as pages of indexes have their terms.
fn encoded_words(text: &[u8]) -> Vec<&'static str> {
    let text = String::from_utf8_lossy(text);
    let has = |word: &str| encoded(word).iter().any(|form| text.contains(form));
    WORDS.into_iter().filter(|word| has(word)).collect()
}

/// Those that it has as they are.
fn words(text: &[u8]) -> Vec<&'static str> {
    let text = String::from_utf8_lossy(text);
    let there = WORDS.into_iter().filter(|word| text.contains(word));
    there.collect()
}

/// Everybody finds what is theirs, and nobody anything once it is deleted or erased, which then is in no byte.
async fn check_erased(kind: StoreKind) {
    let office = Office::open(kind).await;
    office.add_document(ANN, "anns", WORDS[0]).await;
    office.add_document(ANN, "more", WORDS[1]).await;
    office.talk(ANN, "anns", WORDS[2]).await;
    office.remember(ANN, WORDS[3]).await;
    office.add_document(BOB, "bobs", WORDS[4]).await;
    office.talk(BOB, "bobs", WORDS[5]).await;
    office.remember(BOB, WORDS[6]).await;
    assert_eq!(words(office.finds(ANN).await.as_bytes()), WORDS[..4]);
    assert_eq!(words(office.finds(BOB).await.as_bytes()), WORDS[4..]);
    let bytes = kind.bytes(&office.url, office.data.path()).await;
    assert_eq!(words(&bytes), WORDS);
    assert!(encoded_words(&bytes).contains(&WORDS[0]));

    for path in [
        "/kb/documents/doc-anns",
        "/kb/collections/more",
        "/chat/sessions/anns",
        "/memory/user/keys/note",
    ] {
        office.send(ANN, Method::DELETE, path, Value::Null).await;
    }
    office.erase_bob().await;
    for who in [ANN, BOB, CHIEF] {
        assert_eq!(
            words(office.finds(who).await.as_bytes()),
            [""; 0],
            "{who:?}"
        );
    }
    let Office { bed, data, url } = office;
    bed.site.runtime.close(LONG).await.unwrap();
    let store = bed.site.store.clone();
    drop(bed);
    store.close().await.unwrap();
    let bytes = kind.bytes(&url, data.path()).await;
    assert_eq!(words(&bytes), [""; 0]);
    assert_eq!(encoded_words(&bytes), [""; 0]);
}

#[tokio::test]
async fn g204_what_is_deleted_or_erased_is_found_by_nobody_and_in_no_file() {
    check_erased(StoreKind::Sqlite).await;
}

#[tokio::test]
async fn g204_what_is_deleted_or_erased_is_in_no_file_of_a_store_of_files() {
    check_erased(StoreKind::File).await;
}

#[tokio::test]
async fn g204_what_is_deleted_or_erased_is_in_no_row_of_postgresql() {
    check_erased(StoreKind::Postgres).await;
}

#[tokio::test]
async fn g204_what_is_deleted_or_erased_is_in_no_key_of_redis() {
    check_erased(StoreKind::Redis).await;
}

#[tokio::test]
async fn g202_the_command_line_finds_nothing_of_other_tenants() {
    let office = Office::open(StoreKind::Sqlite).await;
    office.add_document(ANN, "anns", WORDS[0]).await;
    office.talk(ANN, "anns", WORDS[2]).await;
    let unknown = "ambit: collection \"anns\" not found; `ambit kb ls` lists collections\n";
    let known = "ambit: kb: collection \"anns\" not found, collection \"more\" not found, collection \"bobs\" not found\n";
    let none = "ambit: there are no collections; `ambit kb add COLLECTION PATH` makes one\n";
    for (arguments, expected) in [
        (&["kb", "ls"][..], none),
        (&["kb", "ls", "anns"], unknown),
        (&["kb", "search", "anns", "sings"], unknown),
        (&["search", "finder", "sings"], known),
        (&["search", "finder", "sings", "--user", "ann"], known),
    ] {
        assert_eq!(office.command(arguments), expected, "{arguments:?}");
    }
}
