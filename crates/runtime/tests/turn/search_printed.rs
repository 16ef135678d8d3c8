//! What the context reference shows of searches, as it is printed there. Its examples of traces and of a whole agent are
//! `examples/trace` and `examples/complete`, whose stories run.

use crate::place::{
    ask, borrowed, end, left, mirror, mirrored, model, named, owned, place, request, said, shown,
};
use crate::search_assistants::{app, told};
use serde_json::{Value, json};

const USES: &str = r#"
uses:
  search: '<agent>' # or "disabled", "mcp:server_id"
  web: '<provider>' # or "mcp:server_id"
  keyword: 'builtin' # or "<agent>", "mcp:server_id"
  querydsl: '<agent>' # or "mcp:server_id"
  rerank: '<agent>' # or "mcp:server_id"
"#;

const NEXT: &str = r"
function Next(ctx, payload) {
  const { completion, tools } = payload;

  // Search results may be in tool results if search was triggered
  if (tools) {
    const searchResults = tools.filter((t) => t.tool === 'search');
    // Process search results...
  }
}
";

const CREATE: &str = r"
function Create(ctx, messages) {
  // Disable search for this request
  return {
    messages,
    uses: {
      search: 'disabled'
    }
  };
}
";

/// An agent that says what is searched, makes a query of tables, and turns the order of what was found around.
const HELPER: &str = "export function Next(ctx, payload) {
    const content = payload.messages[payload.messages.length - 1].content;
    if (!content.startsWith('{')) return { data: { need_search: true, search_types: ['web', 'db'] } };
    const asked = JSON.parse(content);
    if (asked.action === 'rerank') return { data: { order: asked.items.map((item) => item.citation_id).reverse() } };
    return { data: { dsl: { select: ['id', 'title'], from: 'book' } } };
}";

#[tokio::test]
async fn whom_the_printed_uses_name_does_each_step() {
    // Without stop words the question is the one word that the web knows.
    let web = json!([{"match": "^Rust$", "items": [{"title": "page", "url": "https://a.test"}]}]);
    let search = json!({"web": {"results": web}, "db": {"models": ["book"]}});
    let uses = USES.replace("<agent>", "helper");
    let uses = uses.replace("<provider>", "scripted");
    let package = format!("name: hello\nconnector: mirror\nsearch: {search}\n{uses}");
    let columns = json!([{"name": "id", "type": "ID"}, {"name": "title", "type": "string"}]);
    let book =
        json!({"name": "Book", "columns": columns, "values": [{"title": "row"}]}).to_string();
    let prompts = "- role: system\n  content: Be kind.\n";
    let mut files = vec![mirror(), model("quiet", &json!([{"reply": "x"}]))];
    files.extend(named("helper", &json!({"connector": "quiet"}), HELPER));
    files.extend(owned(&[
        ("assistants/hello/package.yao", &package),
        ("assistants/hello/prompts.yml", prompts),
        ("models/book.mod.yao", &book),
    ]));
    let place = place(&borrowed(&files)).await;
    let frames = ask(&place, request("hello", "What is Rust?")).await;
    assert_eq!(end(&frames)["error"], Value::Null);
    let all = said(&mirrored(&frames)["messages"]);
    let told = all.iter().find(|text| text.contains("<references"));
    let told = told.unwrap_or_else(|| panic!("nothing was found: {all:?}"));
    for expected in ["<ref id=\"1\" type=\"db\"", "<ref id=\"2\" type=\"web\""] {
        assert!(told.contains(expected), "{told}");
    }
}

#[tokio::test]
async fn the_printed_next_has_the_results_among_its_tools() {
    let place = app(&[("hello", json!({"search": {}}), NEXT)]).await;
    let frames = ask(&place, request("hello", "What is new?")).await;
    assert_eq!(end(&frames)["error"], Value::Null);
    assert_eq!(
        shown(&frames).last().unwrap().0,
        "text",
        "as the model said"
    );
    // Where it has a comment, a reader's own code stands.
    let keep = "ctx.memory.user.Set('results', searchResults);";
    let next = NEXT.replace("// Process search results...", keep);
    assert_ne!(next, NEXT);
    let place = app(&[("hello", json!({"search": {}}), &next)]).await;
    ask(&place, request("hello", "What is new?")).await;
    let results = left(&place, "results").await;
    assert_eq!(results.as_array().unwrap().len(), 1, "{results}");
    assert_eq!(results[0]["result"][0]["items"][0]["title"], "page");
}

#[tokio::test]
async fn the_printed_create_turns_the_search_off() {
    let search = json!({"search": {}});
    let place = app(&[("hello", search.clone(), CREATE), ("other", search, "")]).await;
    assert_eq!(told(&place, "hello").await, None);
    assert!(told(&place, "other").await.is_some());
}
