//! Documents that are sent.

use crate::site::{Answer, Site};
use reqwest::Method;
use serde_json::json;

/// A form with these fields, each with its disposition.
async fn send(site: &Site, collection: &str, fields: &[(&str, &str)]) -> Answer {
    let fields = fields.iter().map(|(disposition, content)| {
        format!("--x\r\nContent-Disposition: form-data; {disposition}\r\n\r\n{content}\r\n")
    });
    let form: String = fields.chain(["--x--\r\n".to_owned()]).collect();
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
    let (text, large) = ("A heron.", "A heron. ".repeat(6));
    let file = |name| format!("name=\"file\"; filename=\"{name}.md\"");
    let (a, b) = (file("a"), file("b"));
    let answer = send(&site, "c", &[(&a, &large), (&b, &large)]).await;
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
