//! `connectors/**.conn.yao`: models and stores by name.

mod fallback;

use super::Connector;
use super::loader::AppLoader;
use super::problem::{FileProblem, Severity};
use super::read::{FieldSpec, ValueKind};
use crate::llm::PROVIDERS;
use ambit_storage::suggestion;
use fallback::FallbackList;
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

const CAPABILITIES: ValueKind = ValueKind::Object(&[
    FieldSpec::new(
        "vision",
        ValueKind::Either(&[ValueKind::Boolean, ValueKind::OneOf(&["openai", "claude"])]),
    ),
    FieldSpec::new("tool_calls", ValueKind::Boolean),
    FieldSpec::new("audio", ValueKind::Boolean),
    FieldSpec::new("reasoning", ValueKind::Boolean),
    FieldSpec::new("streaming", ValueKind::Boolean),
    FieldSpec::new("json", ValueKind::Boolean),
    FieldSpec::new("multimodal", ValueKind::Boolean),
    FieldSpec::new("max_input_tokens", ValueKind::Count),
    FieldSpec::new("max_output_tokens", ValueKind::Count),
]);

const PRICE: FieldSpec = FieldSpec::unused("price", ": usage is counted in tokens");

/// Connectors that stand in for a model.
const FALLBACK: FieldSpec = FieldSpec::new("fallback", ValueKind::TEXTS);

const MODEL: ValueKind = ValueKind::Object(&[
    FieldSpec::new("model", ValueKind::Text),
    FieldSpec::new("key", ValueKind::Text),
    FieldSpec::new("host", ValueKind::Text),
    FieldSpec::new("proxy", ValueKind::Text),
    FieldSpec::new("http_proxy", ValueKind::Text),
    FieldSpec::new("headers", ValueKind::Map(&ValueKind::Text)),
    FieldSpec::new(
        "thinking",
        ValueKind::Object(&[
            FieldSpec::new("type", ValueKind::Text),
            FieldSpec::new("budget_tokens", ValueKind::Count),
        ]),
    ),
    FieldSpec::new("capabilities", CAPABILITIES),
    FieldSpec::new("max_tokens", ValueKind::Count),
    FieldSpec::new("temperature", ValueKind::Number),
    FieldSpec::new("extra_body", ValueKind::Map(&ValueKind::Any)),
    FieldSpec::new("timeout", ValueKind::Duration),
    PRICE,
    FALLBACK,
    FieldSpec::unused("azure", ": name the deployment's own address in \"host\""),
    FieldSpec::unused("version", " in Ambit"),
]);

const RULE: ValueKind = ValueKind::Object(&[
    FieldSpec::new(
        "match",
        ValueKind::Object(&[
            FieldSpec::new("last_user", ValueKind::Pattern),
            FieldSpec::new("system", ValueKind::Pattern),
            FieldSpec::new("has_tool_result", ValueKind::Boolean),
            FieldSpec::new("round", ValueKind::Count),
            FieldSpec::new("tools", ValueKind::TEXTS),
            FieldSpec::new("times", ValueKind::Count),
        ]),
    ),
    FieldSpec::new("reply", ValueKind::Text),
    FieldSpec::new("reasoning", ValueKind::Text),
    FieldSpec::new(
        "tool_calls",
        ValueKind::List(&ValueKind::Object(&[
            FieldSpec::required("name", ValueKind::Text),
            FieldSpec::new("id", ValueKind::Text),
            FieldSpec::new("arguments", ValueKind::Any),
        ])),
    ),
    FieldSpec::new("json", ValueKind::Any),
    FieldSpec::new("finish_reason", ValueKind::Text),
    FieldSpec::new(
        "error",
        ValueKind::Object(&[
            FieldSpec::new("status", ValueKind::Count),
            FieldSpec::new("message", ValueKind::Text),
        ]),
    ),
    FieldSpec::new("cut_after", ValueKind::Count),
    FieldSpec::new("delay", ValueKind::Duration),
]);

const SCRIPTED: ValueKind = ValueKind::Object(&[
    FieldSpec::new("model", ValueKind::Text),
    FieldSpec::new("rules", ValueKind::List(&RULE)),
    FieldSpec::new("delay", ValueKind::Duration),
    FieldSpec::new("usage", ValueKind::Map(&ValueKind::Count)),
    FieldSpec::new("capabilities", CAPABILITIES),
    PRICE,
    FALLBACK,
]);

const fn table(options: ValueKind) -> [FieldSpec; 6] {
    [
        FieldSpec::new("label", ValueKind::Text),
        FieldSpec::required("type", ValueKind::Text),
        FieldSpec::new("options", options),
        FieldSpec::unused("LANG", " in Ambit"),
        FieldSpec::unused("VERSION", " in Ambit"),
        FieldSpec::unused("version", " in Ambit"),
    ]
}

const OF_MODEL: ValueKind = ValueKind::Object(&table(MODEL));
const OF_SCRIPT: ValueKind = ValueKind::Object(&table(SCRIPTED));
const OF_OTHERS: ValueKind = ValueKind::Object(&table(ValueKind::Map(&ValueKind::Any)));

/// A file; its options depend on the type.
const TABLE: ValueKind = ValueKind::By("type", |kind| match kind {
    "scripted" => &OF_SCRIPT,
    kind if MODELS.contains(&kind) => &OF_MODEL,
    _ => &OF_OTHERS,
});

/// Reads all connectors.
pub fn load(loader: &mut AppLoader) -> BTreeMap<String, Result<Arc<Connector>, FileProblem>> {
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
    loader: &mut AppLoader,
    id: &str,
    file: &str,
    lists: &mut Vec<FallbackList>,
) -> Result<Connector, FileProblem> {
    let (fields, node) = loader.placed(file, &TABLE)?;
    lists.extend(FallbackList::of(id, file, &node));
    let kind = fields.text("type");
    if !MODELS.contains(&kind.as_str()) && !STORES.contains(&kind.as_str()) {
        let known = || MODELS.iter().chain(STORES).copied();
        let hint = suggestion::hint(&kind, known());
        let known: Vec<&str> = known().collect();
        let known = known.join(", ");
        let message = format!("nothing can use this connector: its type is none of {known}{hint}");
        let problem = FileProblem::new(Severity::Notice, file, message);
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
