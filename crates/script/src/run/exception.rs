//! What a script threw, in terms of the source that was written.

use crate::error::{ScriptException, SourceLocation, StackFrame};
use crate::program::Program;
use crate::value::{JsValue, text};
use rquickjs::{Coerced, Ctx, Exception, FromJs, Object};

/// Throws that a limit of a run is reached.
pub fn limit_exceeded(ctx: Ctx<'_>, text: &str) -> rquickjs::Error {
    let thrown = Exception::from_message(ctx, text).and_then(|error| {
        error.as_object().set("code", "limit_exceeded")?;
        Ok(error.throw())
    });
    thrown.unwrap_or_else(|failed| failed)
}

/// Describes a thrown value. Whatever goes wrong while asking it leaves that part out.
pub fn read_exception<'js>(ctx: &Ctx<'js>, value: &JsValue<'js>) -> ScriptException {
    let Some(object) = value.as_object().filter(|object| object.is_error()) else {
        return ScriptException {
            message: describe(ctx, value),
            ..ScriptException::default()
        };
    };
    let code: Option<JsValue<'js>> = member(ctx, object, "code");
    let constructor = member::<Object<'js>>(ctx, object, "constructor")
        .and_then(|class| string(ctx, &class, "name"));
    let constructor = constructor.unwrap_or_default();
    let number = |value: &JsValue<'js>| value.as_number();
    ScriptException {
        name: string(ctx, object, "name").unwrap_or_default(),
        message: string(ctx, object, "message").unwrap_or_default(),
        code: code
            .as_ref()
            .and_then(|code| text(ctx, code.as_string()?).ok()),
        status: member::<JsValue<'js>>(ctx, object, "status")
            .as_ref()
            .and_then(number)
            .or_else(|| code.as_ref().and_then(number)),
        stack: frames(
            &string(ctx, object, "stack").unwrap_or_default(),
            &constructor,
        ),
        called: None,
    }
}

/// What the engine says of a call of what is no function; it does not say of what.
const NO_FUNCTION: &str = "not a function";

/// Describes what the function of a program threw, and names what was called that is no function.
pub fn read_thrown<'js>(
    ctx: &Ctx<'js>,
    value: &JsValue<'js>,
    program: &Program,
) -> ScriptException {
    let thrown = read_exception(ctx, value);
    if thrown.name != "TypeError" || thrown.message != NO_FUNCTION {
        return thrown;
    }
    let at = thrown.stack.first().map(|frame| &frame.at);
    let called = at.and_then(|at| program.expression_at(at));
    ScriptException { called, ..thrown }
}

fn member<'js, V: FromJs<'js>>(ctx: &Ctx<'js>, object: &Object<'js>, name: &str) -> Option<V> {
    let got = object.get(name);
    if got.is_err() {
        ctx.catch();
    }
    got.ok()
}

fn string<'js>(ctx: &Ctx<'js>, object: &Object<'js>, name: &str) -> Option<String> {
    let value: JsValue<'js> = member(ctx, object, name)?;
    text(ctx, value.as_string()?).ok()
}

/// A thrown value that is no error, as text.
fn describe<'js>(ctx: &Ctx<'js>, value: &JsValue<'js>) -> String {
    let described = match value.as_object() {
        Some(_) => ctx
            .json_stringify(value.clone())
            .map(|json| json.and_then(|json| text(ctx, &json).ok())),
        None => Coerced::<String>::from_js(ctx, value.clone()).map(|Coerced(text)| Some(text)),
    };
    if described.is_err() {
        ctx.catch();
    }
    described
        .ok()
        .flatten()
        .unwrap_or_else(|| value.type_name().to_owned())
}

/// The engine's stack with the places of the source; frames of the prelude and of the engine itself are left out.
pub fn mapped(text: &str, program: &Program) -> String {
    let frames = text.lines().filter_map(|line| {
        let (function, at) = parsed(line)?;
        // The prelude is compiled without the names of its files.
        let at = program
            .original(&at.file, at.line, at.column)
            .or_else(|| (at.file != "<null>").then_some(at))?;
        Some(format!("    {}\n", StackFrame { function, at }))
    });
    frames.collect()
}

/// The frames of a stack, without those of the constructor of the error itself.
fn frames(stack: &str, constructor: &str) -> Vec<StackFrame> {
    let all = stack
        .lines()
        .filter_map(|line| parsed(line).map(|(function, at)| StackFrame { function, at }));
    all.skip_while(|frame| frame.function.as_deref() == Some(constructor))
        .collect()
}

/// `at function (file:line:column)`.
fn parsed(line: &str) -> Option<(Option<String>, SourceLocation)> {
    let line = line.trim().strip_prefix("at ")?;
    let (function, place) = match line
        .strip_suffix(')')
        .and_then(|line| line.rsplit_once(" ("))
    {
        Some((function, place)) => (Some(function), place),
        None => (None, line),
    };
    let (rest, column) = place.rsplit_once(':')?;
    let (file, line) = rest.rsplit_once(':')?;
    let at = SourceLocation {
        file: file.to_owned(),
        line: line.parse().ok()?,
        column: column.parse().ok()?,
    };
    let named =
        function.filter(|name| !name.is_empty() && *name != "<anonymous>" && *name != "<eval>");
    Some((named.map(str::to_owned), at))
}
