//! Lists that are longer than one part.

use super::{SERVED, ask};
use crate::mcp_requests::result;
use crate::site::Site;
use serde_json::{Value, json};

const AGENT: &str = r#"{"name": "Agent", "public": true, "connector": "script"}"#;

/// The names of a part of the tools, and where the next one begins.
async fn part(site: &Site, params: Value) -> (Vec<String>, Value) {
    let mut listed = result(&ask(site, "tools/list", params).await);
    let tools = listed["tools"].as_array().unwrap().iter();
    let names = tools.map(|tool| tool["name"].as_str().unwrap().to_owned());
    (names.collect(), listed["nextCursor"].take())
}

#[tokio::test]
async fn tools_are_listed_a_hundred_at_a_time() {
    let agents: Vec<String> = (0..100).map(|number| format!("a{number:02}")).collect();
    let files = agents
        .iter()
        .map(|id| format!("assistants/{id}/package.yao"));
    let files: Vec<String> = files.collect();
    let mut app = vec![SERVED];
    app.extend(files.iter().map(|file| (file.as_str(), AGENT)));
    let site = Site::of(&app).await;
    let (mut names, next) = part(&site, json!({})).await;
    assert_eq!(names.len(), 100);
    let (rest, end) = part(&site, json!({"cursor": next})).await;
    assert_eq!(end, Value::Null);
    names.extend(rest);
    let is_sorted = names.windows(2).all(|pair| pair[0] < pair[1]);
    assert!(is_sorted, "{names:?}");
    let offered: Vec<&str> = names
        .iter()
        .filter_map(|name| name.strip_prefix("agent_"))
        .filter(|id| *id != "hello")
        .collect();
    assert_eq!(offered, agents);
    assert_eq!(names.last().unwrap(), "memory_set");
}
