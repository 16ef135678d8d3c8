//! What contexts hold. A row knows it where it lies beside the data; elsewhere the store that has the data is asked.

use crate::error::Result;
use ambit_storage::address::ITEMS;
use ambit_storage::batch::Head;
use ambit_storage::directory::{IndexRow, RowState};
use ambit_storage::driver::LogRange;
use ambit_storage::{Ambit, Error, Page, SessionQuery, Stores};

/// What a context holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ContextContents {
    /// Whether it holds something.
    pub state: RowState,
    /// How many items were added since it was last cleared.
    pub items: u64,
    /// The generation of its items; 0 where it has no log of items.
    pub generation: u64,
}

impl ContextContents {
    fn of(head: Option<Head>) -> Self {
        let is_cleared = head.is_some_and(|head| head.last == 0);
        let Head { generation, last } = head.unwrap_or(Head::new(0, 0));
        Self {
            state: match is_cleared {
                true => RowState::Cleared,
                false => RowState::Live,
            },
            items: last,
            generation,
        }
    }
}

/// Returns what the context of a row holds; nothing where its store is down or not set up here, which must not hide the row.
pub async fn contents(ambit: &Ambit, row: &IndexRow) -> Result<Option<ContextContents>> {
    let stores = ambit.stores();
    if stores.index()?.names() == row.placement {
        return Ok(Some(ContextContents {
            state: row.state,
            items: row.items,
            generation: row.generation,
        }));
    }
    match head(stores, row).await {
        Ok(head) => Ok(Some(ContextContents::of(head))),
        Err(Error::Unavailable { .. } | Error::Invalid { .. } | Error::Corrupt { .. }) => Ok(None),
        Err(error) => Err(error.into()),
    }
}

async fn head(stores: &Stores, row: &IndexRow) -> ambit_storage::Result<Option<Head>> {
    let driver = stores.chain(&row.placement)?.driver().clone();
    let items = row.space().log(ITEMS);
    Ok(driver.read(&items, LogRange::head()).await?.head)
}

/// A row, and what its context holds.
pub(super) type RowContents = (IndexRow, Option<ContextContents>);

/// The rows of a query that are in a state.
pub(super) struct StateQuery<'a> {
    ambit: &'a Ambit,
    /// Those of which the index does not know that they are in another one.
    query: SessionQuery,
    state: RowState,
}

impl<'a> StateQuery<'a> {
    pub(super) fn of(ambit: &'a Ambit, query: &SessionQuery, state: RowState) -> Result<Self> {
        let index = ambit.stores().index()?.names().to_vec();
        Ok(Self {
            ambit,
            query: query.filter(move |row| row.placement != index || row.state == state),
            state,
        })
    }

    /// One page of rows. Its cursor goes on in this state alone.
    pub(super) async fn page(
        &self,
        cursor: Option<&str>,
        limit: usize,
    ) -> Result<Page<RowContents>> {
        let prefix = match self.state {
            RowState::Live => "live.",
            RowState::Cleared => "cleared.",
        };
        // What is no cursor of this state is refused as one that was made up.
        let behind = |cursor: &str| cursor.strip_prefix(prefix).unwrap_or_default().to_owned();
        let mut cursor = cursor.map(behind);
        let mut items: Vec<RowContents> = Vec::new();
        loop {
            let wanted = limit - items.len();
            let page = self.query.page(cursor.as_deref(), wanted).await?;
            items.extend(of_state(self.ambit, page.items, self.state).await?);
            cursor = page.next;
            if cursor.is_none() || items.len() == limit {
                break;
            }
        }
        let next = cursor.map(|cursor| format!("{prefix}{cursor}"));
        Ok(Page { items, next })
    }
}

/// These rows, and what their contexts hold.
pub(super) async fn with_contents(ambit: &Ambit, rows: Vec<IndexRow>) -> Result<Vec<RowContents>> {
    let mut found = Vec::with_capacity(rows.len());
    for row in rows {
        let contents = contents(ambit, &row).await?;
        found.push((row, contents));
    }
    Ok(found)
}

/// Those of these rows that are in a state.
pub(super) async fn of_state(
    ambit: &Ambit,
    rows: Vec<IndexRow>,
    state: RowState,
) -> Result<Vec<RowContents>> {
    let mut found = with_contents(ambit, rows).await?;
    found.retain(|(_, contents)| contents.is_some_and(|contents| contents.state == state));
    Ok(found)
}
