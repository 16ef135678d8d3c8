//! Global functions.

mod log;
mod printf;
mod process;
mod query;
mod web;

pub use log::{LOG, ScriptLog, write_line};
pub use process::PROCESSES;
pub use query::{QUERIES, QUERY};
pub use web::WEB;

use crate::app::locales::Translations;
use crate::ctx::{ScriptCall, ScriptMethod, rows};
use crate::error::{Error, Result};
use ambit_script::HostValue;
use serde_json::Value;
use std::time::Duration;

/// The functions.
pub const METHODS: &[ScriptMethod] = rows! {
    "Authorized(): Authorized", None, authorized: "A copy of `ctx.authorized`.",
    "$L(text: string): string", Some((1, "a text argument")), localized:
        "The translation of a text for `ctx.locale`; an unknown text comes back unchanged.",
    "time.Sleep(ms: number): void", Some((1, "a milliseconds argument")), sleep:
        "Waits. It counts as time of the run, not as processor time.",
};

async fn authorized(call: &ScriptCall<'_>) -> Result<HostValue> {
    Ok(call.reach.scope.authorized().into())
}

async fn localized(call: &ScriptCall<'_>) -> Result<HostValue> {
    let text = call.text(0, "text", "must be a string")?;
    let scope = &call.reach.scope;
    let words = Translations {
        own: &scope.agent.locales,
        global: &scope.app.locales,
        locale: &scope.properties.origin.locale,
    };
    Ok(Value::String(words.say(text).to_owned()).into())
}

async fn sleep(call: &ScriptCall<'_>) -> Result<HostValue> {
    tokio::time::sleep(time(call)?).await;
    Ok(HostValue::Undefined)
}

/// The first argument as a time.
fn time(call: &ScriptCall<'_>) -> Result<Duration> {
    let wrong = || Error::invalid("ms", "ms must be a number of milliseconds, 0 or more");
    let millis = call.given(0).and_then(Value::as_f64).ok_or_else(wrong)?;
    Duration::try_from_secs_f64(millis / 1_000.0).map_err(|_| wrong())
}
