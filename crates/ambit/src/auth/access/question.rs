//! Who and what is meant by the words of somebody who asks about the rules.

use super::{AccessRules, RequestTarget};
use crate::auth::{AuthConfig, RequestCaller};
use ambit_runtime::{Authorized, Error, Result};
use ambit_storage::suggestion;

/// What is told of a caller by a name of its own; further claims are the app's.
const CLAIMS: [&str; 10] = [
    "user_id",
    "team_id",
    "tenant_id",
    "constraints",
    "roles",
    "scope",
    "client_id",
    "session_id",
    "sub",
    "remember_me",
];

/// Who is meant.
pub enum AskedCaller {
    /// Somebody who is described.
    Described(Box<RequestCaller>),
    /// Whoever has the API key with this id.
    KeyHolder(String),
}

/// The request `GET /chat/sessions`; its path may stand below the base path or not.
pub fn read_target(config: &AuthConfig, what: &str) -> Result<RequestTarget> {
    let found = what.trim().split_once(' ').and_then(|(method, path)| {
        let path = path.trim();
        let below = path.strip_prefix(&config.base);
        let below = below.filter(|below| below.starts_with('/'));
        RequestTarget::of(&method.to_uppercase(), below.unwrap_or(path))
    });
    found.ok_or_else(|| {
        let message = format!("\"{what}\" is no request; write it as \"GET /chat/sessions\"");
        Error::invalid("what", message)
    })
}

/// The caller: roles with commas between them, `authorized` as JSON with `roles` and `scope`, or else the id of a key.
pub fn read_caller(rules: &AccessRules, who: &str) -> Result<AskedCaller> {
    if who.trim_start().starts_with('{') {
        let person: Authorized = serde_json::from_str(who)
            .map_err(|error| Error::invalid("who", format!("<WHO> is no identity: {error}")))?;
        check_claims(&person)?;
        let caller = RequestCaller::of(person)?;
        return Ok(AskedCaller::Described(Box::new(caller)));
    }
    let roles: Vec<&str> = who.split(',').map(str::trim).collect();
    let is_role = |name: &&str| rules.roles().any(|role| role == *name);
    Ok(match roles.iter().all(is_role) {
        true => AskedCaller::Described(Box::new(RequestCaller {
            roles: roles.into_iter().map(str::to_owned).collect(),
            ..RequestCaller::default()
        })),
        false => AskedCaller::KeyHolder(who.to_owned()),
    })
}

/// Nobody is meant by these words.
pub fn unknown_caller(rules: &AccessRules, who: &str) -> Error {
    let known: Vec<&str> = rules.roles().collect();
    let message = format!(
        "\"{who}\" is neither a role of the app ({}) nor the id of a key; `ambit keys ls` lists the keys",
        known.join(", ")
    );
    Error::invalid("who", message)
}

/// Refuses a claim that is a known one, misspelt: it would say nothing, and the answer would be about somebody else.
fn check_claims(person: &Authorized) -> Result<()> {
    for claim in person.claims.keys() {
        let known = CLAIMS.iter().copied();
        if CLAIMS.contains(&claim.as_str()) {
            continue;
        }
        if let Some(meant) = suggestion::nearest(claim, known) {
            let message =
                format!("<WHO> says \"{claim}\", which nothing reads; did you mean \"{meant}\"?");
            return Err(Error::invalid("who", message));
        }
    }
    Ok(())
}
