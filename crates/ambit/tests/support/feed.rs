//! A client of the feed of events.

use reqwest::{RequestBuilder, Response};
use serde_json::Value;

/// One event.
#[derive(Clone, Debug, PartialEq)]
pub struct Told {
    pub id: String,
    pub name: String,
    pub data: Value,
}

/// Events, as they come.
pub struct Feed {
    response: Response,
    pub text: String,
    read: usize,
}

impl Feed {
    /// The feed has begun when this returns.
    pub async fn of(request: RequestBuilder) -> Self {
        let response = request.send().await.unwrap();
        let status = response.status().as_u16();
        assert_eq!(status, 200, "{}", response.text().await.unwrap());
        Self {
            response,
            text: String::new(),
            read: 0,
        }
    }

    /// The next event; none at the end of the feed.
    pub async fn next(&mut self) -> Option<Told> {
        loop {
            if let Some((frame, _)) = self.text[self.read..].split_once("\n\n") {
                let frame = frame.to_owned();
                self.read += frame.len() + 2;
                if !frame.starts_with(':') {
                    return Some(told(&frame));
                }
                continue;
            }
            let bytes = self.response.chunk().await.unwrap()?;
            self.text += std::str::from_utf8(&bytes).unwrap();
        }
    }

    /// Events up to the end of the next turn.
    pub async fn turn(&mut self) -> Vec<Told> {
        let mut events = Vec::new();
        loop {
            let event = self.next().await.unwrap();
            let is_end = event.name == "ConversationEnded";
            events.push(event);
            if is_end {
                return events;
            }
        }
    }
}

fn told(frame: &str) -> Told {
    let lines: Vec<&str> = frame.lines().collect();
    let [id, name, data] = &lines[..] else {
        panic!("{frame}");
    };
    let event = Told {
        id: id.strip_prefix("id: ").unwrap().to_owned(),
        name: name.strip_prefix("event: ").unwrap().to_owned(),
        data: serde_json::from_str(data.strip_prefix("data: ").unwrap()).unwrap(),
    };
    assert_eq!(event.data["type"], *event.name);
    event
}
