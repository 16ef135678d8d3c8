//! `ambit events`.

use crate::place::{Place, Serving};
use serde_json::{Value, json};
use std::io::{BufRead, BufReader};
use std::process::{Child, Stdio};
use std::time::Duration;
use tokio::sync::mpsc::{UnboundedReceiver, unbounded_channel};
use tokio::time::timeout;

/// A program that follows events and ends with its test, and the lines that it prints.
struct Following {
    process: Child,
    lines: UnboundedReceiver<String>,
}

impl Following {
    fn of(place: &Place) -> Self {
        let mut follow = place.command(&["events", "--follow", "--app", "shop"]);
        let mut process = follow.stdout(Stdio::piped()).spawn().unwrap();
        let printed = BufReader::new(process.stdout.take().unwrap());
        let (tell, lines) = unbounded_channel();
        std::thread::spawn(move || {
            for line in printed.lines() {
                drop(tell.send(line.unwrap()));
            }
        });
        Self { process, lines }
    }
}

impl Drop for Following {
    fn drop(&mut self) {
        drop(self.process.kill());
        drop(self.process.wait());
    }
}

#[tokio::test]
async fn what_happens_on_a_server_is_followed_and_printed_again_while_it_is_kept() {
    drop(rustls::crypto::ring::default_provider().install_default());
    let place = Place::new();
    assert_eq!(place.run_as(&["new", "shop"]).code, 0);
    let serve = ["serve", "shop", "--listen", "127.0.0.1:0", "--log", "error"];
    let server = Serving::of(place.command(&serve));
    let mut following = Following::of(&place);
    let client = reqwest::Client::new();
    let route = format!("{}/chat/completions", server.base);
    let message = json!({"role": "user", "content": "hello"});
    let body = json!({"model": "hello", "messages": [message]});
    // When it has begun to follow is known by the first line alone.
    let line = loop {
        let asked = client.post(&route).json(&body).send().await.unwrap();
        asked.error_for_status().unwrap();
        let told = timeout(Duration::from_secs(1), following.lines.recv());
        if let Ok(line) = told.await {
            break line.unwrap();
        }
    };
    let event: Value = serde_json::from_str(&line).unwrap();
    assert!(event["event_id"].is_string(), "{event}");
    let kept = place.run_as(&["events", "--app", "shop"]).json();
    assert!(kept.contains(&event), "{event} is not in {kept:?}");
}
