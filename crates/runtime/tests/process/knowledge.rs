//! Collections and documents of scripts: the same as over the routes, for the caller alone.

use crate::place::{Place, place, value};
use ambit_runtime::Authorized;
use serde_json::{Value, json};

/// What an expression over the processes gives Ann.
async fn kb(expression: &str) -> Value {
    value(&[], expression).await
}

/// Somebody who sees what is theirs and what is shared with them.
fn limited(name: &str) -> Authorized {
    let who = json!({"user_id": name, "constraints": {"owner_only": true}});
    serde_json::from_value(who).unwrap()
}

async fn answer(place: &Place, who: &str) -> Value {
    place.answer(&limited(who)).await
}

#[tokio::test]
async fn collections_are_made_listed_changed_and_removed() {
    let expression = r#"[
        Process("kb.collection.create", {collection_id: "b", name: "Rules", metadata: {year: 1}}),
        Process("kb.collection.create", {id: "a", chunk: {size: 100, overlap: 10}}).collection_id,
        Process("kb.collection.updatemetadata", "b", {year: 2}),
        Process("kb.collection.Get", "b").metadata,
        Process("kb.collection.exists", "b"),
        Process("kb.collection.list", {sort: "-id", pagesize: 1}).data.map((it: any) => it.name),
        Process("kb.collection.list", {keywords: "rules"}).total,
        Process("kb.collection.remove", "b"),
        Process("kb.collection.exists", "b").exists,
        Process("kb.collection.list").data.map((it: any) => [it.collection_id, it.chunk.size, it.created_by]),
    ]"#;
    let expected = json!([
        {"collection_id": "b", "message": "the collection was made"},
        "a",
        {"collection_id": "b", "message": "the metadata was changed"},
        {"year": 2},
        {"collection_id": "b", "exists": true},
        ["Rules"],
        1,
        null,
        false,
        [["a", 100, "ann"]],
    ]);
    assert_eq!(kb(expression).await, expected);
}

#[tokio::test]
async fn documents_are_added_found_and_read() {
    let expression = r#"(() => {
        Process("kb.collection.create", {id: "c"});
        const text = Process("kb.documents.addtext", {collection_id: "c", doc_id: "t", text: "Thirty days of vacation.",
            metadata: {year: 2020}, locale: "en", wait: true});
        const file = Process("kb.documents.addfile", {collection_id: "c", doc_id: "f", name: "a.md", wait: true,
            data: "IyBUcmF2ZWwKClRyYWlucyBhcmUgcHJlZmVycmVkLg=="});
        const later = Process("kb.documents.addtext", {collection_id: "c", doc_id: "l", text: "Later."});
        const found = ctx.search.KB("trains", {collections: ["c"]}).items.map((item: any) => item.document_id);
        const read = Process("kb.documents.getcontents", "t");
        const part = Process("kb.documents.getcontents", {document_id: "t", from: 7, to: 11});
        return [text, file, [later.doc_id, typeof later.job_id], found, read, part];
    })()"#;
    let expected = json!([
        {"message": "the document was added", "collection_id": "c", "doc_id": "t", "ignored": ["locale"]},
        {"message": "the document was added", "collection_id": "c", "doc_id": "f"},
        ["l", "string"],
        ["f"],
        {"text": "Thirty days of vacation.", "range": [0, 24]},
        {"text": "days", "range": [7, 11]},
    ]);
    assert_eq!(kb(expression).await, expected);
}

#[tokio::test]
async fn a_collection_of_somebody_else_does_not_exist() {
    let place = place(
        &[],
        r#"ctx.authorized.user_id == "ann"
        ? [Process("kb.collection.create", {id: "c"}),
            Process("kb.documents.addtext", {collection_id: "c", doc_id: "d", text: "Secret.", wait: true})].length
        : [["kb.collection.exists", "c"], ["kb.collection.list"], ["kb.collection.get", "c"], ["kb.collection.remove", "c"],
            ["kb.collection.updatemetadata", "c", {}], ["kb.documents.addtext", {collection_id: "c", text: "x"}],
            ["kb.documents.getcontents", "d"]].map(([name, ...rest]: any) => {
                try { const it = Process(name, ...rest); return it.exists ?? it.total; }
                catch (error: any) { return error.message; }
            })"#,
    )
    .await;
    assert_eq!(answer(&place, "ann").await, json!(2));
    let unknown = "collection \"c\" not found";
    let expected = json!([
        false,
        0,
        unknown,
        unknown,
        unknown,
        unknown,
        "document \"d\" not found"
    ]);
    assert_eq!(answer(&place, "bob").await, expected);
}

#[tokio::test]
async fn wrong_arguments_change_nothing() {
    let wrong = |call: &str, message: &str| (call.to_owned(), message.to_owned());
    let cases = [
        wrong(
            "\"kb.collection.get\"",
            "kb.collection.get: collection_id must be a text",
        ),
        wrong(
            "\"kb.collection.create\", {id: \"c\", embedding: 3}",
            "kb.collection.create: must be a connector's id, or {connector, dimensions, query_prefix, document_prefix}",
        ),
        wrong(
            "\"kb.collection.create\", {id: \"c\", embedding: \"nope\"}",
            "embedding: connector \"nope\" not found",
        ),
        wrong(
            "\"kb.collection.list\", {pagesize: 101}",
            "kb.collection.list: pagesize must be 1 to 100, and page 1 or more",
        ),
        wrong(
            "\"kb.collection.updatemetadata\", \"c\"",
            "kb.collection.updatemetadata: metadata must be an object",
        ),
        wrong(
            "\"kb.documents.addfile\", {collection_id: \"c\", file_path: \"/etc/passwd\"}",
            "kb.documents.addfile: data must be a text",
        ),
        wrong(
            "\"kb.documents.addtext\", {collection_id: \"c\", text: \"x\", file_path: \"/etc/passwd\"}",
            "kb.documents.addtext: there is no field \"file_path\"; a document is a text, a url, or a file as name and data",
        ),
        wrong(
            "\"kb.documents.addurl\", {collection_id: \"c\", url: \"https://a.test/\", name: \"x\"}",
            "kb.documents.addurl: name is for texts and files; a page has its own",
        ),
    ];
    let calls: Vec<String> = cases.iter().map(|(call, _)| format!("[{call}]")).collect();
    let expression = format!(
        "[{}].map(([name, ...rest]: any) => {{ try {{ return Process(name, ...rest); }} catch (error: any) {{ return error.message; }} }})
        .concat(Process(\"kb.collection.list\").total)",
        calls.join(", ")
    );
    let mut expected: Vec<Value> = cases.iter().map(|(_, message)| json!(message)).collect();
    expected.push(json!(0));
    assert_eq!(kb(&expression).await, json!(expected));
}
