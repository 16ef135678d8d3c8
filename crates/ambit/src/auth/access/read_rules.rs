//! Reading the rules of an app. A name that means nothing is a mistake: it would grant less than was meant, or take away less.

use super::default_rules;
use super::endpoint::EndpointPattern;
use super::limits::ScopeLimits;
use super::rules::{AccessRules, EndpointRule, RoleDefinition, RuleEffect, ScopeDefinition};
use super::scope::{self, EVERYTHING};
use crate::auth::openapi_file::OpenapiFile;
use ambit_runtime::access::DataConstraints;
use ambit_runtime::app::read::{FieldMap, FieldSpec, ValueKind};
use ambit_runtime::app::{App, FileProblem};
use ambit_runtime::model::system::ROLES_FILE;
use ambit_storage::suggestion;
use serde_json::{Map, Value};
use std::collections::BTreeMap;

const FOLDER: &str = "openapi/scopes";
const SETTINGS: &str = "openapi/scopes/scopes.yml";
const ALIASES: &str = "openapi/scopes/alias.yml";

const ROLE_TABLE: ValueKind = ValueKind::Map(&ValueKind::Object(&[
    FieldSpec::new("name", ValueKind::Text),
    FieldSpec::required("scopes", ValueKind::TEXTS),
    FieldSpec::new("restricted", ValueKind::TEXTS),
    FieldSpec::new("default", ValueKind::Boolean),
]));
const SCOPE_TABLE: ValueKind = ValueKind::Map(&ValueKind::Object(&[
    FieldSpec::new("description", ValueKind::Text),
    FieldSpec::required("endpoints", ValueKind::TEXTS),
    FieldSpec::new("owner", ValueKind::Boolean),
    FieldSpec::new("creator", ValueKind::Boolean),
    FieldSpec::new("editor", ValueKind::Boolean),
    FieldSpec::new("team", ValueKind::Boolean),
    FieldSpec::new("extra", ValueKind::Map(&ValueKind::Any)),
]));
const SETTINGS_TABLE: ValueKind = ValueKind::Object(&[
    FieldSpec::new("default", ValueKind::OneOf(&["deny", "allow"])),
    FieldSpec::new("public", ValueKind::TEXTS),
    FieldSpec::new("endpoints", ValueKind::TEXTS),
]);
const ALIAS_TABLE: ValueKind = ValueKind::Map(&ValueKind::TEXTS);

/// Whether a file of `openapi/`, named below that folder, holds rules.
pub fn is_rule(name: &str) -> bool {
    name == "roles.yml" || (name.starts_with("scopes/") && name.ends_with(".yml"))
}

/// The rules of an app, and what has no effect in them. An app without scopes has the usual ones.
pub fn read(app: &App) -> Result<(AccessRules, Vec<FileProblem>), FileProblem> {
    let has_scopes =
        app.root.join(FOLDER).exists() || app.access.0.keys().any(|name| name.starts_with(FOLDER));
    let mut reading = RulesReader {
        app,
        rules: AccessRules::default(),
        notices: Vec::new(),
    };
    match has_scopes {
        true => {
            reading.scopes()?;
            reading.settings()?;
            reading.aliases()?;
        }
        false => reading.rules = default_rules::rules(),
    }
    reading.roles()?;
    Ok((reading.rules, reading.notices))
}

struct RulesReader<'a> {
    app: &'a App,
    rules: AccessRules,
    notices: Vec<FileProblem>,
}

impl RulesReader<'_> {
    fn file(&mut self, name: &str, table: &ValueKind) -> Result<Option<OpenapiFile>, FileProblem> {
        if !self.app.access.0.contains_key(name) {
            return Ok(None);
        }
        let mut read = OpenapiFile::of(self.app, name, table)?;
        self.notices.append(&mut read.notices);
        Ok(Some(read))
    }

    fn scopes(&mut self) -> Result<(), FileProblem> {
        let names = self.app.access.0.keys();
        let is_own = |name: &&String| {
            name.starts_with(FOLDER) && ![SETTINGS, ALIASES].contains(&name.as_str())
        };
        let names: Vec<String> = names.filter(is_own).cloned().collect();
        for name in names {
            let Some(read) = self.file(&name, &SCOPE_TABLE)? else {
                continue;
            };
            for (scope, fields) in objects(&read.fields) {
                self.scope(&read, scope, &fields)?;
            }
        }
        Ok(())
    }

    fn scope(
        &mut self,
        read: &OpenapiFile,
        name: &str,
        fields: &FieldMap,
    ) -> Result<(), FileProblem> {
        scope::check(name, false)
            .map_err(|why| read.wrong(&[name], format!("\"{name}\": {why}")))?;
        if let Some(other) = self.rules.scopes.get(name) {
            let message = format!("the scope \"{name}\" is also in {}", other.file);
            return Err(read.wrong(&[name], message));
        }
        let is_set = |flag: &str| fields.boolean(flag) == Some(true);
        let flags = DataConstraints {
            owner_only: is_set("owner"),
            creator_only: is_set("creator"),
            editor_only: is_set("editor"),
            team_only: is_set("team"),
            extra: columns(read, name, fields)?,
        };
        let scope = ScopeDefinition {
            limits: ScopeLimits::of(name, &flags),
            file: read.name.clone(),
        };
        self.rules.scopes.insert(name.to_owned(), scope);
        for (at, text) in fields.texts("endpoints").into_iter().enumerate() {
            let effect = RuleEffect::Scope(name.to_owned());
            let place = [name, "endpoints", &at.to_string()];
            self.entry(read, &place, (&text, &text, effect))?;
        }
        Ok(())
    }

    /// `default`, `public` and `endpoints`, `["GET /kb/* allow"]`.
    fn settings(&mut self) -> Result<(), FileProblem> {
        let Some(read) = self.file(SETTINGS, &SETTINGS_TABLE)? else {
            return Ok(());
        };
        self.rules.is_open = read.fields.text("default") == "allow";
        for (at, text) in read.fields.texts("public").into_iter().enumerate() {
            let place = ["public", &at.to_string()];
            self.entry(&read, &place, (&text, &text, RuleEffect::Public))?;
        }
        for (at, text) in read.fields.texts("endpoints").into_iter().enumerate() {
            let place = ["endpoints", &at.to_string()];
            let (endpoint, word) = text.trim().rsplit_once(' ').unwrap_or((&text, ""));
            let effect = match word {
                "allow" => RuleEffect::Allow,
                "deny" => RuleEffect::Deny,
                _ => {
                    let message = format!(
                        "\"{text}\" must end with allow or deny, as in \"GET /kb/* allow\""
                    );
                    return Err(read.wrong(&place, message));
                }
            };
            self.entry(&read, &place, (endpoint, &text, effect))?;
        }
        Ok(())
    }

    fn entry(
        &mut self,
        read: &OpenapiFile,
        place: &[&str],
        (endpoint, text, effect): (&str, &str, RuleEffect),
    ) -> Result<(), FileProblem> {
        let endpoint =
            EndpointPattern::parse(endpoint.trim()).map_err(|why| read.wrong(place, why))?;
        self.rules.entries.push(EndpointRule {
            endpoint,
            effect,
            text: text.to_owned(),
            file: read.name.clone(),
        });
        Ok(())
    }

    fn aliases(&mut self) -> Result<(), FileProblem> {
        let Some(read) = self.file(ALIASES, &ALIAS_TABLE)? else {
            return Ok(());
        };
        let named = read
            .fields
            .0
            .keys()
            .map(|name| (name.clone(), read.fields.texts(name)));
        let named: BTreeMap<String, Vec<String>> = named.collect();
        for (alias, names) in &named {
            let is_openid = scope::OPENID.contains(&alias.as_str());
            if self.rules.scopes.contains_key(alias) || alias.contains('*') || is_openid {
                let message = format!(
                    "\"{alias}\" must not be the name of a scope, of OpenID's too, nor have a \"*\""
                );
                return Err(read.wrong(&[alias], message));
            }
            for (at, name) in names.iter().enumerate() {
                let place = [alias.as_str(), &at.to_string()];
                self.check(name, &named)
                    .map_err(|why| read.wrong(&place, why))?;
            }
            let whole = expanded(&named, alias, &mut Vec::new());
            let whole = whole.map_err(|why| read.wrong(&[alias], why))?;
            self.rules.aliases.insert(alias.clone(), whole);
        }
        Ok(())
    }

    fn roles(&mut self) -> Result<(), FileProblem> {
        let Some(read) = self.file(ROLES_FILE, &ROLE_TABLE)? else {
            return Ok(());
        };
        for (name, fields) in objects(&read.fields) {
            for list in ["scopes", "restricted"] {
                for (at, scope) in fields.texts(list).iter().enumerate() {
                    let place = [name, list, &at.to_string()];
                    let known = self.check(scope, &self.rules.aliases);
                    known.map_err(|why| read.wrong(&place, why))?;
                }
            }
            let role = RoleDefinition {
                scopes: fields.texts("scopes"),
                restricted: fields.texts("restricted"),
                is_default: fields.boolean("default") == Some(true),
            };
            if let (true, Some(other)) = (role.is_default, self.rules.default_role()) {
                let message = format!("\"{name}\" and \"{other}\" cannot both be the default role");
                return Err(read.wrong(&[name, "default"], message));
            }
            self.rules.roles.insert(name.to_owned(), role);
        }
        Ok(())
    }

    /// Why a name means no scope of the app.
    fn check(&self, name: &str, aliases: &BTreeMap<String, Vec<String>>) -> Result<(), String> {
        let scopes = self.rules.scopes.keys();
        let is_known = aliases.contains_key(name)
            || name == EVERYTHING
            || scopes.clone().any(|scope| scope::matches(name, scope));
        if is_known {
            return Ok(());
        }
        let known = scopes.chain(aliases.keys()).map(String::as_str);
        let hint = suggestion::hint(name, known);
        match scope::check(name, true) {
            Err(why) if hint.is_empty() => {
                Err(format!("\"{name}\" is no scope and no alias: {why}"))
            }
            _ if name.contains('*') => Err(format!("\"{name}\" means none of the app's scopes")),
            _ => Err(format!("unknown scope \"{name}\"{hint}")),
        }
    }
}

/// Entries of a file that are objects, as its table says that they are.
fn objects(fields: &FieldMap) -> impl Iterator<Item = (&str, FieldMap)> {
    fields
        .0
        .keys()
        .map(|name| (name.as_str(), fields.object(name)))
}

/// All that an alias comes to.
fn expanded<'a>(
    named: &'a BTreeMap<String, Vec<String>>,
    alias: &'a str,
    chain: &mut Vec<&'a str>,
) -> Result<Vec<String>, String> {
    if chain.contains(&alias) {
        chain.push(alias);
        return Err(format!("an alias stands for itself: {}", chain.join(" → ")));
    }
    chain.push(alias);
    let mut all = Vec::new();
    for name in named.get(alias).into_iter().flatten() {
        match named.contains_key(name) {
            true => all.extend(expanded(named, name, chain)?),
            false => all.push(name.clone()),
        }
    }
    chain.pop();
    Ok(all)
}

/// `extra`: columns and the value that they must have, or a list of such values.
fn columns(
    read: &OpenapiFile,
    name: &str,
    fields: &FieldMap,
) -> Result<Option<Map<String, Value>>, FileProblem> {
    let columns = fields.object("extra").0;
    let is_plain = |value: &Value| value.is_string() || value.is_number() || value.is_boolean();
    for (column, value) in &columns {
        let fits = match value {
            Value::Array(items) => items.iter().all(is_plain),
            one => is_plain(one),
        };
        if !fits {
            let message = format!(
                "\"{name}.extra.{column}\" must be a string, a number, a boolean or a list of them"
            );
            return Err(read.wrong(&[name, "extra", column], message));
        }
    }
    Ok((!columns.is_empty()).then_some(columns))
}
