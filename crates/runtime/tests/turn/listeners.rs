//! Listeners that change what goes on, and listeners that are scripts.

use crate::events::listened;
use crate::place::{agent, ask, borrowed, end, history, place, remembered, request, shown};
use ambit_runtime::event::{BeforeSend, BeforeStructuredOutput};
use ambit_storage::event::Verdict;
use futures::FutureExt;
use serde_json::json;

#[tokio::test]
async fn before_listeners_change_what_goes_on() {
    let place = listened(|bus| {
        bus.before(|event: &mut BeforeSend| {
            event.message.content = "plain, please".into();
            async { Ok(Verdict::Continue) }.boxed()
        });
        bus.before(|event: &mut BeforeStructuredOutput| {
            event.response = json!({"changed": event.response});
            async { Ok(Verdict::Continue) }.boxed()
        });
    })
    .await;
    let frames = ask(&place, request("hello", "hi")).await;
    assert_eq!(shown(&frames)[0].1, "plain");
    assert_eq!(remembered(&place, "hello").await[0], "user: plain, please");
    let id = end(&frames)["request_id"].as_str().unwrap().to_owned();
    let info = place.runtime.turn(&crate::place::ann(), &id).await.unwrap();
    assert_eq!(
        info.response.unwrap()["completion"]["content"],
        "{\"changed\":\"plain\"}"
    );
}

#[tokio::test]
async fn scripts_of_an_agent_listen_and_decide_where_it_is_kept() {
    let events = "
        export function BeforeSend(event) {
            if (event.message.content === 'forbidden') return { veto: 'not here' };
            return { message: { ...event.message, content: event.message.content.toUpperCase() } };
        }
        export function BeforeResponse(event) {
            return { request: { ...event.request, messages: event.request.messages.slice(1) } };
        }";
    let context = "export function HistoryIdentity(base, caller) { return { chat_name: 'all of ' + caller.user_id }; }";
    let mut files = agent(&json!({"connector": "mirror"}), "");
    files.extend([
        crate::place::mirror(),
        (
            "assistants/hello/src/events.ts".to_owned(),
            events.to_owned(),
        ),
        (
            "assistants/hello/src/context.ts".to_owned(),
            context.to_owned(),
        ),
    ]);
    let place = place(&borrowed(&files)).await;
    let got = crate::place::mirrored(&ask(&place, request("hello", "hi")).await);
    assert_eq!(crate::place::said(&got["messages"]), ["user: HI"]);
    let error = place
        .runtime
        .start(request("hello", "forbidden"))
        .await
        .err()
        .unwrap();
    assert_eq!(error.code.as_str(), "vetoed");
    let session = crate::place::session(&place, "hello").await;
    let identity = session.history().identity().clone();
    assert_eq!(
        (identity.chat_name(), identity.user_id()),
        (Some("all of ann"), None)
    );
    assert_eq!(history(&place, "hello").await[0].text(), "HI");
}
