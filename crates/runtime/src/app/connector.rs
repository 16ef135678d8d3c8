//! `connectors/**.conn.yao`: models and stores by name.

mod fallback;

use super::Connector;
use super::loader::Loader;
use super::problem::{Problem, Severity};
use super::read::{Field, Kind};
use crate::llm::PROVIDERS;
use ambit_storage::near;
use fallback::Listed;
use std::collections::BTreeMap;
use std::sync::Arc;

/// Types that answer as a model does.
pub const MODELS: &[&str] = &models();

const fn models() -> [&'static str; PROVIDERS.len()] {
    let mut kinds = [""; PROVIDERS.len()];
    let mut at = 0;
    while at < PROVIDERS.len() {
        kinds[at] = PROVIDERS[at].kind;
        at += 1;
    }
    kinds
}

/// Types that keep data.
pub const STORES: &[&str] = &["redis", "sqlite3", "postgres"];

const CAPABILITIES: Kind = Kind::Object(&[
    Field::new(
        "vision",
        Kind::Either(&[Kind::Boolean, Kind::OneOf(&["openai", "claude"])]),
    ),
    Field::new("tool_calls", Kind::Boolean),
    Field::new("audio", Kind::Boolean),
    Field::new("reasoning", Kind::Boolean),
    Field::new("streaming", Kind::Boolean),
    Field::new("json", Kind::Boolean),
    Field::new("multimodal", Kind::Boolean),
    Field::new("max_input_tokens", Kind::Count),
    Field::new("max_output_tokens", Kind::Count),
]);

const PRICE: Field = Field::unused("price", ": usage is counted in tokens");

/// Connectors that stand in for a model.
const FALLBACK: Field = Field::new("fallback", Kind::TEXTS);

const MODEL: Kind = Kind::Object(&[
    Field::new("model", Kind::Text),
    Field::new("key", Kind::Text),
    Field::new("host", Kind::Text),
    Field::new("proxy", Kind::Text),
    Field::new("http_proxy", Kind::Text),
    Field::new("headers", Kind::Map(&Kind::Text)),
    Field::new(
        "thinking",
        Kind::Object(&[
            Field::new("type", Kind::Text),
            Field::new("budget_tokens", Kind::Count),
        ]),
    ),
    Field::new("capabilities", CAPABILITIES),
    Field::new("max_tokens", Kind::Count),
    Field::new("temperature", Kind::Number),
    Field::new("extra_body", Kind::Map(&Kind::Any)),
    Field::new("timeout", Kind::Duration),
    PRICE,
    FALLBACK,
    Field::unused("azure", ": name the deployment's own address in \"host\""),
    Field::unused("version", " in Ambit"),
]);

const RULE: Kind = Kind::Object(&[
    Field::new(
        "match",
        Kind::Object(&[
            Field::new("last_user", Kind::Pattern),
            Field::new("system", Kind::Pattern),
            Field::new("has_tool_result", Kind::Boolean),
            Field::new("round", Kind::Count),
            Field::new("tools", Kind::TEXTS),
            Field::new("times", Kind::Count),
        ]),
    ),
    Field::new("reply", Kind::Text),
    Field::new("reasoning", Kind::Text),
    Field::new(
        "tool_calls",
        Kind::List(&Kind::Object(&[
            Field::required("name", Kind::Text),
            Field::new("id", Kind::Text),
            Field::new("arguments", Kind::Any),
        ])),
    ),
    Field::new("json", Kind::Any),
    Field::new("finish_reason", Kind::Text),
    Field::new(
        "error",
        Kind::Object(&[
            Field::new("status", Kind::Count),
            Field::new("message", Kind::Text),
        ]),
    ),
    Field::new("cut_after", Kind::Count),
    Field::new("delay", Kind::Duration),
]);

const SCRIPTED: Kind = Kind::Object(&[
    Field::new("model", Kind::Text),
    Field::new("rules", Kind::List(&RULE)),
    Field::new("delay", Kind::Duration),
    Field::new("usage", Kind::Map(&Kind::Count)),
    Field::new("capabilities", CAPABILITIES),
    PRICE,
    FALLBACK,
]);

const fn table(options: Kind) -> [Field; 6] {
    [
        Field::new("label", Kind::Text),
        Field::required("type", Kind::Text),
        Field::new("options", options),
        Field::unused("LANG", " in Ambit"),
        Field::unused("VERSION", " in Ambit"),
        Field::unused("version", " in Ambit"),
    ]
}

const OF_MODEL: Kind = Kind::Object(&table(MODEL));
const OF_SCRIPT: Kind = Kind::Object(&table(SCRIPTED));
const OF_OTHERS: Kind = Kind::Object(&table(Kind::Map(&Kind::Any)));

/// A file; its options depend on the type.
const TABLE: Kind = Kind::By("type", |kind| match kind {
    "scripted" => &OF_SCRIPT,
    kind if MODELS.contains(&kind) => &OF_MODEL,
    _ => &OF_OTHERS,
});

/// Reads all connectors.
pub fn load(loader: &mut Loader) -> BTreeMap<String, Result<Arc<Connector>, Problem>> {
    let mut lists = Vec::new();
    let files = loader.items("connectors", &[".conn.yao"]);
    let found = files.into_iter().map(|(id, file)| {
        let connector = file.and_then(|file| one(loader, &id, &file, &mut lists));
        (id, connector)
    });
    let mut found: BTreeMap<_, _> = found.collect();
    fallback::judge(loader, &mut found, &lists);
    let shared = found.into_iter();
    shared
        .map(|(id, connector)| (id, connector.map(Arc::new)))
        .collect()
}

fn one(
    loader: &mut Loader,
    id: &str,
    file: &str,
    lists: &mut Vec<Listed>,
) -> Result<Connector, Problem> {
    let (fields, node) = loader.placed(file, &TABLE)?;
    lists.extend(Listed::of(id, file, &node));
    let kind = fields.text("type");
    if !MODELS.contains(&kind.as_str()) && !STORES.contains(&kind.as_str()) {
        let known = || MODELS.iter().chain(STORES).copied();
        let hint = near::hint(&kind, known());
        let known: Vec<&str> = known().collect();
        let known = known.join(", ");
        let message = format!("nothing can use this connector: its type is none of {known}{hint}");
        let problem = Problem::new(Severity::Notice, file, message);
        loader.problems.push(problem);
    }
    let options = fields.object("options");
    Ok(Connector {
        id: id.to_owned(),
        kind,
        label: fields.text("label"),
        fallback: options.texts("fallback"),
        options: options.0,
    })
}
