//! What values must be beside their type: `validations` of a column.

use crate::value_text::value_text;
use ambit_storage::suggestion;
use regex::Regex;
use serde_json::Value;

/// One rule.
#[derive(Clone, Debug)]
pub struct ColumnValidation {
    /// What it asks.
    pub method: ValidationRule,
    /// What is told where it does not hold; `{{input}}` and `{{label}}` in it are replaced. Empty for words of our own.
    pub message: String,
}

/// What a rule asks.
#[derive(Clone, Debug)]
pub enum ValidationRule {
    /// A type.
    Typeof(String),
    /// At least this.
    Min(f64),
    /// At most this.
    Max(f64),
    /// At least so many characters or items.
    MinLength(u64),
    /// At most so many.
    MaxLength(u64),
    /// A regular expression.
    Pattern(Regex),
    /// One of these.
    Enum(Vec<Value>),
    /// An address for mail.
    Email,
    /// A number of a mobile phone.
    Mobile,
}

const METHODS: [&str; 9] = [
    "typeof",
    "min",
    "max",
    "minLength",
    "maxLength",
    "pattern",
    "enum",
    "email",
    "mobile",
];

const TYPES: [&str; 8] = [
    "string", "integer", "float", "number", "boolean", "datetime", "object", "array",
];

/// The rule that a file names; or what is wrong with it.
pub fn method(name: &str, args: &[Value]) -> Result<ValidationRule, String> {
    let first = args.first();
    let number = || {
        let number = first.and_then(Value::as_f64);
        number.ok_or_else(|| format!("\"{name}\" needs a number in \"args\""))
    };
    let length = || {
        let length = first.and_then(Value::as_u64);
        length.ok_or_else(|| format!("\"{name}\" needs a whole number from 0 on in \"args\""))
    };
    let text = || {
        let text = first.and_then(Value::as_str);
        text.ok_or_else(|| format!("\"{name}\" needs a string in \"args\""))
    };
    Ok(match name {
        "typeof" => {
            let kind = text()?;
            if !TYPES.contains(&kind) {
                let (known, hint) = (TYPES.join(", "), suggestion::hint(kind, TYPES));
                return Err(format!("\"typeof\" knows {known}{hint}"));
            }
            ValidationRule::Typeof(kind.to_owned())
        }
        "min" => ValidationRule::Min(number()?),
        "max" => ValidationRule::Max(number()?),
        "minLength" => ValidationRule::MinLength(length()?),
        "maxLength" => ValidationRule::MaxLength(length()?),
        "pattern" => {
            let pattern = Regex::new(text()?);
            ValidationRule::Pattern(pattern.map_err(|error| {
                let reason = error.to_string();
                let reason = reason.lines().last().unwrap_or_default();
                format!("\"pattern\" is no regular expression: {reason}")
            })?)
        }
        "enum" if args.is_empty() => return Err("\"enum\" needs values in \"args\"".to_owned()),
        "enum" => ValidationRule::Enum(args.to_vec()),
        "email" => ValidationRule::Email,
        "mobile" => ValidationRule::Mobile,
        other => {
            let hint = suggestion::hint(other, METHODS);
            return Err(format!("there is no validation \"{other}\"{hint}"));
        }
    })
}

impl ColumnValidation {
    /// What to tell where a value breaks the rule.
    pub fn broken(&self, value: &Value) -> Option<String> {
        let own = self.method.broken(value)?;
        if self.message.is_empty() {
            return Some(own);
        }
        Some(self.message.replace("{{input}}", &value_text(value)))
    }
}

impl ValidationRule {
    fn broken(&self, value: &Value) -> Option<String> {
        let (holds, must) = match self {
            Self::Typeof(kind) => (is_type(value, kind), format!("must be of type {kind}")),
            Self::Min(low) => (
                value.as_f64().is_some_and(|number| number >= *low),
                format!("must be at least {low}"),
            ),
            Self::Max(high) => (
                value.as_f64().is_some_and(|number| number <= *high),
                format!("must be at most {high}"),
            ),
            Self::MinLength(least) => (
                length(value).is_some_and(|length| length >= *least),
                format!("must have a length of at least {least}"),
            ),
            Self::MaxLength(most) => (
                length(value).is_some_and(|length| length <= *most),
                format!("must have a length of at most {most}"),
            ),
            Self::Pattern(pattern) => (
                value.as_str().is_some_and(|text| pattern.is_match(text)),
                format!("must match {pattern}"),
            ),
            Self::Enum(values) => (
                values.contains(value),
                format!("must be one of {}", listed(values)),
            ),
            Self::Email => (is_email(value), "must be an e-mail address".to_owned()),
            Self::Mobile => (is_mobile(value), "must be a mobile number".to_owned()),
        };
        (!holds).then_some(must)
    }
}

fn listed(values: &[Value]) -> String {
    let texts: Vec<String> = values.iter().map(value_text).collect();
    texts.join(", ")
}

fn is_type(value: &Value, kind: &str) -> bool {
    match kind {
        "string" | "datetime" => value.is_string(),
        "integer" => value.as_f64().is_some_and(|number| number.fract() == 0.0),
        "float" | "number" => value.is_number(),
        "boolean" => value.is_boolean(),
        "object" => value.is_object(),
        "array" => value.is_array(),
        _ => false,
    }
}

fn length(value: &Value) -> Option<u64> {
    let length = match value {
        Value::String(text) => text.chars().count(),
        Value::Array(items) => items.len(),
        _ => return None,
    };
    u64::try_from(length).ok()
}

/// One `@` with something on both sides, and a domain with a point in it: whether anybody reads there, only mail can tell.
fn is_email(value: &Value) -> bool {
    let text = value.as_str().unwrap_or_default();
    let is_plain = !text.contains(|sign: char| sign.is_whitespace() || sign.is_control());
    let parts = text.split_once('@');
    let parts = parts.filter(|(name, host)| !name.is_empty() && !host.contains('@'));
    let has_host = parts.is_some_and(|(_, host)| {
        let labels: Vec<&str> = host.split('.').collect();
        labels.len() > 1 && labels.iter().all(|label| !label.is_empty())
    });
    is_plain && has_host && text.len() <= 254
}

/// 7 to 15 digits (E.164), with a `+` and separators.
fn is_mobile(value: &Value) -> bool {
    let text = match value {
        Value::Number(number) => number.to_string(),
        value => value.as_str().unwrap_or_default().to_owned(),
    };
    let text = text.strip_prefix('+').unwrap_or(&text);
    let is_known = |sign: char| sign.is_ascii_digit() || matches!(sign, ' ' | '-' | '(' | ')');
    let digits = text.chars().filter(char::is_ascii_digit).count();
    text.chars().all(is_known) && (7..=15).contains(&digits)
}
