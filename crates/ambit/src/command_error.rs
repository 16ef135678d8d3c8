//! Why a command could not run, said for the person who typed it.

/// The result of everything here.
pub type Result<T, E = CommandError> = std::result::Result<T, E>;

/// What went wrong.
#[derive(Debug, thiserror::Error)]
pub enum CommandError {
    /// The stores refused or failed.
    #[error("{0}")]
    Storage(#[from] ambit_storage::Error),
    /// The output took no more text.
    #[error("cannot write the output: {0}")]
    Output(#[from] std::io::Error),
    /// What is asked for is not there. Where it was looked for is said by whoever knows the stores.
    #[error("{what} not found; {advice}")]
    NotFound {
        /// What was looked for, as in `chat "a"`.
        what: String,
        /// How one finds what there is.
        advice: &'static str,
    },
    /// The command itself makes no sense here; the text says why and what would.
    #[error("{0}")]
    Refused(String),
}

impl From<ambit_runtime::Error> for CommandError {
    fn from(error: ambit_runtime::Error) -> Self {
        Self::Refused(error.to_string())
    }
}

impl CommandError {
    /// The option is given something that it does not take.
    pub fn option(option: &str, reason: impl std::fmt::Display) -> Self {
        Self::Refused(format!("{option} {reason}"))
    }
}
