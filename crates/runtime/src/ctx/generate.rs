//! What the tables write: the TypeScript declarations of `@ambit/runtime` and the reference page.

use super::{CLASSES, GLOBALS, ScriptClass, ScriptMethod, UNAVAILABLE};
use std::collections::BTreeMap;
use std::fmt::Write;

/// The plain data that scripts exchange with the host.
const SHAPES: &str = include_str!("shapes.d.ts");

const EXCEPTION: &str = "\
/** An error with a code: a number is like a status of HTTP, a text is passed through. With or without `new`. */
export interface Exception extends Error {
  code?: string | number;
  status?: number;
}
";

/// `types/index.d.ts`.
pub fn declarations() -> String {
    let mut text = String::from("// Written by `cargo xtask generate`. Do not edit.\n\n");
    text.push_str(SHAPES);
    for class in CLASSES {
        text.push('\n');
        text.push_str(&interface(class));
    }
    text.push('\n');
    text.push_str(EXCEPTION);
    text.push('\n');
    text.push_str(&values("export declare ", ""));
    text.push_str("\ndeclare global {\n");
    text.push_str(&values("", "  "));
    text.push_str(AMBIENT);
    text.push_str("}\n");
    text
}

const AMBIENT: &str = "
  /** Names under which types are known without an import. */
  namespace agent {
    type Context = import(\"./index\").Context;
    type Message = import(\"./index\").Message;
    type Payload = import(\"./index\").NextHookPayload;
    type Create = import(\"./index\").HookCreateResponse;
    type Next = import(\"./index\").NextHookResponse;
  }
  namespace YaoAgent {
    type Context = import(\"./index\").Context;
    type Message = import(\"./index\").Message;
    type NextHookPayload = import(\"./index\").NextHookPayload;
    type HookCreateResponse = import(\"./index\").HookCreateResponse;
    type NextHookResponse = import(\"./index\").NextHookResponse;
  }
";

fn interface(class: &ScriptClass) -> String {
    let mut text = format!("/** {} */\nexport interface {} {{\n", class.doc, class.name);
    for (member, doc) in class.members {
        line(&mut text, format_args!("  /** {doc} */\n  {member};\n"));
    }
    for method in methods(class) {
        let (doc, signature) = (method.doc, method.signature);
        line(&mut text, format_args!("  /** {doc} */\n  {signature};\n"));
    }
    text.push_str("}\n");
    text
}

fn methods(class: &ScriptClass) -> impl Iterator<Item = &'static ScriptMethod> {
    class.methods.iter().flat_map(|methods| methods.iter())
}

/// Global values, each on its own line. Members of one global object stand together.
fn values(before: &str, indent: &str) -> String {
    let mut text = String::new();
    let mut objects: BTreeMap<&str, Vec<(&str, &str)>> = BTreeMap::new();
    for method in GLOBALS.iter().flat_map(|methods| methods.iter()) {
        match method.signature.split_once('.') {
            Some((object, rest)) if !object.contains('(') => {
                objects.entry(object).or_default().push((rest, method.doc));
            }
            _ => {
                let (doc, kind) = (method.doc, global(method.signature));
                line(
                    &mut text,
                    format_args!("{indent}/** {doc} */\n{indent}{before}{kind};\n"),
                );
            }
        }
    }
    for (object, methods) in objects {
        line(
            &mut text,
            format_args!("{indent}{before}const {object}: {{\n"),
        );
        for (signature, doc) in methods {
            line(
                &mut text,
                format_args!("{indent}  /** {doc} */\n{indent}  {signature};\n"),
            );
        }
        line(&mut text, format_args!("{indent}}};\n"));
    }
    let exception = "(message?: string, code?: string | number): Exception";
    line(
        &mut text,
        format_args!(
            "{indent}{before}const Exception: {{ new {exception}; {exception}; readonly prototype: Exception }};\n"
        ),
    );
    text
}

/// What is called with `new` is declared so.
fn global(signature: &str) -> String {
    match signature.strip_prefix("Context(") {
        Some(rest) => format!("const Context: {{ new ({rest} }}"),
        None => format!("function {signature}"),
    }
}

/// `docs/ctx.md`.
pub fn reference() -> String {
    let mut text = String::from(INTRODUCTION);
    for class in CLASSES {
        let (name, place, doc) = (class.name, class.place, class.doc);
        line(&mut text, format_args!("\n## `{name}`: {place}\n\n{doc}\n"));
        if !class.members.is_empty() {
            text.push_str("\n| property | |\n|---|---|\n");
            for (member, doc) in class.members {
                row(&mut text, member, doc);
            }
        }
        if methods(class).next().is_some() {
            text.push_str("\n| method | |\n|---|---|\n");
            for method in methods(class) {
                row(&mut text, method.signature, method.doc);
            }
        }
    }
    text.push_str("\n## Globals\n\n| function | |\n|---|---|\n");
    for method in GLOBALS.iter().flat_map(|methods| methods.iter()) {
        row(&mut text, method.signature, method.doc);
    }
    let exception = "Exception(message?: string, code?: string | number)";
    row(
        &mut text,
        exception,
        "An error with a code, with or without `new`.",
    );
    line(
        &mut text,
        format_args!(
            "\nThese names only say that they are not available in Ambit: {}.\n",
            UNAVAILABLE
                .iter()
                .map(|name| format!("`{name}`"))
                .collect::<Vec<_>>()
                .join(", ")
        ),
    );
    text.push_str("\n## Types\n\n```typescript\n");
    text.push_str(SHAPES);
    text.push_str("```\n");
    text
}

const INTRODUCTION: &str = "\
<!-- Written by `cargo xtask generate`. Do not edit. -->

# What scripts see: `ctx` and the globals

Every call blocks until its value is there; awaiting it changes nothing. Values cross the border as JSON: `undefined` members
and functions are dropped, and what is no JSON throws. Errors of the host are `Error` objects with a `message` and a `code`.

Beside what stands here scripts have `console`, timers, `URL`, `URLSearchParams`, `TextEncoder`, `TextDecoder`,
`structuredClone`, `atob`, `btoa`, `crypto.randomUUID` and `queueMicrotask`, as in a browser.

A hook whose process dies, or that a forced interrupt stops, runs again from its beginning, with the same `ctx.request_id`. Calls
by `ctx.agent` go on behind what they had done. What the hook had done by itself happens again: calls by `ctx.mcp`, `Process` and
`http`, changes of memory, messages; and `ctx.llm` asks again. [Processes](processes.md#what-is-done-once) shows how a thing is done
once, [tools](tools.md) what `ctx.mcp` reaches.
";

fn row(text: &mut String, signature: &str, doc: &str) {
    let signature = signature.replace('|', "\\|");
    line(text, format_args!("| `{signature}` | {doc} |\n"));
}

/// Writing into a string cannot fail.
fn line(text: &mut String, line: std::fmt::Arguments<'_>) {
    let _ = text.write_fmt(line);
}
