//! What may stand in the folder `openapi/` of an app, and in its `openapi.yao`. What is not known there stops the server: a key
//! that is misspelt must not leave a door open.

use super::access::{self, RoleSettings, ScopeSettings, ScopesFile};
use super::rate_limits::RateLimitSettings;
use ambit_runtime::app::problem::ProblemReport;
use ambit_runtime::app::read::{
    self, ConfigNode, ConfigReader, ConfigValue, FileKind, RawText, Setting, ValueKind,
};
use ambit_runtime::app::{App, EnvVariables, FileProblem, Severity};
use ambit_runtime::config;
use serde_json::{Map, Value};
use std::collections::BTreeMap;
use std::time::Duration;

/// The file.
const FILE: &str = "openapi/openapi.yao";

config! {
    /// Who is calling, and where the routes are. What is wrong here stops the server.
    pub struct OpenapiFile {
        /// What all paths begin with.
        baseurl: String = "/v1",
        /// How callers are told apart.
        auth: AuthSettings,
        /// The web pages of other sites that may call with a token: their origins, or an object; in development mode none.
        cors: CorsChoice,
        /// How much callers may do; what is not given is not limited.
        limits: RateLimitSettings,
        unused {
            store: ": Ambit checks tokens and issues none; name their issuer in \"auth\"",
            cache: ": Ambit checks tokens and issues none; name their issuer in \"auth\"",
            providers: ": Ambit checks tokens and issues none; name their issuer in \"auth\"",
            oauth: ": Ambit checks tokens and issues none; name their issuer in \"auth\"",
        }
    }

    /// The web pages of other sites that may call with a token.
    pub struct CorsSettings {
        /// Their origins, such as `https://app.example.com`, compared letter for letter; `*` is none.
        #[required]
        origins: Vec<String>,
        /// Headers that they may send besides the usual ones, such as `x-ambit-metadata`.
        headers: Vec<String>,
        /// Whether browsers may send what a proxy knows them by; cookies of the console never count there.
        credentials: bool,
    }

    /// How callers are told apart.
    pub struct AuthSettings {
        /// `dev`, where everybody is the developer, or `token`; without it `token` where a source of callers is named.
        mode: Option<AuthMode>,
        /// Who the developer is; without the key the user `dev`.
        dev_identity: Map<String, Value> as DeveloperIdentity::KIND,
        /// Whose tokens count.
        issuers: Vec<IssuerSettings>,
        /// Whether keys count that `ambit keys new` makes.
        api_keys: bool,
        /// A proxy that says who is calling.
        proxy: Option<ProxySettings>,
        /// The role of callers without one; without it the one that `roles.yml` says, else `user`.
        default_role: Option<String>,
        /// The origins of web pages, beside the server's own, that may change something as a caller whom the proxy names.
        origins: Vec<String>,
        /// Sessions of browsers that have logged in at the console.
        session: SessionSettings,
    }

    /// Sessions of browsers that have logged in at the console.
    pub struct SessionSettings {
        /// Whether there are any.
        enabled: bool = true,
        /// After how long without use one ends.
        idle: Duration = "12h",
        /// After how long one ends in any case.
        max: Duration = "7d",
        /// Where somebody logs in who has neither key nor token.
        login_url: Option<String>,
        /// Where somebody logs out whom a proxy or a token names.
        logout_url: Option<String>,
    }

    /// Who the developer is.
    pub struct DeveloperIdentity {
        /// The user.
        user_id: String,
        /// The team.
        team_id: String,
        /// The tenant.
        tenant_id: String,
        /// The limits; without the key they are to the team's data or, without a team, to the user's own.
        constraints: DeveloperConstraints,
        open "Other keys are claims, such as `roles` and `scope`."
    }

    /// Limits on the data that the developer may reach.
    pub struct DeveloperConstraints {
        /// Only what they own.
        owner_only: bool,
        /// Only what they have made.
        creator_only: bool,
        /// Only what they have changed last.
        editor_only: bool,
        /// Only what is their team's.
        team_only: bool,
        /// Only rows with these values, by columns.
        extra: Map<String, Value>,
    }

    /// How callers are told apart.
    pub enum AuthMode {
        /// By what they send.
        Token = "token",
        /// Not at all: everybody is the developer.
        Dev = "dev",
    }

    /// Somebody whose tokens count.
    #[secret]
    pub struct IssuerSettings {
        /// The `iss` of its tokens.
        #[required]
        issuer: String,
        /// The `aud` that its tokens must have, or several.
        #[required]
        audience: OneOrMore,
        /// Its public keys: an address that publishes them, a file of the app, or the set itself.
        jwks: Option<Value> as ValueKind::Either(&[ValueKind::Text, ValueKind::Map(&ValueKind::Any)]),
        /// Its public keys, each as PEM or as a JSON Web Key.
        keys: Vec<Value> as ValueKind::List(&ValueKind::Either(&[ValueKind::Text, ValueKind::Map(&ValueKind::Any)])),
        /// A secret that it shares with the server.
        secret: Option<RawText>,
        /// The algorithms that count, such as `RS256`; without the key all that its keys are for.
        algorithms: Option<Vec<String>>,
        /// Where its tokens say what is told of a caller.
        claims: BTreeMap<String, String> as ClaimNames::KIND,
    }

    /// A proxy that says who is calling.
    pub struct ProxySettings {
        /// The addresses that it calls from, such as `10.0.0.0/8`.
        #[required]
        cidrs: Vec<String>,
        /// The headers in which it says so.
        #[required]
        headers: BTreeMap<String, String> as ClaimNames::KIND,
    }

    /// Where is said what is told of a caller: the names of claims or of headers.
    pub struct ClaimNames {
        /// The user.
        user_id: String,
        /// The team.
        team_id: String,
        /// The tenant.
        tenant_id: String,
        /// The program.
        client_id: String,
        /// The session.
        session_id: String,
        /// The roles.
        roles: String,
        /// The scopes.
        scope: String,
    }
}

/// A text, or a list of texts.
#[derive(Clone, Default, PartialEq)]
pub struct OneOrMore(pub Vec<String>);

impl Setting for OneOrMore {
    const KIND: ValueKind = ValueKind::Either(&[ValueKind::Text, ValueKind::TEXTS]);

    fn read(value: Value) -> Option<Self> {
        match value {
            Value::String(text) => Some(Self(vec![text])),
            list => Vec::read(list).map(Self),
        }
    }
}

/// A list of origins, or an object that says more of them.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct CorsChoice(pub CorsSettings);

impl Setting for CorsChoice {
    const KIND: ValueKind = ValueKind::Either(&[ValueKind::TEXTS, CorsSettings::KIND]);

    fn read(value: Value) -> Option<Self> {
        match value {
            list @ Value::Array(_) => Some(Self(CorsSettings {
                origins: Vec::read(list)?,
                ..CorsSettings::default()
            })),
            object => CorsSettings::read(object).map(Self),
        }
    }
}

/// The kinds of files of `openapi/`.
pub const FILES: &[FileKind] = &[
    FileKind {
        name: "openapi",
        doc: "Who is calling, and where the routes are. What is wrong here stops the server.",
        patterns: &["openapi/openapi.yao"],
        kind: OpenapiFile::KIND,
    },
    FileKind {
        name: "roles",
        doc: "What callers may call who have a role, by the roles' names.",
        patterns: &["openapi/roles.yml"],
        kind: <BTreeMap<String, RoleSettings>>::KIND,
    },
    FileKind {
        name: "scopes",
        doc: "What may be called: in `scopes.yml` without a scope, in `alias.yml` lists of scopes by the names of aliases, and in \
              every other file scopes by their names.",
        patterns: &["openapi/scopes/**/*.yml"],
        kind: ValueKind::Either(&[
            ScopesFile::KIND,
            <BTreeMap<String, Vec<String>>>::KIND,
            <BTreeMap<String, ScopeSettings>>::KIND,
        ]),
    },
];

/// What is wrong with the file as a whole, or with a value of it. Values are never told: they may be secrets.
pub fn wrong(message: impl Into<String>) -> FileProblem {
    FileProblem::new(Severity::Error, FILE, message)
}

/// A file of `openapi/` without errors.
pub struct AccessFile<T> {
    /// Its path below the app's folder.
    pub name: String,
    /// What it says.
    pub content: T,
    /// What has no effect in it.
    pub notices: Vec<FileProblem>,
    node: ConfigNode,
}

impl<T: Setting> AccessFile<T> {
    /// Reads a file of the app. What is wrong in it is an error, whatever it is.
    pub fn read(app: &App, name: &str) -> Result<Self, FileProblem> {
        let text = std::fs::read_to_string(app.root.join(name));
        let text = text.map_err(|error| {
            FileProblem::new(Severity::Error, name, format!("cannot be read: {error}"))
        })?;
        let mut report = ProblemReport::new(name);
        let (mut read, mut node) = (None, ConfigNode::nothing());
        match read::parse(name, &text) {
            Ok(parsed) => {
                let (variables, report) = (&app.variables, &mut report);
                let mut reader = ConfigReader {
                    variables,
                    report,
                    unknown: Severity::Error,
                };
                read = reader.read(&parsed, &T::KIND);
                node = parsed;
            }
            Err(fault) => report.fault(fault),
        }
        if let Some(problem) = report.first() {
            return Err(problem.clone());
        }
        Ok(Self {
            name: name.to_owned(),
            content: read.and_then(T::read).unwrap_or_default(),
            notices: report.problems,
            node,
        })
    }

    /// A file that is not there.
    fn absent(name: &str) -> Self {
        Self {
            name: name.to_owned(),
            content: T::default(),
            notices: Vec::new(),
            node: ConfigNode::nothing(),
        }
    }

    /// Refuses limits whose variables say nothing: reading them as not given would lift them.
    pub fn check_limits(&self, app: &App, place: &[&str]) -> Result<(), FileProblem> {
        let mut keys = place.iter();
        let Some(limits) = keys.try_fold(&self.node, |node, key| node.get(key)) else {
            return Ok(());
        };
        let Some(node) = silent_variable(limits, &app.variables) else {
            return Ok(());
        };
        let message = format!(
            "\"{}\" names a variable that is not set or empty, and a limit that is missing would limit nothing: set the variable, or write the limit here",
            place.join(".")
        );
        Err(FileProblem::at(
            Severity::Error,
            &self.name,
            node.at,
            message,
        ))
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
        FileProblem::at(Severity::Error, &self.name, node.at, message)
    }
}

/// The first value in a tree that is a variable without a text.
fn silent_variable<'a>(node: &'a ConfigNode, variables: &EnvVariables) -> Option<&'a ConfigNode> {
    let is_silent = |name| variables.get(name).is_none_or(str::is_empty);
    match &node.content {
        ConfigValue::Text(text) => EnvVariables::named(text)
            .is_some_and(is_silent)
            .then_some(node),
        ConfigValue::List(items) => items
            .iter()
            .find_map(|item| silent_variable(item, variables)),
        ConfigValue::Object(entries) => entries
            .iter()
            .find_map(|(_, value)| silent_variable(value, variables)),
        ConfigValue::Null | ConfigValue::Boolean(_) | ConfigValue::Number(_) => None,
    }
}

/// The file; an app without it says nothing.
pub fn read(app: &App) -> Result<AccessFile<OpenapiFile>, FileProblem> {
    for file in app.access.0.keys() {
        check_name(file)?;
    }
    if !app.access.0.contains_key(FILE) {
        return Ok(AccessFile::absent(FILE));
    }
    AccessFile::read(app, FILE)
}

/// Refuses files that look as if they held scopes, and do not.
fn check_name(file: &str) -> Result<(), FileProblem> {
    let name = file.strip_prefix("openapi/").unwrap_or(file);
    if file == FILE || access::is_rule(name) {
        return Ok(());
    }
    let message = "rules of scopes are read from files that end with .yml";
    Err(FileProblem::new(Severity::Error, file, message))
}
