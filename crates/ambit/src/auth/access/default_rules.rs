//! The rules of an app that has none: users have their own data and their team's, admins all of their tenant's.

use super::endpoint::EndpointPattern;
use super::limits::ScopeLimits;
use super::rules::{AccessRules, EndpointRule, RoleDefinition, RuleEffect, ScopeDefinition};
use super::scope::EVERYTHING;
use ambit_runtime::DataConstraints;
use std::collections::BTreeMap;

/// What there is to do, and by which routes.
const ACTIONS: &[(&str, &[&str])] = &[
    (
        "agents:read",
        &["GET /agent/*", "GET /models", "GET /models/:id"],
    ),
    ("calls:read", &["GET /calls/:id/manifest"]),
    (
        "chat:read",
        &[
            "GET /chat/*",
            "GET /ai-sdk/*",
            "GET /responses/*",
            "GET /conversations/*",
        ],
    ),
    (
        "chat:write",
        &[
            "POST /chat/*",
            "PUT /chat/*",
            "DELETE /chat/*",
            "POST /agents/:assistant_id/chat/completions",
            "POST /ai-sdk/*",
            "DELETE /ai-sdk/*",
            "POST /ag-ui",
            "POST /ag-ui/:assistant_id",
            "POST /messages",
            "POST /messages/*",
            "POST /responses",
            "POST /responses/*",
            "DELETE /responses/*",
            "POST /conversations",
            "POST /conversations/*",
            "DELETE /conversations/*",
        ],
    ),
    (
        "contexts:read",
        &["GET /contexts", "GET /contexts/*", "GET /events"],
    ),
    (
        "contexts:write",
        &["POST /contexts/*", "DELETE /contexts/*"],
    ),
    ("document:read", &["GET /openapi.json"]),
    ("kb:read", &["GET /kb/*", "POST /kb/search"]),
    ("kb:write", &["POST /kb/*", "PUT /kb/*", "DELETE /kb/*"]),
    ("memory:read", &["GET /memory/*"]),
    ("memory:write", &["PUT /memory/*", "DELETE /memory/*"]),
    ("mcp:use", &["POST /mcp"]),
    ("traces:read", &["GET /trace/*"]),
    ("usage:read", &["GET /usage"]),
];
/// What is granted at level `all` alone: what is about nobody's data in particular, the store of programs that have a framework of
/// their own, and acting as others.
const ALL_LEVEL_ACTIONS: &[(&str, &[&str])] = &[
    ("access:read", &["GET /access/*", "POST /access/explain"]),
    (
        "app:read",
        &[
            "GET /app/*",
            "POST /app/agents/:id/prompts",
            "GET /calls/:id/blocks/:n",
            "GET /calls/:id/tools/:n",
            "GET /calls/:id/request",
        ],
    ),
    (
        "app:try",
        &[
            "POST /app/agents/:id/tools/:name",
            "POST /app/agents/:id/hooks/:hook",
        ],
    ),
    ("data:read", &["GET /data/*", "POST /data/models/:id/query"]),
    ("identity:assume", &["POST /session/act-as"]),
    ("keys:read", &["GET /keys"]),
    ("keys:write", &["POST /keys", "DELETE /keys/:id"]),
    ("measures:read", &["GET /metrics"]),
    ("store:use", &["POST /store/*"]),
    (
        "system:read",
        &["GET /system", "GET /system/*", "POST /system/doctor"],
    ),
    ("system:write", &["POST /system/repair"]),
];
/// The levels at which each of `ACTIONS` is granted. `default` is the caller's team, or without one the caller alone.
const LEVELS: [&str; 4] = ["own", "team", "default", "all"];
/// The roles, what they grant, and what of it they do not.
const ROLES: [(&str, &[&str], &[&str]); 2] = [
    // `own` is no more than `default` grants, and what credentials are cut to.
    ("user", &["*:*:default", "*:*:own"], &["kb:write:*"]),
    ("admin", &[EVERYTHING], &[]),
];

/// Where messages say that these rules are.
const SOURCE: &str = "built in";

/// The scopes and the roles.
pub fn rules() -> AccessRules {
    let mut rules = AccessRules {
        roles: roles(),
        ..AccessRules::default()
    };
    for (action, endpoints) in ACTIONS {
        for level in LEVELS {
            add(&mut rules, &format!("{action}:{level}"), endpoints);
        }
    }
    for (action, endpoints) in ALL_LEVEL_ACTIONS {
        add(&mut rules, &format!("{action}:all"), endpoints);
    }
    rules
}

fn roles() -> BTreeMap<String, RoleDefinition> {
    let roles = ROLES.iter().map(|(name, scopes, restricted)| {
        let role = RoleDefinition {
            scopes: scopes.iter().map(|&name| name.to_owned()).collect(),
            restricted: restricted.iter().map(|&name| name.to_owned()).collect(),
            file: SOURCE.to_owned(),
            ..RoleDefinition::default()
        };
        ((*name).to_owned(), role)
    });
    roles.collect()
}

fn add(rules: &mut AccessRules, name: &str, endpoints: &[&str]) {
    let scope = ScopeDefinition {
        limits: ScopeLimits::of(name, &DataConstraints::default()),
        file: SOURCE.to_owned(),
    };
    rules.scopes.insert(name.to_owned(), scope);
    // One that cannot be read grants nothing, and a test of all routes finds it.
    let read = endpoints.iter().filter_map(|text| {
        Some(EndpointRule {
            endpoint: EndpointPattern::parse(text).ok()?,
            effect: RuleEffect::Scope(name.to_owned()),
            text: (*text).to_owned(),
            file: SOURCE.to_owned(),
        })
    });
    rules.entries.extend(read);
}
