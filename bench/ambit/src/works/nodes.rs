//! W19: several nodes on one PostgreSQL: turns in a second, and what a turn takes of the nodes and of the database.

use super::Bench;
use super::served::check;
use crate::measure::{Row, text, together};
use crate::served::Served;
use crate::{Result, app};
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

/// Nodes at once.
const NODES: [usize; 3] = [1, 2, 4];
/// Clients of all nodes together.
const CLIENTS: usize = 16;
/// Turns of each client that are not counted.
const BEFORE: usize = 5;
/// Turns of one chat: then a new one begins.
const CHAT: usize = 20;

pub async fn run(bench: &Bench) -> Result<()> {
    if bench.scheme() != "postgres" || bench.store.contexts {
        return Ok(());
    }
    let url = &bench.store.url;
    for count in NODES {
        let mut nodes = Vec::new();
        for _ in 0..count {
            nodes.push(Served::start(url).await?);
        }
        let nodes = Arc::new(nodes);
        let name = |part: &str| format!("{}-{count}-{part}", bench.run);
        turns(&nodes, &name("before"), BEFORE).await?;
        let clocks = nodes
            .iter()
            .map(Served::clock)
            .collect::<Result<Vec<_>>>()?;
        let (database, start) = (database(url).await, Instant::now());
        let each = bench.sizes.operations.div_ceil(2 * CLIENTS);
        turns(&nodes, &name("chat"), each).await?;
        let seconds = start.elapsed().as_secs_f64();
        let mut cpu = 0.0;
        for (node, clock) in nodes.iter().zip(&clocks) {
            cpu += node.spent(clock)?;
        }
        let turns = (CLIENTS * each) as f64;
        let row = |work, unit| Row {
            work,
            p: count,
            unit,
            note: "16 clients, hook, scripted model, SSE; nodes, clients and PostgreSQL on this machine",
        };
        let output = &bench.output;
        output.row(row("W19 turns", "turns/s"), turns / seconds);
        output.row(row("W19 nodes' CPU", "ms/turn"), cpu * 1e3 / turns);
        let after = self::database(url).await;
        match (database, after) {
            (Ok(before), Ok(after)) => {
                let spent = spent(&before, &after) * 1e3 / turns;
                output.row(row("W19 PostgreSQL's CPU", "ms/turn"), spent);
            }
            (Err(error), _) | (_, Err(error)) => {
                let row = row("W19 PostgreSQL's CPU", "ms/turn");
                output.missing(row, &error.to_string());
            }
        }
        let nodes = Arc::into_inner(nodes).ok_or("the nodes are still in use")?;
        for node in nodes {
            node.stop().await?;
        }
    }
    Ok(())
}

/// Turns of all clients, each of them at one of the nodes.
async fn turns(nodes: &Arc<Vec<Served>>, name: &str, each: usize) -> Result<()> {
    together(CLIENTS, |number| {
        let (nodes, name) = (Arc::clone(nodes), format!("{name}-{number}"));
        async move {
            let mut client = nodes[number % nodes.len()].client().await?;
            for turn in 0..each {
                let chat = format!("{name}-{}", turn / CHAT);
                let request = app::request(app::CLERK, &chat, "standard", &text(turn));
                check(&client.turn(&request).await?)?;
            }
            Ok(())
        }
    })
    .await?;
    Ok(())
}

/// Seconds that each process of the database has run, where it runs on this machine.
async fn database(url: &str) -> Result<BTreeMap<String, f64>> {
    let (client, connection) = tokio_postgres::connect(url, tokio_postgres::NoTls).await?;
    let connection = tokio::spawn(connection);
    let pid: i32 = client
        .query_one("SELECT pg_backend_pid()", &[])
        .await?
        .get(0);
    drop(client);
    let server = parent(&pid.to_string());
    connection.await??;
    let server = server.ok_or("PostgreSQL runs on another machine")?;
    let mut spent = BTreeMap::new();
    for process in std::fs::read_dir("/proc")? {
        let pid = process?.file_name().to_string_lossy().into_owned();
        if parent(&pid).as_ref() != Some(&server) {
            continue;
        }
        let text = std::fs::read_to_string(format!("/proc/{pid}/schedstat")).unwrap_or_default();
        let ran: f64 = text
            .split(' ')
            .next()
            .unwrap_or_default()
            .parse()
            .unwrap_or(0.0);
        spent.insert(pid, ran / 1e9);
    }
    Ok(spent)
}

/// The parent of a process of PostgreSQL.
fn parent(pid: &str) -> Option<String> {
    let stat = std::fs::read_to_string(Path::new("/proc").join(pid).join("stat")).ok()?;
    let (before, after) = stat.rsplit_once(')')?;
    let is_postgres = before.contains("postgres");
    is_postgres.then(|| after.split_whitespace().nth(1).map(str::to_owned))?
}

fn spent(before: &BTreeMap<String, f64>, after: &BTreeMap<String, f64>) -> f64 {
    let spent = after.iter().map(|(pid, ran)| {
        let then = before.get(pid).copied().unwrap_or_default();
        ran - then
    });
    spent.sum()
}
