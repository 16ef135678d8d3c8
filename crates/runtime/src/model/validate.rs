//! What values must be beside their type: `validations` of a column.

use serde_json::Value;

/// One rule.
#[derive(Clone, Debug, PartialEq)]
pub struct Validation {
    /// What it asks.
    pub method: Method,
    /// What is told where it does not hold.
    pub message: String,
}

/// What a rule asks.
#[derive(Clone, Debug, PartialEq)]
pub enum Method {
    /// A type of JavaScript's, or one of a few more.
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
    Pattern(String),
    /// One of these.
    Enum(Vec<Value>),
    /// An address for mail.
    Email,
    /// A number of a mobile phone.
    Mobile,
}
