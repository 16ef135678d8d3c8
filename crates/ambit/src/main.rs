//! The `ambit` program: the server, and the command line over stored contexts. Without arguments it serves the welcome app.

mod cli;
mod command;
mod command_error;
mod context_filters;
mod example;
mod idle_memory;
mod output;
mod settings;

use ambit::timestamp;
use clap::Parser;
use cli::Cli;
use command::CommandOutcome;
use command_error::CommandError;
use std::ffi::OsString;
use std::process::ExitCode;
use tokio::task::JoinSet;

/// A turn is thousands of small allocations, many of them freed on another thread: the system's allocator takes a quarter of
/// its time.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// Something that was asked for could not be done, and the rest was.
const SOME_FAILED: u8 = 2;
/// Some of it is left to other programs, whose commands were printed.
const LEFT_TO_OTHERS: u8 = 3;

fn main() -> ExitCode {
    let mut arguments: Vec<OsString> = std::env::args_os().collect();
    // How the server reads documents of strangers. No thread may run before the child has confined itself.
    if arguments.len() == 2 && arguments[1] == "extract" {
        return ambit_extract::run_child();
    }
    if arguments.len() <= 1 {
        arguments = vec!["ambit".into(), "serve".into()];
    }
    run(&arguments)
}

/// Runs a command to its end. What still waits for another machine then, such as a look-up of a name, is left behind.
fn run(arguments: &[OsString]) -> ExitCode {
    let runtime = match tokio::runtime::Runtime::new() {
        Ok(runtime) => runtime,
        Err(error) => {
            eprintln!("ambit: no threads can be started: {error}");
            return ExitCode::FAILURE;
        }
    };
    let code = runtime.block_on(run_command(arguments));
    runtime.shutdown_background();
    code
}

async fn run_command(arguments: &[OsString]) -> ExitCode {
    // Ends with this function.
    let mut upkeep = JoinSet::new();
    upkeep.spawn(idle_memory::give_back());
    let done = match Cli::try_parse_from(arguments) {
        Ok(cli) => match cli.stores.check_places(arguments) {
            Ok(()) => cli::run(cli).await,
            Err(refused) => Err(refused),
        },
        Err(refused) => return answer(&refused),
    };
    match done {
        Ok(CommandOutcome::Done) => ExitCode::SUCCESS,
        Ok(CommandOutcome::SomeFailed) => ExitCode::from(SOME_FAILED),
        Ok(CommandOutcome::LeftToOthers) => ExitCode::from(LEFT_TO_OTHERS),
        // Whoever reads the output, `head` for instance, has read enough.
        Err(CommandError::Output(error)) if error.kind() == std::io::ErrorKind::BrokenPipe => {
            ExitCode::SUCCESS
        }
        Err(failure) => {
            eprintln!("ambit: {}", output::escape_control(&failure.to_string()));
            ExitCode::FAILURE
        }
    }
}

/// Help and version are answers; anything else that the arguments are not is refused.
fn answer(refused: &clap::Error) -> ExitCode {
    // Nobody is left to tell where neither output nor error output takes text.
    let _ = refused.print();
    if refused.use_stderr() {
        ExitCode::FAILURE
    } else {
        ExitCode::SUCCESS
    }
}
