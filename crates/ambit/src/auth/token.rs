//! JSON Web Tokens of issuers that the app trusts. Ambit checks tokens; it issues none.

use super::remote_key_set::RemoteKeySet;
use super::verified_caller::{CallerSource, SessionCredential, TokenClaims, VerifiedCaller};
use super::{CLAIMS, RESERVED, RequestCaller, id, refused, tenant};
use ambit_runtime::{Authorized, Result};
use ambit_storage::clock::Millis;
use jsonwebtoken::errors::ErrorKind;
use jsonwebtoken::{Algorithm, DecodingKey, Validation, dangerous, decode, decode_header};
use serde::Deserialize;
use serde_json::{Map, Value};
use std::collections::BTreeMap;
use std::sync::Arc;

/// Claims about the token itself, of no use to an app.
const TECHNICAL: [&str; 6] = ["iss", "aud", "exp", "nbf", "iat", "jti"];

/// Somebody whose tokens count.
pub struct TokenIssuer {
    /// `iss` of its tokens.
    pub name: String,
    /// `aud` of its tokens.
    pub audience: Vec<String>,
    /// The keys that the app has of it.
    pub keys: Vec<IssuerKey>,
    /// Where it publishes its keys.
    pub remote: Option<RemoteKeySet>,
    /// The claims that hold what `authorized` holds, by its names.
    pub claims: BTreeMap<String, String>,
}

/// A key that an issuer signs with.
pub struct IssuerKey {
    /// `kid`, if it has one.
    pub id: Option<String>,
    /// What checks a signature.
    pub key: DecodingKey,
    /// The algorithms that it may be used with; all of its own family.
    pub algorithms: Vec<Algorithm>,
}

/// Who a token says somebody is. Of its text only the issuer's name is believed before the signature is checked, and only to
/// find the issuer's keys.
pub(super) async fn check(issuers: &[TokenIssuer], token: &str) -> Result<VerifiedCaller> {
    #[derive(Deserialize)]
    struct IssuerClaim {
        iss: Option<String>,
    }
    let header =
        decode_header(token).map_err(|_| refused("it is no token that is understood here"))?;
    // RFC 7515, 4.1.11: what the issuer calls critical must be understood, and none of it is.
    if header.crit.is_some() {
        return Err(refused(
            "the token demands extensions (crit) that are not understood here",
        ));
    }
    let origin: IssuerClaim = dangerous::insecure_decode_claims(token)
        .map_err(|_| refused("the token cannot be read"))?;
    let issuer = issuers
        .iter()
        .find(|issuer| Some(&issuer.name) == origin.iss.as_ref());
    let issuer = issuer.ok_or_else(|| refused("the token's issuer is not trusted here"))?;
    let mut last = refused("none of the issuer's keys fits the token");
    let is_meant =
        |key: &&IssuerKey| header.kid.is_none() || key.id.is_none() || key.id == header.kid;
    let published = match &issuer.remote {
        Some(remote) => remote.keys(header.kid.as_deref()).await?,
        None => Arc::default(),
    };
    let keys = issuer.keys.iter().chain(published.iter());
    for trusted in keys.filter(is_meant) {
        if !trusted.algorithms.contains(&header.alg) {
            continue;
        }
        match decode::<Map<String, Value>>(token, &trusted.key, &issuer.validation(trusted)) {
            Ok(token) => return issuer.verified(token.claims),
            Err(error) => last = refused(refusal_reason(error.kind())),
        }
    }
    Err(last)
}

fn refusal_reason(kind: &ErrorKind) -> &'static str {
    match kind {
        ErrorKind::ExpiredSignature => "the token has expired",
        ErrorKind::ImmatureSignature => "the token is not valid yet",
        ErrorKind::InvalidAudience => "the token is for another audience",
        ErrorKind::InvalidSignature => "the token's signature is wrong",
        ErrorKind::MissingRequiredClaim(_) => "the token lacks exp, iss or aud",
        _ => "the token is not valid",
    }
}

impl TokenIssuer {
    fn validation(&self, trusted: &IssuerKey) -> Validation {
        let mut validation = Validation::default();
        validation.algorithms.clone_from(&trusted.algorithms);
        validation.set_issuer(&[&self.name]);
        validation.set_audience(&self.audience);
        validation.set_required_spec_claims(&["exp", "iss", "aud"]);
        validation.validate_nbf = true;
        // The leeway is for clocks that are ahead, and prolongs no token.
        validation.reject_tokens_expiring_in_less_than = validation.leeway;
        validation
    }

    fn verified(&self, claims: Map<String, Value>) -> Result<VerifiedCaller> {
        // Checked to be there, in whole seconds or parts of them.
        let end = claims.get("exp").and_then(Value::as_f64);
        let expires_at = end.map(|seconds| (seconds * 1000.0) as Millis);
        let caller = self.person(claims)?;
        let credential = SessionCredential::Token(Box::new(TokenClaims {
            issuer: self.name.clone(),
            authorized: caller.authorized.clone(),
            roles: caller.roles.clone(),
            expires_at,
        }));
        Ok(VerifiedCaller {
            caller,
            source: CallerSource::Token,
            expires_at,
            key_ends_at: None,
            credential: Some(credential),
        })
    }

    fn person(&self, claims: Map<String, Value>) -> Result<RequestCaller> {
        let text = |name: &str| self.text(&claims, name);
        let one = |name: &str| text(name)?.map(|text| id(name, &text)).transpose();
        let mut authorized = Authorized {
            user_id: one("user_id")?,
            team_id: one("team_id")?,
            tenant_id: text("tenant_id")?.map(|text| tenant(&text)).transpose()?,
            ..Authorized::default()
        };
        let roles = self.roles(&claims)?;
        for name in CLAIMS {
            let value = match name {
                "scope" => self.texts(&claims, name)?.map(|texts| texts.join(" ")),
                name => text(name)?,
            };
            let value = value.map(|value| (name.to_owned(), value.into()));
            authorized.claims.extend(value);
        }
        let is_plain = |name: &str| !TECHNICAL.contains(&name) && !RESERVED.contains(&name);
        // What is reserved is a token's to fill by `claims` alone.
        for (name, value) in claims {
            if is_plain(&name) && !authorized.claims.contains_key(&name) {
                authorized.claims.insert(name, value);
            }
        }
        Ok(RequestCaller { authorized, roles })
    }

    /// The claim that holds this; its name may be a path with dots.
    fn claim<'a>(&self, claims: &'a Map<String, Value>, name: &str) -> Result<Option<&'a Value>> {
        let standard = if name == "user_id" { "sub" } else { name };
        let path = self.claims.get(name).map_or(standard, String::as_str);
        if let Some(value) = claims.get(path) {
            return Ok(Some(value));
        }
        let mut parts = path.split('.');
        let mut found = parts.next().and_then(|first| claims.get(first));
        for part in parts {
            found = match found {
                None => return Ok(None),
                Some(Value::Object(inner)) => inner.get(part),
                // What is no object cannot say that the claim is absent.
                Some(_) => return Err(refused(&format!("{name} is not where the claims have it"))),
            };
        }
        Ok(found)
    }

    /// A text; whole numbers are one too, as many issuers number their users.
    fn text(&self, claims: &Map<String, Value>, name: &str) -> Result<Option<String>> {
        match self.claim(claims, name)? {
            None => Ok(None),
            Some(Value::String(text)) => Ok(Some(text.clone())),
            Some(Value::Number(number)) if !number.is_f64() => Ok(Some(number.to_string())),
            Some(_) => Err(refused(&format!("{name} is no string"))),
        }
    }

    /// A list of texts; a text counts as a list of one.
    fn texts(&self, claims: &Map<String, Value>, name: &str) -> Result<Option<Vec<String>>> {
        let items = match self.claim(claims, name)? {
            None => return Ok(None),
            Some(Value::Array(items)) => items.as_slice(),
            Some(one) => std::slice::from_ref(one),
        };
        let texts = items.iter().map(|item| item.as_str().map(str::to_owned));
        let refused = || refused(&format!("{name} is neither a string nor a list of strings"));
        texts.collect::<Option<_>>().map(Some).ok_or_else(refused)
    }

    fn roles(&self, claims: &Map<String, Value>) -> Result<Vec<String>> {
        let is_list = matches!(self.claim(claims, "roles")?, Some(Value::Array(_)));
        let texts = self.texts(claims, "roles")?.unwrap_or_default();
        Ok(match is_list {
            true => texts,
            false => {
                let names = texts.iter().map(|text| Authorized::role_names(text));
                names.flatten().collect()
            }
        })
    }
}
