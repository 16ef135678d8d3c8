//! Endpoints as rules write them: `GET /chat/sessions`, `GET /chat/sessions/:chat_id`, `GET /kb/*`.

use ambit_storage::suggestion;
use percent_encoding::percent_decode_str;
use std::borrow::Cow;
use std::fmt;

/// Methods that routes have; a `HEAD` is a `GET` without its body.
const METHODS: [&str; 5] = ["GET", "POST", "PUT", "DELETE", "PATCH"];

/// What paths begin with that are about the installation as a whole.
const OPERATING: [&str; 2] = ["app", "system"];
/// What of a call of a model is.
const OPERATING_OF_CALLS: [&str; 3] = ["blocks", "request", "tools"];

/// Which requests a rule is about.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EndpointPattern {
    method: String,
    parts: Vec<PathPart>,
}

/// One part of a path.
#[derive(Clone, Debug, PartialEq, Eq)]
enum PathPart {
    /// `*`: at least one part, and all that follow.
    Rest,
    /// `:name`, or `*` with parts behind it: any one part.
    Any,
    /// This text.
    Exact(String),
}

/// How exact a pattern is; the greatest of those that match decides. An exact path beats one with `:name`, and that one
/// with `*`; among the same kind the one that is more exact from the left.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct PatternRank(u8, Vec<u8>);

/// A request as rules see it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RequestTarget {
    method: String,
    parts: Vec<String>,
}

impl RequestTarget {
    /// A method and a path below the base path; none where the path is no text. Its parts are compared as handlers see
    /// them, so that spelling one with `%` finds the same rules.
    pub fn of(method: &str, path: &str) -> Option<Self> {
        let method = if method == "HEAD" { "GET" } else { method };
        let path = path.strip_prefix('/')?;
        let parts = path.split('/').map(|part| {
            let decoded = percent_decode_str(part).decode_utf8();
            decoded.ok().map(Cow::into_owned)
        });
        Some(Self {
            method: method.to_owned(),
            parts: parts.collect::<Option<_>>()?,
        })
    }
}

impl RequestTarget {
    /// Whether it is about the installation as a whole, which callers of one tenant neither see nor change.
    pub fn is_operating(&self) -> bool {
        let part = |at: usize| self.parts.get(at).map(String::as_str);
        match (part(0), part(2)) {
            (Some("calls"), Some(of)) => OPERATING_OF_CALLS.contains(&of),
            (first, _) => first.is_some_and(|first| OPERATING.contains(&first)),
        }
    }
}

impl EndpointPattern {
    /// What a rule says, `GET /chat/sessions/:chat_id`.
    pub fn parse(text: &str) -> Result<Self, String> {
        let Some((method, path)) = text.split_once(' ') else {
            return Err(format!(
                "\"{text}\" is no endpoint; write a method and a path, as in \"GET /chat/sessions\""
            ));
        };
        Self::of(method, path.trim())
    }

    /// The endpoint with this method and path.
    pub fn of(method: &str, path: &str) -> Result<Self, String> {
        if !METHODS.contains(&method) {
            let (known, hint) = (METHODS.join(", "), suggestion::hint(method, METHODS));
            return Err(format!("\"{method}\" is none of the methods {known}{hint}"));
        }
        let Some(rest) = path.strip_prefix('/') else {
            return Err(format!("the path \"{path}\" must begin with \"/\""));
        };
        let mut parts = Vec::new();
        let mut texts = rest.split('/').peekable();
        while let Some(text) = texts.next() {
            let is_last = texts.peek().is_none();
            let part = part(text, is_last).map_err(|why| format!("the path \"{path}\" {why}"))?;
            parts.push(part);
        }
        Ok(Self {
            method: method.to_owned(),
            parts,
        })
    }

    /// Whether the rule is about this request.
    pub fn matches(&self, target: &RequestTarget) -> bool {
        let is_open = self.parts.last() == Some(&PathPart::Rest);
        let is_long = match is_open {
            true => target.parts.len() >= self.parts.len(),
            false => target.parts.len() == self.parts.len(),
        };
        let mut pairs = self.parts.iter().zip(&target.parts);
        let fits = |(part, text): (&PathPart, &String)| match part {
            PathPart::Rest | PathPart::Any => true,
            PathPart::Exact(wanted) => wanted == text,
        };
        self.method == target.method && is_long && pairs.all(fits)
    }

    /// The method and path of one request that it is about.
    pub fn sample(&self) -> (&str, String) {
        let parts = self.parts.iter().map(|part| match part {
            PathPart::Rest | PathPart::Any => "x",
            PathPart::Exact(text) => text.as_str(),
        });
        let parts: Vec<&str> = parts.collect();
        (&self.method, format!("/{}", parts.join("/")))
    }

    /// How exact it is.
    pub fn rank(&self) -> PatternRank {
        let kinds = self.parts.iter().map(|part| match part {
            PathPart::Rest => 0,
            PathPart::Any => 1,
            PathPart::Exact(_) => 2,
        });
        let kinds: Vec<u8> = kinds.collect();
        PatternRank(kinds.iter().copied().min().unwrap_or(2), kinds)
    }
}

fn part(text: &str, is_last: bool) -> Result<PathPart, &'static str> {
    match text {
        "" => Err("has an empty part"),
        "*" if is_last => Ok(PathPart::Rest),
        "*" => Ok(PathPart::Any),
        _ if text.contains('*') => Err("has a \"*\" that is not a whole part"),
        _ if text.contains(['?', '#', '{', '}', ' ']) => {
            Err("holds what no path holds; what varies is written as \":name\"")
        }
        _ => match text.strip_prefix(':') {
            Some("") => Err("has a \":\" without a name"),
            Some(_) => Ok(PathPart::Any),
            None => Ok(PathPart::Exact(text.to_owned())),
        },
    }
}

impl fmt::Display for RequestTarget {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{} /{}", self.method, self.parts.join("/"))
    }
}

#[cfg(test)]
mod tests {
    use super::{EndpointPattern, RequestTarget};

    fn matches(rule: &str, request: &str) -> bool {
        let (method, path) = request.split_once(' ').unwrap();
        let target = RequestTarget::of(method, path).unwrap();
        EndpointPattern::parse(rule).unwrap().matches(&target)
    }

    #[test]
    fn a_rule_is_about_the_requests_that_it_describes() {
        for (rule, request, expected) in [
            ("GET /a/b", "GET /a/b", true),
            ("GET /a/b", "HEAD /a/b", true),
            ("GET /a/b", "POST /a/b", false),
            ("GET /a/b", "GET /a/B", false),
            ("GET /a/b", "GET /a/b/c", false),
            ("GET /a/:x", "GET /a/b", true),
            ("GET /a/:x", "GET /a/b/c", false),
            ("GET /a/:x", "GET /a", false),
            ("GET /a/*", "GET /a/b", true),
            ("GET /a/*", "GET /a/b/c", true),
            ("GET /a/*", "GET /a", false),
            ("GET /a/*", "GET /ab/c", false),
            ("GET /*", "GET /a", true),
            ("GET /*/b", "GET /a/b", true),
            ("GET /*/b", "GET /a/c", false),
            ("GET /*/b", "GET /a/a/b", false),
            ("GET /a/*/c/*/d", "GET /a/b/c/x/d", true),
            // As handlers read it.
            ("GET /a/team", "GET /a/te%61m", true),
            ("GET /a/:x", "GET /a/b%2Fc", true),
            ("GET /a/b/c", "GET /a/b%2Fc", false),
        ] {
            assert_eq!(matches(rule, request), expected, "{rule} {request}");
        }
        assert_eq!(RequestTarget::of("GET", "/a/%ff"), None);
    }

    #[test]
    fn the_more_exact_rule_comes_first() {
        let rules = [
            "GET /*",
            "GET /a/*",
            "GET /a/:x/*",
            "GET /a/b/*",
            "GET /:x/b/c",
            "GET /a/:x/:y",
            "GET /a/:x/c",
            "GET /a/b/:y",
            "GET /a/b/c",
        ];
        let ranks = rules.map(|rule| EndpointPattern::parse(rule).unwrap().rank());
        for (at, pair) in ranks.windows(2).enumerate() {
            assert!(pair[0] < pair[1], "{} {}", rules[at], rules[at + 1]);
        }
        assert_eq!(
            EndpointPattern::parse("GET /a/:x").unwrap(),
            EndpointPattern::parse("GET /a/:y").unwrap()
        );
        assert_eq!(
            EndpointPattern::parse("GET /:x/a").unwrap(),
            EndpointPattern::parse("GET /*/a").unwrap()
        );
    }

    #[test]
    fn what_is_no_endpoint_is_refused() {
        for (text, expected) in [
            (
                "/a",
                "\"/a\" is no endpoint; write a method and a path, as in \"GET /chat/sessions\"",
            ),
            (
                "get /a",
                "\"get\" is none of the methods GET, POST, PUT, DELETE, PATCH; did you mean \"GET\"?",
            ),
            ("GET a", "the path \"a\" must begin with \"/\""),
            ("GET /a/", "the path \"/a/\" has an empty part"),
            (
                "GET /a*",
                "the path \"/a*\" has a \"*\" that is not a whole part",
            ),
            (
                "GET /a*/b",
                "the path \"/a*/b\" has a \"*\" that is not a whole part",
            ),
            (
                "GET /a/{id}",
                "the path \"/a/{id}\" holds what no path holds; what varies is written as \":name\"",
            ),
            ("GET /a/:", "the path \"/a/:\" has a \":\" without a name"),
        ] {
            assert_eq!(EndpointPattern::parse(text).unwrap_err(), expected);
        }
    }
}
