//! W2: loading a conversation, and the end of a long one.

use super::{Bench, seed};
use crate::Result;
use crate::measure::Row;

pub async fn run(bench: &Bench) -> Result<()> {
    let level = bench.level("w2")?;
    for &length in bench.sizes.loads {
        let session = seed(level.as_ref(), &format!("c{length}"), length).await?;
        let row = Row {
            work: "W2 load",
            p: length,
            unit: "ms",
            note: "as JSON text",
        };
        let load = async |_| expect(level.load(&session, None).await?, length);
        bench.output.median(row, 30, load).await?;
    }
    let length = bench.sizes.long;
    let session = seed(level.as_ref(), "long", length).await?;
    for last in [10, 50] {
        let row = Row {
            work: &format!("W2 load last {last}"),
            p: length,
            unit: "ms",
            note: "as JSON text",
        };
        let load = async |_| expect(level.load(&session, Some(last)).await?, last);
        bench.output.median(row, 30, load).await?;
    }
    Ok(())
}

fn expect(found: usize, wanted: usize) -> Result<()> {
    if found == wanted {
        Ok(())
    } else {
        Err(format!("{found} messages were loaded instead of {wanted}").into())
    }
}
