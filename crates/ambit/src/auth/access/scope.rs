//! Names of scopes, `chat:read:own`, and patterns of them, in which `*` stands for one part.

/// Scopes of OpenID Connect: they say what a client is told of a person, not what it may do here.
pub(super) const OPENID: [&str; 6] = [
    "openid",
    "profile",
    "email",
    "address",
    "phone",
    "offline_access",
];

/// Every scope of three parts, which those that are built in have.
pub const EVERYTHING: &str = "*:*:*";

/// Whether a pattern means all scopes of so many parts.
pub fn is_everything(pattern: &str) -> bool {
    pattern.contains(':') && pattern.split(':').all(|part| part == "*")
}

/// Whether a pattern means this scope.
pub fn matches(pattern: &str, scope: &str) -> bool {
    let (mut wanted, mut parts) = (pattern.split(':'), scope.split(':'));
    loop {
        match (wanted.next(), parts.next()) {
            (None, None) => return true,
            (Some(wanted), Some(part)) if wanted == "*" || wanted == part => {}
            _ => return false,
        }
    }
}

/// Why a text is no name of a scope, or of several.
pub fn check(name: &str, may_be_pattern: bool) -> Result<(), &'static str> {
    let parts: Vec<&str> = name.split(':').collect();
    let is_star = |part: &&str| part.contains('*');
    if parts.len() < 2 || parts.contains(&"") || name.contains(char::is_whitespace) {
        return Err("a scope has two parts or more, as in \"chat:read:own\"");
    }
    match parts.iter().find(|part| is_star(part)) {
        Some(_) if !may_be_pattern => Err("a scope that is defined has no \"*\""),
        Some(_) if parts.iter().any(|part| is_star(part) && *part != "*") => {
            Err("\"*\" stands for a whole part, as in \"chat:*:own\"")
        }
        _ => Ok(()),
    }
}

/// The level, the last part of a name.
pub fn level(name: &str) -> &str {
    name.rsplit(':').next().unwrap_or_default()
}

/// What a token's `scope` leaves, as names and patterns; none where it cuts nothing. A scope that names nothing at all leaves
/// nothing.
pub fn cut(claim: &str) -> Option<Vec<&str>> {
    let names: Vec<&str> = claim.split_whitespace().collect();
    let own: Vec<&str> = names
        .iter()
        .copied()
        .filter(|name| !OPENID.contains(name))
        .collect();
    (names.is_empty() || !own.is_empty()).then_some(own)
}

#[cfg(test)]
mod tests {
    use super::{check, cut, is_everything, matches};

    #[test]
    fn a_star_stands_for_one_part() {
        for (pattern, scope, expected) in [
            ("chat:read:own", "chat:read:own", true),
            ("chat:*:own", "chat:read:own", true),
            ("*:*:*", "chat:read:own", true),
            ("chat:*", "chat:read:own", false),
            ("*", "chat:read:own", false),
            ("chat:read:*", "chat:write:own", false),
            ("*:*:*", "chat:read", false),
            ("*:*:*", "__yao:yao:execute:all", false),
            ("__yao:*:execute:*", "__yao:yao:execute:all", true),
        ] {
            assert_eq!(matches(pattern, scope), expected, "{pattern} {scope}");
        }
    }

    #[test]
    fn stars_alone_mean_everything() {
        for (pattern, expected) in [
            ("*:*", true),
            ("*:*:*:*:*:*", true),
            ("*", false),
            ("*:read", false),
            ("*:", false),
        ] {
            assert_eq!(is_everything(pattern), expected, "{pattern}");
        }
    }

    #[test]
    fn a_name_has_two_whole_parts_or_more() {
        for name in ["chat:read", "chat:read:own", "__yao:yao:execute:all"] {
            assert_eq!(check(name, false), Ok(()));
        }
        assert_eq!(check("chat:*:own", true), Ok(()));
        for (name, may_be_pattern) in [
            ("chat", true),
            ("*", true),
            ("chat:", true),
            ("chat::own", true),
            ("chat:re*:own", true),
            ("chat: :own", true),
            ("chat:*:own", false),
        ] {
            assert!(check(name, may_be_pattern).is_err(), "{name}");
        }
    }

    #[test]
    fn scopes_of_openid_cut_nothing() {
        assert_eq!(cut("openid profile offline_access"), None);
        assert_eq!(cut("openid chat:read:own"), Some(vec!["chat:read:own"]));
        assert_eq!(cut(" "), Some(Vec::new()));
    }
}
