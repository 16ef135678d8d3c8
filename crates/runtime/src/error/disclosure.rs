//! How much of what goes on inside is told to whoever asks.

use super::Error;

/// How much messages of failures tell of what goes on inside: places in scripts, limits of runs, and what providers say.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Disclosure {
    /// All of it, for whoever develops the app.
    #[default]
    Full,
    /// Nothing of it: the log has it, in lines with the request's id.
    Withheld,
}

impl Disclosure {
    /// The failure as it is passed on; `public` is what is told where the rest is withheld.
    pub(crate) fn of(self, error: Error, public: &str) -> Error {
        match self {
            Self::Full => error,
            Self::Withheld => Error {
                message: public.to_owned(),
                stack: Box::default(),
                ..error
            },
        }
    }
}
