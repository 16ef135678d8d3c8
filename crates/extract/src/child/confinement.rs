//! The limits of the process that reads a document.

use std::env;
use std::fs;
use std::io;
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::Command;

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

use crate::limits;

/// What may be opened from now on is nothing: each open file and socket needs a number, and the lowest that is allowed is taken.
const FORBIDDEN: [Resource; 3] = [Resource::Nofile, Resource::Fsize, Resource::Core];

/// Puts this process under its limits.
///
/// An allocator has taken address space before the program's first line. So the limit of memory is set first, and the program
/// begins once more under it.
pub(super) fn confine() -> io::Result<()> {
    let memory = limits::CHILD_MEMORY_BYTES;
    if getrlimit(Resource::As)
        .current
        .is_none_or(|allowed| allowed > memory)
    {
        setrlimit(
            Resource::As,
            Rlimit {
                current: Some(memory),
                maximum: Some(memory),
            },
        )?;
        return Err(Command::new(this_program()?)
            .args(env::args_os().skip(1))
            .exec());
    }
    // The server must not be what ends where a system has no memory left. Only Linux has the file.
    let _ = fs::write("/proc/self/oom_score_adj", "1000");
    // Between the two, the process is told by a signal of its own.
    let seconds = limits::CHILD_CPU_SECONDS;
    setrlimit(
        Resource::Cpu,
        Rlimit {
            current: Some(seconds),
            maximum: Some(seconds + 1),
        },
    )?;
    for resource in FORBIDDEN {
        setrlimit(
            resource,
            Rlimit {
                current: Some(0),
                maximum: Some(0),
            },
        )?;
    }
    Ok(())
}

/// The file that this process is of, even where another one has taken its place since.
fn this_program() -> io::Result<PathBuf> {
    if cfg!(target_os = "linux") {
        Ok(PathBuf::from("/proc/self/exe"))
    } else {
        env::current_exe()
    }
}
