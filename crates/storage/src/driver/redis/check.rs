//! Looking for damage: the only walk over the whole database, in steps.

use super::server::RedisServer;
use crate::Result;

/// So many things are looked at in one step.
const STEP: usize = 500;

/// All findings.
pub async fn all(server: &RedisServer) -> Result<Vec<String>> {
    let mut findings = Vec::new();
    for space in spaces(server, "g").await? {
        let words = [space.clone(), "g".to_owned()];
        report(server, &space, "log", &words, &mut findings).await?;
    }
    for space in spaces(server, "v").await? {
        values(server, &space, &mut findings).await?;
    }
    Ok(findings)
}

/// The digests of all spaces that have a key of this kind.
async fn spaces(server: &RedisServer, kind: &str) -> Result<Vec<String>> {
    let start = server.key_of(kind, "");
    let mut found = std::collections::BTreeSet::new();
    let mut cursor = "0".to_owned();
    loop {
        let mut command = redis::cmd("SCAN");
        command.arg(&cursor).arg("MATCH").arg(format!("{start}*"));
        let (next, keys): (String, Vec<String>) =
            server.ask(command.arg("COUNT").arg(STEP)).await?;
        found.extend(
            keys.iter()
                .filter_map(|key| Some(key.strip_prefix(&start)?.to_owned())),
        );
        if next == "0" {
            return Ok(found.into_iter().collect());
        }
        cursor = next;
    }
}

async fn values(server: &RedisServer, space: &str, findings: &mut Vec<String>) -> Result<()> {
    let key = server.key_of("v", space);
    let mut cursor = "0".to_owned();
    loop {
        let mut command = redis::cmd("HSCAN");
        command.arg(&key).arg(&cursor).arg("COUNT").arg(STEP);
        let (next, pairs): (String, Vec<(String, String)>) = server.ask(&command).await?;
        let mut words = vec![space.to_owned(), "v".to_owned()];
        words.extend(pairs.into_iter().map(|(name, _)| name));
        report(server, space, "value", &words, findings).await?;
        if next == "0" {
            return Ok(());
        }
        cursor = next;
    }
}

async fn report(
    server: &RedisServer,
    space: &str,
    what: &str,
    words: &[String],
    findings: &mut Vec<String>,
) -> Result<()> {
    let found: Vec<(String, String)> = server.read(&server.scripts.check, words).await?;
    let prefix = &server.prefix;
    findings.extend(found.into_iter().map(|(name, reason)| {
        format!("{what} \"{name}\" of space {space} (prefix {prefix}): {reason}")
    }));
    Ok(())
}
