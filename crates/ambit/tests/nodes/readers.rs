//! Readers of every format that follow one turn while its node dies.

use crate::Run;
use crate::dying::check_story;
use crate::place::{Node, Place, SLOWLY};
use ambit::format::{FORMATS, FormatDefinition};
use futures::future::join_all;
use reqwest::{Method, RequestBuilder, Response};

pub const CASES: &[(&str, Run)] = &[(
    "g164_readers_in_every_format_whose_node_is_killed_end_with_what_all_others_have",
    |place| Box::pin(killed(place)),
)];

/// How the first text of the answer begins, in every format.
const FIRST: &str = "\"1 ";

/// A client that follows a turn in a format.
struct Reader {
    row: &'static FormatDefinition,
    response: Response,
    text: String,
}

impl Reader {
    /// The first text of the answer has come when this returns.
    async fn open(node: &Node, id: &str, row: &'static FormatDefinition) -> Self {
        let mut reader = Self::of(stream(node, id, row), row).await;
        while !reader.text.contains(FIRST) {
            let bytes = reader.response.chunk().await.unwrap().unwrap();
            reader.text += std::str::from_utf8(&bytes).unwrap();
        }
        reader
    }

    async fn of(request: RequestBuilder, row: &'static FormatDefinition) -> Self {
        let response = request.send().await.unwrap();
        assert_eq!(response.status(), 200, "{}", row.name);
        Self {
            row,
            response,
            text: String::new(),
        }
    }

    /// All that has come when the stream ends or breaks off.
    async fn end(mut self) -> String {
        while let Ok(Some(bytes)) = self.response.chunk().await {
            self.text += std::str::from_utf8(&bytes).unwrap();
        }
        // Who waits longer hears more of these.
        self.text.replace(self.row.ping, "")
    }

    /// What the client has in the end that goes on at this node when its own is gone.
    async fn go_on(self, node: &Node, id: &str) -> String {
        let row = self.row;
        let cut = self.end().await;
        let (known, request) = if row.has_entry_ids {
            let (known, last) = numbered(&cut, "id: ");
            let request = stream(node, id, row).header("last-event-id", last);
            (known, request)
        } else if row.name == "responses" {
            let (known, last) = numbered(&cut, "\"sequence_number\":");
            let path = format!("/responses/resp_{id}?stream=true&starting_after={last}");
            (known, node.request(Method::GET, &path))
        } else {
            // Its events have no numbers: its clients begin anew.
            ("", stream(node, id, row))
        };
        let rest = Self::of(request, row).await.end().await;
        format!("{known}{rest}")
    }
}

/// The stream of a turn in a format.
fn stream(node: &Node, id: &str, row: &FormatDefinition) -> RequestBuilder {
    let path = format!("/chat/requests/{id}/stream?accept={}", row.name);
    node.request(Method::GET, &path)
}

/// The events of a stream up to the last whole one with a number, which stands behind this mark, and the number.
fn numbered<'a>(stream: &'a str, mark: &str) -> (&'a str, &'a str) {
    let (whole, _) = stream.rsplit_once("\n\n").unwrap();
    let start = whole.rfind(mark).unwrap() + mark.len();
    let end = start + stream[start..].find("\n\n").unwrap() + "\n\n".len();
    let mut number = stream[start..].split(|letter: char| !letter.is_ascii_digit());
    (&stream[..end], number.next().unwrap())
}

/// A reader in each format at this node.
async fn readers(node: &Node, id: &str) -> Vec<Reader> {
    join_all(FORMATS.iter().map(|row| Reader::open(node, id, row))).await
}

async fn killed(place: Place) {
    let (first, second) = (place.slow_node(&[]), place.node());
    let id = first.stream(SLOWLY).await.request_id();
    let (cut, whole) = tokio::join!(readers(&first, &id), readers(&second, &id));
    first.kill();
    let cut = join_all(cut.into_iter().map(|reader| reader.go_on(&second, &id)));
    let whole = join_all(whole.into_iter().map(Reader::end));
    let (resumed, followed) = tokio::join!(cut, whole);
    check_story(&second.messages().await);
    for ((row, resumed), followed) in FORMATS.iter().zip(resumed).zip(followed) {
        let fresh = Reader::of(stream(&second, &id, row), row).await.end().await;
        assert_eq!(followed, fresh, "{}", row.name);
        assert_eq!(resumed, fresh, "{}", row.name);
    }
}
