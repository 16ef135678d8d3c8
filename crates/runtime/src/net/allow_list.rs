//! The hosts that an app's scripts may reach.

use crate::config;
use crate::config::{Setting, ValueKind};
use crate::{Error, Result};
use serde_json::{Value, json};
use url::{Host, Url};

config! {
    /// A host that scripts may reach.
    pub struct HostEntry {
        /// The host: `api.example.com`, `*.example.com` or `https://host:port`.
        #[required]
        host: String,
        /// Whether its addresses may be private ones.
        private: bool,
        /// Whether addresses in messages may reach its private addresses too.
        messages: bool,
    }
}

/// A host that scripts may reach, as files write it: an object, or the host alone.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct AllowedHost(pub HostEntry);

impl Setting for AllowedHost {
    const KIND: ValueKind = ValueKind::Either(&[ValueKind::Text, HostEntry::KIND]);

    fn read(value: Value) -> Option<Self> {
        let entry = match value {
            Value::String(host) => HostEntry {
                host,
                ..HostEntry::default()
            },
            object => HostEntry::read(object)?,
        };
        Some(Self(entry))
    }
}

/// A list of hosts. Without entries nothing is reached.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AllowList {
    entries: Vec<AllowEntry>,
    /// What these entries must be allowed by as well.
    within: Option<Box<Self>>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct AllowEntry {
    scheme: String,
    host: HostPattern,
    port: u16,
    is_private: bool,
    /// Its private addresses are for messages too.
    is_for_messages: bool,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum HostPattern {
    /// This host.
    Exactly(String),
    /// All names that end in this, which begins with a dot.
    Below(String),
}

impl AllowList {
    /// The list that stands under a key of a file.
    pub fn parse(key: &str, hosts: &[AllowedHost]) -> Result<Self> {
        let entries = hosts.iter().map(|AllowedHost(host)| {
            AllowEntry::of(host).ok_or_else(|| {
                let what = format!("{key}: {} is no host", json!(host.host));
                Error::invalid(
                    key,
                    format!("{what}; write \"api.example.com\", \"*.example.com\", \"https://host:port\" or {{host, private: true}}"),
                )
            })
        });
        Ok(Self {
            entries: entries.collect::<Result<_>>()?,
            within: None,
        })
    }

    /// Whether it has no entries.
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// This list and another one: what both allow.
    pub fn narrowed(&self, other: Self) -> Self {
        Self {
            within: Some(Box::new(self.clone())),
            ..other
        }
    }

    /// The same hosts for addresses that stand in messages. Whoever sends a message chooses them: what is private is opened for
    /// the app's own scripts, and for messages only where the entry says so.
    pub fn for_messages(&self) -> Self {
        let entries = self.entries.iter().cloned().map(|entry| AllowEntry {
            is_private: entry.is_private && entry.is_for_messages,
            ..entry
        });
        Self {
            entries: entries.collect(),
            within: self
                .within
                .as_ref()
                .map(|outer| Box::new(outer.for_messages())),
        }
    }

    /// Whether an address may be reached and, if so, whether it may be a private one.
    pub(crate) fn allows(&self, url: &Url) -> Option<HostAccess> {
        let found = self.entries.iter().filter(|entry| entry.matches(url));
        // An entry with `private` says more than one without.
        let is_private = found.map(|entry| entry.is_private).max()?;
        match &self.within {
            None => Some(HostAccess { is_private }),
            // Only the app can open private addresses: an agent's list narrows.
            Some(outer) => outer.allows(url),
        }
    }
}

/// What may be reached under a name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HostAccess {
    /// Also addresses that are not public.
    pub is_private: bool,
}

impl AllowEntry {
    fn of(entry: &HostEntry) -> Option<Self> {
        let text = entry.host.trim();
        let (scheme, rest) = text.split_once("://").unwrap_or(("https", text));
        let (is_below, rest) = match rest.strip_prefix("*.") {
            Some(rest) => (true, rest),
            None => (false, rest),
        };
        let url = Url::parse(&format!("{scheme}://{rest}")).ok()?;
        let is_plain = url.path() == "/"
            && url.query().is_none()
            && url.fragment().is_none()
            && url.username().is_empty()
            && url.password().is_none();
        let is_http = matches!(url.scheme(), "http" | "https");
        if !is_plain || !is_http || rest.contains('*') {
            return None;
        }
        let host = name(&url)?;
        let is_name = matches!(url.host(), Some(Host::Domain(_)));
        Some(Self {
            scheme: url.scheme().to_owned(),
            host: match is_below {
                true if is_name => HostPattern::Below(format!(".{host}")),
                true => return None,
                false => HostPattern::Exactly(host),
            },
            port: url.port_or_known_default()?,
            is_private: entry.private,
            is_for_messages: entry.messages,
        })
    }

    fn matches(&self, url: &Url) -> bool {
        let Some(host) = name(url) else {
            return false;
        };
        let is_host = match &self.host {
            HostPattern::Exactly(own) => *own == host,
            HostPattern::Below(end) => host.len() > end.len() && host.ends_with(end),
        };
        is_host && url.scheme() == self.scheme && url.port_or_known_default() == Some(self.port)
    }
}

/// The host as it is compared: lower case, without a dot at the end.
pub fn name(url: &Url) -> Option<String> {
    let host = url.host_str()?;
    Some(host.strip_suffix('.').unwrap_or(host).to_owned())
}

#[cfg(test)]
mod tests {
    use super::{AllowList, AllowedHost, Setting};
    use serde_json::{Value, json};
    use url::Url;

    fn list(entries: &Value) -> AllowList {
        AllowList::parse("http", &Vec::read(entries.clone()).unwrap()).unwrap()
    }

    fn allowed<'a>(list: &AllowList, urls: &[&'a str]) -> Vec<(&'a str, bool)> {
        let reach = |url: &&'a str| {
            let reach = list.allows(&Url::parse(url).unwrap())?;
            Some((*url, reach.is_private))
        };
        urls.iter().filter_map(reach).collect()
    }

    #[test]
    fn g121_without_entries_nothing_is_reached() {
        let urls = [
            "https://example.com/",
            "http://localhost/",
            "https://127.0.0.1/",
        ];
        assert_eq!(allowed(&AllowList::default(), &urls), []);
    }

    #[test]
    fn an_entry_is_a_host_with_its_scheme_and_port() {
        let list = list(&json!([
            "API.example.com", "https://one.example.com:8443", "http://two.example.com", "bücher.example", {"host": "http://10.0.0.1:80", "private": true},
        ]));
        let yes = [
            "https://api.example.com/v1?q#f",
            "https://API.EXAMPLE.COM.:443/",
            "https://one.example.com:8443/",
            "http://two.example.com/",
            "https://xn--bcher-kva.example/",
        ];
        let no = [
            "http://api.example.com/",
            "https://api.example.com:8443/",
            "https://one.example.com/",
            "https://two.example.com/",
            "https://api.example.com.evil.test/",
            "https://evil.test/api.example.com",
            "https://api.example.com@evil.test/",
            "https://xapi.example.com/",
            "https://sub.api.example.com/",
        ];
        assert_eq!(allowed(&list, &yes), yes.map(|url| (url, false)));
        assert_eq!(allowed(&list, &no), []);
        assert_eq!(
            allowed(&list, &["http://10.0.0.1/"]),
            [("http://10.0.0.1/", true)]
        );
    }

    #[test]
    fn a_star_stands_for_names_below_a_host() {
        let list = list(&json!(["*.example.com"]));
        let yes = ["https://a.example.com/", "https://a.b.example.com/"];
        assert_eq!(allowed(&list, &yes), yes.map(|url| (url, false)));
        let no = [
            "https://example.com/",
            "https://badexample.com/",
            "https://.example.com/",
            "http://a.example.com/",
        ];
        let parsed = no.into_iter().filter(|url| Url::parse(url).is_ok());
        assert_eq!(allowed(&list, &parsed.collect::<Vec<_>>()), []);
    }

    #[test]
    fn an_agent_can_only_narrow() {
        let app = list(&json!(["*.example.com", {"host": "http://db.local", "private": true}]));
        let agent = list(
            &json!(["a.example.com", "other.test", "http://db.local", {"host": "*.example.com", "private": true}]),
        );
        let urls = [
            "https://a.example.com/",
            "https://other.test/",
            "http://db.local/",
            "https://b.example.com/",
        ];
        let both = [
            ("https://a.example.com/", false),
            ("http://db.local/", true),
            ("https://b.example.com/", false),
        ];
        assert_eq!(allowed(&app.narrowed(agent), &urls), both);
        assert_eq!(allowed(&app.narrowed(AllowList::default()), &urls), []);
    }

    #[test]
    fn private_hosts_are_for_messages_only_where_that_is_said() {
        let app = list(&json!([
            "a.example.com", {"host": "http://db.local", "private": true},
            {"host": "http://files.local", "private": true, "messages": true},
            {"host": "http://other.local", "messages": true},
        ]));
        let urls = [
            "https://a.example.com/",
            "http://db.local/",
            "http://files.local/",
            "http://other.local/",
            "http://unknown.local/",
        ];
        let reached = [
            ("https://a.example.com/", false),
            ("http://db.local/", false),
            ("http://files.local/", true),
            ("http://other.local/", false),
        ];
        assert_eq!(allowed(&app.for_messages(), &urls), reached);
        // An agent's own list opens nothing.
        let agent = json!([{"host": "http://db.local", "private": true, "messages": true}]);
        let narrowed = app.narrowed(list(&agent));
        assert_eq!(allowed(&narrowed, &urls), [("http://db.local/", true)]);
        let narrowed = narrowed.for_messages();
        assert_eq!(allowed(&narrowed, &urls), [("http://db.local/", false)]);
    }

    #[test]
    fn what_is_no_host_is_said() {
        let wrong = [
            json!("https://a.example.com/path"),
            json!("ftp://a.example.com"),
            json!("*"),
            json!("a.*.com"),
            json!(""),
            json!(7),
            json!({"private": true}),
            json!("https://user@a.example.com"),
            json!("*.127.0.0.1"),
        ];
        let taken: Vec<_> = wrong
            .iter()
            .filter(|entry| {
                let host = AllowedHost::read((*entry).clone());
                host.is_some_and(|host| AllowList::parse("http", &[host]).is_ok())
            })
            .collect();
        assert_eq!(taken, Vec::<&Value>::new());
    }
}
