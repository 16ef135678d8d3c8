//! Chats as resources.

use super::{ask, ask_older, call, served};
use crate::mcp_requests::{failure, reply, result};
use serde_json::{Value, json};

#[tokio::test]
async fn chats_are_resources_the_newest_first() {
    let site = served().await;
    for (chat, text) in [("a b", "hi"), ("c2", "there")] {
        call(
            &site,
            "agent_hello",
            json!({"message": text, "chat_id": chat}),
        )
        .await;
    }
    let listed = result(&ask(&site, "resources/list", json!({})).await);
    let resources = listed["resources"].as_array().unwrap().iter();
    let uris: Vec<&Value> = resources.map(|resource| &resource["uri"]).collect();
    assert_eq!(uris, ["ambit://chats/c2", "ambit://chats/a%20b"]);
    assert_eq!(listed["cacheScope"], json!("private"));
    let params = json!({"uri": "ambit://chats/a%20b"});
    for answer in [
        ask(&site, "resources/read", params.clone()).await,
        ask_older(&site, "resources/read", &params).await,
    ] {
        let contents = result(&answer)["contents"].take();
        let text = "## user\n\nhi\n\n## assistant\n\necho: hi\n\n";
        let expected =
            json!([{"uri": "ambit://chats/a%20b", "mimeType": "text/markdown", "text": text}]);
        assert_eq!(contents, expected);
    }
    let templates = result(&ask(&site, "resources/templates/list", json!({})).await);
    assert_eq!(
        templates["resourceTemplates"][0]["uriTemplate"],
        json!("ambit://chats/{chat_id}")
    );
}

#[tokio::test]
async fn what_is_no_resource_is_said_as_each_era_says_it() {
    let site = served().await;
    for uri in ["ambit://chats/none", "ambit://chats/", "test://x"] {
        let params = json!({"uri": uri});
        let newest = ask(&site, "resources/read", params.clone()).await;
        assert_eq!(failure(&newest), (200, -32602), "{uri}");
        assert_eq!(reply(&newest)["error"]["data"], params);
        let older = ask_older(&site, "resources/read", &params).await;
        assert_eq!(failure(&older), (200, -32002), "{uri}");
    }
    let wrong = ask(&site, "resources/list", json!({"cursor": "x"})).await;
    assert_eq!(failure(&wrong), (200, -32602));
}
