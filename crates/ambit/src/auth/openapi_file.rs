//! What may stand in the folder `openapi/` of an app, and in its `openapi.yao`. What is not known there stops the server: a key
//! that is misspelt must not leave a door open.

use super::access;
use ambit_runtime::app::problem::ProblemReport;
use ambit_runtime::app::read::{self, ConfigNode, ConfigReader, FieldMap, FieldSpec, ValueKind};
use ambit_runtime::app::{App, FileProblem, Severity};
use ambit_storage::suggestion;
use serde_json::Value;

/// The file.
const FILE: &str = "openapi/openapi.yao";
/// Folders of Yao's own sign-in.
const FOREIGN: [&str; 2] = ["user/", "team/"];
/// Names that mean something in the folder.
const NAMES: [&str; 3] = ["openapi.yao", "roles.yml", "scopes"];
/// What can be told of a caller.
const CLAIMS: &[FieldSpec] = &[
    FieldSpec::new("user_id", ValueKind::Text),
    FieldSpec::new("team_id", ValueKind::Text),
    FieldSpec::new("tenant_id", ValueKind::Text),
    FieldSpec::new("client_id", ValueKind::Text),
    FieldSpec::new("session_id", ValueKind::Text),
    FieldSpec::new("roles", ValueKind::Text),
    FieldSpec::new("scope", ValueKind::Text),
];
const ONE_OR_MORE: ValueKind = ValueKind::Either(&[ValueKind::Text, ValueKind::TEXTS]);
const ISSUER: ValueKind = ValueKind::Object(&[
    FieldSpec::required("issuer", ValueKind::Text),
    FieldSpec::required("audience", ONE_OR_MORE),
    FieldSpec::new(
        "jwks",
        ValueKind::Either(&[ValueKind::Text, ValueKind::Map(&ValueKind::Any)]),
    ),
    FieldSpec::new(
        "keys",
        ValueKind::List(&ValueKind::Either(&[
            ValueKind::Text,
            ValueKind::Map(&ValueKind::Any),
        ])),
    ),
    FieldSpec::new("secret", ValueKind::Text),
    FieldSpec::new("algorithms", ValueKind::TEXTS),
    FieldSpec::new("claims", ValueKind::Object(CLAIMS)),
]);
/// Why keys of Yao's server for tokens mean nothing.
const ISSUES: &str = ": Ambit checks tokens and issues none; name their issuer in \"auth\"";
/// The file's keys.
const TABLE: ValueKind = ValueKind::Object(&[
    FieldSpec::new("baseurl", ValueKind::Text),
    FieldSpec::new(
        "auth",
        ValueKind::Object(&[
            FieldSpec::new("mode", ValueKind::OneOf(&["token", "dev"])),
            FieldSpec::new("dev_identity", ValueKind::Map(&ValueKind::Any)),
            FieldSpec::new("issuers", ValueKind::List(&ISSUER)),
            FieldSpec::new("api_keys", ValueKind::Boolean),
            FieldSpec::new(
                "proxy",
                ValueKind::Object(&[
                    FieldSpec::required("cidrs", ValueKind::TEXTS),
                    FieldSpec::required("headers", ValueKind::Object(CLAIMS)),
                ]),
            ),
            FieldSpec::new("default_role", ValueKind::Text),
        ]),
    ),
    FieldSpec::unused("store", ISSUES),
    FieldSpec::unused("cache", ISSUES),
    FieldSpec::unused("providers", ISSUES),
    FieldSpec::unused("oauth", ISSUES),
]);

/// What is wrong with the file as a whole, or with a value of it. Values are never told: they may be secrets.
pub fn wrong(message: impl Into<String>) -> FileProblem {
    FileProblem::new(Severity::Error, FILE, message)
}

/// A file of `openapi/` that its table has judged.
pub struct OpenapiFile {
    /// Its path below the app's folder.
    pub name: String,
    /// What it says.
    pub fields: FieldMap,
    /// What has no effect in it.
    pub notices: Vec<FileProblem>,
    node: ConfigNode,
}

impl OpenapiFile {
    /// Reads a file of the app. What is wrong in it is an error, whatever it is.
    pub fn of(app: &App, name: &str, table: &ValueKind) -> Result<Self, FileProblem> {
        let text = std::fs::read_to_string(app.root.join(name));
        let text = text.map_err(|error| {
            FileProblem::new(Severity::Error, name, format!("cannot be read: {error}"))
        })?;
        let mut report = ProblemReport::new(name);
        let (mut read, mut node) = (None, ConfigNode::nothing());
        match read::parse(name, &text) {
            Ok(parsed) => {
                let (variables, report) = (&app.variables, &mut report);
                read = ConfigReader { variables, report }.read(&parsed, table);
                node = parsed;
            }
            Err(fault) => report.fault(fault),
        }
        if let Some(problem) = report.first() {
            return Err(problem.clone());
        }
        let fields = match read {
            Some(Value::Object(fields)) => FieldMap(fields),
            _ => FieldMap::default(),
        };
        Ok(Self {
            name: name.to_owned(),
            fields,
            notices: report.problems,
            node,
        })
    }

    /// What is wrong at a place: keys, and numbers of items in lists.
    pub fn wrong(&self, place: &[&str], message: impl Into<String>) -> FileProblem {
        let mut node = &self.node;
        for step in place {
            let item = || node.items().get(step.parse::<usize>().ok()?);
            node = match node.get(step).or_else(item) {
                Some(inner) => inner,
                None => break,
            };
        }
        FileProblem {
            line: Some(node.at.line),
            column: Some(node.at.column),
            ..FileProblem::new(Severity::Error, &self.name, message)
        }
    }
}

/// What the file says, and what has no effect. An app without it says nothing.
pub fn read(app: &App) -> Result<(FieldMap, Vec<FileProblem>), FileProblem> {
    for file in app.access.0.keys() {
        check_name(file)?;
    }
    if !app.access.0.contains_key(FILE) {
        return Ok((FieldMap::default(), Vec::new()));
    }
    let read = OpenapiFile::of(app, FILE, &TABLE)?;
    Ok((read.fields, read.notices))
}

/// Refuses files that look as if they said who may do what, and do not. JSON files are sets of keys.
fn check_name(file: &str) -> Result<(), FileProblem> {
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
            let hint = suggestion::hint(first, NAMES);
            format!("nothing of this name has a meaning in openapi/{hint}")
        }
    };
    Err(FileProblem::new(Severity::Error, file, message))
}
