//! Documents that are sent, kept and removed.

use crate::site::{Answer, Site};
use ambit_storage::address::Space;
use ambit_storage::driver::{ValuePart, ValueScan};
use ambit_storage::pattern::Pattern;
use reqwest::Method;
use serde_json::{Value, json};

/// A form with these fields, each with its disposition.
fn form(fields: &[(&str, &str)]) -> String {
    let fields = fields.iter().map(|(disposition, content)| {
        format!("--x\r\nContent-Disposition: form-data; {disposition}\r\n\r\n{content}\r\n")
    });
    fields.chain(["--x--\r\n".to_owned()]).collect()
}

async fn send(site: &Site, collection: &str, fields: &[(&str, &str)]) -> Answer {
    send_form(site, collection, form(fields).into()).await
}

async fn send_form(site: &Site, collection: &str, form: reqwest::Body) -> Answer {
    let path = format!("/v1/kb/collections/{collection}/documents");
    let request = site.request(Method::POST, &path);
    let request = request.header("content-type", "multipart/form-data; boundary=x");
    Answer::of(request.body(form)).await
}

#[tokio::test]
async fn g212_forms_are_refused_before_they_are_read_and_as_a_whole() {
    let settings =
        json!({"name": "Tests", "ambit": {"search": {"limits": {"file": 100, "documents": 1}}}});
    let site = Site::of(&[("app.yao", &settings.to_string())]).await;
    let answer = send(&site, "nowhere", &[("broken", "")]).await;
    assert_eq!(answer.failure().0, 404);
    site.post("/v1/kb/collections", &json!({"id": "c"})).await;
    let answer = send(&site, "c", &[("name=\"file_id\"", "1")]).await;
    assert_eq!(
        (answer.status, answer.failure().1.as_str()),
        (422, "unsupported")
    );
    let (text, large) = ("A heron.", "A heron. ".repeat(12));
    let file = |name| format!("name=\"file\"; filename=\"{name}.md\"");
    let (a, b) = (file("a"), file("b"));
    let answer = send(&site, "c", &[(&a, text), (&b, &large)]).await;
    assert_eq!(answer.status, 413);
    let answer = send(&site, "c", &[(&a, text), (&b, text)]).await;
    assert_eq!(answer.status, 429);
    let listed = site.get("/v1/kb/collections/c/documents").await;
    assert_eq!(listed.json()["data"], json!([]));
    let answer = send(&site, "c", &[(&a, text)]).await;
    assert_eq!(answer.status, 202);
    // Another one has no room, whatever it is.
    let answer = send(&site, "c", &[("broken", "")]).await;
    assert_eq!(answer.status, 429);
}

#[tokio::test]
async fn g212_the_limit_of_a_file_counts_for_each_of_a_form_and_one_refused_keeps_out_all() {
    let settings = json!({"name": "Tests", "ambit": {"search": {"limits": {"file": 100}}}});
    let site = Site::of(&[("app.yao", &settings.to_string())]).await;
    site.post("/v1/kb/collections", &json!({"id": "c"})).await;
    let file = |name: &str| format!("name=\"file\"; filename=\"{name}.md\"");
    let (a, b, long) = (file("a"), file("b"), file(&"x".repeat(5_000)));
    let (text, large) = ("A heron. ".repeat(10), "A heron. ".repeat(12));
    let answer = send(&site, "c", &[(&a, &text), (&long, &text)]).await;
    assert_eq!(answer.status, 413, "{}", answer.text);
    let answer = send(&site, "c", &[(&a, &text), (&b, &large)]).await;
    let message = answer.json()["error"]["message"].take();
    let expected = "file \"b.md\" has more than 100 bytes (ambit.search.limits.file)";
    assert_eq!((answer.status, message), (413, json!(expected)));
    let listed = site.get("/v1/kb/collections/c/documents").await;
    assert_eq!(listed.json()["data"], json!([]));
    let answer = send(&site, "c", &[(&a, &text), (&b, &text)]).await;
    assert_eq!(answer.status, 202, "{}", answer.text);
    let added = answer.json()["documents"].take();
    assert_eq!(added.as_array().map(Vec::len), Some(2));
}

#[tokio::test]
async fn g212_a_form_has_as_many_bytes_as_it_may_also_where_it_does_not_say_how_many() {
    let settings = json!({"name": "Tests", "ambit": {"search": {"limits": {"file": 100}}}});
    let site = Site::of(&[("app.yao", &settings.to_string())]).await;
    site.post("/v1/kb/collections", &json!({"id": "c"})).await;
    let endless = format!("name=\"{}\"", "a".repeat(1 << 20));
    let answer = send(&site, "c", &[(&endless, "")]).await;
    let message = answer.json()["error"]["message"].take();
    let expected = "the form broke off: the headers of a field have more than 8192 bytes";
    assert_eq!((answer.status, message), (400, json!(expected)));
    let jobs = vec![("name=\"job\"", "1"); 101];
    let answer = send(&site, "c", &jobs).await;
    assert_eq!(answer.failure().1, "limit_exceeded", "{}", answer.text);
    let field = form(&[("name=\"job\"", &"x".repeat(1 << 20))]);
    let field = field.replace("--x--\r\n", "");
    let pieces = std::iter::repeat_n(field, 17).map(Ok::<_, std::io::Error>);
    let unannounced = reqwest::Body::wrap_stream(futures::stream::iter(pieces));
    let answer = send_form(&site, "c", unannounced).await;
    assert_eq!(answer.status, 413, "{}", answer.text);
    let long = "x".repeat(201);
    let answer = send(&site, "c", &[("name=\"doc_id\"", &long)]).await;
    assert_eq!(answer.failure().2.as_deref(), Some("doc_id"));
    let named = json!({"text": "A heron.", "name": "x".repeat(5_000)});
    let answer = site
        .post("/v1/kb/collections/c/documents/text", &named)
        .await;
    assert_eq!(answer.status, 413, "{}", answer.text);
}

#[tokio::test]
async fn g212_files_of_a_form_are_read_only_as_long_as_there_is_room() {
    let limits = json!({"file": 100, "bytes": 150});
    let settings = json!({"name": "Tests", "ambit": {"search": {"limits": limits}}});
    let site = Site::of(&[("app.yao", &settings.to_string())]).await;
    site.post("/v1/kb/collections", &json!({"id": "c"})).await;
    let text = "A heron. ".repeat(10);
    let file = "name=\"file\"; filename=\"a.md\"";
    let begin = form(&[(file, &text), (file, &text)]).replace("--x--\r\n", "");
    let begin = futures::stream::iter([Ok::<_, std::io::Error>(begin)]);
    // What never ends is answered, for it is not read to its end.
    let endless = futures::StreamExt::chain(begin, futures::stream::pending());
    let answer = send_form(&site, "c", reqwest::Body::wrap_stream(endless)).await;
    assert_eq!(answer.status, 429, "{}", answer.text);
}

/// A collection with these texts, each found by the time it is returned.
async fn collection(site: &Site, texts: &[&str]) -> Vec<String> {
    site.post("/v1/kb/collections", &json!({"id": "c"})).await;
    let mut ids = Vec::new();
    for text in texts {
        let path = "/v1/kb/collections/c/documents/text";
        let added = site.post(path, &json!({"text": text})).await;
        ids.push(added.json()["doc_id"].as_str().unwrap().to_owned());
    }
    ids
}

/// What the store has of a collection that is in none, but for its sums.
async fn kept(site: &Site, key: &str) -> Vec<String> {
    let space = Space::collection(Some("default"), key);
    let scan = ValueScan::first(Pattern::all(), 100, ValuePart::Nothing);
    let found = site.store.scan(&space, &scan).await.unwrap().into_iter();
    let names = found.map(|(name, _)| name);
    names
        .filter(|name| !["sums", "changes"].contains(&name.as_str()))
        .collect()
}

#[tokio::test]
async fn g204_a_removal_is_answered_once_the_last_byte_is_gone() {
    let site = Site::of(&[]).await;
    let document = &collection(&site, &["A heron."]).await[0];
    let record = Space::collections(Some("default")).key("collection/c");
    let record = site.store.get(&record, ValuePart::Whole).await.unwrap();
    let record: Value = record.unwrap().value.to().unwrap();
    let key = record["place"]["key"].as_str().unwrap();
    assert!(!kept(&site, key).await.is_empty());
    for path in [
        format!("/v1/kb/documents/{document}"),
        "/v1/kb/collections/c".to_owned(),
    ] {
        let removed = Answer::of(site.request(Method::DELETE, &path)).await;
        assert_eq!(removed.status, 204, "{}", removed.text);
        assert_eq!(kept(&site, key).await, Vec::<String>::new(), "{path}");
    }
}

#[tokio::test]
async fn hits_come_in_pages_and_are_removed() {
    let site = Site::of(&[]).await;
    let document = &collection(&site, &["A heron."]).await[0];
    let path = format!("/v1/kb/documents/{document}/segments");
    let chunks = site.get(&path).await.json();
    let chunk = format!("{path}/{}", chunks["segments"][0]["id"].as_str().unwrap());
    let path = format!("{chunk}/hits");
    let one = Answer::of(site.request(Method::POST, &path)).await.json();
    assert_eq!(
        (&one["total"], &one["hits"][0]["count"]),
        (&json!(1), &json!(1))
    );
    let told = json!({"segments": [{"query": "bird"}, {"source": "test"}]});
    site.post(&path, &told).await;
    let first = site.get(&format!("{path}?limit=2")).await.json();
    assert_eq!(
        (&first["total"], &first["has_more"]),
        (&json!(3), &json!(true))
    );
    let cursor = first["next_cursor"].as_str().unwrap();
    let rest = site.get(&format!("{path}?cursor={cursor}")).await.json();
    assert_eq!(rest["hits"].as_array().unwrap().len(), 1);
    assert_eq!(
        (&rest["has_more"], &rest["next_cursor"]),
        (&json!(false), &json!(null))
    );
    let id = one["hits"][0]["hit_id"].as_str().unwrap();
    let gone = site.request(Method::DELETE, &format!("{path}?hit_ids={id},x"));
    assert_eq!(Answer::of(gone).await.json(), json!({"updated_count": 1}));
    assert_eq!(site.get(&chunk).await.json()["hit"], 2);
    let many = json!({"segments": vec![json!({}); 101]});
    assert_eq!(
        site.post(&path, &many).await.failure().2.as_deref(),
        Some("segments")
    );
}

#[tokio::test]
async fn a_file_that_is_kept_comes_back_with_its_length() {
    let site = Site::of(&[]).await;
    let keeping = json!({"id": "c", "keep": "file"});
    site.post("/v1/kb/collections", &keeping).await;
    let text = "A heron.";
    let path = "/v1/kb/collections/c/documents/text";
    let new = json!({"text": text, "doc_id": "d"});
    let added = site.post(path, &new).await;
    assert_eq!(added.status, 200, "{}", added.text);
    let file = site.get("/v1/kb/documents/d/file").await;
    assert_eq!(file.header("content-length"), Some("8"));
    assert_eq!(file.text, text);
}

#[tokio::test]
async fn jobs_come_the_oldest_first_in_pages() {
    let site = Site::of(&[]).await;
    let documents = collection(&site, &["A heron.", "A stork.", "A crane."]).await;
    let first = site.get("/v1/kb/jobs?limit=2").await.json();
    let next = first["next"].as_str().unwrap();
    let rest = site.get(&format!("/v1/kb/jobs?cursor={next}")).await.json();
    assert_eq!(rest["next"], json!(null));
    let pages = [first, rest];
    let jobs = pages
        .iter()
        .flat_map(|page| page["items"].as_array().unwrap());
    let of: Vec<&str> = jobs
        .map(|job| job["document_id"].as_str().unwrap())
        .collect();
    assert_eq!(of, documents);
    let answer = site.get("/v1/kb/jobs?cursor=x").await;
    assert_eq!(answer.failure().2.as_deref(), Some("cursor"));
    let none = site.get("/v1/kb/jobs?status=failed").await.json();
    assert_eq!(none, json!({"items": [], "next": null}));
}

#[tokio::test]
async fn an_unknown_connector_is_refused_by_name_and_changes_nothing() {
    let site = Site::of(&[]).await;
    let new = json!({"id": "c", "embedding": "nope"});
    let answer = site.post("/v1/kb/collections", &new).await;
    assert_eq!(answer.status, 422);
    let message = answer.json()["error"]["message"].clone();
    assert_eq!(message, "embedding: connector \"nope\" not found");
    let new = json!({"id": "c", "chunk": {"size": 5}});
    let answer = site.post("/v1/kb/collections", &new).await;
    assert_eq!(answer.failure().2.as_deref(), Some("chunk"));
    assert_eq!(site.get("/v1/kb/collections/c").await.status, 404);
    let new = json!({"id": "c", "language": "xx"});
    let answer = site.post("/v1/kb/collections", &new).await;
    assert_eq!(answer.failure().2.as_deref(), Some("language"));
    let new = json!({"id": "c", "name": null, "embedding": null, "chunk": null});
    let made = site.post("/v1/kb/collections", &new).await;
    assert_eq!(made.status, 201, "{}", made.text);
    let path = "/v1/kb/collections/c/reindex";
    let answer = site.post(path, &json!({"embedding": "nope"})).await;
    assert_eq!(answer.status, 422);
    // All of its fields may be left out, and so may the body.
    let begun = Answer::of(site.request(Method::POST, path)).await;
    assert_eq!(begun.status, 202, "{}", begun.text);
}
