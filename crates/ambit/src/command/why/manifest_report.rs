//! The manifest of a call of a model as people read it. Its lists are taken from its JSON, in which kinds, sources and layers have
//! the names that they have everywhere. Contents are not in it.

use crate::command::usage::cost_text;
use crate::output::{Table, filled_or_dash, one_line, or_dash, print_field, snippet};
use crate::timestamp;
use ambit_runtime::manifest::ModelCallManifest;
use serde_json::Value;
use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::io::{Result, Write};

/// Prints it.
pub fn print(call: &ModelCallManifest, out: &mut impl Write) -> Result<()> {
    for (name, value) in facts(call) {
        print_field(out, name, &value)?;
    }
    print_lists(&serde_json::to_value(call)?, out)
}

/// A time that may not be known yet.
pub fn milliseconds(time: Option<i64>) -> String {
    or_dash(time.map(|time| format!("{time} ms")).as_deref())
}

fn facts(call: &ModelCallManifest) -> [(&'static str, String); 15] {
    let (end, body) = (&call.end, &call.body);
    let status = end.status.as_str();
    let status = match &end.finish_reason {
        Some(reason) => format!("{status}, {}", one_line(reason)),
        None => status.to_owned(),
    };
    [
        ("call", one_line(&call.call_id)),
        ("step", one_line(&call.node_id)),
        ("agent", one_line(&call.agent)),
        ("thread", or_dash(call.thread_id.as_deref())),
        ("connector", one_line(&call.connector)),
        ("provider", one_line(&call.provider)),
        ("model", one_line(&call.model)),
        ("status", status),
        ("began", timestamp::show(call.at)),
        ("first token", milliseconds(end.ttft_ms)),
        ("duration", milliseconds(end.duration_ms)),
        ("tries", tries(call)),
        ("tokens", tokens(call)),
        ("cost", cost_text(&end.cost)),
        (
            "body",
            format!(
                "{} bytes of {}, SHA-256 {}",
                body.bytes,
                one_line(&body.encoder),
                one_line(&body.sha256)
            ),
        ),
    ]
}

/// How often it was tried, and why that failed.
fn tries(call: &ModelCallManifest) -> String {
    let attempts = &call.end.attempts;
    let errors = attempts
        .iter()
        .filter_map(|attempt| attempt.error.as_deref());
    let tried = [attempts.len().to_string()];
    let tried = tried.into_iter().chain(errors.map(snippet));
    tried.collect::<Vec<_>>().join(", ")
}

fn tokens(call: &ModelCallManifest) -> String {
    let estimated = call.tokens.estimated;
    let window = match call.tokens.window {
        Some(window) => format!(
            "about {estimated} of {window}, {} kept for the answer",
            call.tokens.reserve.unwrap_or_default()
        ),
        None => format!("about {estimated}; what the model takes is not known"),
    };
    match &call.end.usage {
        Some(usage) => format!(
            "{window}; {} sent, {} answered",
            usage.prompt_tokens, usage.completion_tokens
        ),
        None => window,
    }
}

/// Prints a table for each list that has something.
fn print_lists(manifest: &Value, out: &mut impl Write) -> Result<()> {
    section(
        ["KIND", "TOKENS", "OF WINDOW"],
        &tokens_by_kind(manifest),
        out,
    )?;
    section(
        ["BLOCK", "ROLE", "KIND", "VIA", "TOKENS", "CUT", "SOURCE"],
        &blocks(&manifest["blocks"]),
        out,
    )?;
    section(
        ["LEFT OUT", "REASON", "COUNT", "TOKENS", "FIRST", "LAST"],
        &rows(
            &manifest["dropped"],
            ["kind", "reason", "count", "tokens", "first", "last"],
        ),
        out,
    )?;
    for (name, list) in [("SETTING", "settings"), ("OPTION", "options")] {
        let headings = [name, "VALUE", "LAYER", "OVERRULED"];
        section(headings, &layered(&manifest[list]), out)?;
    }
    section(
        ["TOOL", "NAME", "SERVER", "TOKENS"],
        &rows(&manifest["tools"], ["n", "name", "server", "tokens"]),
        out,
    )?;
    section(
        ["READ BY", "SPACE", "KEY"],
        &rows(&manifest["reads"], ["node_id", "space", "key"]),
        out,
    )
}

fn section<const N: usize>(
    headings: [&'static str; N],
    rows: &[[String; N]],
    out: &mut impl Write,
) -> Result<()> {
    if rows.is_empty() {
        return Ok(());
    }
    writeln!(out)?;
    Table::new(headings).print(out, rows)
}

/// The kinds with their tokens, the largest first; tools are a kind of their own.
fn tokens_by_kind(manifest: &Value) -> Vec<[String; 3]> {
    let window = manifest["tokens"]["window"].as_u64();
    let mut kinds: BTreeMap<String, u64> = BTreeMap::new();
    let blocks = list(&manifest["blocks"]).map(|block| (word(&block["kind"]), block));
    let tools = list(&manifest["tools"]).map(|tool| ("tools".to_owned(), tool));
    for (kind, part) in blocks.chain(tools) {
        *kinds.entry(kind).or_default() += part["tokens"].as_u64().unwrap_or_default();
    }
    let mut kinds: Vec<_> = kinds.into_iter().collect();
    kinds.sort_by_key(|(_, tokens)| Reverse(*tokens));
    let rows = kinds.into_iter();
    rows.map(|(kind, tokens)| [kind, tokens.to_string(), share(tokens, window)])
        .collect()
}

/// Percents of the window.
fn share(tokens: u64, window: Option<u64>) -> String {
    let tenths = window.and_then(|window| tokens.saturating_mul(1_000).checked_div(window));
    let share = tenths.map(|tenths| format!("{}.{}%", tenths / 10, tenths % 10));
    or_dash(share.as_deref())
}

fn blocks(blocks: &Value) -> Vec<[String; 7]> {
    let cells = |block: &Value| {
        [
            word(&block["n"]),
            word(&block["role"]),
            kind(block),
            word(&block["via"]),
            word(&block["tokens"]),
            cuts(&block["cut"]),
            members(&block["source"]),
        ]
    };
    list(blocks).map(cells).collect()
}

/// The kind of a block, and how many messages it stands for where that is more than one.
fn kind(block: &Value) -> String {
    let kind = word(&block["kind"]);
    match block["count"].as_u64() {
        Some(count) => format!("{kind} ({count} messages)"),
        None => kind,
    }
}

/// What was cut out of a block, and of which of its parts where it has several.
fn cuts(cuts: &Value) -> String {
    let cuts = list(cuts).map(|cut| {
        let [reason, bytes] = [word(&cut["reason"]), word(&cut["bytes"])];
        match cut["part"].as_u64() {
            Some(part) => format!("{reason} (part {part}, {bytes} bytes)"),
            None => format!("{reason} ({bytes} bytes)"),
        }
    });
    or_nothing(cuts)
}

/// Values with their layers, and what these have overruled.
fn layered(values: &Value) -> Vec<[String; 4]> {
    let values = values.as_object().into_iter().flatten();
    let cells = |(name, row): (&String, &Value)| {
        [
            one_line(name),
            word(&row["value"]),
            word(&row["layer"]),
            members(&row["over"]),
        ]
    };
    values.map(cells).collect()
}

/// The members of an object behind their names.
fn members(object: &Value) -> String {
    let members = object.as_object().into_iter().flatten();
    or_nothing(members.map(|(name, value)| format!("{} {}", one_line(name), word(value))))
}

/// The objects of a list by these members.
fn rows<const N: usize>(objects: &Value, names: [&str; N]) -> Vec<[String; N]> {
    let cells = |object: &Value| names.map(|name| word(&object[name]));
    list(objects).map(cells).collect()
}

fn list(value: &Value) -> impl Iterator<Item = &Value> {
    value.as_array().into_iter().flatten()
}

fn or_nothing(parts: impl Iterator<Item = String>) -> String {
    filled_or_dash(&parts.collect::<Vec<_>>().join(", "))
}

/// A value in a cell.
fn word(value: &Value) -> String {
    match value {
        Value::Null => or_dash(None),
        Value::String(text) => snippet(text),
        other => snippet(&other.to_string()),
    }
}

#[cfg(test)]
mod tests {
    use super::{print_lists, share};
    use serde_json::json;

    #[test]
    fn each_list_of_a_manifest_is_a_table() {
        let manifest = json!({
            "tokens": {"estimated": 1812, "window": 8000, "reserve": 4096},
            "settings": {"preset": {"value": "chat.friendly", "layer": "create"}},
            "options": {"temperature": {"value": 0.2, "layer": "create", "over": {"connector": 1, "package": 0.7}}},
            "blocks": [
                {"n": 0, "role": "system", "kind": "preset", "source": {"file": "prompts/chat/friendly.yml", "index": 0}, "tokens": 98},
                {"n": 1, "role": "user", "kind": "history", "source": {"message_id": "m1"}, "via": "create", "count": 3, "tokens": 1600},
                {"n": 2, "role": "tool", "kind": "tool_result", "source": {}, "tokens": 20,
                    "cut": [{"reason": "limit", "part": null, "bytes": 700}, {"reason": "worded", "part": 1, "bytes": 9}]},
            ],
            "tools": [{"n": 0, "name": "shop__find", "server": "shop", "tool": "find", "tokens": 94}],
            "dropped": [{"kind": "history", "reason": "history_size", "count": 12, "first": "a", "last": "b\u{1b}", "tokens": 3400}],
            "reads": [{"node_id": "n2", "space": "user", "key": "name"}]
        });
        let mut printed = Vec::new();
        print_lists(&manifest, &mut printed).unwrap();
        let expected = "
KIND         TOKENS  OF WINDOW
history      1600    20.0%
preset       98      1.2%
tools        94      1.1%
tool_result  20      0.2%

BLOCK  ROLE    KIND                  VIA     TOKENS  CUT                                          SOURCE
0      system  preset                -       98      -                                            file prompts/chat/friendly.yml, index 0
1      user    history (3 messages)  create  1600    -                                            message_id m1
2      tool    tool_result           -       20      limit (700 bytes), worded (part 1, 9 bytes)  -

LEFT OUT  REASON        COUNT  TOKENS  FIRST  LAST
history   history_size  12     3400    a      b\\u{1b}

SETTING  VALUE          LAYER   OVERRULED
preset   chat.friendly  create  -

OPTION       VALUE  LAYER   OVERRULED
temperature  0.2    create  connector 1, package 0.7

TOOL  NAME        SERVER  TOKENS
0     shop__find  shop    94

READ BY  SPACE  KEY
n2       user   name
";
        assert_eq!(String::from_utf8(printed).unwrap(), expected);
    }

    #[test]
    fn what_is_not_there_has_no_table() {
        let mut printed = Vec::new();
        let manifest = json!({"blocks": [], "tools": [], "options": {}});
        print_lists(&manifest, &mut printed).unwrap();
        assert_eq!(String::from_utf8(printed).unwrap(), "");
    }

    #[test]
    fn a_share_needs_a_window() {
        assert_eq!(share(1, None), "-");
        assert_eq!(share(1, Some(0)), "-");
        assert_eq!(share(999, Some(1000)), "99.9%");
    }
}
