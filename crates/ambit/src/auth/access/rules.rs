//! The rules of an app, and what they say of a request.

use super::default_rules;
use super::endpoint::{EndpointPattern, PatternRank, RequestTarget};
use super::limits::{ScopeLimits, widest};
use super::scope;
use crate::auth::RequestCaller;
use ambit_runtime::DataConstraints;
use serde_json::Value;
use std::collections::BTreeMap;

/// Roles, scopes and what they are about.
#[derive(Clone, Debug, Default)]
pub struct AccessRules {
    pub(super) scopes: BTreeMap<String, ScopeDefinition>,
    /// Names for several scopes, with the names and patterns that they come to.
    pub(super) aliases: BTreeMap<String, Vec<String>>,
    pub(super) roles: BTreeMap<String, RoleDefinition>,
    pub(super) entries: Vec<EndpointRule>,
    /// Whether requests that no rule is about are granted to every caller.
    pub(super) is_open: bool,
}

/// A scope, but for its endpoints.
#[derive(Clone, Debug)]
pub(super) struct ScopeDefinition {
    pub limits: ScopeLimits,
    /// The file that defines it.
    pub file: String,
}

/// A role.
#[derive(Clone, Debug, Default)]
pub(super) struct RoleDefinition {
    /// Names, patterns and aliases that it grants.
    pub scopes: Vec<String>,
    /// Those that it takes away, whatever else grants them.
    pub restricted: Vec<String>,
    /// The role of callers without one.
    pub is_default: bool,
    /// The file that defines it.
    pub file: String,
}

/// A rule about an endpoint.
#[derive(Clone, Debug)]
pub(super) struct EndpointRule {
    pub endpoint: EndpointPattern,
    pub effect: RuleEffect,
    /// As it is written.
    pub text: String,
    /// The file that it is in.
    pub file: String,
}

impl EndpointRule {
    /// Whether it is about a request that another is about.
    fn overlaps(&self, other: &Self) -> bool {
        let (method, path) = other.endpoint.sample();
        let target = RequestTarget::of(method, &path);
        target.is_some_and(|target| self.endpoint.matches(&target))
    }
}

/// What a rule does.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum RuleEffect {
    /// Everybody may, without credentials.
    Public,
    /// Every caller may.
    Allow,
    /// Nobody may.
    Deny,
    /// Those who hold this scope may.
    Scope(String),
}

/// What the rules say of a request.
#[derive(Clone, Debug, PartialEq)]
pub enum AccessDecision {
    /// Everybody may.
    Public,
    /// Somebody has to be calling.
    Nobody,
    /// The caller may, within these limits.
    Granted(DataConstraints),
    /// The caller may not.
    Denied,
}

/// Whether a caller holds a scope, and why.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum ScopeGrant<'a> {
    /// None of the roles grants it.
    No,
    /// This role grants it by this name.
    By(&'a str, &'a str),
    /// A role grants it, and the token is not for it.
    Cut,
    /// This role takes it away by this name.
    Restricted(&'a str, &'a str),
}

impl AccessRules {
    /// The role of callers without one, if the rules name it.
    pub fn default_role(&self) -> Option<&str> {
        let mut roles = self.roles.iter();
        let found = roles.find(|(_, role)| role.is_default);
        found.map(|(name, _)| name.as_str())
    }

    /// The names of the roles.
    pub fn roles(&self) -> impl Iterator<Item = &str> {
        self.roles.keys().map(String::as_str)
    }

    /// The names of the scopes.
    pub fn scopes(&self) -> impl Iterator<Item = &str> {
        self.scopes.keys().map(String::as_str)
    }

    /// Whether a name, a pattern or an alias means a scope that there is.
    pub fn has_scope(&self, name: &str) -> bool {
        self.scopes().any(|scope| self.means(name, scope))
    }

    /// Whether anybody may do anything that there is to do, which the usual rules are about.
    pub fn grant_something(&self) -> bool {
        let usual = default_rules::rules();
        let is_served = |entry: &EndpointRule| {
            let mut routes = usual.entries.iter();
            routes.any(|route| entry.overlaps(route) || route.overlaps(entry))
        };
        let is_granted = |scope: &str| {
            self.roles.values().any(|role| {
                let has = |names: &[String]| names.iter().any(|name| self.means(name, scope));
                has(&role.scopes) && !has(&role.restricted)
            })
        };
        let grants = |entry: &EndpointRule| match &entry.effect {
            RuleEffect::Public | RuleEffect::Allow => true,
            RuleEffect::Deny => false,
            RuleEffect::Scope(name) => is_granted(name),
        };
        let mut entries = self.entries.iter();
        self.is_open || entries.any(|entry| grants(entry) && is_served(entry))
    }

    /// What they say of a request. The most exact of the rules that are about it count, and no others: a rule for one
    /// endpoint is not undone by one for many.
    pub fn decide(
        &self,
        target: Option<&RequestTarget>,
        who: Option<&RequestCaller>,
    ) -> AccessDecision {
        let entries = target
            .map(|target| self.rules_for(target))
            .unwrap_or_default();
        let has = |effect: &RuleEffect| entries.iter().any(|entry| entry.effect == *effect);
        if has(&RuleEffect::Public) {
            return AccessDecision::Public;
        }
        let Some(who) = who else {
            return AccessDecision::Nobody;
        };
        let is_operating = target.is_some_and(RequestTarget::is_operating);
        if has(&RuleEffect::Deny) || (is_operating && who.authorized.tenant_id.is_some()) {
            return AccessDecision::Denied;
        }
        // What is open to all callers was so before there was anything about the installation.
        let is_open = self.is_open && target.is_some() && !is_operating;
        let is_allowed = has(&RuleEffect::Allow) || (is_open && entries.is_empty());
        let usual = is_allowed.then(|| DataConstraints::usual(&who.authorized));
        let held = entries.iter().filter_map(|entry| self.granted(entry, who));
        widest(usual.into_iter().chain(held))
            .map_or(AccessDecision::Denied, AccessDecision::Granted)
    }

    /// The rules that decide about a request.
    pub(super) fn rules_for(&self, target: &RequestTarget) -> Vec<&EndpointRule> {
        let entries = self.entries.iter();
        let found: Vec<(PatternRank, &EndpointRule)> = entries
            .filter(|entry| entry.endpoint.matches(target))
            .map(|entry| (entry.endpoint.rank(), entry))
            .collect();
        let best = found.iter().map(|(rank, _)| rank).max().cloned();
        let best = found
            .into_iter()
            .filter(|(rank, _)| Some(rank) == best.as_ref());
        best.map(|(_, entry)| entry).collect()
    }

    /// One request for each rule: its method and path.
    pub fn samples(&self) -> impl Iterator<Item = (&str, String)> {
        self.entries.iter().map(|entry| entry.endpoint.sample())
    }

    /// The scopes of which a request needs one.
    pub fn scopes_for(&self, target: &RequestTarget) -> Vec<String> {
        let entries = self.rules_for(target).into_iter();
        let names = entries.filter_map(|entry| match &entry.effect {
            RuleEffect::Scope(name) => Some(name.clone()),
            RuleEffect::Public | RuleEffect::Allow | RuleEffect::Deny => None,
        });
        names.collect()
    }

    /// Those of them that the caller's roles grant and the credentials leave out.
    pub fn cut_scopes(&self, target: &RequestTarget, who: &RequestCaller) -> Vec<String> {
        let mut names = self.scopes_for(target);
        names.retain(|name| self.held(name, who) == ScopeGrant::Cut);
        names
    }

    fn granted(&self, entry: &EndpointRule, who: &RequestCaller) -> Option<DataConstraints> {
        let RuleEffect::Scope(name) = &entry.effect else {
            return None;
        };
        let scope = self.scopes.get(name)?;
        matches!(self.held(name, who), ScopeGrant::By(..))
            .then(|| scope.limits.for_caller(&who.authorized))
    }

    /// Whether a caller holds a scope.
    pub(super) fn held<'a>(&'a self, scope: &str, who: &'a RequestCaller) -> ScopeGrant<'a> {
        let roles = || {
            let roles = who.roles.iter();
            roles.filter_map(|name| Some((name.as_str(), self.roles.get(name)?)))
        };
        let by = |names: &'a [String]| names.iter().find(|name| self.means(name, scope));
        let granted = roles().find_map(|(role, rules)| Some((role, by(&rules.scopes)?)));
        let Some((role, name)) = granted else {
            return ScopeGrant::No;
        };
        let restricted = roles().find_map(|(role, rules)| Some((role, by(&rules.restricted)?)));
        if let Some((role, name)) = restricted {
            return ScopeGrant::Restricted(role, name);
        }
        match self.is_cut(scope, who) {
            true => ScopeGrant::Cut,
            false => ScopeGrant::By(role, name),
        }
    }

    /// Whether the credentials are for less than the roles grant.
    fn is_cut(&self, scope: &str, who: &RequestCaller) -> bool {
        match who.authorized.claims.get("scope") {
            None => false,
            Some(Value::String(claim)) => scope::cut(claim)
                .is_some_and(|names| !names.iter().any(|name| self.means(name, scope))),
            Some(_) => true,
        }
    }

    /// Whether a name, a pattern or an alias means a scope.
    fn means(&self, name: &str, scope: &str) -> bool {
        match self.aliases.get(name) {
            Some(names) => names.iter().any(|name| scope::matches(name, scope)),
            None => scope::matches(name, scope),
        }
    }
}
