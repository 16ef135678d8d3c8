//! The page about limits.

mod app_limits;

use super::{ReferencePage, cell};
use crate::http::{HttpSettings, MAX_BODY_VALUES, OBJECT_VALUES};
use ambit_runtime::app::{LimitSettings, SearchLimits};
use ambit_runtime::config::{Setting, ValueKind};
use app_limits::{OF_AGENTS, OF_CALLERS};

const ABOUT: &str = "\
What is too large, too long or too much is refused by name, with the code `limit_exceeded` or one of its own ([errors](errors.md)), unless
a table says what happens.
";

/// The page.
pub fn page() -> ReferencePage {
    let mut text = ABOUT.to_owned();
    text += "\n## Of scripts and turns\n\nIn `app.yao` as `ambit.limits`; `runtime.limits` of an agent's `package.yao` may only lower them.\n\n";
    text += &table("ambit.limits", &LimitSettings::KIND);
    text += "\n## Of searches and collections\n\nIn `app.yao` as `ambit.search.limits`; they count for each tenant.\n\n";
    text += &table("ambit.search.limits", &SearchLimits::KIND);
    text += "\n## Of agents and what they use\n\nA key of `search.yml` may stand in `package.yao` too, as `search`.\n\n";
    text += &app_limits::table(OF_AGENTS);
    text += "\n## Of callers\n\nWhat has no default is not limited ([limits against abuse](../guides/limits.md)).\n\n";
    text += &app_limits::table(OF_CALLERS);
    text += "\n## Of the server\n\nThey are fixed.\n\n| limit | is |\n|---|---|\n";
    text += &of_server(&HttpSettings::default());
    ReferencePage::new("limits", "Limits", &text)
}

/// The keys of an object.
fn table(path: &str, kind: &ValueKind) -> String {
    let ValueKind::Struct(object) = kind else {
        return String::new();
    };
    let mut table = "| key | default | means |\n|---|---|---|\n".to_owned();
    for field in object.fields() {
        if let Some(default) = field.default {
            let (name, default, doc) = (field.name, default(), cell(field.doc));
            table += &format!("| `{path}.{name}` | `{default}` | {doc} |\n");
        }
    }
    table
}

fn of_server(settings: &HttpSettings) -> String {
    let rows = [
        (
            "The body of a request, where its route has no other limit",
            mebibytes(settings.body_limit),
        ),
        (
            "The values of JSON that a body holds, those within others too, where they are not passed on as text",
            format!("{MAX_BODY_VALUES}; an object counts as {OBJECT_VALUES}"),
        ),
        (
            "How long a body may take to arrive",
            format!("{} s", settings.body_time.as_secs()),
        ),
        (
            "How often a silent stream shows that it lives",
            format!("{} s", settings.ping.as_secs()),
        ),
        (
            "How far a reader of a stream may fall behind before it is cut off",
            mebibytes(settings.lag_limit),
        ),
    ];
    let rows = rows.map(|(limit, is)| format!("| {limit} | {is} |\n"));
    rows.concat()
}

fn mebibytes(bytes: usize) -> String {
    format!("{} MiB", bytes >> 20)
}
