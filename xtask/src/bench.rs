//! `cargo xtask bench`: the benchmark program on each driver and, if wanted, the peers' scripts, in rounds on one machine, and
//! the page of what they found.

mod backends;
mod first_minutes;
mod machine;
mod options;
mod report;
mod results;
mod rounds;

use crate::pgo;
use crate::process::{Result, cargo, host, succeeds};
use crate::servers::Servers;
use options::{HELP, Options};
use report::Outcome;
use results::Results;
use std::path::Path;
use std::process::Command;

/// What a run of everything leaves out, and why.
const LEFT_OUT: &[(&str, &str)] = &[
    (
        "W6 beside plain engines",
        "no program here measures what they would do without Ambit",
    ),
    (
        "W14 at 1,000,000 chunks",
        "it takes long: `cargo xtask bench --driver sqlite --work W14`",
    ),
    (
        "W14 with 1,000,000 vectors",
        "no work makes them: they are gigabytes in memory and on the disk",
    ),
    (
        "W16, the first minutes",
        "it takes two builds: `cargo xtask bench --work W16`",
    ),
    (
        "W17 at 10,000,000 entries",
        "it takes long: `cargo xtask bench --driver sqlite --work W17`",
    ),
];

/// Measures, writes the page, and is true where every program of Ambit's ran to its end and every peer was there.
pub fn run(arguments: &[String]) -> Result<bool> {
    let Some(options) = Options::of(arguments)? else {
        println!("{HELP}");
        return Ok(true);
    };
    if let Some(lines) = &options.from {
        finish(lines, &options.page())?;
        return Ok(true);
    }
    let is_only_clone = options.names_only(first_minutes::NAME);
    if !is_only_clone && !prepare(&options)? {
        return Ok(false);
    }
    let mut results = Results::create(options.dir.join("results.jsonl"))?;
    machine::describe(arguments, &options, &mut results)?;
    let mut is_well = true;
    if options.names(first_minutes::NAME) {
        is_well &= first_minutes::measure(&options, &mut results)?;
    }
    if !is_only_clone {
        is_well &= with_servers(&options, &mut results)?;
    }
    let minutes = results.elapsed().as_secs().div_ceil(60);
    results.fact("time", &format!("{minutes} minutes, without the build"))?;
    let page = if is_well {
        options.page()
    } else {
        options.page_of_failure()
    };
    let outcome = finish(&results.path, &page)?;
    Ok(is_well && outcome.uninstalled.is_empty())
}

/// Builds what is measured and installs the peers; true where the build succeeded.
fn prepare(options: &Options) -> Result<bool> {
    if !build(options.profile())? {
        return Ok(false);
    }
    if options.peers {
        let mut setup = Command::new(options.peers_dir.join("setup.sh"));
        // What could not be installed is named by the script that runs the peers.
        succeeds(setup.arg("--once"))?;
    }
    Ok(true)
}

/// Measures with the servers that the stores need; true where every program of Ambit's ran to its end.
fn with_servers(options: &Options, results: &mut Results) -> Result<bool> {
    let servers = options.servers()?;
    if servers.as_ref().is_some_and(Servers::are_private) {
        machine::describe_servers(results)?;
    }
    if !options.peers {
        results.failure("the peers", "the command was given no --peers")?;
    }
    if options.work.is_none() && !options.quick {
        for (work, why) in LEFT_OUT {
            results.failure(work, why)?;
        }
    }
    measure(options, servers.as_ref(), results)
}

/// Builds the benchmark program, and beside it the server that some works start.
fn build(profile: &str) -> Result<bool> {
    let mut build = match profile {
        pgo::PROFILE => pgo::guided(&host()?)?,
        _ => cargo(&[
            "build",
            "--profile",
            profile,
            "--package",
            "ambit-bench",
            "--package",
            "ambit",
        ]),
    };
    succeeds(&mut build)
}

/// All rounds, or as many as there is time for.
fn measure(options: &Options, servers: Option<&Servers>, results: &mut Results) -> Result<bool> {
    let mut is_well = true;
    let mut rounds = rounds::Rounds::new(options);
    while let Some(pass) = rounds.next(results)? {
        is_well &= options.ours(&pass, servers, results)?;
        if options.peers {
            options.theirs(&pass, servers, results)?;
        }
    }
    results.prefix.clear();
    results.fact("rounds", &rounds.count().to_string())?;
    Ok(is_well)
}

/// Makes the page and says what is on it.
fn finish(lines: &Path, folder: &Path) -> Result<Outcome> {
    let outcome = report::write(lines, folder)?;
    for failure in &outcome.failures {
        println!("not measured: {failure}");
    }
    println!("what took the time, in seconds:");
    for line in outcome.spent.iter().filter(|line| line.seconds >= 1.0) {
        println!("{:6.0}  {} ({})", line.seconds, line.spent, line.place);
    }
    println!(
        "{} targets are met, {} are missed",
        outcome.met, outcome.missed
    );
    for peer in &outcome.uninstalled {
        println!("no target is judged against {peer}, which could not be installed");
    }
    println!("the page: {}", outcome.page.display());
    Ok(outcome)
}
