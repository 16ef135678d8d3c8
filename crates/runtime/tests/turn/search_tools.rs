//! Assistants of Yao's test app whose steps of a search are tools of servers, and one whose settings are overridden.

use crate::place::{ask, end, left, owned, request};
use crate::search_assistants::{app, app_with, told};
use ambit_runtime::Frame;
use serde_json::{Value, json};
use std::collections::BTreeMap;

/// The server `search`: each result is titled with the tool and what it was asked.
fn search_server() -> Vec<(String, String)> {
    let script = "
        const found = (tool, asked) => {
            const title = [tool, ...Object.keys(asked).sort().map((name) => `${name}=${asked[name]}`)].join(' ');
            return { items: [{ title, url: `https://${tool}.test`, content: 'x' }], total: 1 };
        };
        export function Web(asked) { return found('web', asked); }
        export function News(asked) { return found('news', asked); }
        export function Config() { return { max_results: 100 }; }";
    let server = json!({"transport": "process", "resources": {"search_config": "scripts.search.Config"},
        "tools": {"web_search": "scripts.search.Web", "news_search": "scripts.search.News"}});
    let schema = json!({"type": "object", "description": "Searches.", "required": ["query"], "properties": {
        "query": {"type": "string"}, "limit": {"type": "integer", "minimum": 1, "maximum": 100},
        "sites": {"type": "array", "items": {"type": "string"}}, "time_range": {"type": "string", "enum": ["day", "week"]}},
        "x-process-args": [":arguments"]});
    let config = json!({"uri": "search://config", "name": "search_config"});
    owned(&[
        ("mcps/search.mcp.yao", &server.to_string()),
        (
            "mcps/mapping/search/schemes/web_search.in.yao",
            &schema.to_string(),
        ),
        (
            "mcps/mapping/search/schemes/news_search.in.yao",
            &schema.to_string(),
        ),
        (
            "mcps/mapping/search/resources/search_config.res.yao",
            &config.to_string(),
        ),
        ("scripts/search.ts", script),
    ])
}

#[tokio::test]
async fn a_server_with_several_tools_searches_the_web_and_shows_its_settings() {
    let hooks = "
        export function Create(ctx) {
            const config = ctx.mcp.ReadResource('search', 'search://config').contents[0].text;
            const found = ctx.search.Web('lamps', { limit: 3, sites: ['a.test', 'b.test'], time_range: 'week' });
            return { search: false, metadata: { config, titles: found.items.map((item) => item.title) } };
        }
        export function Next(ctx) { return { data: [ctx.metadata.config, ctx.metadata.titles] }; }";
    let by = |value: &str| json!({"search": {}, "uses": {"web": value}});
    let assistants = [
        ("web-mcp", by("mcp:search"), ""),
        ("news-mcp", by("mcp:search.news_search"), ""),
        ("hook-mcp", by("mcp:search"), hooks),
    ];
    let place = app_with(&assistants, search_server()).await;
    for (agent, expected) in [
        ("web-mcp", "web limit=10 query=What is new?"),
        ("news-mcp", "news limit=10 query=What is new?"),
    ] {
        let told = told(&place, agent).await.unwrap();
        assert!(told.contains(expected), "{told}");
    }
    let frames = ask(&place, request("hook-mcp", "hi")).await;
    let title = "web limit=3 query=lamps sites=a.test,b.test time_range=week";
    let expected = json!(["{\"max_results\":100}", [title]]);
    assert_eq!(end(&frames)["next"], expected, "{}", end(&frames));
}

#[tokio::test]
async fn a_tool_whose_schema_maps_no_arguments_gets_all_of_them() {
    let script = "export function Extract(asked) {
        return { keywords: [...asked.content.split(' ').slice(2), `${asked.language}${asked.max_keywords}`] };
    }";
    let schema = json!({"type": "object", "description": "Extracts.", "required": ["content"], "properties": {
        "content": {"type": "string"}, "max_keywords": {"type": "integer"}, "language": {"type": "string"}}});
    let server =
        json!({"transport": "process", "tools": {"extract_keywords": "scripts.words.Extract"}});
    let more = owned(&[
        ("mcps/words.mcp.yao", &server.to_string()),
        (
            "mcps/mapping/words/schemes/extract_keywords.in.yao",
            &schema.to_string(),
        ),
        ("scripts/words.ts", script),
    ]);
    let agent = "export function Next(ctx, payload) {
        const asked = JSON.parse(payload.messages[payload.messages.length - 1].content);
        ctx.memory.user.Set('asked', asked);
        return { data: ctx.mcp.CallTool('words', 'extract_keywords', asked).data };
    }";
    // The web knows these keywords alone.
    let web = json!({"results": [{"match": "^new\\? auto7$", "items": [{"title": "Page of keywords", "url": "https://a.test"}]}]});
    let by = |value: &str| json!({"search": {"web": web, "keyword": {"max_keywords": 7}}, "uses": {"keyword": value}});
    let assistants = [
        ("by-tool", by("mcp:words"), ""),
        ("by-agent", by("keyword-agent"), ""),
        ("keyword-agent", json!({"connector": "quiet"}), agent),
    ];
    let place = app_with(&assistants, more).await;
    for agent in ["by-tool", "by-agent"] {
        let told = told(&place, agent).await.unwrap_or_default();
        assert!(told.contains("Page of keywords"), "{agent}: {told}");
    }
    let expected = json!({"content": "What is new?", "max_keywords": 7, "language": "auto"});
    assert_eq!(left(&place, "asked").await, expected);
}

#[tokio::test]
async fn what_create_overrides_counts_for_its_request_alone() {
    let package = json!({
        "search": {
            "web": {"provider": "override-provider", "max_results": 20},
            "kb": {"collections": ["override-docs"], "graph": true},
            "weights": {"user": 2.0, "hook": 1.5, "auto": 1.2},
            "citation": {"format": "[override:{id}]"},
        },
        "uses": {"keyword": "mcp:custom-keyword", "rerank": "mcp:custom-rerank"},
    });
    let hooks = "export function Create(ctx, messages) {
        if (messages[messages.length - 1].content.includes('new')) return { messages, search: { web: { provider: 'scripted' } } };
    }";
    let place = app(&[("merge-override", package, hooks)]).await;
    let told = told(&place, "merge-override").await.unwrap();
    for expected in ["as: [override:1]", "weight=\"1.2\""] {
        assert!(told.contains(expected), "{told}");
    }
    let frames = ask(&place, request("merge-override", "What is old?")).await;
    assert_eq!(
        (&end(&frames)["status"], &end(&frames)["error"]),
        (&json!("completed"), &Value::Null)
    );
    let is_found = |frame: &Frame| frame.event_name() == Some("references");
    assert!(!frames.iter().any(is_found));
    let problems = ambit_runtime::check(place.app.path(), &BTreeMap::new()).unwrap();
    let problems: Vec<String> = problems
        .iter()
        .map(|problem| format!("{:?} {}", problem.severity, problem.message))
        .collect();
    for expected in [
        "Warning \"search.web.provider\": no provider \"override-provider\" searches the web",
        "Ambit has no graph search",
    ] {
        let is_told = problems.iter().any(|problem| problem.contains(expected));
        assert!(is_told, "{expected}: {problems:#?}");
    }
}
