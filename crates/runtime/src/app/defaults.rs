//! `agent/`: what counts for all agents where they say nothing themselves.

use super::loader::AppLoader;
use super::problem::FileProblem;
use super::read::{ConfigNode, ConfigValue, FieldSpec, ValueKind};
use super::references;
use super::{AgentDefaults, App, locales, prompts, search};
use serde_json::Value;

/// Who does what; the values are judged when they are used.
pub const USES: &[FieldSpec] = &[
    FieldSpec::new("vision", ValueKind::Text),
    FieldSpec::new("audio", ValueKind::Text),
    FieldSpec::new("search", ValueKind::Text),
    FieldSpec::new("fetch", ValueKind::Text),
    FieldSpec::new("web", ValueKind::Text),
    FieldSpec::new("keyword", ValueKind::Text),
    FieldSpec::new("querydsl", ValueKind::Text),
    FieldSpec::new("rerank", ValueKind::Text),
];

/// The same, and the agents that stand in where a request names none or a chat needs a title.
const ALL_USES: &[FieldSpec] = &all_uses();

const fn all_uses() -> [FieldSpec; USES.len() + 3] {
    let mut all = [const { FieldSpec::unused("prompt", " in Ambit") }; USES.len() + 3];
    all[1] = FieldSpec::new("default", ValueKind::Text);
    all[2] = FieldSpec::new("title", ValueKind::Text);
    let mut at = 0;
    while at < USES.len() {
        all[at + 3] = FieldSpec::new(USES[at].name, ValueKind::Text);
        at += 1;
    }
    all
}

const TABLE: ValueKind = ValueKind::Object(&[
    FieldSpec::new("uses", ValueKind::Object(ALL_USES)),
    FieldSpec::new("force_uses", ValueKind::Boolean),
    FieldSpec::new("system", ValueKind::Map(&ValueKind::Text)),
    FieldSpec::new(
        "store",
        ValueKind::Object(&[
            FieldSpec::new("max_size", ValueKind::Count),
            FieldSpec::new("expiration", ValueKind::Duration),
        ]),
    ),
    FieldSpec::unused("cache", " in Ambit"),
    FieldSpec::unused("guard", " in Ambit"),
    FieldSpec::unused("robot", " in Ambit"),
]);

/// Reads the folder. A broken file there is a problem of every agent that needs it.
pub fn load(loader: &mut AppLoader, app: &mut App) {
    let file = "agent/agent.yml";
    if loader.has(file) {
        match loader.placed(file, &TABLE) {
            Ok((fields, node)) => {
                check_roles(loader, file, &node);
                let roles = fields.object("system").0.into_iter();
                let roles = roles.filter_map(|(role, id)| match id {
                    Value::String(id) if !id.is_empty() => Some((role, id)),
                    _ => None,
                });
                app.defaults = AgentDefaults {
                    uses: fields.object("uses").0,
                    force_uses: fields.boolean("force_uses"),
                    roles: roles.collect(),
                    history_size: fields.object("store").count("max_size"),
                    expiration: fields.object("store").seconds("expiration"),
                    search: None,
                };
            }
            Err(problem) => app.broken.defaults = Some(problem),
        }
    }
    match search(loader) {
        Ok(search) => app.defaults.search = search,
        Err(problem) => app.broken.defaults = app.broken.defaults.take().or(Some(problem)),
    }
    match prompts::read::file(loader, "agent") {
        Some(Ok(prompts)) => app.prompts = prompts,
        Some(Err(problem)) => app.broken.prompts = Some(problem),
        None => {}
    }
    (app.locales, _) = locales::read(loader, "agent/locales");
}

/// Warns of roles whose connector is not there.
fn check_roles(loader: &mut AppLoader, file: &str, node: &ConfigNode) {
    let Some(ConfigValue::Object(roles)) = node.get("system").map(|node| &node.content) else {
        return;
    };
    for (role, connector) in roles {
        let key = format!("system.{}", role.text);
        references::connector(loader, file, (&key, connector));
    }
}

fn search(loader: &mut AppLoader) -> Result<Option<Value>, FileProblem> {
    let file = "agent/search.yml";
    if !loader.has(file) {
        return Ok(None);
    }
    let fields = loader.fields(file, &ValueKind::Object(search::TABLE))?;
    Ok(Some(Value::Object(fields.0)))
}
