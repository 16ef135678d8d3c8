//! `auth` and `baseurl` of an app's `openapi/openapi.yao`. What is wrong in it stops the server: access rules fail closed.

use super::file::{self, wrong};
use super::proxy::{Network, Proxy};
use super::token::{Issuer, Trusted};
use ambit_runtime::Authorized;
use ambit_runtime::app::read::Fields;
use ambit_runtime::app::{App, Problem};
use jsonwebtoken::jwk::{Jwk, JwkSet};
use jsonwebtoken::{Algorithm, DecodingKey};
use serde_json::Value;
use std::path::Path;

/// Whom the developer is without `dev_identity`.
const DEVELOPER: &str = "dev";
/// The role of callers without one.
const ROLE: &str = "user";
/// How callers are told apart, and where the routes are.
pub struct Config {
    /// What all paths begin with.
    pub base: String,
    /// Everybody is this person.
    pub development: Option<Authorized>,
    /// Whose tokens count.
    pub issuers: Vec<Issuer>,
    /// Whether API keys count.
    pub has_api_keys: bool,
    /// A proxy that says who is calling.
    pub proxy: Option<Proxy>,
    /// The role of callers without one.
    pub default_role: String,
    /// What stands in `openapi/` and has no effect.
    pub notices: Vec<Problem>,
}

impl Config {
    /// What the app says; an app that says nothing is for its developer alone.
    pub fn of(app: &App) -> Result<Self, Problem> {
        let (file, notices) = file::read(app)?;
        let auth = file.object("auth");
        let issuers = auth.list("issuers").into_iter().enumerate();
        let issuers = issuers.map(|(at, issuer)| self::issuer(app, at, issuer));
        let issuers = issuers.collect::<Result<Vec<_>, _>>()?;
        let proxy = auth
            .0
            .contains_key("proxy")
            .then(|| proxy(&auth.object("proxy")));
        let proxy = proxy.transpose()?;
        let has_api_keys = auth.boolean("api_keys") == Some(true);
        let has_source = has_api_keys || proxy.is_some() || !issuers.is_empty();
        let is_development = match auth.optional("mode").as_deref() {
            Some(mode) => mode == "dev",
            None => !has_source,
        };
        if !is_development && !has_source {
            return Err(wrong(
                "\"auth.mode\" is \"token\", but nothing says whose tokens count: add issuers, api_keys or proxy",
            ));
        }
        Ok(Self {
            base: base(&file)?,
            development: is_development.then(|| developer(&auth)).transpose()?,
            issuers,
            has_api_keys,
            proxy,
            default_role: auth
                .optional("default_role")
                .unwrap_or_else(|| ROLE.to_owned()),
            notices,
        })
    }
}

fn base(file: &Fields) -> Result<String, Problem> {
    let Some(base) = file.optional("baseurl") else {
        return Ok("/v1".to_owned());
    };
    let base = base.trim_end_matches('/');
    let is_path = base.starts_with('/') && base.len() > 1;
    match is_path && !base.contains(['{', '}', '*', ':', '?', '#', ' ']) {
        true => Ok(base.to_owned()),
        false => Err(wrong("\"baseurl\" must be a path such as \"/v1\"")),
    }
}

fn developer(auth: &Fields) -> Result<Authorized, Problem> {
    let told = auth.object("dev_identity").0;
    if told.is_empty() {
        return Ok(Authorized {
            user_id: Some(DEVELOPER.to_owned()),
            ..Authorized::default()
        });
    }
    let read = serde_json::from_value(Value::Object(told));
    read.map_err(|error| wrong(format!("\"auth.dev_identity\" is no identity: {error}")))
}

fn proxy(proxy: &Fields) -> Result<Proxy, Problem> {
    let refused = |error| wrong(format!("\"auth.proxy.cidrs\": {error}"));
    let networks = proxy
        .texts("cidrs")
        .iter()
        .map(|text| text.parse::<Network>().map_err(refused))
        .collect::<Result<Vec<_>, _>>()?;
    let headers = proxy.object("headers");
    if headers.optional("user_id").is_none() {
        return Err(wrong(
            "\"auth.proxy.headers.user_id\" is missing: name the header that says who is calling",
        ));
    }
    if networks.is_empty() {
        return Err(wrong(
            "\"auth.proxy.cidrs\" is empty: name the addresses of the proxy",
        ));
    }
    let headers = headers
        .0
        .keys()
        .filter_map(|name| Some((name.clone(), headers.optional(name)?)));
    Ok(Proxy {
        networks,
        headers: headers.collect(),
    })
}

fn issuer(app: &App, at: usize, issuer: Value) -> Result<Issuer, Problem> {
    let place = format!("auth.issuers[{at}]");
    let Value::Object(issuer) = issuer else {
        return Err(wrong(format!("\"{place}\" must be an object")));
    };
    let issuer = Fields(issuer);
    let name = issuer.optional("issuer");
    let name = name.ok_or_else(|| wrong(format!("\"{place}.issuer\" is empty")))?;
    let audience = match issuer.optional("audience") {
        Some(one) => vec![one],
        None => issuer.texts("audience"),
    };
    if audience.is_empty() || audience.iter().any(String::is_empty) {
        return Err(wrong(format!(
            "\"{place}.audience\" is empty: name whom the tokens are for"
        )));
    }
    let allowed = algorithms(&issuer, &place)?;
    let mut keys = secret(&issuer, &place)?;
    keys.extend(set(app, &issuer, &place)?);
    keys.extend(listed(&issuer, &place)?);
    if keys.is_empty() {
        return Err(wrong(format!(
            "\"{place}\" has no keys: add jwks, keys or secret"
        )));
    }
    if let Some(allowed) = allowed {
        for key in &mut keys {
            key.algorithms
                .retain(|algorithm| allowed.contains(algorithm));
        }
        if keys.iter().all(|key| key.algorithms.is_empty()) {
            return Err(wrong(format!(
                "\"{place}.algorithms\" names none that its keys can be used with"
            )));
        }
    }
    let claims = issuer.object("claims").0;
    Ok(Issuer {
        name,
        audience,
        keys,
        claims,
    })
}

fn algorithms(issuer: &Fields, place: &str) -> Result<Option<Vec<Algorithm>>, Problem> {
    if !issuer.0.contains_key("algorithms") {
        return Ok(None);
    }
    let names = issuer.texts("algorithms");
    let parsed = names.iter().map(|name| name.parse::<Algorithm>());
    let parsed = parsed.collect::<Result<Vec<_>, _>>();
    let refused = |_| {
        wrong(format!(
            "\"{place}.algorithms\" must hold names such as \"RS256\", \"ES256\" and \"HS256\""
        ))
    };
    parsed.map(Some).map_err(refused)
}

/// A key for what its family can do: a shared secret is never taken for a public key, nor the other way round.
fn trusted(id: Option<String>, key: DecodingKey) -> Trusted {
    let algorithms = key.family().algorithms().to_vec();
    Trusted {
        id,
        key,
        algorithms,
    }
}

fn secret(issuer: &Fields, place: &str) -> Result<Vec<Trusted>, Problem> {
    if !issuer.0.contains_key("secret") {
        return Ok(Vec::new());
    }
    match issuer.optional("secret") {
        Some(secret) => Ok(vec![trusted(
            None,
            DecodingKey::from_secret(secret.as_bytes()),
        )]),
        None => Err(wrong(format!("\"{place}.secret\" is empty"))),
    }
}

/// `jwks`: a set of keys, or the file of the app that holds one.
fn set(app: &App, issuer: &Fields, place: &str) -> Result<Vec<Trusted>, Problem> {
    let place = format!("{place}.jwks");
    let value = match issuer.0.get("jwks") {
        None => return Ok(Vec::new()),
        Some(Value::String(file)) => read_set(&app.root, file, &place)?,
        Some(value) => value.clone(),
    };
    let set = serde_json::from_value::<JwkSet>(value);
    let set = set.map_err(|error| wrong(format!("\"{place}\" is no set of keys: {error}")))?;
    set.keys.iter().map(|key| web_key(key, &place)).collect()
}

fn read_set(root: &Path, file: &str, place: &str) -> Result<Value, Problem> {
    if file.contains("://") {
        return Err(wrong(format!(
            "\"{place}\" is a URL; put the set into a file of the app and name that"
        )));
    }
    let text = std::fs::read_to_string(root.join(file));
    let text =
        text.map_err(|error| wrong(format!("\"{place}\": {file} cannot be read: {error}")))?;
    serde_json::from_str(&text)
        .map_err(|error| wrong(format!("\"{place}\": {file} is not JSON: {error}")))
}

/// `keys`: public keys as PEM text, or as JSON Web Keys.
fn listed(issuer: &Fields, place: &str) -> Result<Vec<Trusted>, Problem> {
    let keys = issuer.list("keys").into_iter().enumerate();
    let keys = keys.map(|(at, key)| {
        let place = format!("{place}.keys[{at}]");
        match key {
            Value::String(text) => pem(text.as_bytes(), &place),
            value => {
                let key = serde_json::from_value::<Jwk>(value);
                let key = key.map_err(|error| wrong(format!("\"{place}\" is no key: {error}")))?;
                web_key(&key, &place)
            }
        }
    });
    keys.collect()
}

fn pem(text: &[u8], place: &str) -> Result<Trusted, Problem> {
    let key = DecodingKey::from_rsa_pem(text)
        .or_else(|_| DecodingKey::from_ec_pem(text))
        .or_else(|_| DecodingKey::from_ed_pem(text));
    let key = key.map_err(|_| wrong(format!("\"{place}\" is no public key in PEM")))?;
    Ok(trusted(None, key))
}

fn web_key(key: &Jwk, place: &str) -> Result<Trusted, Problem> {
    let read = DecodingKey::from_jwk(key);
    let read = read.map_err(|error| {
        wrong(format!(
            "\"{place}\" holds a key that cannot be used: {error}"
        ))
    })?;
    Ok(trusted(key.common.key_id.clone(), read))
}
