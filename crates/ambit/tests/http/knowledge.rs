//! Documents that are sent, and who has them.

use crate::auth::token;
use crate::site::{Answer, Site, TOKENS};
use ambit::auth::api_keys::{ApiKeyRecord, ApiKeys};
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

/// Roles for knowledge of their holder's own, and one for all of it.
const ROLES: (&str, &str) = (
    "openapi/roles.yml",
    "user: {scopes: [\"*:*:own\"]}\neditor: {scopes: [\"*:*:own\"]}\nchief: {scopes: [\"*:*:all\"]}\n",
);

/// Makes a collection that everybody may use, with a document.
async fn publish(site: &Site, who: &str, collection: &str, document: &Value) {
    let path = format!("/v1/kb/collections/{collection}/documents/text");
    let new = json!({"id": collection, "public": true});
    for (path, body, status) in [
        ("/v1/kb/collections", &new, 201),
        (path.as_str(), document, 200),
    ] {
        let request = site.request(Method::POST, path).bearer_auth(who);
        let answer = Answer::of(request.json(body)).await;
        assert_eq!(answer.status, status, "{}", answer.text);
    }
}

/// Whether somebody with these headers reads the document `d`.
async fn reads(site: &Site, headers: &[(&str, &str)]) -> bool {
    let mut request = site.request(Method::GET, "/v1/kb/documents/d");
    for (name, value) in headers {
        request = request.header(*name, *value);
    }
    let answer = Answer::of(request).await;
    assert!([200, 404].contains(&answer.status), "{}", answer.text);
    answer.status == 200
}

/// A server whose callers come by a proxy, with keys, and with tokens of two issuers: the second has roles in a claim of its own.
async fn guarded() -> Site {
    let issuer = |name: &str, claims: Value| {
        let secret = "not a secret, being in a test";
        json!({"issuer": name, "audience": "ambit", "secret": secret, "claims": claims})
    };
    let auth = json!({
        "api_keys": true,
        "issuers": [
            issuer("https://id.test", json!({})),
            issuer("https://realm.test", json!({"roles": "realm.roles"})),
        ],
        "proxy": {"cidrs": ["127.0.0.0/8"], "headers": {"user_id": "X-User", "roles": "X-Roles"}},
    });
    let file = json!({"auth": auth}).to_string();
    let site = Site::of(&[("openapi/openapi.yao", file.as_str()), ROLES]).await;
    let document = json!({"text": "A heron.", "doc_id": "d", "access": {"roles": ["editor"]}});
    let ann = token(&json!({"sub": "ann"}));
    publish(&site, &ann, "c", &document).await;
    site
}

#[tokio::test]
async fn g202_a_document_for_a_role_is_for_whoever_is_verified_to_have_it() {
    let site = guarded().await;
    for (claims, expected) in [
        (json!({"roles": ["user", "editor"]}), true),
        (json!({"roles": "user editor"}), true),
        (json!({"roles": ["user"]}), false),
        (
            json!({"iss": "https://realm.test", "realm": {"roles": ["editor"]}}),
            true,
        ),
        (
            json!({"iss": "https://realm.test", "roles": ["editor"]}),
            false,
        ),
        (
            json!({"iss": "https://realm.test", "roles": ["editor"], "realm": {"roles": ["user"]}}),
            false,
        ),
    ] {
        let mut person = claims.clone();
        person["sub"] = json!("bob");
        let bearer = format!("Bearer {}", token(&person));
        let may_read = reads(&site, &[("authorization", &bearer)]).await;
        assert_eq!(may_read, expected, "{claims}");
    }
    for (roles, expected) in [("user,editor", true), ("user", false), ("", false)] {
        let may_read = reads(&site, &[("x-user", "bob"), ("x-roles", roles)]).await;
        assert_eq!(may_read, expected, "proxy: {roles}");
    }
    for (role, expected) in [("editor", true), ("user", false)] {
        let key = ApiKeyRecord {
            user_id: Some("bob".to_owned()),
            roles: vec![role.to_owned()],
            ..ApiKeyRecord::default()
        };
        let key = ApiKeys::new(site.store.clone()).make(key).await.unwrap();
        let bearer = format!("Bearer {key}");
        let may_read = reads(&site, &[("authorization", &bearer)]).await;
        assert_eq!(may_read, expected, "key: {role}");
    }
}

#[tokio::test]
async fn g202_who_acts_as_another_reads_documents_by_the_roles_of_that_one() {
    let site = guarded().await;
    let chief = token(&json!({"sub": "chief", "roles": ["chief"]}));
    for (role, expected) in [("editor", true), ("user", false)] {
        let wanted = json!({"user_id": "bob", "roles": [role]});
        let request = site.request(Method::POST, "/v1/session/act-as");
        let begun = Answer::of(request.bearer_auth(&chief).json(&wanted)).await;
        assert_eq!(begun.status, 201, "{}", begun.text);
        let begun = begun.json();
        let acting = begun["token"].as_str().unwrap();
        let bearer = format!("Bearer {chief}");
        let headers = [
            ("authorization", bearer.as_str()),
            ("x-ambit-act-as", acting),
        ];
        assert_eq!(reads(&site, &headers).await, expected, "{role}");
    }
}

#[tokio::test]
async fn of_several_documents_those_of_others_stay_and_are_not_counted() {
    let site = Site::of(&[TOKENS, ROLES]).await;
    let person = |name: &str| token(&json!({"sub": name}));
    let (ann, bob) = (person("ann"), person("bob"));
    let heron = json!({"text": "A heron.", "doc_id": "a"});
    publish(&site, &ann, "anns", &heron).await;
    let stork = json!({"text": "A stork.", "doc_id": "b"});
    publish(&site, &bob, "bobs", &stork).await;
    let path = "/v1/kb/documents?document_ids=b,a";
    let removed = Answer::of(site.request(Method::DELETE, path).bearer_auth(&bob)).await;
    assert_eq!(
        removed.json(),
        json!({"deleted_count": 1, "requested_count": 2})
    );
    let listed = site.request(Method::GET, "/v1/kb/documents");
    let listed = Answer::of(listed.bearer_auth(&ann)).await.json();
    assert_eq!(listed["data"].as_array().map(Vec::len), Some(1));
    assert_eq!(listed["data"][0]["document_id"], json!("a"));
}
