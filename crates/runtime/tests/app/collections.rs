//! Collections whose documents are files, and what files say of collections and models.

use crate::support::{load, texts};
use ambit_runtime::app::{AgentShare, ChunkSizes, SearchLimits, VectorOptions};
use ambit_runtime::config::ByteSize;

#[test]
fn a_collection_is_its_file() {
    let file = r#"{"name": "Handbook", "documents": ["docs/**/*.md", "kb/*.json"], "chunk": {"size": 100},
        "language": "de", "embedding": "e5", "share": "team", "metadata": {"a": 1}}"#;
    let app = load(&[
        ("kb/house.rules.kb.yao", file),
        (
            "kb/small.kb.yao",
            "embedding: {connector: e5, dimensions: 8, query_prefix: 'q: '}",
        ),
        ("kb/data.json", "[1]"),
        ("docs/a.md", "a"),
        ("connectors/e5.conn.yao", "type: scripted"),
    ]);
    assert_eq!(texts(&app.problems), Vec::<String>::new());
    let house = app.collections["house.rules"].as_ref().unwrap();
    assert_eq!(house.id, "house.rules");
    let file = &house.file;
    assert_eq!(
        (file.name.as_str(), file.language.as_str()),
        ("Handbook", "de")
    );
    let (size, overlap) = (100, 50);
    assert_eq!(file.chunk, ChunkSizes { size, overlap });
    assert_eq!((file.public, file.share), (None, Some(AgentShare::Team)));
    assert_eq!(file.metadata["a"], 1);
    let vectors = |id: &str| {
        let collection = app.collections[id].as_ref().unwrap();
        collection.file.embedding.clone().map(|vectors| vectors.0)
    };
    let plain = VectorOptions {
        connector: "e5".to_owned(),
        ..VectorOptions::default()
    };
    assert_eq!(vectors("house.rules"), Some(plain.clone()));
    let more = VectorOptions {
        dimensions: Some(8),
        query_prefix: "q: ".to_owned(),
        ..plain
    };
    assert_eq!(vectors("small"), Some(more));
    let found = ["docs/a.md", "docs/a/b.md", "kb/data.json", "docs/a.txt"];
    assert_eq!(found.map(|file| house.has(file)), [true, true, true, false]);
}

#[test]
fn mistakes_of_a_collection_are_told_with_their_place() {
    for (file, text, expected) in [
        (
            "kb/a.kb.yao",
            "chunk: { size: 20 }",
            "Error kb/a.kb.yao:1:16: \"chunk.size\" must be 50 to 2000",
        ),
        (
            "kb/a.kb.yao",
            "chunk: { size: 60, overlap: 31 }",
            "Error kb/a.kb.yao:1:29: \"chunk.overlap\" must be at most half of \"chunk.size\"",
        ),
        (
            "kb/a.kb.yao",
            "documents: [app.yao, ../secret]",
            "Error kb/a.kb.yao:1:22: \"documents[1]\" must be a path below the app's folder with /, in which only *, ? and ** have a meaning",
        ),
        (
            "kb/a b.kb.yao",
            "name: x",
            "Error kb/a b.kb.yao:1:1: its id \"a b\" may have 128 letters, digits, '.', '_' and '-'; rename the file",
        ),
        (
            "kb/a.kb.yao",
            "documents: ['*.md']",
            "Warning kb/a.kb.yao:1:13: \"documents[0]\": the app has no such file",
        ),
        (
            "kb/a.kb.yao",
            "embedding: e5",
            "Warning kb/a.kb.yao:1:12: \"embedding\": the app has no connector \"e5\"",
        ),
        (
            "kb/a.kb.yao",
            "embedding: { dimensions: 3 }",
            "Error kb/a.kb.yao:1:12: \"embedding.connector\" is missing",
        ),
        (
            "kb/kb.yao",
            "name: x",
            "Notice kb/kb.yao: the file is not read: nothing of this name has a meaning here",
        ),
        (
            "agent/kb.yml",
            "name: x",
            "Notice agent/kb.yml: the file is not read: nothing of this name has a meaning here",
        ),
        (
            "kb/other/list.json",
            "[]",
            "Notice kb/other/list.json: the file is not read: nothing of this name has a meaning here",
        ),
    ] {
        assert_eq!(texts(&load(&[(file, text)]).problems), [expected], "{text}");
    }
}

#[test]
fn collections_and_models_that_no_file_describes_are_told_where_they_are_named() {
    let package = r#"{"name": "a", "prompts": [{"role": "system", "content": "x"}],
        "search": {"kb": {"collections": ["rules", "rulez"]}, "db": {"models": ["user", "note", "agents.a.note"]}},
        "kb": {"collections": ["$ENV.NAME"]}, "db": {"models": ["usr"]}}"#;
    let model = r#"{"columns": [{"name": "id", "type": "ID"}]}"#;
    let app = load(&[
        (".env", "NAME=x"),
        ("kb/rules.kb.yao", "name: x"),
        ("models/user.mod.yao", model),
        ("assistants/a/models/note.mod.yao", model),
        ("assistants/a/package.yao", package),
        (
            "agent/search.yml",
            "kb: {collections: [none]}\ndb: {models: [user, note]}",
        ),
    ]);
    assert_eq!(
        texts(&app.problems),
        [
            "Notice agent/search.yml:1:20: \"kb.collections[0]\": the app's files have no collection \"none\"",
            "Warning agent/search.yml:2:21: \"db.models[1]\": the app has no model \"note\"",
            "Notice assistants/a/package.yao:2:52: \"search.kb.collections[1]\": the app's files have no collection \"rulez\"; did you mean \"rules\"?",
            "Warning assistants/a/package.yao:3:65: \"db.models[0]\": the app has no model \"usr\"; did you mean \"user\"?",
        ]
    );
}

#[test]
fn the_app_says_how_searches_are_served() {
    let app = load(&[(
        "app.yao",
        "name: x\nambit: {search: {store: big, memory: 1MiB, recall: {enabled: false, embedding: e}, limits: {file: 1kB, queries: 2}}}",
    )]);
    let search = &app.settings.search;
    assert_eq!(search.store.as_deref(), Some("big"));
    assert_eq!(search.memory, ByteSize(1 << 20));
    assert!(!search.recall.enabled);
    assert_eq!(search.recall.roles, ["user", "assistant"]);
    assert_eq!(search.recall.embedding.as_deref(), Some("e"));
    assert_eq!(search.values.embedding, None);
    let limits = SearchLimits {
        file: ByteSize(1000),
        queries: 2,
        ..SearchLimits::default()
    };
    assert_eq!(search.limits, limits);
    assert_eq!(limits.bytes, ByteSize(10 << 30));
}

#[test]
fn connectors_for_vectors_of_conversations_and_memories_must_be_there() {
    let app = load(&[
        (
            "app.yao",
            "name: x\nambit:\n  search:\n    recall: {embedding: e4}\n    values: {embedding: e5}",
        ),
        ("connectors/e5.conn.yao", "{\"type\": \"scripted\"}"),
    ]);
    assert_eq!(
        texts(&app.problems),
        [
            "Warning app.yao:4:25: \"ambit.search.recall.embedding\": the app has no connector \"e4\"; did you mean \"e5\"?"
        ]
    );
}
