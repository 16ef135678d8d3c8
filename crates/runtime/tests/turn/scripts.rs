//! Hooks that fail, loop or take too much, and what others notice of it.

use crate::place::{agent, ask, borrowed, end, named, place, request, shown, traced};
use serde_json::{Value, json};
use std::time::Duration;

async fn failing(hooks: &str, wall: &str) -> (Value, String) {
    let limits = json!({"cpu": "300ms", "wall": wall, "heap": "8MiB"});
    let app = json!({"name": "Test", "version": "1.0.0", "ambit": {"limits": limits}});
    let mut files = agent(&json!({}), hooks);
    files.push(("app.yao".to_owned(), app.to_string()));
    let place = place(&borrowed(&files)).await;
    let frames = ask(&place, request("hello", "hi")).await;
    let trace = traced(&place, &frames).await;
    (end(&frames), trace)
}

/// A hook, the code of its failure, a part of the message, and whether the place is in the message or in the trace alone.
const FAILURES: [(&str, &str, &str, bool); 8] = [
    (
        "export function Create(ctx) {\n  return ctx.nothing.here;\n}",
        "hook_error",
        "index.ts:2",
        true,
    ),
    (
        "export function Create() {\n\n  return missing();\n}",
        "hook_error",
        "index.ts:3",
        true,
    ),
    (
        "export function Create() {\n  throw new Error('my words');\n}",
        "hook_error",
        "my words",
        false,
    ),
    (
        "export function Create() {\n  throw new Exception('gone', 'shop_closed');\n}",
        "shop_closed",
        "gone",
        false,
    ),
    (
        "export async function Next() {\n  return Promise.reject(new Error('late'));\n}",
        "hook_error",
        "late",
        false,
    ),
    (
        "export const Create = 7;",
        "hook_error",
        "Create is not a function",
        false,
    ),
    (
        "export function Next() { return new Promise(() => {}); }",
        "hook_error",
        "Next returned a promise that never settles",
        false,
    ),
    (
        "export function Create() { return [1]; }",
        "hook_error",
        "Create must return an object or null",
        false,
    ),
];

#[tokio::test]
async fn g118_failures_are_reported_with_file_and_line() {
    let file = "assistants/hello/src/index.ts";
    for (hooks, code, part, is_in_message) in FAILURES {
        let (ended, trace) = failing(hooks, "60s").await;
        assert_eq!(
            (&ended["status"], &ended["code"]),
            (&json!("error"), &json!(code)),
            "{hooks}"
        );
        let message = ended["error"].as_str().unwrap();
        assert!(message.contains(part), "{hooks}: {message}");
        assert_eq!(message.contains(file), is_in_message, "{hooks}: {message}");
        let is_thrown =
            hooks.contains("throw") || hooks.contains("missing") || hooks.contains("nothing");
        assert!(
            !is_thrown
                || trace.contains(&format!("{file}:2"))
                || trace.contains(&format!("{file}:3")),
            "{trace}"
        );
    }
}

#[tokio::test]
async fn g116_g117_a_hook_over_its_limits_fails_its_turn_by_name_and_next_is_not_called() {
    let cases = [
        (
            "while (true) {}",
            "script_cpu_limit",
            "Create: script used more than",
        ),
        (
            "time.Sleep(60000);",
            "script_timeout",
            "Create: script ran longer than",
        ),
        (
            "const all = []; while (true) all.push('x'.repeat(1000) + all.length);",
            "script_out_of_memory",
            "Create: script used more than",
        ),
    ];
    for (body, code, part) in cases {
        let wall = if code == "script_timeout" {
            "500ms"
        } else {
            "60s"
        };
        let hooks = format!(
            "export function Create() {{ {body} }} export function Next() {{ return {{ data: 'next ran' }}; }}"
        );
        let (ended, _) = failing(&hooks, wall).await;
        assert_eq!(
            (&ended["code"], &ended["next"]),
            (&json!(code), &Value::Null),
            "{ended}"
        );
        let message = ended["error"].as_str().unwrap();
        assert!(
            message.contains("assistants/hello/src/index.ts") && message.contains(part),
            "{message}"
        );
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn g116_other_turns_go_on_while_scripts_loop() {
    let mut files = named(
        "loops",
        &json!({}),
        "export function Create() { while (true) {} }",
    );
    files.extend(named(
        "works",
        &json!({}),
        "export function Create(ctx) { ctx.Send('here'); }",
    ));
    let place = place(&borrowed(&files)).await;
    let mut looping = Vec::new();
    for at in 0..4 {
        let mut asked = request("loops", "hi");
        asked.chat = Some(format!("loop-{at}"));
        looping.push(place.runtime.start(asked).await.unwrap());
    }
    for at in 0..10 {
        let mut asked = request("works", "hi");
        asked.chat = Some(format!("work-{at}"));
        let frames = ask(&place, asked).await;
        assert_eq!(shown(&frames)[0].1, "here");
    }
    // They have not come to their end meanwhile: the others did not wait for that.
    for turn in &looping {
        let id = &turn.request_id;
        let info = place.runtime.turn(&crate::place::ann(), id).await.unwrap();
        assert_eq!(info.ended_at, None);
        place
            .runtime
            .cancel(&crate::place::ann(), id)
            .await
            .unwrap();
    }
    for turn in looping {
        assert_eq!(
            end(&crate::place::frames(turn).await)["status"],
            "cancelled"
        );
    }
}

#[tokio::test]
async fn g120_what_one_request_changes_is_invisible_to_the_next() {
    let hooks = "
        let count = 0;
        export function Create(ctx) {
            count += 1;
            globalThis.left = (globalThis.left ?? 0) + 1;
            Array.prototype.mine = (Array.prototype.mine ?? 0) + 1;
            ctx.metadata.x = 1; ctx.locale = 'xx'; ctx.authorized.user_id = 'bob'; ctx.identity.user_id = 'bob';
            ctx.memory.context.Set('own', (ctx.memory.context.Get('own') ?? 0) + 1);
            return { data: 1, locale: 'fr-fr', metadata: { seen: [count, left, [].mine, ctx.memory.context.Get('own')] } };
        }
        export function Next(ctx) {
            return { data: { ...ctx.metadata, count, left: globalThis.left ?? null, mine: [].mine ?? null,
                who: ctx.authorized.user_id, whose: ctx.identity.user_id, user: Authorized().user_id } };
        }";
    let place = place(&borrowed(&agent(&json!({}), hooks))).await;
    for _ in 0..3 {
        let next = end(&ask(&place, request("hello", "hi")).await)["next"].clone();
        let expected = json!({
            "seen": [1, 1, 1, 1], "count": 0, "left": null, "mine": null, "who": "ann", "whose": "ann", "user": "ann",
        });
        assert_eq!(next, expected);
    }
}

#[tokio::test]
async fn g105_the_memory_of_a_request_ends_with_it_however_it_ends() {
    let hooks = "export function Create(ctx, messages) {
        const before = ctx.memory.context.Keys();
        ctx.memory.context.Set('k', 'v'.repeat(1000));
        ctx.memory.chat.Set('before', (ctx.memory.chat.Get('before') ?? []).concat(before));
        if (messages[messages.length - 1].content === 'fail') throw new Error('no');
    }
    export function Next(ctx) { return { data: ctx.memory.chat.Get('before') }; }";
    let place = place(&borrowed(&agent(&json!({}), hooks))).await;
    for text in ["hi", "fail", "fail"] {
        ask(&place, request("hello", text)).await;
    }
    assert_eq!(
        end(&ask(&place, request("hello", "hi")).await)["next"],
        json!([])
    );
}

#[tokio::test]
async fn an_app_says_how_long_values_of_memory_live() {
    let hooks = "export function Create(ctx, messages) {
        if (messages[messages.length - 1].content !== 'set') return;
        for (const memory of [ctx.memory.user, ctx.memory.chat]) { memory.Set('k', 1); memory.Set('for ever', 1, 0); }
    }
    export function Next(ctx) { return { data: [...ctx.memory.user.Keys(), ...ctx.memory.chat.Keys()] }; }";
    let memory = json!({"default_ttl": {"user": "1h", "chat": "1h"}});
    let app = json!({"name": "Test", "version": "1.0.0", "ambit": {"memory": memory}});
    let mut files = agent(&json!({}), hooks);
    files.push(("app.yao".to_owned(), app.to_string()));
    let place = place(&borrowed(&files)).await;
    let next = end(&ask(&place, request("hello", "set")).await)["next"].clone();
    assert_eq!(next, json!(["for ever", "k", "for ever", "k"]));
    let clock = &place.runtime.stores().options().clock;
    clock.advance(Duration::from_secs(3_601));
    let next = end(&ask(&place, request("hello", "look")).await)["next"].clone();
    assert_eq!(next, json!(["for ever", "for ever"]));
}
