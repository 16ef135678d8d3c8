//! Logging in: what was typed is judged once, and a cookie stands for it from then on.

use super::config::AuthConfig;
use super::request_site::{RequestPage, RequestSite};
use super::verified_caller::{CallerSource, SessionCredential, TokenClaims, VerifiedCaller};
use super::{
    AuthRequest, Authenticator, CallerAccess, RequestCaller, bearer, current, unauthenticated,
};
use ambit_runtime::{Error, ErrorCode, Result};
use ambit_storage::clock::{Clock, Millis};
use axum::http::HeaderMap;
use serde::Serialize;

/// Somebody who has logged in.
pub struct BrowserLogin {
    /// The value of `Set-Cookie`.
    pub cookie: String,
    /// Who it is.
    pub access: CallerAccess,
}

/// How somebody can log in.
#[derive(Clone, Debug, Serialize)]
pub struct LoginWays {
    /// With an API key.
    pub keys: bool,
    /// With a token.
    pub tokens: bool,
    /// At another place.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub login_url: Option<String>,
}

impl Authenticator {
    /// How somebody can log in.
    pub fn login_ways(&self) -> LoginWays {
        let config = current(&self.present);
        let is_on = config.session.enabled;
        LoginWays {
            keys: is_on && config.has_api_keys,
            tokens: is_on && !config.issuers.is_empty(),
            login_url: config.session.login_url.clone(),
        }
    }

    /// Where somebody logs out who has no session.
    pub fn logout_url(&self) -> Option<String> {
        current(&self.present).session.logout_url.clone()
    }

    /// Begins a session of whoever sends these credentials.
    pub async fn log_in(&self, asked: AuthRequest<'_>) -> Result<BrowserLogin> {
        self.check_site(asked.headers)?;
        let config = current(&self.present);
        check_sessions(&config, self.is_development)?;
        let address = asked.peer.map(|peer| self.address(asked.headers, peer));
        self.logins.check(address)?;
        let found = self.typed_caller(&config, asked.headers).await;
        if let Err(error) = &found
            && error.code == ErrorCode::Unauthenticated
        {
            self.logins.count(address);
        }
        let found = found?;
        let site = RequestSite::of(asked, config.proxy.as_ref());
        check_page(asked.headers, &site)?;
        let credential = found.credential.clone().ok_or_else(unauthenticated)?;
        let begun = self
            .sessions
            .begin(credential, site, asked.headers, &config.session);
        let begun = begun.await?;
        let found = in_session(found, begun.ends_at);
        Ok(BrowserLogin {
            cookie: begun.cookie,
            access: CallerAccess::new(config, Some(found)),
        })
    }

    /// Ends the session that a request names; the answer is the value of `Set-Cookie` that removes its cookie.
    pub async fn log_out(&self, asked: AuthRequest<'_>) -> Result<Option<String>> {
        let config = current(&self.present);
        let site = RequestSite::of(asked, config.proxy.as_ref());
        self.sessions.end(&site, asked.headers).await
    }

    async fn typed_caller(
        &self,
        config: &AuthConfig,
        headers: &HeaderMap,
    ) -> Result<VerifiedCaller> {
        let secret = bearer(headers)?.ok_or_else(unauthenticated)?;
        self.bearer_caller(config, secret).await
    }

    /// Who has logged in, if a cookie says so and what they have logged in with still counts.
    pub(super) async fn session_caller(
        &self,
        config: &AuthConfig,
        site: &RequestSite,
        headers: &HeaderMap,
    ) -> Result<Option<VerifiedCaller>> {
        let session = self.sessions.find(site, headers, &config.session).await?;
        let Some(session) = session else {
            return Ok(None);
        };
        let found = match session.credential {
            SessionCredential::Key { hash, .. } if config.has_api_keys => {
                let found = self.keys.find(&hash).await?;
                self.keys.note_use(&hash).await;
                found.map(|found| found.verified(hash))
            }
            SessionCredential::Key { .. } => None,
            SessionCredential::Token(token) => token_caller(config, *token),
        };
        Ok(found.map(|found| in_session(found, session.ends_at)))
    }
}

/// The same caller by a session, which ends with what it was begun with.
fn in_session(found: VerifiedCaller, ends_at: Millis) -> VerifiedCaller {
    let end = found.expires_at.map_or(ends_at, |end| end.min(ends_at));
    VerifiedCaller {
        source: CallerSource::Session,
        expires_at: Some(end),
        ..found
    }
}

/// Whom a token was for that has not ended, and whose issuer still counts.
fn token_caller(config: &AuthConfig, token: TokenClaims) -> Option<VerifiedCaller> {
    let is_over = token
        .expires_at
        .is_some_and(|end| Clock::default().now() >= end);
    let mut issuers = config.issuers.iter();
    let is_trusted = issuers.any(|known| known.name == token.issuer);
    (is_trusted && !is_over).then_some(VerifiedCaller {
        caller: RequestCaller {
            authorized: token.authorized,
            roles: token.roles,
        },
        source: CallerSource::Token,
        expires_at: token.expires_at,
        key_ends_at: None,
        credential: None,
    })
}

fn check_sessions(config: &AuthConfig, is_development: bool) -> Result<()> {
    let why = match (is_development, config.session.enabled) {
        (false, true) => return Ok(()),
        (true, _) => "in development mode everybody is the developer, so nobody logs in",
        (false, false) => "auth.session.enabled of openapi/openapi.yao allows no sessions",
    };
    Err(Error::new(ErrorCode::PermissionDenied, why))
}

/// A page of another site must not log somebody in as another.
fn check_page(headers: &HeaderMap, site: &RequestSite) -> Result<()> {
    let page = RequestPage::of(headers);
    let is_own = page.origin.is_none_or(|origin| site.has_origin(origin));
    match is_own && page.fetch_site.is_none_or(|site| site == "same-origin") {
        true => Ok(()),
        false => {
            let message = "pages of this server alone begin its sessions; Origin or Sec-Fetch-Site of the request names another";
            Err(Error::new(ErrorCode::PermissionDenied, message))
        }
    }
}
