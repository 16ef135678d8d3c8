//! What the TypeScript compiler says, as load errors.

use crate::error::{LoadError, SourceLocation};
use oxc::diagnostics::OxcDiagnostic;

/// The first error among what the compiler says.
pub fn first_error<'d>(
    path: &str,
    text: &str,
    found: impl IntoIterator<Item = &'d OxcDiagnostic>,
) -> Option<LoadError> {
    let error = found.into_iter().next()?;
    let offset = error
        .labels
        .iter()
        .next()
        .map(|label| label.offset() as usize);
    let message = match &error.help {
        Some(help) => format!("{} ({help})", error.message),
        None => error.message.to_string(),
    };
    let at = offset.map(|offset| locate(path, text, offset));
    Some(LoadError { at, message })
}

/// The place of a byte.
pub fn locate(path: &str, text: &str, offset: usize) -> SourceLocation {
    let before = text.get(..offset.min(text.len())).unwrap_or(text);
    let line = before.matches('\n').count() + 1;
    let column = before
        .rsplit('\n')
        .next()
        .unwrap_or_default()
        .encode_utf16()
        .count()
        + 1;
    let number = |value: usize| u32::try_from(value).unwrap_or(u32::MAX);
    SourceLocation {
        file: path.to_owned(),
        line: number(line),
        column: number(column),
    }
}
