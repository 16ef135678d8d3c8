//! Variables in the identities that `package.yao` names: `$CTX.USER_ID`, `$CTX.TEAM_ID`, `$CTX.TENANT_ID`, `$CTX.CLAIM.<name>`.
//! They come from authentication alone.

use ambit_storage::{Caller, Error, Result};

const MARK: &str = "$CTX.";

/// The text with its variables replaced. A missing value is refused: it never becomes a wider identity.
pub fn fill(text: &str, caller: &Caller) -> Result<String> {
    let mut filled = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find(MARK) {
        filled.push_str(&rest[..at]);
        let name = &rest[at + MARK.len()..];
        let is_part = |letter: char| letter.is_ascii_alphanumeric() || letter == '_';
        let length = |name: &str| name.find(|letter| !is_part(letter)).unwrap_or(name.len());
        let (name, value) = match name.strip_prefix("CLAIM.") {
            Some(claim) => {
                let claim = &claim[..length(claim)];
                (
                    MARK.len() + "CLAIM.".len() + claim.len(),
                    caller.claim(claim)?,
                )
            }
            None => {
                let name = &name[..length(name)];
                (MARK.len() + name.len(), variable(name, caller)?)
            }
        };
        filled.push_str(value);
        rest = &rest[at + name..];
    }
    filled.push_str(rest);
    Ok(filled)
}

fn variable<'a>(name: &str, caller: &'a Caller) -> Result<&'a str> {
    match name {
        "USER_ID" => caller.user_id(),
        "TEAM_ID" => caller.team_id(),
        "TENANT_ID" => caller.tenant_id(),
        _ => {
            let known = "USER_ID, TEAM_ID, TENANT_ID and CLAIM.<name>";
            let reason = format!("is no variable of an identity; known are {known}");
            Err(Error::invalid(format!("{MARK}{name}"), reason))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn variables_are_replaced_and_g064_a_missing_one_refuses_the_session() {
        let ann = Caller::user("acme", "ann")
            .with_team("red")
            .with_claim("org_id", "o1");
        for (text, expected) in [
            ("plain", "plain"),
            ("team-$CTX.TEAM_ID", "team-red"),
            ("$CTX.TENANT_ID/$CTX.USER_ID!", "acme/ann!"),
            ("org-$CTX.CLAIM.org_id-x", "org-o1-x"),
        ] {
            assert_eq!(fill(text, &ann).unwrap(), expected);
        }
        let nobody = Caller::anonymous("default");
        for text in [
            "$CTX.USER_ID",
            "a-$CTX.TEAM_ID",
            "$CTX.TENANT_ID",
            "$CTX.CLAIM.org_id",
        ] {
            let error = fill(text, &nobody).unwrap_err();
            assert!(matches!(error, Error::Denied { .. }), "{text}: {error}");
        }
        let text = "$CTX.USERID is no variable of an identity; known are USER_ID, TEAM_ID, TENANT_ID and CLAIM.<name>";
        assert_eq!(fill("$CTX.USERID", &ann).unwrap_err().to_string(), text);
    }
}
