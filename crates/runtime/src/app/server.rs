//! `mcps/**.mcp.yao`: tool servers by id, of the app and of its agents.

use super::Server;
use super::loader::Loader;
use super::problem::Problem;
use super::read::{Field, Kind};
use std::collections::BTreeMap;
use std::sync::Arc;

const TEXTS: Kind = Kind::Map(&Kind::Text);
const KIND: Kind = Kind::OneOf(&["process", "stdio", "http", "sse"]);

const TABLE: Kind = Kind::Object(&[
    Field::new("id", Kind::Text),
    Field::new("name", Kind::Text),
    Field::new("label", Kind::Text),
    Field::new("description", Kind::Text),
    Field::new("tags", Kind::List(&Kind::Text)),
    Field::new("version", Kind::Text),
    Field::new("transport", KIND),
    Field::new("type", KIND),
    Field::new("capabilities", Kind::Any),
    Field::new("timeout", Kind::Duration),
    Field::new("enabled", Kind::Boolean),
    Field::new("tools", TEXTS),
    Field::new("resources", TEXTS),
    Field::new("prompts", TEXTS),
    Field::new("command", Kind::Text),
    Field::new("arguments", Kind::List(&Kind::Text)),
    Field::new("env", TEXTS),
    Field::new("url", Kind::Text),
    Field::new("authorization_token", Kind::Text),
    Field::new("headers", TEXTS),
    Field::unused("enable_sampling", " in Ambit"),
    Field::unused("enable_roots", " in Ambit"),
    Field::unused("endpoint", " in Ambit"),
    Field::unused(
        "mapping",
        ": the mapping folder is found by the server's id",
    ),
]);

/// Reads the servers of the app and of the agents in these folders.
pub fn load(
    loader: &mut Loader,
    agents: &[(String, String)],
) -> BTreeMap<String, Result<Arc<Server>, Problem>> {
    let mut servers = of(loader, "mcps", "");
    for (id, folder) in agents {
        let prefix = format!("agents.{id}.");
        servers.append(&mut of(loader, &format!("{folder}/mcps"), &prefix));
    }
    servers
}

fn of(
    loader: &mut Loader,
    folder: &str,
    prefix: &str,
) -> BTreeMap<String, Result<Arc<Server>, Problem>> {
    let files = loader.items(folder, &[".mcp.yao"]);
    let servers = files.into_iter().map(|(id, file)| {
        let id = format!("{prefix}{id}");
        let server = file.and_then(|file| {
            let fields = loader.fields(&file, &TABLE)?.0;
            let id = id.clone();
            Ok(Arc::new(Server { id, file, fields }))
        });
        (id, server)
    });
    servers.collect()
}
