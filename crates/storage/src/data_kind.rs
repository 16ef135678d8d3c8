//! Kinds of data, by where they are kept.

/// A kind of data, by where it is kept. In both patterns `%` stands for any characters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DataKind {
    /// What it is, for people.
    pub name: &'static str,
    /// The paths of its spaces.
    pub path: &'static str,
    /// The names of its logs and values.
    pub entry: &'static str,
}
