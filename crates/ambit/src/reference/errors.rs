//! The page about errors.

use super::{ReferencePage, cell};
use crate::status::{kind, status};
use ambit_runtime::{ERROR_CODES, Error, ErrorCode};

const ABOUT: &str = "\
What fails is told by a code, in answers, in streams and to scripts. An answer over HTTP has the status and the type beside it:

```json
{\"error\": {\"message\": \"agent \\\"shop\\\" not found\", \"type\": \"not_found_error\", \"code\": \"not_found\", \"param\": \"model\"}}
```

`param` is the field of the request that is to blame, where there is one. Words of the message may change from version to version, and
codes do not. A script that throws may give its exception a `code` of its own, which is told as it is, with the status 500, or with the
`status` from 400 to 599 that the exception has. `limit_exceeded` is 429, of the type `rate_limit_error`, with `Retry-After`, where it would
fit later, as with the [limits of callers](../guides/limits.md).

| code | status | type | means |
|---|---|---|---|
";

/// The page.
pub fn page() -> ReferencePage {
    let rows = ERROR_CODES.iter().map(|row| {
        let status = status(&Error::new(ErrorCode::from(row.name), ""));
        let (code, kind, about) = (row.name, kind(status), cell(row.about));
        format!("| `{code}` | {} | `{kind}` | {about} |\n", status.as_u16())
    });
    let rows: String = rows.collect();
    ReferencePage::new("errors", "Errors", &format!("{ABOUT}{rows}"))
}
