//! Filling in the variables of prompts. One pass: what is put in is text and is not looked at again.

use super::read::{ASSET, ASSET_PREFIX};
use crate::access::Authorized;
use crate::app::locales::Translations;
use crate::app::{App, AppAgent, Prompt};
use ambit_storage::clock::Millis;
use jiff::tz::TimeZone;
use jiff::{Timestamp, Zoned};
use regex::{Captures, Regex};
use serde_json::{Map, Value};
use std::collections::BTreeMap;
use std::sync::LazyLock;

/// A variable in braces or without, a key to be translated, or a file of `assets/`.
static MARKS: LazyLock<Option<Regex>> = LazyLock::new(|| {
    let braced = r"\{\{\s*\$(?i:(?<a>SYS|CTX|ENV))\.(?<b>[^\s{}]+)\s*\}\}";
    let plain = r"\$(?i:(?<c>SYS|CTX|ENV))\.(?<d>[A-Za-z_][A-Za-z0-9_]*)";
    let key = r"\{\{\s*(?<key>[^{}]*?)\s*\}\}";
    Regex::new(&[braced, plain, key, ASSET].join("|")).ok()
});

/// How marks begin. It is looked for first: most prompts have none.
const MARK_PREFIXES: [&str; 3] = ["$", "{{", ASSET_PREFIX];

/// What variables stand for.
#[derive(Clone, Debug, Default)]
pub struct PromptVariables {
    /// The time.
    pub now: Timestamp,
    /// The server's time zone.
    pub zone: Option<TimeZone>,
    /// `ASSISTANT_ID ASSISTANT_NAME ASSISTANT_DESCRIPTION ASSISTANT_TYPE CHAT_ID LOCALE THEME ROUTE REFERER CLIENT_TYPE
    /// USER_ID TEAM_ID TENANT_ID`, by these names; one that is missing is empty.
    pub context: BTreeMap<&'static str, String>,
    /// `metadata` of the request.
    pub metadata: Map<String, Value>,
    /// The variables that prompts may show, `App::prompt_variables`.
    pub environment: BTreeMap<String, String>,
}

/// Names of the context that metadata cannot replace.
const CONTEXT: &[&str] = &[
    "ASSISTANT_ID",
    "ASSISTANT_NAME",
    "ASSISTANT_DESCRIPTION",
    "ASSISTANT_TYPE",
    "CHAT_ID",
    "LOCALE",
    "THEME",
    "ROUTE",
    "REFERER",
    "CLIENT_TYPE",
    "USER_ID",
    "TEAM_ID",
    "TENANT_ID",
];

/// Formats of the clock by name.
const CLOCK: &[(&str, &str)] = &[
    ("DATETIME", "%Y-%m-%d %H:%M:%S"),
    ("DATE", "%Y-%m-%d"),
    ("TIME", "%H:%M:%S"),
    ("TIMEZONE", "%Q"),
    ("WEEKDAY", "%A"),
    ("YEAR", "%Y"),
    ("MONTH", "%m"),
    ("DAY", "%d"),
    ("HOUR", "%H"),
    ("MINUTE", "%M"),
    ("SECOND", "%S"),
    ("UNIX", "%s"),
];

/// Of these, the context has its own, in the person's zone.
const PERSONAL: &[&str] = &["DATE", "TIME", "TIMEZONE"];

/// Prompts with everything filled in.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FilledPrompts {
    /// In order.
    pub prompts: Vec<Prompt>,
    /// For the trace: what could not be filled in.
    pub warnings: Vec<String>,
}

/// Fills in the variables, translations and files of prompts.
pub fn fill<'a>(
    prompts: impl IntoIterator<Item = &'a Prompt>,
    values: &PromptVariables,
    words: &Translations<'_>,
) -> FilledPrompts {
    let mut warnings = Vec::new();
    let prompts = prompts.into_iter().map(|prompt| {
        let mut variables = Vec::new();
        Prompt {
            role: prompt.role.clone(),
            content: values.fill(prompt, words, &mut variables, &mut warnings),
            name: prompt.name.clone(),
            file: prompt.file.clone(),
            version: prompt.version.clone(),
            index: prompt.index,
            variables,
            assets: BTreeMap::new(),
        }
    });
    let prompts = prompts.collect();
    warnings.dedup();
    FilledPrompts { prompts, warnings }
}

impl PromptVariables {
    /// What is the same for all requests of a caller to an agent; the rest is empty.
    pub fn of(app: &App, agent: &AppAgent, who: &Authorized, now: Millis) -> Self {
        let or_empty = |id: &Option<String>| id.clone().unwrap_or_default();
        let context = [
            ("ASSISTANT_ID", agent.id.clone()),
            ("ASSISTANT_NAME", agent.package.name.clone()),
            ("ASSISTANT_DESCRIPTION", agent.package.description.clone()),
            ("ASSISTANT_TYPE", agent.package.kind.name().to_owned()),
            ("USER_ID", or_empty(&who.user_id)),
            ("TEAM_ID", or_empty(&who.team_id)),
            ("TENANT_ID", or_empty(&who.tenant_id)),
        ];
        Self {
            now: Timestamp::from_millisecond(now).unwrap_or_default(),
            zone: Some(TimeZone::system()),
            context: BTreeMap::from(context),
            metadata: Map::new(),
            environment: app.prompt_variables(),
        }
    }

    fn fill(
        &self,
        prompt: &Prompt,
        words: &Translations<'_>,
        variables: &mut Vec<String>,
        warnings: &mut Vec<String>,
    ) -> String {
        let has_marks = MARK_PREFIXES.iter().any(|it| prompt.content.contains(it));
        let Some(marks) = has_marks.then(|| MARKS.as_ref()).flatten() else {
            return prompt.content.clone();
        };
        let filled = marks.replace_all(&prompt.content, |found: &Captures<'_>| {
            let variable = found.name("a").zip(found.name("b"));
            let variable = variable.or_else(|| found.name("c").zip(found.name("d")));
            if let Some((kind, name)) = variable {
                let name = format!("{}.{}", kind.as_str().to_uppercase(), name.as_str());
                if !variables.contains(&name) {
                    variables.push(name);
                }
            }
            let replaced = match (variable, found.name("key"), found.name("asset")) {
                (Some((kind, name)), _, _) => self.variable(kind.as_str(), name.as_str(), warnings),
                (_, Some(key), _) => words.find(key.as_str()).map(str::to_owned),
                (_, _, Some(asset)) => prompt
                    .assets
                    .get(asset.as_str())
                    .map(|text| text.to_string()),
                _ => None,
            };
            replaced.unwrap_or_else(|| found[0].to_owned())
        });
        filled.into_owned()
    }

    fn variable(&self, kind: &str, name: &str, warnings: &mut Vec<String>) -> Option<String> {
        let upper = name.to_uppercase();
        match kind.to_uppercase().as_str() {
            "SYS" => {
                let value = clock(&upper, &self.server());
                if value.is_none() {
                    warnings.push(format!("$SYS.{name} is not known and stays as it is"));
                }
                value
            }
            "CTX" => Some(self.context(&upper, name, warnings)),
            _ => Some(self.environment(name, warnings)),
        }
    }

    fn context(&self, upper: &str, name: &str, warnings: &mut Vec<String>) -> String {
        if CONTEXT.contains(&upper) {
            return self.context.get(upper).cloned().unwrap_or_default();
        }
        if PERSONAL.contains(&upper) {
            return clock(upper, &self.personal(warnings)).unwrap_or_default();
        }
        let found = self.metadata.get(name).or_else(|| {
            let mut all = self.metadata.iter();
            let found = all.find(|(key, _)| key.to_uppercase() == upper);
            found.map(|(_, value)| value)
        });
        match found {
            None | Some(Value::Null) => String::new(),
            Some(Value::String(text)) => text.clone(),
            Some(other) => other.to_string(),
        }
    }

    fn environment(&self, name: &str, warnings: &mut Vec<String>) -> String {
        let found = self.environment.get(name).or_else(|| {
            let mut all = self.environment.iter();
            let found = all.find(|(key, _)| key.eq_ignore_ascii_case(name));
            found.map(|(_, value)| value)
        });
        found.cloned().unwrap_or_else(|| {
            warnings.push(format!(
                "$ENV.{name} is empty in prompts: it is not set, or not listed in ambit.capabilities.prompt_env of app.yao"
            ));
            String::new()
        })
    }

    fn server(&self) -> Zoned {
        self.now
            .to_zoned(self.zone.clone().unwrap_or(TimeZone::UTC))
    }

    fn personal(&self, warnings: &mut Vec<String>) -> Zoned {
        let Some(name) = self.metadata.get("timezone").and_then(Value::as_str) else {
            return self.server();
        };
        match TimeZone::get(name) {
            Ok(zone) => self.now.to_zoned(zone),
            Err(_) => {
                warnings
                    .push("metadata.timezone is no time zone, so the server's is used".to_owned());
                self.server()
            }
        }
    }
}

fn clock(name: &str, time: &Zoned) -> Option<String> {
    let (_, format) = CLOCK.iter().find(|(known, _)| *known == name)?;
    Some(time.strftime(format).to_string())
}
