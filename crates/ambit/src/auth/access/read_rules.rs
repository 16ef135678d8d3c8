//! Reading the rules of an app. A name that means nothing is a mistake: it would grant less than was meant, or take away less.

use super::default_rules;
use super::endpoint::EndpointPattern;
use super::limits::ScopeLimits;
use super::rules::{AccessRules, EndpointRule, RoleDefinition, RuleEffect, ScopeDefinition};
use super::scope;
use crate::auth::openapi_file::AccessFile;
use ambit_runtime::DataConstraints;
use ambit_runtime::app::read::Setting;
use ambit_runtime::app::{App, FileProblem, Severity};
use ambit_runtime::config;
use ambit_runtime::model::system::ROLES_FILE;
use ambit_storage::suggestion;
use indexmap::IndexMap;
use serde_json::{Map, Value};
use std::collections::{BTreeMap, BTreeSet};

const FOLDER: &str = "openapi/scopes";
const SETTINGS: &str = "openapi/scopes/scopes.yml";
const ALIASES: &str = "openapi/scopes/alias.yml";

config! {
    /// A role: what callers who have it may call.
    pub struct RoleSettings {
        /// What people call the role.
        name: String,
        /// The scopes and aliases that it has; `*` stands for one part.
        #[required]
        scopes: Vec<String>,
        /// Scopes that it does not have, whatever `scopes` says.
        restricted: Vec<String>,
        /// Whether callers without a role have this one.
        default: bool,
    }

    /// A scope: what may be called with it, and with which data.
    pub struct ScopeSettings {
        /// What it is for.
        description: String,
        /// What may be called: `GET /chat/sessions`, with `:param` for a part and a final `*` for the rest.
        #[required]
        endpoints: Vec<String>,
        /// Only data that the caller owns.
        owner: bool,
        /// Only data that the caller has made.
        creator: bool,
        /// Only data that the caller has changed last.
        editor: bool,
        /// Only data of the caller's team.
        team: bool,
        /// Only rows with these values, by columns.
        extra: Map<String, Value>,
    }

    /// What may be called without a scope.
    pub struct ScopesFile {
        /// What becomes of a call that no rule is about.
        default: ScopesDefault,
        /// What everybody may call, without saying who they are.
        public: Vec<String>,
        /// What every caller may or may not call: `GET /kb/* allow`.
        endpoints: Vec<String>,
    }

    /// What becomes of a call that no rule is about.
    pub enum ScopesDefault {
        /// It is refused.
        Deny = "deny",
        /// It is allowed.
        Allow = "allow",
    }
}

/// Whether a file of `openapi/`, named below that folder, holds rules.
pub fn is_rule(name: &str) -> bool {
    name == "roles.yml" || (name.starts_with("scopes/") && name.ends_with(".yml"))
}

/// The rules of an app, and what has no effect in them. An app without scopes has the usual ones.
pub fn read(app: &App) -> Result<(AccessRules, Vec<FileProblem>), FileProblem> {
    let has_scopes = app.access.0.keys().any(|name| name.starts_with(FOLDER));
    let mut reading = RulesReader {
        app,
        rules: AccessRules::default(),
        absent: BTreeSet::new(),
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
    /// Names that aliases have and that no scope has.
    absent: BTreeSet<String>,
    notices: Vec<FileProblem>,
}

impl RulesReader<'_> {
    fn file<T: Setting>(&mut self, name: &str) -> Result<Option<AccessFile<T>>, FileProblem> {
        if !self.app.access.0.contains_key(name) {
            return Ok(None);
        }
        let mut read = AccessFile::read(self.app, name)?;
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
            let Some(read) = self.file::<IndexMap<String, ScopeSettings>>(&name)? else {
                continue;
            };
            for (scope, settings) in &read.content {
                self.scope(&read, scope, settings)?;
            }
        }
        Ok(())
    }

    fn scope<T: Setting>(
        &mut self,
        read: &AccessFile<T>,
        name: &str,
        settings: &ScopeSettings,
    ) -> Result<(), FileProblem> {
        scope::check(name, false)
            .map_err(|why| read.wrong(&[name], format!("\"{name}\": {why}")))?;
        if let Some(other) = self.rules.scopes.get(name) {
            let message = format!("the scope \"{name}\" is also in {}", other.file);
            return Err(read.wrong(&[name], message));
        }
        for limit in ["owner", "creator", "editor", "team", "extra"] {
            read.check_limits(self.app, &[name, limit])?;
        }
        let flags = DataConstraints {
            owner_only: settings.owner,
            creator_only: settings.creator,
            editor_only: settings.editor,
            team_only: settings.team,
            extra: columns(read, name, &settings.extra)?,
        };
        let scope = ScopeDefinition {
            limits: ScopeLimits::of(name, &flags),
            file: read.name.clone(),
        };
        self.rules.scopes.insert(name.to_owned(), scope);
        for (at, text) in settings.endpoints.iter().enumerate() {
            let effect = RuleEffect::Scope(name.to_owned());
            let place = [name, "endpoints", &at.to_string()];
            self.entry(&read.name, text, text, effect)
                .map_err(|why| read.wrong(&place, why))?;
        }
        Ok(())
    }

    /// `default`, `public` and `endpoints`, `["GET /kb/* allow"]`.
    fn settings(&mut self) -> Result<(), FileProblem> {
        let Some(read) = self.file::<ScopesFile>(SETTINGS)? else {
            return Ok(());
        };
        self.rules.is_open = read.content.default == ScopesDefault::Allow;
        for (at, text) in read.content.public.iter().enumerate() {
            let place = ["public", &at.to_string()];
            self.entry(&read.name, text, text, RuleEffect::Public)
                .map_err(|why| read.wrong(&place, why))?;
        }
        for (at, text) in read.content.endpoints.iter().enumerate() {
            let place = ["endpoints", &at.to_string()];
            let (endpoint, word) = text.trim().rsplit_once(' ').unwrap_or((text, ""));
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
            self.entry(&read.name, endpoint, text, effect)
                .map_err(|why| read.wrong(&place, why))?;
        }
        Ok(())
    }

    fn entry(
        &mut self,
        file: &str,
        endpoint: &str,
        text: &str,
        effect: RuleEffect,
    ) -> Result<(), String> {
        self.rules.entries.push(EndpointRule {
            endpoint: EndpointPattern::parse(endpoint.trim())?,
            effect,
            text: text.to_owned(),
            file: file.to_owned(),
        });
        Ok(())
    }

    fn aliases(&mut self) -> Result<(), FileProblem> {
        let Some(read) = self.file::<BTreeMap<String, Vec<String>>>(ALIASES)? else {
            return Ok(());
        };
        let named = &read.content;
        for (alias, names) in named {
            let is_openid = scope::OPENID.contains(&alias.as_str());
            if self.rules.scopes.contains_key(alias) || alias.contains('*') || is_openid {
                let message = format!(
                    "\"{alias}\" must not be the name of a scope, of OpenID's too, nor have a \"*\""
                );
                return Err(read.wrong(&[alias], message));
            }
            let mut absent = Vec::new();
            for (at, name) in names.iter().enumerate() {
                let place = [alias.as_str(), &at.to_string()];
                match self.check_granted(name, named) {
                    Err(_) if self.may_be_absent(name, named) => absent.push(name.as_str()),
                    known => known.map_err(|why| read.wrong(&place, why))?,
                }
            }
            if !absent.is_empty() {
                let names = absent.join(", ");
                let message = format!(
                    "\"{alias}\" names scopes that are not there, which grant nothing: {names}"
                );
                self.notices.push(FileProblem {
                    severity: Severity::Warning,
                    ..read.wrong(&[alias], message)
                });
            }
            self.absent.extend(absent.into_iter().map(str::to_owned));
            let whole = expanded(named, alias, &mut Vec::new());
            let whole = whole.map_err(|why| read.wrong(&[alias], why))?;
            self.rules.aliases.insert(alias.clone(), whole);
        }
        Ok(())
    }

    fn roles(&mut self) -> Result<(), FileProblem> {
        let Some(read) = self.file::<IndexMap<String, RoleSettings>>(ROLES_FILE)? else {
            return Ok(());
        };
        for (name, settings) in &read.content {
            let lists = [
                ("scopes", &settings.scopes),
                ("restricted", &settings.restricted),
            ];
            for (list, scopes) in lists {
                for (at, scope) in scopes.iter().enumerate() {
                    let place = [name, list, &at.to_string()];
                    let known = match list {
                        "scopes" => self.check_granted(scope, &self.rules.aliases),
                        _ => self.check_restricted(scope),
                    };
                    known.map_err(|why| read.wrong(&place, why))?;
                }
            }
            let role = RoleDefinition {
                scopes: settings.scopes.clone(),
                restricted: settings.restricted.clone(),
                is_default: settings.default,
                file: read.name.clone(),
            };
            if let (true, Some(other)) = (role.is_default, self.rules.default_role()) {
                let message = format!("\"{name}\" and \"{other}\" cannot both be the default role");
                return Err(read.wrong(&[name, "default"], message));
            }
            self.rules.roles.insert(name.to_owned(), role);
        }
        Ok(())
    }

    /// Whether a name that means no scope can be that of a part that the app, or Ambit, does not have. One that is near to another
    /// is a slip.
    fn may_be_absent(&self, name: &str, aliases: &BTreeMap<String, Vec<String>>) -> bool {
        let known = self.rules.scopes.keys().chain(aliases.keys());
        let known = known.map(String::as_str);
        scope::check(name, false).is_ok() && suggestion::nearest(name, known).is_none()
    }

    /// Why a name cannot be granted. Granting all scopes of so many parts is no mistake where there are none.
    fn check_granted(
        &self,
        name: &str,
        aliases: &BTreeMap<String, Vec<String>>,
    ) -> Result<(), String> {
        match scope::is_everything(name) {
            true => Ok(()),
            false => self.check(name, aliases),
        }
    }

    /// Why a name cannot be taken away: an alias may take away less than it says. One that grants less is no mistake.
    fn check_restricted(&self, alias: &str) -> Result<(), String> {
        self.check(alias, &self.rules.aliases)?;
        let names = self.rules.aliases.get(alias).into_iter().flatten();
        let mut absent = names.filter(|name| self.absent.contains(*name));
        match absent.next() {
            None => Ok(()),
            Some(name) => Err(format!(
                "\"{alias}\" stands for \"{name}\" too, which is no scope: it would take away less than it says"
            )),
        }
    }

    /// Why a name means no scope of the app.
    fn check(&self, name: &str, aliases: &BTreeMap<String, Vec<String>>) -> Result<(), String> {
        let scopes = self.rules.scopes.keys();
        let is_known =
            aliases.contains_key(name) || scopes.clone().any(|scope| scope::matches(name, scope));
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
fn columns<T: Setting>(
    read: &AccessFile<T>,
    name: &str,
    columns: &Map<String, Value>,
) -> Result<Option<Map<String, Value>>, FileProblem> {
    let is_plain = |value: &Value| value.is_string() || value.is_number() || value.is_boolean();
    for (column, value) in columns {
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
    Ok((!columns.is_empty()).then(|| columns.clone()))
}
