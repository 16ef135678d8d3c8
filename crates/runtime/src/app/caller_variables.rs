//! Who a server is told is asking: `$CTX.USER_ID` and the like in `env`, `headers` and `authorization_token`. Whoever is
//! told apart by them never shares a connection.

use super::{ConnectionSettings, McpServerFile};
use crate::access::Authorized;
use crate::error::{Error, ErrorCode, Result};
use ambit_storage::suggestion;

const PREFIX: &str = "$CTX.";

/// What may be told of a caller.
const VARIABLES: &[(&str, &str, VariableReader)] = &[
    ("USER_ID", "user_id", |who| who.user_id.as_deref()),
    ("TEAM_ID", "team_id", |who| who.team_id.as_deref()),
    ("TENANT_ID", "tenant_id", |who| who.tenant_id.as_deref()),
];

type VariableReader = fn(&Authorized) -> Option<&str>;

/// The settings of a server for one caller.
pub struct CallerSettings {
    /// How it is reached, with the variables replaced.
    pub connection: ConnectionSettings,
    /// What tells callers apart; empty where the server is told nothing of them.
    pub key: Vec<String>,
}

/// The settings of a server as this caller uses it. A caller without what the server is to be told is refused.
pub fn fill(server: &McpServerFile, who: &Authorized) -> Result<CallerSettings> {
    let mut connection = server.settings.connection.clone();
    let mut key = Vec::new();
    for text in connection.personal_mut() {
        *text = replace(text, who, &mut key).map_err(|what| {
            let message = format!("MCP server \"{}\" needs authorized.{what}", server.id);
            Error::new(ErrorCode::PermissionDenied, message)
        })?;
    }
    if !key.is_empty() {
        // A name may be somebody else's in another tenant.
        key.push(who.tenant_id.clone().unwrap_or_default());
    }
    Ok(CallerSettings { connection, key })
}

fn replace(text: &str, who: &Authorized, key: &mut Vec<String>) -> Result<String, &'static str> {
    let mut parts = text.split(PREFIX);
    let mut replaced = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let known = VARIABLES.iter().find(|row| part.starts_with(row.0));
        let Some((name, field, read)) = known else {
            replaced.push_str(PREFIX);
            replaced.push_str(part);
            continue;
        };
        let value = read(who).filter(|value| !value.is_empty()).ok_or(*field)?;
        key.push(value.to_owned());
        replaced.push_str(value);
        replaced.push_str(&part[name.len()..]);
    }
    Ok(replaced)
}

/// Whether all variables of a text are known; the message names the nearest one, and never the text.
pub fn check(text: &str) -> Result<(), String> {
    for part in text.split(PREFIX).skip(1) {
        if VARIABLES.iter().any(|row| part.starts_with(row.0)) {
            continue;
        }
        let is_name = |letter: char| letter.is_ascii_uppercase() || letter == '_';
        let name = part.split(|letter| !is_name(letter)).next();
        let name = name.unwrap_or_default();
        let hint = suggestion::hint(name, VARIABLES.iter().map(|row| row.0));
        return Err(format!("unknown variable \"{PREFIX}{name}\"{hint}"));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::app::ServerFile;
    use crate::app::read::Setting;
    use serde_json::{Value, json};

    fn server(settings: &Value) -> McpServerFile {
        McpServerFile {
            id: "s".to_owned(),
            settings: ServerFile::read(settings.clone()).unwrap(),
            ..McpServerFile::default()
        }
    }

    fn who(user: &str, team: Option<&str>) -> Authorized {
        Authorized {
            user_id: Some(user.to_owned()),
            team_id: team.map(str::to_owned),
            ..Authorized::default()
        }
    }

    #[test]
    fn callers_are_told_apart_by_what_the_server_is_told_of_them() {
        let fields = json!({"url": "http://$CTX.USER_ID", "headers": {"x-user": "u-$CTX.USER_ID-$CTX.TEAM_ID", "x": "1"}});
        let filled = fill(&server(&fields), &who("ann", Some("red"))).unwrap();
        assert_eq!(filled.key, ["ann", "red", ""]);
        let expected =
            json!({"url": "http://$CTX.USER_ID", "headers": {"x-user": "u-ann-red", "x": "1"}});
        let expected = ConnectionSettings::read(expected).unwrap();
        assert!(filled.connection == expected);
        let plain = fill(&server(&json!({"headers": {"x": "1"}})), &who("ann", None));
        assert_eq!(plain.unwrap().key, Vec::<String>::new());
    }

    #[test]
    fn g074_two_tenants_with_the_same_user_are_told_apart() {
        let key = |fields: &Value, tenant: &str| {
            let mut ann = who("ann", None);
            ann.tenant_id = Some(tenant.to_owned());
            fill(&server(fields), &ann).unwrap().key
        };
        let told = json!({"authorization_token": "$CTX.USER_ID"});
        assert_ne!(key(&told, "red"), key(&told, "blue"));
        let untold = json!({"headers": {"x": "1"}});
        assert_eq!(key(&untold, "red"), key(&untold, "blue"));
    }

    #[test]
    fn g074_who_lacks_what_the_server_is_told_is_refused() {
        let fields = json!({"authorization_token": "$CTX.TEAM_ID"});
        for caller in [
            who("ann", None),
            who("ann", Some("")),
            Authorized::default(),
        ] {
            let error = fill(&server(&fields), &caller).err().unwrap();
            assert_eq!(error.code, ErrorCode::PermissionDenied);
            assert_eq!(error.message, "MCP server \"s\" needs authorized.team_id");
        }
    }

    #[test]
    fn unknown_variables_are_named_with_the_nearest_known_one() {
        assert_eq!(check("a $CTX.USER_ID b $ENV.X"), Ok(()));
        let message = "unknown variable \"$CTX.USER_IT\"; did you mean \"USER_ID\"?";
        assert_eq!(check("$CTX.USER_IT!"), Err(message.to_owned()));
    }
}
