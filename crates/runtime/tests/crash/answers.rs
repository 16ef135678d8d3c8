//! What a killed turn keeps of its models' answers and tools' results.

use crate::app::{ann, peer, request, write_files};
use crate::points::{entry, later, said};
use crate::store::Fresh;
use crate::tools::marks;
use crate::turns::{
    ask, asked, driver, end, frames, history, history_with, open_turns, results, stream,
};
use crate::worker::{self, Job, Order, killed};
use ambit_runtime::CallOptions;
use ambit_runtime::chat::{ChatContent, ChatMessage};
use ambit_runtime::{ErrorCode, TurnRequest};
use ambit_storage::lease::OnBusy;
use ambit_storage::storage::Message;
use rustix::process::Signal;
use serde_json::{Value, json};
use std::time::Duration;

crate::cases![
    g005_thirty_results_appear_in_the_order_of_their_calls,
    g015_what_was_acknowledged_is_there_after_a_kill,
    g036_a_killed_tool_leaves_its_call_with_a_marked_result,
    g040_failing_models_and_a_crash_store_the_question_once,
    g110_a_turn_killed_while_it_speaks_ends_once,
    the_tokens_of_a_turn_are_those_of_all_its_attempts,
    g016_an_answer_that_next_has_seen_is_not_asked_for_again,
    a_whole_answer_stands_when_the_next_request_comes_before_its_turn_is_taken_up,
    g016_a_picture_that_was_put_in_words_is_not_looked_at_again,
    g016_a_search_that_has_ended_is_not_made_again,
    g016_what_lies_elsewhere_and_was_put_in_words_is_not_looked_at_again,
    g035_killed_when_the_clients_result_was_taken_on,
    g035_killed_before_the_answer_to_the_clients_result_is_stored,
];

async fn g005_thirty_results_appear_in_the_order_of_their_calls(fresh: Fresh) {
    let node = peer(&fresh, Duration::ZERO).await.runtime;
    let entries = ask(&node, request("chat", "many")).await;
    assert_eq!(end(&entries)["status"], "completed");
    let stored = history(&node, "chat").await;
    let expected: Vec<String> = (0..30).map(|at| format!("done {at}")).collect();
    let told: Vec<String> = results(&stored)
        .into_iter()
        .map(|(_, text, _)| text)
        .collect();
    assert_eq!(told, expected);
    let archived = stored
        .iter()
        .filter(|message| message.tool_result.is_some());
    assert_eq!(archived.count(), 30);
    let mut ran = marks(&fresh.marks());
    assert_ne!(ran, expected, "they finish in another order");
    ran.sort_by_key(|mark| mark["done ".len()..].parse::<u32>().unwrap());
    assert_eq!(ran, expected);
}

async fn g015_what_was_acknowledged_is_there_after_a_kill(fresh: Fresh) {
    let order = Order::new(&fresh, Job::ask("count")).dying_at("turn.created", 1);
    let request_id = killed(order).await.remove(0);
    let node = later(&fresh).await;
    // The turn that was taken on is known at once, whoever goes on with it.
    let info = node.turn(&ann(), &request_id).await.unwrap();
    assert_eq!(info.request_id, request_id);
    assert_eq!(asked(&history(&node, "chat").await), ["count"]);
    assert_eq!(
        end(&stream(&node, &request_id, 0).await)["status"],
        "completed"
    );
}

async fn g036_a_killed_tool_leaves_its_call_with_a_marked_result(fresh: Fresh) {
    let order = Order::new(&fresh, Job::ask("mix"));
    let (mut worker, said) = worker::until(order, |line| line == "waiting").await;
    worker.send(Signal::KILL);
    assert!(!worker.ended_well());
    // The next turn comes first: it closes what was left open.
    let node = later(&fresh).await;
    node.cancel(&ann(), &said[0]).await.unwrap();
    let entries = stream(&node, &said[0], 0).await;
    assert_eq!(end(&entries)["status"], "cancelled");
    let stored = history(&node, "chat").await;
    let told = results(&stored);
    let last = told.last().unwrap();
    assert_eq!(
        (told.len(), last.1.as_str(), last.2),
        (2, "cancelled", true)
    );
    let archived: Vec<&Message> = stored
        .iter()
        .filter(|message| message.tool_result.is_some())
        .collect();
    assert_eq!(archived.len(), 2, "the marked result is stored");
    let next = ask(&node, request("chat", "recall")).await;
    assert!(crate::points::said(&next).contains("cancelled"));
}

async fn g040_failing_models_and_a_crash_store_the_question_once(fresh: Fresh) {
    let order = Order::new(&fresh, Job::ask("shaky")).dying_at("turn.settled", 1);
    let request_id = killed(order).await.remove(0);
    let node = later(&fresh).await;
    let entries = stream(&node, &request_id, 0).await;
    assert_eq!(end(&entries)["status"], "completed");
    assert!(said(&entries).ends_with("At last."));
    assert_eq!(asked(&history(&node, "chat").await), ["shaky"]);
    assert_eq!(marks(&fresh.marks()), ["marked one"]);
    let next = ask(&node, request("chat", "recall")).await;
    assert_eq!(said(&next).matches("shaky").count(), 1);
}

async fn g110_a_turn_killed_while_it_speaks_ends_once(fresh: Fresh) {
    let order = Order::new(&fresh, Job::ask("recite"));
    let (mut worker, said) = worker::until(order, |line| line.contains("\"delta\":true")).await;
    worker.send(Signal::KILL);
    let more = worker.rest();
    assert!(!worker.ended_well());
    // Whoever goes on has less to say.
    write_files(fresh.folder.path(), 5);
    let node = later(&fresh).await;
    let entries = stream(&node, &said[0], 0).await;
    let got: Vec<_> = said[1..]
        .iter()
        .chain(&more)
        .filter_map(|line| entry(line))
        .collect();
    assert_eq!(entries[..got.len()], got);
    assert_eq!(end(&entries)["status"], "completed");
    let ends = frames(&entries);
    let statuses: Vec<&str> = ends
        .iter()
        .filter(|frame| frame.event_name() == Some("message_end"))
        .filter(|frame| frame.event_data().unwrap()["type"] == "text")
        .map(|frame| frame.event_data().unwrap()["status"].as_str().unwrap())
        .collect();
    // What Create said, the words that were cut off, and the whole answer.
    assert_eq!(statuses, ["completed", "partial", "completed"]);
    assert_eq!(asked(&history(&node, "chat").await), ["recite"]);
}

async fn the_tokens_of_a_turn_are_those_of_all_its_attempts(fresh: Fresh) {
    let order = Order::new(&fresh, Job::ask("count")).dying_at("turn.settled", 2);
    let request_id = killed(order).await.remove(0);
    let node = later(&fresh).await;
    let entries = stream(&node, &request_id, 0).await;
    let end = end(&entries);
    assert_eq!(end["usage"]["prompt_tokens"], 20);
    let info = node.turn(&ann(), &request_id).await.unwrap();
    let tools = info.response.unwrap()["tools"].clone();
    assert_eq!(tools.as_array().unwrap().len(), 2);
}

async fn g016_an_answer_that_next_has_seen_is_not_asked_for_again(fresh: Fresh) {
    let order = Order::new(&fresh, Job::ask_agent("slow", "once"));
    let (mut worker, lines) = worker::until(order, |line| line.contains("almost")).await;
    worker.send(Signal::KILL);
    assert!(!worker.ended_well());
    let node = later(&fresh).await;
    let entries = stream(&node, &lines[0], 0).await;
    assert_eq!(end(&entries)["status"], "completed");
    assert_eq!(end(&entries)["next"], "The only answer.");
    // The hook's second run has said nothing more, and the model nothing at all.
    assert_eq!(said(&entries), "The only answer.|almost");
    let stored = history_with(&node, "slow", "chat").await;
    let texts: Vec<String> = stored.iter().map(Message::text).collect();
    assert_eq!(texts, ["once", "The only answer.", "almost"]);
    let info = node.turn(&ann(), &lines[0]).await.unwrap();
    assert_eq!(
        info.response.unwrap()["completion"]["content"],
        "The only answer."
    );
}

async fn a_whole_answer_stands_when_the_next_request_comes_before_its_turn_is_taken_up(
    fresh: Fresh,
) {
    let node = peer(&fresh, Duration::ZERO).await.runtime;
    let order = Order::new(&fresh, Job::ask_agent("slow", "once"));
    let (mut worker, lines) = worker::until(order, |line| line.contains("almost")).await;
    worker.send(Signal::KILL);
    assert!(!worker.ended_well());
    let next = TurnRequest {
        agent: "slow".to_owned(),
        on_busy: OnBusy::Queue,
        ..request("chat", "recall")
    };
    assert_eq!(end(&ask(&node, next).await)["status"], "completed");
    let entries = stream(&node, &lines[0], 0).await;
    let end = end(&entries);
    assert_eq!(
        (&end["status"], &end["next"], &end["finish_reason"]),
        (&json!("completed"), &json!(null), &json!("stop"))
    );
    assert_eq!(said(&entries), "The only answer.|almost");
    let response = node.turn(&ann(), &lines[0]).await.unwrap().response;
    let response = response.unwrap();
    assert_eq!(response["completion"]["content"], "The only answer.");
    assert_eq!(response["assistant_id"], "slow");
    let stored = history_with(&node, "slow", "chat").await;
    let texts: Vec<String> = stored.iter().map(Message::text).collect();
    assert_eq!(
        texts[..4],
        ["once", "The only answer.", "almost", "recall"].map(str::to_owned)
    );
    assert_eq!(open_turns(&driver(&node)).await.len(), 0);
}

async fn g016_a_picture_that_was_put_in_words_is_not_looked_at_again(fresh: Fresh) {
    looked_at(fresh, "data:image/png;base64,AAAA").await;
}

async fn g016_what_lies_elsewhere_and_was_put_in_words_is_not_looked_at_again(fresh: Fresh) {
    looked_at(fresh, "https://far.test/live.png").await;
}

async fn g016_a_search_that_has_ended_is_not_made_again(fresh: Fresh) {
    let asking = TurnRequest {
        agent: "finder".to_owned(),
        ..request("chat", "What is it?")
    };
    let job = Job::Ask(Box::new(asking));
    let request_id = killed(Order::new(&fresh, job).dying_at("turn.searched", 1)).await;
    let node = later(&fresh).await;
    let entries = stream(&node, &request_id[0], 0).await;
    assert_eq!(end(&entries)["status"], "completed");
    assert_eq!(marks(&fresh.marks()), ["a cat"]);
    // Those who follow the turn were told once.
    let told = entries
        .iter()
        .filter(|entry| entry.text.contains("\"references\""));
    assert_eq!(told.count(), 1);
    let open = node.references(&ann(), &request_id[0]).await.unwrap();
    assert_eq!(open.references.len(), 1);
}

/// A turn is killed behind the words for a picture.
async fn looked_at(fresh: Fresh, url: &str) {
    let image = json!({"type": "image_url", "image_url": {"url": url}});
    let asking = TurnRequest {
        agent: "blind".to_owned(),
        messages: vec![ChatMessage::user(ChatContent::Parts(vec![image.into()]))],
        ..request("chat", "")
    };
    let job = Job::Ask(Box::new(asking));
    let request_id = killed(Order::new(&fresh, job).dying_at("turn.worded", 1)).await;
    let node = later(&fresh).await;
    let entries = stream(&node, &request_id[0], 0).await;
    assert_eq!(end(&entries)["status"], "completed");
    assert_eq!(said(&entries), "{\"said\":\"a cat\"}");
    // A later turn has the words too.
    let again = TurnRequest {
        agent: "blind".to_owned(),
        ..request("chat", "again")
    };
    assert_eq!(end(&ask(&node, again).await)["status"], "completed");
    assert_eq!(marks(&fresh.marks()), ["a cat"]);
}

/// How the first message ended that a stored one was shown as.
fn shown_status(stored: &Message) -> String {
    let own = stored.extras.get("status");
    let of_answer = || stored.extras.get("shown")?.get(0)?.get("status");
    let status = own.or_else(of_answer).and_then(Value::as_str);
    let status = status.unwrap_or_else(|| panic!("{stored:?} has no status"));
    status.to_owned()
}

/// A turn has ended with a call of the client's tool, and the one that its result began is killed at this point.
async fn continued(fresh: Fresh, point: &str) {
    let node = peer(&fresh, Duration::ZERO).await.runtime;
    let tool = json!({"type": "function", "function": {"name": "locate", "parameters": {"type": "object"}}});
    let asking = TurnRequest {
        call: CallOptions {
            tools: vec![serde_json::from_value(tool).unwrap()],
            ..CallOptions::default()
        },
        ..request("chat", "locate")
    };
    let first = ask(&node, asking.clone()).await;
    assert_eq!(end(&first)["finish_reason"], "tool_calls");
    let result = TurnRequest {
        messages: vec![ChatMessage::result("k1", "here")],
        ..asking
    };
    let order = Order::new(&fresh, Job::Ask(Box::new(result.clone()))).dying_at(point, 1);
    killed(order).await;
    let open = open_turns(&driver(&node)).await.remove(0);
    let node = later(&fresh).await;
    let entries = stream(&node, &open.request_id, 0).await;
    assert_eq!(end(&entries)["status"], "completed");
    let stored = history(&node, "chat").await;
    assert_eq!(asked(&stored), ["locate"]);
    let settled = [("k1".to_owned(), "here".to_owned(), false)];
    assert_eq!(results(&stored), settled);
    // What the model had said when it was cut off is marked as such.
    let is_whole = |it: &&Message| it.text() == "Found here." && shown_status(it) != "partial";
    assert_eq!(stored.iter().filter(is_whole).count(), 1);
    // The client has seen nothing of it, and sends the result again.
    let again = node.start(result).await.err().unwrap();
    assert_eq!(again.code, ErrorCode::InvalidArgument, "{again}");
    assert_eq!(history(&node, "chat").await, stored);
    assert_eq!(open_turns(&driver(&node)).await.len(), 0);
}

async fn g035_killed_when_the_clients_result_was_taken_on(fresh: Fresh) {
    continued(fresh, "turn.begun").await;
}

async fn g035_killed_before_the_answer_to_the_clients_result_is_stored(fresh: Fresh) {
    continued(fresh, "turn.before_close").await;
}
