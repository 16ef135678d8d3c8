//! The rules of an app, for operators to read.

use super::rules::{AccessRules, RuleEffect};
use serde::Serialize;
use utoipa::ToSchema;

/// Rules, and the files that say them.
#[derive(Serialize, ToSchema)]
pub struct RulesView {
    /// By their names.
    roles: Vec<RoleView>,
    /// By their names.
    scopes: Vec<ScopeView>,
    /// By their names.
    aliases: Vec<AliasView>,
    /// What everybody may do, without credentials.
    public: Vec<EndpointView>,
    /// What every caller may do, or nobody.
    endpoints: Vec<EndpointView>,
    /// What becomes of a request that no rule is about: `allow` or `deny`.
    default: &'static str,
}

/// A role.
#[derive(Serialize, ToSchema)]
struct RoleView {
    name: String,
    /// The scopes, patterns and aliases that it grants.
    scopes: Vec<String>,
    /// Those that it takes away.
    restricted: Vec<String>,
    /// Whether callers without a role have it.
    default: bool,
    /// The file that says so.
    file: String,
}

/// A scope.
#[derive(Serialize, ToSchema)]
struct ScopeView {
    name: String,
    /// What may be called with it.
    endpoints: Vec<String>,
    /// The file that says so.
    file: String,
}

/// A name for several scopes.
#[derive(Serialize, ToSchema)]
struct AliasView {
    name: String,
    /// All that it comes to.
    scopes: Vec<String>,
}

/// A rule about an endpoint.
#[derive(Serialize, ToSchema)]
struct EndpointView {
    /// As it is written, `GET /kb/* allow`.
    endpoint: String,
    /// `allow` or `deny`.
    effect: &'static str,
    /// The file that says so.
    file: String,
}

impl AccessRules {
    /// All of them, for operators to read.
    pub fn view(&self) -> RulesView {
        let roles = self.roles.iter().map(|(name, role)| RoleView {
            name: name.clone(),
            scopes: role.scopes.clone(),
            restricted: role.restricted.clone(),
            default: role.is_default,
            file: role.file.clone(),
        });
        let scopes = self.scopes.iter().map(|(name, scope)| ScopeView {
            name: name.clone(),
            endpoints: self.endpoints_of(name),
            file: scope.file.clone(),
        });
        let aliases = self.aliases.iter().map(|(name, scopes)| AliasView {
            name: name.clone(),
            scopes: scopes.clone(),
        });
        let with = |wanted: &[RuleEffect]| {
            let entries = self.entries.iter();
            let entries = entries.filter(|entry| wanted.contains(&entry.effect));
            let views = entries.map(|entry| EndpointView {
                endpoint: entry.text.clone(),
                effect: match entry.effect {
                    RuleEffect::Deny => "deny",
                    _ => "allow",
                },
                file: entry.file.clone(),
            });
            views.collect()
        };
        RulesView {
            roles: roles.collect(),
            scopes: scopes.collect(),
            aliases: aliases.collect(),
            public: with(&[RuleEffect::Public]),
            endpoints: with(&[RuleEffect::Allow, RuleEffect::Deny]),
            default: if self.is_open { "allow" } else { "deny" },
        }
    }

    fn endpoints_of(&self, scope: &str) -> Vec<String> {
        let is_its =
            |effect: &RuleEffect| matches!(effect, RuleEffect::Scope(name) if name == scope);
        let entries = self.entries.iter().filter(|entry| is_its(&entry.effect));
        entries.map(|entry| entry.text.clone()).collect()
    }
}
