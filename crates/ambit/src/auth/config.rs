//! `auth` and `baseurl` of an app's `openapi/openapi.yao`. What is wrong in it stops the server: access rules fail closed.

use super::RequestCaller;
use super::access::{self, AccessRules};
use super::cors::CorsRules;
use super::issuer;
use super::openapi_file::{self, AuthMode, CorsSettings, ProxySettings, SessionSettings, wrong};
use super::proxy::{IpNetwork, TrustedProxy};
use super::rate_limits::RateLimitSettings;
use super::token::TokenIssuer;
use super::unseen_agents;
use ambit_runtime::Authorized;
use ambit_runtime::DataConstraints;
use ambit_runtime::app::{App, FileProblem, Severity, is_web_origin};
use ambit_storage::suggestion;
use serde_json::{Map, Value};

/// Whom the developer is without `dev_identity`.
const DEVELOPER: &str = "dev";
/// The role of callers without one.
const ROLE: &str = "user";

/// How callers are told apart, and where the routes are.
pub struct AuthConfig {
    /// What all paths begin with.
    pub base: String,
    /// Everybody is this person.
    pub development: Option<Authorized>,
    /// Whose tokens count.
    pub issuers: Vec<TokenIssuer>,
    /// Whether API keys count.
    pub has_api_keys: bool,
    /// A proxy that says who is calling.
    pub proxy: Option<TrustedProxy>,
    /// The role of callers without one.
    pub default_role: String,
    /// What callers may call.
    pub rules: AccessRules,
    /// What pages of other sites may call with a token; none where no origin is listed.
    pub cors: Option<CorsRules>,
    /// The origins of pages that may change something as whom the proxy names.
    pub origins: Vec<String>,
    /// How much callers may do.
    pub limits: RateLimitSettings,
    /// Sessions of browsers.
    pub session: SessionSettings,
    /// What stands in `openapi/` and has no effect, and agents that hardly any caller sees.
    pub notices: Vec<FileProblem>,
}

impl AuthConfig {
    /// What the app says; an app that says nothing is for its developer alone.
    pub fn of(app: &App) -> Result<Self, FileProblem> {
        let file = openapi_file::read(app)?;
        let (rules, notices) = access::read(app)?;
        let auth = file.content.auth.clone();
        let issuers = auth.issuers.into_iter().enumerate();
        let issuers = issuers.map(|(at, issuer)| issuer::read(app, at, issuer));
        let issuers = issuers.collect::<Result<Vec<_>, _>>()?;
        let proxy = auth.proxy.map(proxy).transpose()?;
        let has_source = auth.api_keys || proxy.is_some() || !issuers.is_empty();
        let is_development = match auth.mode {
            Some(mode) => mode == AuthMode::Dev,
            None => !has_source,
        };
        if !is_development && !has_source {
            return Err(wrong(
                "\"auth.mode\" is \"token\", but nothing says whose tokens count: add issuers, api_keys or proxy",
            ));
        }
        file.check_limits(app, &["limits"])?;
        let mut notices = [file.notices.clone(), notices].concat();
        if is_development {
            file.check_limits(app, &["auth", "dev_identity", "constraints"])?;
        } else {
            notices.extend(unseen_agents::warnings(app));
            notices.extend((!rules.grant_something()).then(closed_to_all));
        }
        Ok(Self {
            base: base(&file.content.baseurl)?,
            development: is_development
                .then(|| developer(auth.dev_identity))
                .transpose()?,
            issuers,
            has_api_keys: auth.api_keys,
            proxy,
            default_role: default_role(auth.default_role, &rules)?,
            rules,
            cors: cors(file.content.cors.0)?,
            limits: file.content.limits,
            origins: origins("auth.origins", auth.origins)?,
            session: auth.session,
            notices,
        })
    }

    /// Somebody who was recognised, with the default role if they have none.
    pub fn with_role(&self, mut who: RequestCaller) -> RequestCaller {
        if who.roles.is_empty() {
            who.roles.push(self.default_role.clone());
        }
        who
    }
}

/// The warning of rules under which every call is refused.
fn closed_to_all() -> FileProblem {
    let message = "nobody may call anything that Ambit serves: no role grants a scope that has such endpoints, and none is public or \
        allowed; name scopes in openapi/roles.yml, or remove the folder, and the usual rules apply";
    FileProblem::new(Severity::Warning, "openapi/scopes", message)
}

/// What `auth` names, else the role that says so itself, else the usual one.
fn default_role(named: Option<String>, rules: &AccessRules) -> Result<String, FileProblem> {
    let Some(named) = named else {
        return Ok(rules.default_role().unwrap_or(ROLE).to_owned());
    };
    if rules.roles().any(|role| role == named) {
        return Ok(named);
    }
    let hint = suggestion::hint(&named, rules.roles());
    Err(wrong(format!(
        "\"auth.default_role\" names the role \"{named}\", which is not in openapi/roles.yml{hint}"
    )))
}

fn base(base: &str) -> Result<String, FileProblem> {
    let base = base.trim_end_matches('/');
    let is_path = base.starts_with('/') && base.len() > 1;
    match is_path && !base.contains(['{', '}', '*', ':', '?', '#', ' ']) {
        true => Ok(base.to_owned()),
        false => Err(wrong("\"baseurl\" must be a path such as \"/v1\"")),
    }
}

/// The origins of a list, as browsers write them.
fn origins(key: &str, listed: Vec<String>) -> Result<Vec<String>, FileProblem> {
    let origins = listed.into_iter().map(|text| {
        let origin = text.trim_end_matches('/').to_ascii_lowercase();
        is_web_origin(&origin).then_some(origin)
    });
    let origins = origins.collect::<Option<_>>();
    origins.ok_or_else(|| {
        wrong(format!(
            "\"{key}\" must hold origins such as \"https://app.example.com\", without a path"
        ))
    })
}

fn cors(mut settings: CorsSettings) -> Result<Option<CorsRules>, FileProblem> {
    let listed = std::mem::take(&mut settings.origins);
    CorsRules::of(origins("cors", listed)?, &settings)
}

fn developer(told: Map<String, Value>) -> Result<Authorized, FileProblem> {
    let has_limits = told.contains_key("constraints");
    let mut person = match told.is_empty() {
        true => Authorized {
            user_id: Some(DEVELOPER.to_owned()),
            ..Authorized::default()
        },
        false => serde_json::from_value::<Authorized>(Value::Object(told))
            .map_err(|error| wrong(format!("\"auth.dev_identity\" is no identity: {error}")))?,
    };
    if !has_limits {
        person.constraints = DataConstraints::usual(&person);
    }
    Ok(person)
}

fn proxy(mut proxy: ProxySettings) -> Result<TrustedProxy, FileProblem> {
    let refused = |error| wrong(format!("\"auth.proxy.cidrs\": {error}"));
    let networks = proxy
        .cidrs
        .iter()
        .map(|text| text.parse::<IpNetwork>().map_err(refused))
        .collect::<Result<Vec<_>, _>>()?;
    proxy.headers.retain(|_, header| !header.is_empty());
    if !proxy.headers.contains_key("user_id") {
        return Err(wrong(
            "\"auth.proxy.headers.user_id\" is missing: name the header that says who is calling",
        ));
    }
    if networks.is_empty() {
        return Err(wrong(
            "\"auth.proxy.cidrs\" is empty: name the addresses of the proxy",
        ));
    }
    Ok(TrustedProxy {
        networks,
        headers: proxy.headers,
    })
}
