//! Searches made at random, each by somebody and over some route.

use super::world::{KINDS, NAMES, PEOPLE, World};
use crate::bed::Person;
use crate::mcp_requests::stateless;
use rand::RngExt;
use rand::rngs::StdRng;
use rand::seq::IndexedRandom;
use reqwest::{Method, RequestBuilder};
use serde_json::{Value, json};
use std::collections::BTreeSet;

/// Words that every text has, and what begins every word of its own.
const WORDS: [&str; 5] = ["report", "quarterly", "trains", "lamps", "canary*"];

/// Of a hundred searches those from this number on are turns, each of which searches in ten ways and takes forty times as long.
const TURNS: u32 = 95;

/// The tool server, whose tools search too.
const MCP: &str = "/mcp";

/// One search.
#[derive(Debug)]
pub struct Question {
    who: Person,
    method: Method,
    path: String,
    body: Value,
    /// What is looked for: an answer may repeat it.
    query: String,
    /// Who asks for the references of a turn.
    reader: Person,
}

impl Question {
    pub fn random(random: &mut StdRng, world: &World) -> Self {
        let number = random.random_range(0..100_u32);
        let name = format!("{}-{}", pick(random, &KINDS), pick(random, &NAMES));
        let mut query = (*pick(random, &WORDS)).to_owned();
        // A turn shows what was asked in many places.
        if number < TURNS && random.random_bool(0.3) {
            let words: Vec<&String> = world.canaries.keys().collect();
            query = (*pick(random, &words)).clone();
        }
        let who = *pick(random, &PEOPLE);
        let get = |path: String| (Method::GET, path, Value::Null);
        let (method, path, body) = match number {
            0..20 => {
                let body = search_body(random, &query, &name);
                (Method::POST, "/kb/search".to_owned(), body)
            }
            20..23 => {
                let arguments = json!({"query": query, "limit": random.random_range(1..=50)});
                let call = json!({"name": "kb_search", "arguments": arguments});
                (Method::POST, MCP.to_owned(), call)
            }
            23..31 => get(format!("/kb/documents?pagesize=100&keywords={query}")),
            31..35 => get("/kb/collections?pagesize=100".to_owned()),
            35..39 => get(format!("/kb/collections/{name}/documents")),
            39..43 => get(format!("/kb/documents/doc-{name}/segments")),
            43..56 => get(format!("/chat/sessions?pagesize=100&q={query}")),
            56..68 => get(format!("/chat/sessions/{name}/messages?q={query}")),
            68..82 => get(format!("/memory/user/search?q={query}")),
            82..90 => get(format!("/memory/team/search?q={query}")),
            90..TURNS => get(format!("/memory/chat/{name}/search?q={query}")),
            _ => {
                let messages = json!([{"role": "user", "content": query}]);
                let body =
                    json!({"model": "finder", "messages": messages, "skip": {"history": true}});
                (Method::POST, "/chat/completions".to_owned(), body)
            }
        };
        Self {
            who,
            method,
            path,
            body,
            query,
            reader: *pick(random, &PEOPLE),
        }
    }

    /// The words that are found. One that is not for who asks fails the test.
    pub async fn found(&self, world: &World) -> BTreeSet<String> {
        let site = &world.bed.site;
        let request = site.request(self.method.clone(), &format!("/v1{}", self.path));
        let request = match &self.body {
            Value::Null => request,
            call if self.path == MCP => stateless(request, "tools/call", call.clone()),
            body => request.json(body),
        };
        let (mut words, turn) = self.answered(world, self.who, request).await;
        if let Some(turn) = turn {
            // What the turn has found is shown to others as they may see it.
            let path = format!("/v1/chat/references/{turn}");
            let request = site.request(Method::GET, &path);
            words.extend(self.answered(world, self.reader, request).await.0);
        }
        words
    }

    /// The words in an answer, and its turn, if one has made it.
    async fn answered(
        &self,
        world: &World,
        who: Person,
        request: RequestBuilder,
    ) -> (BTreeSet<String>, Option<String>) {
        let response = request.bearer_auth(who.token()).send().await.unwrap();
        let status = response.status().as_u16();
        let turn = response.headers().get("x-ambit-request");
        let turn = turn.map(|id| id.to_str().unwrap().to_owned());
        let text = response.text().await.unwrap();
        assert!([200, 404].contains(&status), "{self:?}: {status} {text}");
        let told = text.replacen(&format!("\"query\":\"{}\"", self.query), "", 1);
        let words = told.match_indices("canary").filter_map(|(at, _)| {
            let word = told.get(at..at + "canarybbx".len())?;
            Some((word, world.canaries.get(word)?))
        });
        let words = words.map(|(word, canary)| {
            assert!(
                canary.is_for(who),
                "{self:?}: {who:?} found {word} of {canary:?}: {text}"
            );
            word.to_owned()
        });
        (words.collect(), turn)
    }
}

/// Some collection, or all that there are.
fn search_body(random: &mut StdRng, query: &str, name: &str) -> Value {
    let mut body = json!({"query": query, "threshold": 0, "limit": random.random_range(1..=50)});
    if random.random_bool(0.9) {
        let other = format!("{}-{}", pick(random, &KINDS), pick(random, &NAMES));
        body["collections"] = json!([name, other]);
    }
    if random.random_bool(0.1) {
        body["document_id"] = format!("named-{}", pick(random, &NAMES)).into();
    }
    if random.random_bool(0.2) {
        body["rerank"] = json!({"top_n": 5});
    }
    body
}

fn pick<'a, T>(random: &mut StdRng, all: &'a [T]) -> &'a T {
    all.choose(random).unwrap()
}
