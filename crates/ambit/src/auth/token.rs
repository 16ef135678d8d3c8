//! JSON Web Tokens of issuers that the app trusts. Ambit checks tokens; it issues none.

use super::{CLAIMS, Found, id, refused, roles};
use ambit_runtime::{Authorized, Result};
use jsonwebtoken::errors::ErrorKind;
use jsonwebtoken::{Algorithm, DecodingKey, Validation, dangerous, decode, decode_header};
use serde::Deserialize;
use serde_json::{Map, Value};

/// Claims about the token itself, of no use to an app.
const TECHNICAL: [&str; 6] = ["iss", "aud", "exp", "nbf", "iat", "jti"];
/// Names that mean something in `authorized` and are not a token's to fill otherwise than by `claims`.
const RESERVED: [&str; 4] = ["user_id", "team_id", "tenant_id", "constraints"];

/// Somebody whose tokens count.
pub struct Issuer {
    /// `iss` of its tokens.
    pub name: String,
    /// `aud` of its tokens.
    pub audience: Vec<String>,
    /// Its keys.
    pub keys: Vec<Trusted>,
    /// The claims that hold what `authorized` holds, by its names.
    pub claims: Map<String, Value>,
}

/// A key that an issuer signs with.
pub struct Trusted {
    /// `kid`, if it has one.
    pub id: Option<String>,
    /// What checks a signature.
    pub key: DecodingKey,
    /// The algorithms that it may be used with; all of its own family.
    pub algorithms: Vec<Algorithm>,
}

/// Who a token says somebody is. Of its text only the issuer's name is believed before the signature is checked, and only to
/// find the issuer's keys.
pub(super) fn check(issuers: &[Issuer], token: &str) -> Result<Found> {
    #[derive(Deserialize)]
    struct Origin {
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
    let origin: Origin = dangerous::insecure_decode_claims(token)
        .map_err(|_| refused("the token cannot be read"))?;
    let issuer = issuers
        .iter()
        .find(|issuer| Some(&issuer.name) == origin.iss.as_ref());
    let issuer = issuer.ok_or_else(|| refused("the token's issuer is not trusted here"))?;
    let mut last = refused("none of the issuer's keys fits the token");
    let is_meant =
        |key: &&Trusted| header.kid.is_none() || key.id.is_none() || key.id == header.kid;
    for trusted in issuer.keys.iter().filter(is_meant) {
        if !trusted.algorithms.contains(&header.alg) {
            continue;
        }
        match decode::<Map<String, Value>>(token, &trusted.key, &issuer.validation(trusted)) {
            Ok(token) => return issuer.person(token.claims),
            Err(error) => last = refused(why(error.kind())),
        }
    }
    Err(last)
}

fn why(kind: &ErrorKind) -> &'static str {
    match kind {
        ErrorKind::ExpiredSignature => "the token has expired",
        ErrorKind::ImmatureSignature => "the token is not valid yet",
        ErrorKind::InvalidAudience => "the token is for another audience",
        ErrorKind::InvalidSignature => "the token's signature is wrong",
        ErrorKind::MissingRequiredClaim(_) => "the token lacks exp, iss or aud",
        _ => "the token is not valid",
    }
}

impl Issuer {
    fn validation(&self, trusted: &Trusted) -> Validation {
        let mut validation = Validation::default();
        validation.algorithms.clone_from(&trusted.algorithms);
        validation.set_issuer(&[&self.name]);
        validation.set_audience(&self.audience);
        validation.set_required_spec_claims(&["exp", "iss", "aud"]);
        validation.validate_nbf = true;
        validation
    }

    fn person(&self, claims: Map<String, Value>) -> Result<Found> {
        let text = |name: &str| self.text(&claims, name);
        let one = |name: &str| text(name).map(|text| id(name, &text)).transpose();
        let mut authorized = Authorized {
            user_id: one("user_id")?,
            team_id: one("team_id")?,
            tenant_id: one("tenant_id")?,
            ..Authorized::default()
        };
        let roles = self.roles(&claims);
        for name in CLAIMS {
            let value = text(name).map(Value::from);
            authorized
                .claims
                .extend(value.map(|value| (name.to_owned(), value)));
        }
        let is_plain = |name: &str| !TECHNICAL.contains(&name) && !RESERVED.contains(&name);
        for (name, value) in claims {
            if is_plain(&name) && !authorized.claims.contains_key(&name) {
                authorized.claims.insert(name, value);
            }
        }
        Ok(Found { authorized, roles })
    }

    /// The claim that holds this; its name may be a path with dots.
    fn claim<'a>(&self, claims: &'a Map<String, Value>, name: &str) -> Option<&'a Value> {
        let standard = if name == "user_id" { "sub" } else { name };
        let path = self
            .claims
            .get(name)
            .and_then(Value::as_str)
            .unwrap_or(standard);
        let mut parts = path.split('.');
        let below = || {
            let first = claims.get(parts.next()?)?;
            parts.try_fold(first, |value, part| value.get(part))
        };
        claims.get(path).or_else(below)
    }

    fn text(&self, claims: &Map<String, Value>, name: &str) -> Option<String> {
        match self.claim(claims, name)? {
            Value::String(text) => Some(text.clone()),
            Value::Number(number) => Some(number.to_string()),
            Value::Array(texts) => {
                let texts: Vec<&str> = texts.iter().filter_map(Value::as_str).collect();
                Some(texts.join(" "))
            }
            _ => None,
        }
    }

    fn roles(&self, claims: &Map<String, Value>) -> Vec<String> {
        match self.claim(claims, "roles") {
            Some(Value::Array(texts)) => texts
                .iter()
                .filter_map(Value::as_str)
                .map(str::to_owned)
                .collect(),
            Some(Value::String(text)) => roles(text),
            _ => Vec::new(),
        }
    }
}
