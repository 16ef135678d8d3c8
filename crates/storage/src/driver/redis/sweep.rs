//! Erasing what nobody can see any more, in short steps.

use super::server::RedisServer;
use crate::Result;

/// So many things are erased in one step.
const STEP: usize = 500;

/// Erases at most `limit` expired values.
pub async fn expired(server: &RedisServer, limit: usize) -> Result<u64> {
    let mut erased = 0;
    while erased < limit {
        let words = [(limit - erased).min(STEP).to_string()];
        let found: i64 = server.write(&server.scripts.sweep, &words).await?;
        let Ok(found) = usize::try_from(found) else {
            break;
        };
        erased += found;
    }
    Ok(erased as u64)
}

/// Erases the lists of spaces that were emptied at once.
pub async fn erase_trash(server: &RedisServer) -> Result<()> {
    let heap = server.key("trash");
    loop {
        let mut command = redis::cmd("SRANDMEMBER");
        let piece: Option<String> = server.ask(command.arg(&heap)).await?;
        let Some(piece) = piece else {
            return Ok(());
        };
        let (id, space) = piece.split_once(' ').unwrap_or((&piece, ""));
        let lists = server.key_of("trash", id);
        while erase_lists(server, &lists, space).await? {}
        server
            .ask::<()>(redis::cmd("SREM").arg(&heap).arg(&piece))
            .await?;
    }
}

/// Erases some lists; `false` where none are left. Repeating it is safe.
async fn erase_lists(server: &RedisServer, lists: &str, space: &str) -> Result<bool> {
    let mut command = redis::cmd("SRANDMEMBER");
    let some: Vec<String> = server.ask(command.arg(lists).arg(STEP)).await?;
    if some.is_empty() {
        return Ok(false);
    }
    let keys = some
        .iter()
        .flat_map(|id| ["l", "f"].map(|kind| server.key_of(kind, &format!("{space}:{id}"))));
    let keys: Vec<String> = keys.collect();
    let mut commands = redis::pipe();
    commands.cmd("UNLINK").arg(keys).ignore();
    commands.srem(lists, some).ignore();
    server.ask_all::<()>(&commands).await?;
    Ok(true)
}
