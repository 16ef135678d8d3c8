//! Whose tokens count: `auth.issuers` of an app, and the keys that their tokens are checked with.

use super::openapi_file::{IssuerSettings, wrong};
use super::remote_key_set::RemoteKeySet;
use super::token::{IssuerKey, TokenIssuer};
use ambit_runtime::app::read::RawText;
use ambit_runtime::app::{App, FileProblem};
use jsonwebtoken::jwk::{Jwk, JwkSet};
use jsonwebtoken::{Algorithm, DecodingKey};
use serde::Deserialize;
use serde_json::Value;
use std::path::Path;

/// One of `auth.issuers`.
pub fn read(app: &App, at: usize, issuer: IssuerSettings) -> Result<TokenIssuer, FileProblem> {
    let place = format!("auth.issuers[{at}]");
    if issuer.issuer.is_empty() {
        return Err(wrong(format!("\"{place}.issuer\" is empty")));
    }
    let audience = &issuer.audience.0;
    if audience.is_empty() || audience.iter().any(String::is_empty) {
        return Err(wrong(format!(
            "\"{place}.audience\" is empty: name whom the tokens are for"
        )));
    }
    let allowed = algorithms(&issuer, &place)?;
    let remote = remote(&issuer, &place, allowed.as_deref())?;
    let mut keys = secret(&issuer, &place)?;
    if remote.is_none() {
        keys.extend(set(app, &issuer, &place)?);
    }
    keys.extend(listed(&issuer.keys, &place)?);
    if keys.is_empty() && remote.is_none() {
        return Err(wrong(format!(
            "\"{place}\" has no keys: add jwks, keys or secret"
        )));
    }
    restrict(&mut keys, allowed.as_deref());
    if remote.is_none() && keys.iter().all(|key| key.algorithms.is_empty()) {
        return Err(wrong(format!(
            "\"{place}.algorithms\" names none that its keys can be used with"
        )));
    }
    Ok(TokenIssuer {
        name: issuer.issuer,
        audience: issuer.audience.0,
        keys,
        remote,
        claims: issuer.claims,
    })
}

/// Leaves of what keys can be used with what is listed, if something is.
fn restrict(keys: &mut [IssuerKey], allowed: Option<&[Algorithm]>) {
    let Some(allowed) = allowed else {
        return;
    };
    for key in keys {
        key.algorithms
            .retain(|algorithm| allowed.contains(algorithm));
    }
}

/// `jwks` where it is the address at which the issuer publishes its keys.
fn remote(
    issuer: &IssuerSettings,
    place: &str,
    allowed: Option<&[Algorithm]>,
) -> Result<Option<RemoteKeySet>, FileProblem> {
    let url = issuer.jwks.as_ref().and_then(Value::as_str);
    let Some(url) = url.filter(|text| text.contains("://")) else {
        return Ok(None);
    };
    let remote = RemoteKeySet::at(url, allowed.map(<[Algorithm]>::to_vec));
    let refused = |why| wrong(format!("\"{place}.jwks\" {why}"));
    remote.map(Some).map_err(refused)
}

/// The keys that an issuer publishes. Those that are of no use here are passed over: others may come to be published beside
/// the ones in use. A shared secret that is published is none.
pub fn published(set: &Value, allowed: Option<&[Algorithm]>) -> Option<Vec<IssuerKey>> {
    let keys = set.get("keys")?.as_array()?.iter();
    let keys = keys.filter(|key| key["kty"] != "oct" && key["use"] != "enc");
    let usable = keys.filter_map(|key| {
        let key = serde_json::from_value::<Jwk>(key.clone()).ok()?;
        web_key(&key, "").ok()
    });
    let mut usable: Vec<IssuerKey> = usable.collect();
    restrict(&mut usable, allowed);
    usable.retain(|key| !key.algorithms.is_empty());
    Some(usable)
}

fn algorithms(issuer: &IssuerSettings, place: &str) -> Result<Option<Vec<Algorithm>>, FileProblem> {
    let Some(names) = &issuer.algorithms else {
        return Ok(None);
    };
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
fn trusted(id: Option<String>, key: DecodingKey) -> IssuerKey {
    let algorithms = key.family().algorithms().to_vec();
    IssuerKey {
        id,
        key,
        algorithms,
    }
}

fn secret(issuer: &IssuerSettings, place: &str) -> Result<Vec<IssuerKey>, FileProblem> {
    match &issuer.secret {
        None => Ok(Vec::new()),
        Some(RawText(secret)) if secret.is_empty() => {
            Err(wrong(format!("\"{place}.secret\" is empty")))
        }
        Some(RawText(secret)) => {
            let key = DecodingKey::from_secret(secret.as_bytes());
            Ok(vec![trusted(None, key)])
        }
    }
}

/// `jwks` where it is a set of keys, or the file of the app that holds one.
fn set(app: &App, issuer: &IssuerSettings, place: &str) -> Result<Vec<IssuerKey>, FileProblem> {
    let place = format!("{place}.jwks");
    let value = match &issuer.jwks {
        None => return Ok(Vec::new()),
        Some(Value::String(file)) => read_set(&app.root, file, &place)?,
        Some(value) => value.clone(),
    };
    let set = serde_json::from_value::<JwkSet>(value);
    let set = set.map_err(|error| wrong(format!("\"{place}\" is no set of keys: {error}")))?;
    set.keys.iter().map(|key| web_key(key, &place)).collect()
}

fn read_set(root: &Path, file: &str, place: &str) -> Result<Value, FileProblem> {
    let text = std::fs::read_to_string(root.join(file));
    let text =
        text.map_err(|error| wrong(format!("\"{place}\": {file} cannot be read: {error}")))?;
    serde_json::from_str(&text)
        .map_err(|error| wrong(format!("\"{place}\": {file} is not JSON: {error}")))
}

/// `keys`: public keys as PEM text, or as JSON Web Keys.
fn listed(keys: &[Value], place: &str) -> Result<Vec<IssuerKey>, FileProblem> {
    let keys = keys.iter().enumerate();
    let keys = keys.map(|(at, key)| {
        let place = format!("{place}.keys[{at}]");
        match key {
            Value::String(text) => pem(text.as_bytes(), &place),
            value => {
                let key = Jwk::deserialize(value);
                let key = key.map_err(|error| wrong(format!("\"{place}\" is no key: {error}")))?;
                web_key(&key, &place)
            }
        }
    });
    keys.collect()
}

fn pem(text: &[u8], place: &str) -> Result<IssuerKey, FileProblem> {
    let key = DecodingKey::from_rsa_pem(text)
        .or_else(|_| DecodingKey::from_ec_pem(text))
        .or_else(|_| DecodingKey::from_ed_pem(text));
    let key = key.map_err(|_| wrong(format!("\"{place}\" is no public key in PEM")))?;
    Ok(trusted(None, key))
}

fn web_key(key: &Jwk, place: &str) -> Result<IssuerKey, FileProblem> {
    let read = DecodingKey::from_jwk(key);
    let read = read.map_err(|error| {
        wrong(format!(
            "\"{place}\" holds a key that cannot be used: {error}"
        ))
    })?;
    let mut trusted = trusted(key.common.key_id.clone(), read);
    if let Some(named) = key.common.key_algorithm {
        let named = Algorithm::try_from(named).ok();
        trusted.algorithms.retain(|known| Some(*known) == named);
    }
    Ok(trusted)
}
