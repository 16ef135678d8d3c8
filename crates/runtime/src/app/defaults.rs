//! `agent/`: what counts for all agents where they say nothing themselves.

use super::loader::Loader;
use super::named;
use super::problem::Problem;
use super::read::{Content, Field, Kind, Node};
use super::{App, Defaults, locales, prompts, search};
use serde_json::Value;

/// Who does what; the values are judged when they are used.
pub const USES: &[Field] = &[
    Field::new("vision", Kind::Text),
    Field::new("audio", Kind::Text),
    Field::new("search", Kind::Text),
    Field::new("fetch", Kind::Text),
    Field::new("web", Kind::Text),
    Field::new("keyword", Kind::Text),
    Field::new("querydsl", Kind::Text),
    Field::new("rerank", Kind::Text),
];

/// The same, and the agents that stand in where a request names none or a chat needs a title.
const ALL_USES: &[Field] = &all_uses();

const fn all_uses() -> [Field; USES.len() + 3] {
    let mut all = [const { Field::unused("prompt", " in Ambit") }; USES.len() + 3];
    all[1] = Field::new("default", Kind::Text);
    all[2] = Field::new("title", Kind::Text);
    let mut at = 0;
    while at < USES.len() {
        all[at + 3] = Field::new(USES[at].name, Kind::Text);
        at += 1;
    }
    all
}

const TABLE: Kind = Kind::Object(&[
    Field::new("uses", Kind::Object(ALL_USES)),
    Field::new("force_uses", Kind::Boolean),
    Field::new("system", Kind::Map(&Kind::Text)),
    Field::new(
        "store",
        Kind::Object(&[
            Field::new("max_size", Kind::Count),
            Field::new("expiration", Kind::Duration),
        ]),
    ),
    Field::unused("cache", " in Ambit"),
    Field::unused("guard", " in Ambit"),
    Field::unused("robot", " in Ambit"),
]);

/// Reads the folder. A broken file there is a problem of every agent that needs it.
pub fn load(loader: &mut Loader, app: &mut App) {
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
                app.defaults = Defaults {
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
fn check_roles(loader: &mut Loader, file: &str, node: &Node) {
    let Some(Content::Object(roles)) = node.get("system").map(|node| &node.content) else {
        return;
    };
    for (role, connector) in roles {
        let key = format!("system.{}", role.text);
        named::connector(loader, file, (&key, connector));
    }
}

fn search(loader: &mut Loader) -> Result<Option<Value>, Problem> {
    let file = "agent/search.yml";
    if !loader.has(file) {
        return Ok(None);
    }
    let fields = loader.fields(file, &Kind::Object(search::TABLE))?;
    Ok(Some(Value::Object(fields.0)))
}
