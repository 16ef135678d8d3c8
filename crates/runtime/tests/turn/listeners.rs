//! Listeners that change what goes on, and listeners that are scripts.

use crate::events::listened;
use crate::place::{
    agent, ann, ask, borrowed, end, frames, history, mirror, mirrored, model, place,
    place_of_tools, remembered, request, said, shown, until,
};
use crate::toolbox::Tools;
use crate::tools::calling;
use ambit_runtime::TurnInterrupt;
use ambit_runtime::chat::ChatMessage;
use ambit_runtime::event::{BeforeSaveHistory, BeforeSend, BeforeStructuredOutput};
use ambit_storage::event::Verdict;
use ambit_storage::storage::Role;
use futures::FutureExt;
use serde_json::json;
use std::sync::{Arc, Mutex};

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

/// Listeners of the agent that keep a word out of the history.
fn redacting() -> (String, String) {
    let events = "export function MessageAdding(event) {
        return { message: JSON.parse(JSON.stringify(event.message).replaceAll('secret', '[removed]')) };
    }";
    (
        "assistants/hello/src/events.ts".to_owned(),
        events.to_owned(),
    )
}

#[tokio::test]
async fn hooks_and_models_get_a_message_as_listeners_leave_it() {
    let hooks = "
        export function Create(ctx, messages) { ctx.memory.context.Set('seen', messages); }
        export function Next(ctx) { return { data: ctx.memory.context.Get('seen') }; }";
    let mut files = agent(&json!({"connector": "mirror"}), hooks);
    files.extend([mirror(), redacting()]);
    let place = place(&borrowed(&files)).await;
    let frames = ask(&place, request("hello", "a secret word")).await;
    let redacted = "user: a [removed] word";
    assert_eq!(said(&end(&frames)["next"]), [redacted]);
    let got = mirrored(&frames);
    assert_eq!(said(&got["messages"]), ["system: Be kind.", redacted]);
    assert_eq!(remembered(&place, "hello").await[0], redacted);
}

#[tokio::test]
async fn models_are_told_a_result_as_listeners_leave_it() {
    let package = json!({"connector": "calling", "mcp": {"servers": ["s"]}});
    let calls = json!([{"id": "c1", "name": "s__show", "arguments": {"word": "secret"}}]);
    let mut files = agent(&package, "");
    files.extend([calling(&calls), redacting()]);
    let place = place_of_tools(&borrowed(&files), Tools::usual()).await;
    let frames = ask(&place, request("hello", "hi")).await;
    let redacted = "{\"word\":\"[removed]\"}";
    assert_eq!(
        shown(&frames).last().unwrap().1,
        format!("told: {redacted}")
    );
    assert_eq!(
        remembered(&place, "hello").await[2],
        format!("tool: {redacted}")
    );
}

#[tokio::test]
async fn models_get_what_comes_in_as_listeners_leave_it() {
    let rules = json!([
        {"match": {"last_user": "slow"}, "reply": "word ".repeat(10_000), "delay": "30ms"},
        {"reply": "{{request}}"},
    ]);
    let mut files = agent(&json!({"connector": "slow"}), "");
    files.extend([model("slow", &rules), redacting()]);
    let place = place(&borrowed(&files)).await;
    let mut started = place.runtime.start(request("hello", "slow")).await.unwrap();
    until(&mut started, |frame| frame.kind == "text").await;
    let force = TurnInterrupt {
        messages: vec![ChatMessage::user("a secret word")],
        is_forced: true,
        ..TurnInterrupt::default()
    };
    let id = started.request_id.clone();
    place.runtime.interrupt(&ann(), &id, force).await.unwrap();
    started.stream = place.runtime.stream(&ann(), &id, 0).await.unwrap();
    let got = mirrored(&frames(started).await);
    let messages = said(&got["messages"]);
    assert_eq!(messages.last().unwrap(), "user: a [removed] word");
}

#[tokio::test]
async fn before_a_history_is_saved_listeners_get_all_messages_of_the_turn() {
    let heard: Arc<Mutex<Vec<Vec<Role>>>> = Arc::default();
    let own = heard.clone();
    let place = listened(move |bus| {
        let heard = own.clone();
        bus.before(move |event: &mut BeforeSaveHistory| {
            let roles = event.messages.iter().map(|message| message.role);
            heard.lock().unwrap().push(roles.collect());
            async { Ok(Verdict::Continue) }.boxed()
        });
    })
    .await;
    ask(&place, request("hello", "hi")).await;
    ask(&place, request("hello", "hi again")).await;
    let turn = vec![Role::User, Role::Assistant, Role::Tool, Role::Assistant];
    assert_eq!(*heard.lock().unwrap(), [turn.clone(), turn]);
}
