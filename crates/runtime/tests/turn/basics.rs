//! What a turn does with prompts, hooks and a model.

use crate::place::{ask, end, place, request, shown};
use serde_json::json;

const PACKAGE: (&str, &str) = (
    "assistants/hello/package.yao",
    r#"{"name": "Hello", "connector": "echo"}"#,
);
const PROMPTS: (&str, &str) = (
    "assistants/hello/prompts.yml",
    "- role: system\n  content: Be kind.\n",
);

#[tokio::test]
async fn a_model_answers_and_the_answer_is_remembered() {
    let place = place(&[PACKAGE, PROMPTS]).await;
    let frames = ask(&place, request("hello", "hi there")).await;
    assert_eq!(
        shown(&frames),
        [("text".to_owned(), json!("echo: hi there"))]
    );
    assert_eq!(end(&frames)["status"], "completed");
    let ambit = place.runtime.contexts(&crate::place::ann());
    let agent = ambit.agent("hello").unwrap();
    let session = agent.for_user_id("ann").chat("chat-1").await.unwrap();
    let texts: Vec<String> = session
        .history()
        .messages()
        .await
        .unwrap()
        .iter()
        .map(|m| m.text())
        .collect();
    assert_eq!(texts, ["hi there", "echo: hi there"]);
}

#[tokio::test]
async fn hooks_see_the_turn_and_shape_it() {
    let hooks = r#"
        export function Create(ctx, messages) {
            ctx.memory.context.Set("asked", messages[messages.length - 1].content);
            const id = ctx.SendStream("Let me think");
            ctx.Append(id, " ...");
            ctx.End(id);
            return { temperature: 0.5 };
        }
        export function Next(ctx, payload) {
            return { data: { asked: ctx.memory.context.Get("asked"), said: payload.completion.content } };
        }
    "#;
    let place = place(&[PACKAGE, PROMPTS, ("assistants/hello/src/index.ts", hooks)]).await;
    let frames = ask(&place, request("hello", "hi")).await;
    let expected = [
        ("text".to_owned(), json!("Let me think ...")),
        ("text".to_owned(), json!("echo: hi")),
    ];
    assert_eq!(shown(&frames), expected);
    assert_eq!(
        end(&frames)["next"],
        json!({"asked": "hi", "said": "echo: hi"})
    );
}
