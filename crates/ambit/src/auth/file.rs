//! What may stand in the folder `openapi/` of an app, and in its `openapi.yao`. What is not known there stops the server: a key
//! that is misspelt must not leave a door open.

use super::access;
use ambit_runtime::app::problem::Report;
use ambit_runtime::app::read::{self, Field, Fields, Kind, Node, Reader};
use ambit_runtime::app::{App, Problem, Severity};
use ambit_storage::near;
use serde_json::Value;

/// The file.
const FILE: &str = "openapi/openapi.yao";
/// Folders of Yao's own sign-in.
const FOREIGN: [&str; 2] = ["user/", "team/"];
/// Names that mean something in the folder.
const NAMES: [&str; 3] = ["openapi.yao", "roles.yml", "scopes"];
/// What can be told of a caller.
const CLAIMS: &[Field] = &[
    Field::new("user_id", Kind::Text),
    Field::new("team_id", Kind::Text),
    Field::new("tenant_id", Kind::Text),
    Field::new("client_id", Kind::Text),
    Field::new("session_id", Kind::Text),
    Field::new("roles", Kind::Text),
    Field::new("scope", Kind::Text),
];
const ONE_OR_MORE: Kind = Kind::Either(&[Kind::Text, Kind::TEXTS]);
const ISSUER: Kind = Kind::Object(&[
    Field::required("issuer", Kind::Text),
    Field::required("audience", ONE_OR_MORE),
    Field::new("jwks", Kind::Either(&[Kind::Text, Kind::Map(&Kind::Any)])),
    Field::new(
        "keys",
        Kind::List(&Kind::Either(&[Kind::Text, Kind::Map(&Kind::Any)])),
    ),
    Field::new("secret", Kind::Text),
    Field::new("algorithms", Kind::TEXTS),
    Field::new("claims", Kind::Object(CLAIMS)),
]);
/// Why keys of Yao's server for tokens mean nothing.
const ISSUES: &str = ": Ambit checks tokens and issues none; name their issuer in \"auth\"";
/// The file's keys.
const TABLE: Kind = Kind::Object(&[
    Field::new("baseurl", Kind::Text),
    Field::new(
        "auth",
        Kind::Object(&[
            Field::new("mode", Kind::OneOf(&["token", "dev"])),
            Field::new("dev_identity", Kind::Map(&Kind::Any)),
            Field::new("issuers", Kind::List(&ISSUER)),
            Field::new("api_keys", Kind::Boolean),
            Field::new(
                "proxy",
                Kind::Object(&[
                    Field::required("cidrs", Kind::TEXTS),
                    Field::required("headers", Kind::Object(CLAIMS)),
                ]),
            ),
            Field::new("default_role", Kind::Text),
        ]),
    ),
    Field::unused("store", ISSUES),
    Field::unused("cache", ISSUES),
    Field::unused("providers", ISSUES),
    Field::unused("oauth", ISSUES),
]);

/// What is wrong with the file as a whole, or with a value of it. Values are never told: they may be secrets.
pub fn wrong(message: impl Into<String>) -> Problem {
    Problem::new(Severity::Error, FILE, message)
}

/// A file of `openapi/` that its table has judged.
pub struct Read {
    /// Its path below the app's folder.
    pub name: String,
    /// What it says.
    pub fields: Fields,
    /// What has no effect in it.
    pub notices: Vec<Problem>,
    node: Node,
}

impl Read {
    /// Reads a file of the app. What is wrong in it is an error, whatever it is.
    pub fn of(app: &App, name: &str, table: &Kind) -> Result<Self, Problem> {
        let text = std::fs::read_to_string(app.root.join(name));
        let text = text.map_err(|error| {
            Problem::new(Severity::Error, name, format!("cannot be read: {error}"))
        })?;
        let mut report = Report::new(name);
        let (mut read, mut node) = (None, Node::nothing());
        match read::parse(name, &text) {
            Ok(parsed) => {
                let (variables, report) = (&app.variables, &mut report);
                read = Reader { variables, report }.read(&parsed, table);
                node = parsed;
            }
            Err(fault) => report.fault(fault),
        }
        if let Some(problem) = report.first() {
            return Err(problem.clone());
        }
        let fields = match read {
            Some(Value::Object(fields)) => Fields(fields),
            _ => Fields::default(),
        };
        Ok(Self {
            name: name.to_owned(),
            fields,
            notices: report.problems,
            node,
        })
    }

    /// What is wrong at a place: keys, and numbers of items in lists.
    pub fn wrong(&self, place: &[&str], message: impl Into<String>) -> Problem {
        let mut node = &self.node;
        for step in place {
            let item = || node.items().get(step.parse::<usize>().ok()?);
            node = match node.get(step).or_else(item) {
                Some(inner) => inner,
                None => break,
            };
        }
        Problem {
            line: Some(node.at.line),
            column: Some(node.at.column),
            ..Problem::new(Severity::Error, &self.name, message)
        }
    }
}

/// What the file says, and what has no effect. An app without it says nothing.
pub fn read(app: &App) -> Result<(Fields, Vec<Problem>), Problem> {
    for file in app.access.0.keys() {
        check_name(file)?;
    }
    if !app.access.0.contains_key(FILE) {
        return Ok((Fields::default(), Vec::new()));
    }
    let read = Read::of(app, FILE, &TABLE)?;
    Ok((read.fields, read.notices))
}

/// Refuses files that look as if they said who may do what, and do not. JSON files are sets of keys.
fn check_name(file: &str) -> Result<(), Problem> {
    let name = file.strip_prefix("openapi/").unwrap_or(file);
    let is_foreign = FOREIGN.iter().any(|known| name.starts_with(known));
    let is_set = name.ends_with(".json") && !name.starts_with("scopes/");
    if file == FILE || is_set || is_foreign || access::is_rule(name) {
        return Ok(());
    }
    let message = match name.starts_with("scopes/") {
        true => "rules of scopes are read from files that end with .yml".to_owned(),
        false => {
            let first = name.split('/').next().unwrap_or(name);
            let hint = near::hint(first, NAMES);
            format!("nothing of this name has a meaning in openapi/{hint}")
        }
    };
    Err(Problem::new(Severity::Error, file, message))
}
