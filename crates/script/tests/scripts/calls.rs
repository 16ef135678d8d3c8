//! Calls to the host.

#![expect(
    clippy::unwrap_used,
    reason = "a test that cannot be set up has failed"
)]

use crate::support::{ENTRY, create, engine_of, hosted, message, program};
use ambit_script::{Call, Class, Error, Host, HostError, Method, Object, Run, Surface, Value};
use async_trait::async_trait;
use serde_json::{Value as Json, json};
use std::sync::Arc;
use tokio::sync::{Notify, Semaphore};

/// A host that shows what can be done.
struct Pets {
    /// How many have been let go that wait.
    gate: Semaphore,
}

impl Pets {
    fn new() -> Self {
        let gate = Semaphore::new(0);
        Self { gate }
    }
}

fn surface() -> Surface {
    let class = |name: &str, methods: &[&str]| Class {
        name: name.to_owned(),
        methods: methods.iter().map(|name| Method::new(name)).collect(),
    };
    let globals = [
        "echo",
        "fail",
        "failAsException",
        "late",
        "panic",
        "panicLate",
        "each",
        "Store",
        "http.Get",
        "gone",
        "absent",
    ]
    .map(Method::new);
    let promised =
        ["later", "laterFail", "eachLater", "waits", "lets", "never"].map(Method::promise);
    Surface {
        classes: vec![
            class("Context", &["Send"]),
            class("Memory", &["Get", "Set"]),
        ],
        globals: globals
            .into_iter()
            .chain(promised)
            .chain([Method::new("lenient").lenient()])
            .collect(),
        unavailable: vec!["FS".to_owned()],
    }
}

fn memory(owner: &str) -> Value {
    Value::Object(Object {
        class: "Memory".to_owned(),
        handle: json!(owner),
        members: vec![("space".to_owned(), json!(owner).into())],
    })
}

fn ctx() -> Value {
    let spaces = ["user", "team"].map(|owner| (owner.to_owned(), memory(owner)));
    Value::Object(Object {
        class: "Context".to_owned(),
        handle: json!({"turn": 7}),
        members: vec![
            ("chat_id".to_owned(), json!("c1").into()),
            ("memory".to_owned(), Value::Map(spaces.into())),
        ],
    })
}

#[async_trait]
impl Host for Pets {
    async fn call(&self, call: Call) -> Result<Value, HostError> {
        let first = call.arguments.first().cloned().unwrap_or_default();
        match call.method.as_str() {
            "late" | "later" => tokio::task::yield_now().await,
            "waits" => self.gate.acquire().await.unwrap().forget(),
            "lets" => self.gate.add_permits(1),
            "fail" | "laterFail" => {
                let mut error = HostError::new("not_found", "no such pet");
                error.status = Some(404.0);
                return Err(error);
            }
            "failAsException" => {
                return Err(HostError {
                    message: "closed".to_owned(),
                    status: Some(423.0),
                    name: Some("Exception"),
                    ..HostError::default()
                });
            }
            "never" => std::future::pending().await,
            "panic" => panic!("a bug of the host"),
            "panicLate" => {
                tokio::task::yield_now().await;
                panic!("a late bug of the host")
            }
            "each" | "eachLater" => return each(&call).await,
            "Store" => return Ok(memory(first.as_str().unwrap())),
            "gone" => return Ok(Value::Undefined),
            "absent" => return Ok(json!(call.undefined).into()),
            _ => {}
        }
        Ok(Value::Json(
            json!({"class": call.class, "handle": call.handle, "method": call.method, "arguments": call.arguments}),
        ))
    }
}

/// Calls the function it was given for each item.
async fn each(call: &Call) -> Result<Value, HostError> {
    let mut answers = Vec::new();
    for item in call.arguments[0].as_array().unwrap() {
        tokio::task::yield_now().await;
        match call.callbacks[0]
            .call(vec![item.clone(), json!(call.callbacks[0].path)])
            .await
        {
            Ok(answer) => answers.push(answer),
            Err(thrown) if thrown.message == "carry on" => answers.push(json!(thrown.to_string())),
            Err(_) => {
                return Err(HostError {
                    from_callback: true,
                    ..HostError::default()
                });
            }
        }
    }
    Ok(Json::Array(answers).into())
}

async fn pets(text: &str) -> Json {
    hosted(surface(), Pets::new(), text, vec![ctx()])
        .await
        .unwrap()
        .value
        .unwrap_or_default()
}

#[tokio::test]
async fn calls_return_their_value_and_block() {
    let text =
        "export function Create() { const a = late(5), b = http.Get('x', { a: 1 }, undefined);
        return [a.method, b, typeof gone(), echo().arguments]; }";
    let value = pets(text).await;
    let get = json!({"class": "", "handle": null, "method": "http.Get", "arguments": ["x", {"a": 1}, null]});
    assert_eq!(value, json!(["late", get, "undefined", []]));
}

#[tokio::test]
async fn objects_of_the_host_have_members_and_methods() {
    let text = "export function Create(ctx: any) {
        const own = ctx.memory.user.Get('k'), other = Store('s').Set('a', 1), { Get } = ctx.memory.team;
        let detached; try { Get('x'); } catch (e) { detached = e.message; }
        const plain = Object.getOwnPropertyNames(ctx).concat(Object.getOwnPropertySymbols(ctx) as any);
        return { own, other, sent: ctx.Send('hi').handle, chat: ctx.chat_id, space: ctx.memory.team.space, detached, plain, copy: { ...ctx } };
    }";
    let expected = json!({
        "own": {"class": "Memory", "handle": "user", "method": "Get", "arguments": ["k"]},
        "other": {"class": "Memory", "handle": "s", "method": "Set", "arguments": ["a", 1]},
        "sent": {"turn": 7}, "chat": "c1", "space": "team",
        "detached": "Get must be called on the object it belongs to",
        "plain": ["chat_id", "memory"],
        "copy": {"chat_id": "c1", "memory": {"user": {"space": "user"}, "team": {"space": "team"}}},
    });
    assert_eq!(pets(text).await, expected);
}

#[tokio::test]
async fn a_method_is_one_function_of_all_objects_of_its_class() {
    let text = "export function Create(ctx: any) {
        const { user, team } = ctx.memory, has = 'Get' in user;
        return [has, user.Get === team.Get, user.Get.name, 'Nothing' in user, typeof user.Nothing, typeof user['\\ud800'],
            typeof user.toString, Object.keys(user), typeof ctx.Get];
    }";
    let expected = json!([
        true,
        true,
        "Get",
        false,
        "undefined",
        "undefined",
        "function",
        ["space"],
        "undefined"
    ]);
    assert_eq!(pets(text).await, expected);
}

#[tokio::test]
async fn a_handle_cannot_be_forged_or_changed() {
    let text = "export function Create(ctx: any) {
        const { user, team } = ctx.memory, method = user.Get, tried: string[] = [];
        for (const target of [{ ...user }, Object.create(user), Object.setPrototypeOf({ space: 'team' }, Object.getPrototypeOf(user)), ctx, new Proxy(user, {})]) {
            try { tried.push(method.call(target, 'k').handle); } catch (e) { tried.push((e as Error).name); }
        }
        user.space = 'team'; user.handle = 'team';
        return [tried, user.Get('k').handle, method.call(team, 'k').handle];
    }";
    let errors = json!([
        "TypeError",
        "TypeError",
        "TypeError",
        "TypeError",
        "TypeError"
    ]);
    assert_eq!(pets(text).await, json!([errors, "user", "team"]));
}

#[tokio::test]
async fn errors_of_the_host_are_errors_with_code_and_status() {
    let text = "export async function Create() {
        const seen = [];
        for (const f of [fail, laterFail]) { try { await f(); } catch (e: any) { seen.push([e instanceof Error, e.name, e.message, e.code, e.status]); } }
        return seen; }";
    let error = json!([true, "Error", "no such pet", "not_found", 404]);
    assert_eq!(pets(text).await, json!([error, error]));
    let text = "export function Create() { try { failAsException(); } catch (e: any) { return [e instanceof Error, e.name, e.message, e.code, e.status]; } }";
    let error = json!([true, "Exception", "closed", 423, 423]);
    assert_eq!(pets(text).await, error);
}

#[tokio::test]
async fn a_host_error_that_is_not_caught_keeps_its_code_and_gets_a_place() {
    let text = "export function Create() {\n  return fail();\n}";
    let Err(Error::Thrown(thrown)) = hosted(surface(), Pets::new(), text, vec![]).await else {
        panic!("it throws");
    };
    assert_eq!(
        (thrown.code.as_deref(), thrown.status),
        (Some("not_found"), Some(404.0))
    );
    assert_eq!(
        thrown.to_string(),
        format!("Error: no such pet ({ENTRY}:2:10)")
    );
}

#[tokio::test]
async fn promised_calls_run_side_by_side_and_do_not_block() {
    let text = "export async function Create() {
        const order: unknown[] = [];
        const slow = waits().then(() => order.push('slow'));
        order.push('first'); late(1); order.push('second');
        await later(1); order.push('fast'); await lets(); await slow; return order; }";
    assert_eq!(pets(text).await, json!(["first", "second", "fast", "slow"]));
}

#[tokio::test]
async fn functions_given_to_the_host_run_one_at_a_time_in_the_script() {
    let text = "export function Create() {
        const seen: unknown[] = [];
        const answers = each([1, 2, 3], { onChunk: (item: number, path: string) => { seen.push([item, path]); return item === 2 ? echo(item).arguments : item * 10; } });
        return [answers, seen]; }";
    let seen = json!([[1, "1.onChunk"], [2, "1.onChunk"], [3, "1.onChunk"]]);
    assert_eq!(pets(text).await, json!([[10, [2], 30], seen]));
}

#[tokio::test]
async fn what_a_callback_throws_reaches_the_host_and_then_the_caller() {
    let text = "export function Create() {
        const mine = new TypeError('mine');
        const soft = each([1], () => { throw new Error('carry on'); });
        try { each([1, 2], () => { throw mine; }); } catch (e) { return [soft, e === mine]; } }";
    let soft = json!([format!("Error: carry on ({ENTRY}:3:50)")]);
    assert_eq!(pets(text).await, json!([soft, true]));
}

#[tokio::test]
async fn functions_given_to_a_promised_call_run_while_it_is_under_way() {
    let text = "export async function Create() {
        const seen: unknown[] = [];
        const once = (items: number[]) => eachLater(items, { onChunk: (item: number) => { seen.push(item); return item === 2 ? echo(item).arguments : item * 10; } });
        const both = [once([1, 2]), once([3])];
        seen.push('first'); late(1); seen.push('second');
        return [await Promise.all(both), seen.slice(0, 2), seen.slice(2).sort()]; }";
    let expected = json!([[[10, [2]], [30]], ["first", "second"], [1, 2, 3]]);
    assert_eq!(pets(text).await, expected);
}

#[tokio::test]
async fn what_a_callback_of_a_promised_call_throws_rejects_its_promise() {
    let text = "export async function Create() {
        const mine = new TypeError('mine');
        const soft = await eachLater([1], () => { throw new Error('carry on'); });
        try { await eachLater([1, 2], () => { throw mine; }); } catch (e) { return [soft, e === mine]; } }";
    let soft = json!([format!("Error: carry on ({ENTRY}:3:61)")]);
    assert_eq!(pets(text).await, json!([soft, true]));
}

#[tokio::test]
async fn a_host_that_panics_fails_only_its_call() {
    let text = "export function Create() { const seen = [];
        for (const f of [panic, panicLate]) { try { f(); } catch (e: any) { seen.push(e.code); } }
        return seen; }";
    assert_eq!(pets(text).await, json!(["internal", "internal"]));
}

#[tokio::test]
async fn work_left_over_is_dropped_and_counted() {
    let text = "export function Create() { never(); setTimeout(() => {}, 10_000); return 1; }";
    let outcome = hosted(surface(), Pets::new(), text, vec![]).await.unwrap();
    assert_eq!((outcome.value, outcome.dropped), (Some(json!(1)), 2));
}

#[tokio::test]
async fn a_promise_that_nothing_can_settle_fails_the_run() {
    let text = "export async function Create() { await new Promise(() => {}); }";
    let error = message(hosted(surface(), Pets::new(), text, vec![]).await);
    assert_eq!(error, "Create returned a promise that never settles");
}

#[tokio::test]
async fn g013_two_interleaved_runs_on_one_engine_see_their_own_host() {
    struct Named(&'static str);
    #[async_trait]
    impl Host for Named {
        async fn call(&self, _: Call) -> Result<Value, HostError> {
            tokio::task::yield_now().await;
            Ok(json!(self.0).into())
        }
    }
    let engine = engine_of(surface());
    let program = program(
        &engine,
        "export function Create() { const seen = new Set(); for (let i = 0; i < 200; i++) seen.add(echo()); return [...seen]; }",
    );
    let runs = ["a", "b", "c", "d"].map(|name| {
        let host = Arc::new(Named(name));
        engine.run(Run {
            host,
            ..create(&program)
        })
    });
    let values = futures::future::join_all(runs).await;
    let values: Vec<_> = values
        .into_iter()
        .map(|outcome| outcome.unwrap().value.unwrap())
        .collect();
    assert_eq!(
        values,
        [json!(["a"]), json!(["b"]), json!(["c"]), json!(["d"])]
    );
}

#[tokio::test]
async fn cancelling_a_run_cancels_its_host_call_and_its_code() {
    struct Watched(Arc<Notify>, Arc<Notify>);
    struct Dropped(Arc<Notify>);
    impl Drop for Dropped {
        fn drop(&mut self) {
            self.0.notify_one();
        }
    }
    #[async_trait]
    impl Host for Watched {
        async fn call(&self, call: Call) -> Result<Value, HostError> {
            assert_eq!(
                call.method, "never",
                "nothing runs after the call that was cancelled"
            );
            let _dropped = Dropped(Arc::clone(&self.1));
            self.0.notify_one();
            std::future::pending().await
        }
    }
    let (called, dropped) = (Arc::new(Notify::new()), Arc::new(Notify::new()));
    let text = "export async function Create() { for (;;) { try { await never(); } catch {} finally { echo(); } } }";
    let host = Watched(Arc::clone(&called), Arc::clone(&dropped));
    let run = hosted(surface(), host, text, vec![]);
    tokio::select! {
        _ = run => panic!("it cannot end"),
        () = called.notified() => {}
    }
    dropped.notified().await;
}

#[tokio::test]
async fn a_host_tells_undefined_from_null() {
    let found =
        pets("export const Create = () => [absent(), absent(1, undefined, null, NaN, undefined)];")
            .await;
    assert_eq!(found, json!([[], [1, 4]]));
}

#[tokio::test]
async fn a_lenient_method_takes_what_is_no_json() {
    let text = "export const Create = () => { const a = {}; a.a = a; return lenient(1n, 2, a).arguments; }";
    let cyclic = "value is not JSON: it is cyclic or nested more than 200 deep";
    let expected = json!(["value is not JSON: it holds a BigInt", 2, cyclic]);
    assert_eq!(pets(text).await, expected);
}
