//! Why a request is granted or denied, for operators.

use super::endpoint::RequestTarget;
use super::rules::{AccessDecision, AccessRules, EndpointRule, RuleEffect, ScopeGrant};
use crate::auth::RequestCaller;
use ambit_runtime::DataConstraints;
use serde_json::Value;

/// What the rules say of a request by somebody, and why: the first line is the answer, the others are its reasons.
pub fn explain(rules: &AccessRules, target: &RequestTarget, who: &RequestCaller) -> Vec<String> {
    let entries = rules.rules_for(target);
    let ruling = rules.decide(Some(target), Some(who));
    let mut lines = vec![format!("{target}: {}", answer(&ruling))];
    if target.is_operating() && who.authorized.tenant_id.is_some() {
        let line = "it is about the installation as a whole, which callers of a tenant neither see nor change";
        lines.push(line.to_owned());
    }
    if entries.is_empty() {
        lines.push(match rules.is_open && !target.is_operating() {
            true => {
                "no rule is about it, and \"default: allow\" grants it to every caller".to_owned()
            }
            false => "no rule is about it, so it is denied".to_owned(),
        });
    }
    lines.extend(entries.iter().map(|entry| reason(rules, entry, who)));
    lines.extend(unknown(rules, who));
    if let Some(scope) = who.authorized.claims.get("scope").and_then(Value::as_str) {
        lines.push(format!("the credentials are for the scope \"{scope}\""));
    }
    lines
}

fn answer(ruling: &AccessDecision) -> String {
    match ruling {
        AccessDecision::Public => "granted to everybody, without a caller".to_owned(),
        AccessDecision::Nobody => "needs a caller".to_owned(),
        AccessDecision::Denied => "denied".to_owned(),
        AccessDecision::Granted(limits) => format!("granted, {}", limited(limits)),
    }
}

/// What limits leave of the data.
fn limited(limits: &DataConstraints) -> String {
    if limits.is_none() {
        return "to all data of the caller's tenant".to_owned();
    }
    let flags = [
        (limits.owner_only, "owner_only"),
        (limits.creator_only, "creator_only"),
        (limits.editor_only, "editor_only"),
        (limits.team_only, "team_only"),
    ];
    let set = flags.iter().filter(|(is_set, _)| *is_set);
    let mut names: Vec<String> = set.map(|(_, name)| (*name).to_owned()).collect();
    if let Some(extra) = &limits.extra {
        names.push(format!("extra {}", Value::Object(extra.clone())));
    }
    format!("limited by {}", names.join(", "))
}

fn reason(rules: &AccessRules, entry: &EndpointRule, who: &RequestCaller) -> String {
    let place = format!("rule \"{}\" ({})", entry.text, entry.file);
    let RuleEffect::Scope(name) = &entry.effect else {
        let effect = match entry.effect {
            RuleEffect::Public => "opens it to everybody",
            RuleEffect::Deny => "denies it to everybody",
            _ => "grants it to every caller, limited as usual",
        };
        return format!("{place} {effect}");
    };
    let held = match rules.held(name, who) {
        ScopeGrant::No => "which none of the caller's roles grants".to_owned(),
        ScopeGrant::Cut => "which the scope of the credentials leaves out".to_owned(),
        ScopeGrant::Restricted(role, by) => {
            format!("which role \"{role}\" restricts{}", via(by, name))
        }
        ScopeGrant::By(role, by) => {
            let limits = rules
                .scopes
                .get(name)
                .map(|scope| scope.limits.for_caller(&who.authorized));
            let limits = limits.unwrap_or_default();
            format!(
                "which role \"{role}\" grants{}, {}",
                via(by, name),
                limited(&limits)
            )
        }
    };
    format!("{place} needs scope \"{name}\", {held}")
}

/// By which name a role means a scope, if that is another.
fn via(by: &str, scope: &str) -> String {
    match by == scope {
        true => String::new(),
        false => format!(" as \"{by}\""),
    }
}

/// Roles that mean nothing.
fn unknown(rules: &AccessRules, who: &RequestCaller) -> Vec<String> {
    let roles = who.roles.iter();
    let unknown = roles.filter(|role| !rules.roles.contains_key(*role));
    let lines = unknown.map(|role| {
        let hint = ambit_storage::suggestion::hint(role, rules.roles());
        format!("role \"{role}\" is none of the app's roles and grants nothing{hint}")
    });
    lines.collect()
}
