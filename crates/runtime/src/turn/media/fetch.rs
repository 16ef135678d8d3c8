//! Getting what the address of a part points to, from the hosts that the app lists.

use crate::chat::{ContentPart, FileContent};
use crate::error::{Error, ErrorCode, Result};
use crate::loaded_app::LoadedApp;
use crate::mcp::cut;
use crate::net::{HttpClient, HttpResponse};
use crate::turn::agent_run::AgentRun;
use crate::uses::UsesFailure;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

/// Gets what addresses point to.
pub(super) struct MediaFetcher(HttpClient);

/// The address of a part that is somewhere on the web.
pub(super) fn address(part: &ContentPart) -> Option<&str> {
    let address = part.image_address().or_else(|| part.file_address())?;
    let scheme = address.split_once("://")?.0.to_ascii_lowercase();
    (scheme == "http" || scheme == "https").then_some(address)
}

impl MediaFetcher {
    /// Reaches what the agent's scripts may reach, but for private hosts that are not opened for messages.
    pub fn new(loaded: &LoadedApp, run: &AgentRun) -> Result<Self> {
        let hosts = run.agent.allowed_hosts()?;
        let limits = run.hooks.limits().http;
        let client = loaded.http.for_run(limits, hosts.as_ref());
        Ok(Self(client.for_messages()))
    }

    /// The part with what its address points to: a text, or the bytes in the address's place.
    pub async fn fetch(&self, part: &ContentPart) -> Result<ContentPart, UsesFailure> {
        let answer = self.0.get(address(part).unwrap_or_default()).await;
        let answer = answer.map_err(|refusal| failed(refusal.message))?;
        put(part, &answer)
    }
}

fn put(part: &ContentPart, answer: &HttpResponse) -> Result<ContentPart, UsesFailure> {
    let kind = answer.content_type().split(';').next().unwrap_or_default();
    let kind = kind.trim().to_ascii_lowercase();
    let mut new = part.clone();
    if let ContentPart::ImageUrl { image_url, .. } = &mut new {
        if !kind.starts_with("image/") {
            let why = format!("the address points to no picture but to \"{kind}\"");
            return Err(failed(why));
        }
        image_url.set_address(data(&kind, &answer.body));
        return Ok(new);
    }
    let is_text = kind.starts_with("text/") || kind == "application/json";
    if let (true, Ok(text)) = (is_text, std::str::from_utf8(&answer.body)) {
        return Ok(ContentPart::of_text(cut(text.to_owned())));
    }
    if let ContentPart::File { file, .. } = &mut new {
        let name = file.filename.take();
        *file = FileContent {
            filename: Some(name.unwrap_or_else(|| name_of(&answer.url))),
            file_data: Some(data(&kind, &answer.body)),
            ..FileContent::default()
        };
    }
    Ok(new)
}

fn data(kind: &str, bytes: &[u8]) -> String {
    format!("data:{kind};base64,{}", STANDARD.encode(bytes))
}

/// The last part of an address's path.
fn name_of(url: &str) -> String {
    let path = url.split(['?', '#']).next().unwrap_or_default();
    let name = path.rsplit('/').next().unwrap_or_default();
    match name {
        "" => "file".to_owned(),
        name => name.to_owned(),
    }
}

fn failed(why: String) -> UsesFailure {
    UsesFailure::Failed(Error::new(ErrorCode::Unavailable, why))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};

    #[test]
    fn only_addresses_of_the_web_are_fetched() {
        for (part, expected) in [
            (
                json!({"type": "image_url", "image_url": {"url": "https://a.test/x.png"}}),
                Some("https://a.test/x.png"),
            ),
            (
                json!({"type": "file", "file": {"file_data": "HTTP://a.test/x.pdf"}}),
                Some("HTTP://a.test/x.pdf"),
            ),
            (
                json!({"type": "image_url", "image_url": {"url": "data:image/png;base64,AA=="}}),
                None,
            ),
            (
                json!({"type": "file", "file": {"url": "gs://bucket/x.pdf"}}),
                None,
            ),
            (json!({"type": "text", "text": "https://a.test"}), None),
        ] {
            let read = ContentPart::from(part.clone());
            assert_eq!(address(&read), expected, "{part}");
        }
    }

    #[test]
    fn pictures_texts_and_files_take_the_place_of_their_addresses() {
        let answer = |kind: &str, body: &[u8]| HttpResponse {
            status: 200,
            status_text: "OK".to_owned(),
            headers: vec![("content-type".to_owned(), kind.to_owned())],
            body: body.to_vec(),
            url: "https://a.test/dir/x.pdf?y".to_owned(),
            redirected: false,
        };
        let image =
            json!({"type": "image_url", "image_url": {"url": "https://a.test/x", "detail": "low"}});
        let file = json!({"type": "file", "file": {"url": "https://a.test/x"}});
        let replaced = |part: &Value, kind, body: &[u8]| {
            let part = ContentPart::from(part.clone());
            let new = put(&part, &answer(kind, body)).ok()?;
            Some(new.to_json())
        };
        assert_eq!(
            replaced(&image, "image/PNG; x=y", b"\0"),
            Some(
                json!({"type": "image_url", "image_url": {"url": "data:image/png;base64,AA==", "detail": "low"}})
            )
        );
        assert_eq!(replaced(&image, "text/html", b"<p>"), None);
        assert_eq!(
            replaced(&file, "text/plain; charset=utf-8", "grüße".as_bytes()),
            Some(json!({"type": "text", "text": "grüße"}))
        );
        assert_eq!(
            replaced(&file, "application/pdf", b"\0"),
            Some(
                json!({"type": "file", "file": {"filename": "x.pdf", "file_data": "data:application/pdf;base64,AA=="}})
            )
        );
    }
}
