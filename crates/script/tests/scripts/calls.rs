//! Calls to the host.

use crate::pets::{Pets, pets, surface};
use crate::support::{ENTRY, hosted};
use ambit_script::Error;
use serde_json::json;

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
async fn a_method_may_return_the_object_that_it_was_called_on() {
    let text = "export function Create(ctx: any) {
        const { user, team } = ctx.memory;
        return [user.Same() === user, team.Same().Same() === team, user.Same() === team];
    }";
    assert_eq!(pets(text).await, json!([true, true, false]));
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
async fn functions_given_to_the_host_run_one_at_a_time_in_the_script() {
    let text = "export function Create() {
        const seen: unknown[] = [];
        const answers = each([1, 2, 3], { onChunk: (item: number, path: string) => { seen.push([item, path]); return item === 2 ? echo(item).arguments : item * 10; } });
        return [answers, seen]; }";
    let seen = json!([[1, "1.onChunk"], [2, "1.onChunk"], [3, "1.onChunk"]]);
    assert_eq!(pets(text).await, json!([[10, [2], 30], seen]));
}

#[tokio::test]
async fn what_comes_while_a_function_of_the_call_waits_is_heard_behind_it() {
    let text = "export function Create() {
        return eachAtOnce([1, 2, 3], { onChunk: (item: number) => late(item).arguments[0] }); }";
    assert_eq!(pets(text).await, json!([1, 2, 3]));
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
async fn a_host_that_panics_fails_only_its_call() {
    let text = "export function Create() { const seen = [];
        for (const f of [panic, panicLate]) { try { f(); } catch (e: any) { seen.push(e.code); } }
        return seen; }";
    assert_eq!(pets(text).await, json!(["internal", "internal"]));
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
    let cyclic = "value is not JSON: it is cyclic or nested more than 100 deep";
    let expected = json!(["value is not JSON: it holds a BigInt", 2, cyclic]);
    assert_eq!(pets(text).await, expected);
}

#[tokio::test]
async fn a_stack_tells_no_function_of_the_host_or_the_engine() {
    let value = pets(
        "export function Create(ctx: any) {
            const found: any[] = [], names: any[] = [];
            (Error as any).prepareStackTrace = (_: any, sites: any[]) => {
                for (const site of sites) found.push(site.getFunction()), names.push(site.getFunctionName());
                return '';
            };
            const within = { get name() { new Error('in an argument'); return 'Rex'; } };
            ctx.memory.user.Set('k', within);
            return [found.length > 2, found.every(each => each === undefined), names.includes('Create')];
        }",
    )
    .await;
    assert_eq!(value, json!([true, true, true]));
}
