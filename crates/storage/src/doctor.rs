//! Looking for what is wrong in the stores, and mending what can be mended.
//!
//! Everything is looked at page by page: each finding is told when it is met and not kept.

mod row;

use crate::directory::{IndexRow, RowFilter};
use crate::driver::{Driver, RowPages, first_row};
use crate::lease::OnBusy;
use crate::relocation;
use crate::session::Ambit;
use crate::stores::MEMORY;
use crate::{Error, Result};

/// Something that is not as it should be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// The store, row or space.
    pub place: String,
    /// What is wrong.
    pub what: String,
    /// True where it was wrong and is mended.
    pub is_mended: bool,
}

/// What an examination came to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DoctorReport {
    /// How many index rows were looked at.
    pub rows: u64,
    /// How many findings were mended.
    pub mended: u64,
    /// How many findings are left.
    pub unmended: u64,
    /// How many expired values were erased.
    pub swept: u64,
}

/// What is done about findings.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DoctorMode {
    /// They are told of.
    Report,
    /// What can be mended is mended.
    Repair,
}

/// Expired values erased in one go.
const SWEEP: usize = 500;

/// Index rows that are read at once: so many are not looked at for one that is damaged.
const STEP: usize = 100;

/// Looks at every store and every tenant's index rows. Each finding goes to `tell`.
pub async fn examine(
    ambit: &Ambit,
    mode: DoctorMode,
    tell: &mut (dyn FnMut(&Finding) + Send),
) -> Result<DoctorReport> {
    let mut doctor = Doctor {
        ambit,
        repairs: mode == DoctorMode::Repair,
        tell,
        done: DoctorReport::default(),
    };
    doctor.drivers().await?;
    doctor.moves().await?;
    doctor.index_chain().await?;
    doctor.rows().await?;
    Ok(doctor.done)
}

pub(crate) struct Doctor<'a> {
    ambit: &'a Ambit,
    repairs: bool,
    tell: &'a mut (dyn FnMut(&Finding) + Send),
    done: DoctorReport,
}

impl Doctor<'_> {
    /// What each driver finds in itself. Expired data goes first: a check need not look at it.
    async fn drivers(&mut self) -> Result<()> {
        let drivers = self.ambit.stores().drivers().iter();
        for (name, driver) in drivers.filter(|(name, _)| *name != MEMORY) {
            if self.repairs {
                match sweep(driver.as_ref()).await {
                    Ok(swept) => self.done.swept += swept,
                    Err(error) => self.left(name, format!("was not swept: {error}")),
                }
            }
            match driver.check().await {
                Ok(found) => found.into_iter().for_each(|what| self.left(name, what)),
                Err(error) => self.left(name, error.to_string()),
            }
        }
        Ok(())
    }

    /// Moves that were interrupted: finished or undone.
    async fn moves(&mut self) -> Result<()> {
        let mut after = None;
        loop {
            let open = relocation::open_moves(self.ambit, after).await?;
            let Some((last, _)) = open.last() else {
                return Ok(());
            };
            after = Some(last.clone());
            for (id, words) in &open {
                self.interrupted_move(id, words).await?;
            }
        }
    }

    async fn interrupted_move(&mut self, id: &str, words: &str) -> Result<()> {
        let place = format!("context {id}");
        let what = format!("is {words}, which was interrupted or is not over");
        if !self.repairs {
            self.left(&place, format!("{what}; repeat it or repair"));
            return Ok(());
        }
        match self.row_with(id).await? {
            None => relocation::forget(self.ambit, id).await?,
            Some(row) => {
                let settled = relocation::finish_interrupted(self.ambit, &row, OnBusy::Queue).await;
                if let Err(error) = settled {
                    self.left(&place, format!("{what}: {error}"));
                    return Ok(());
                }
            }
        }
        self.mended(&place, what);
        Ok(())
    }

    /// The chain of the index, if it is one: rows in which its drivers contradict each other.
    async fn index_chain(&mut self) -> Result<()> {
        let index = self.ambit.stores().index()?;
        if index.names().len() < 2 {
            return Ok(());
        }
        let chain = self.ambit.stores().chained(index.names())?;
        let place = index.names().join("+");
        for what in chain.contradictions().await? {
            self.left(&place, what);
        }
        Ok(())
    }

    async fn rows(&mut self) -> Result<()> {
        let index = self.ambit.stores().index()?;
        let mut pages = RowPages::of(index.driver().as_ref(), RowFilter::default()).in_steps(STEP);
        loop {
            let rows = match pages.next().await {
                Ok(Some(rows)) => rows,
                Ok(None) => return Ok(()),
                Err(error @ Error::Corrupt { .. }) => {
                    let what = format!("{error}; the rows behind it were not looked at");
                    self.left("the index", what);
                    return Ok(());
                }
                Err(error) => return Err(error),
            };
            for row in &rows {
                self.done.rows += 1;
                self.row(row).await?;
            }
        }
    }

    async fn row_with(&self, id: &str) -> Result<Option<IndexRow>> {
        let index = self.ambit.stores().index()?;
        first_row(index.driver().as_ref(), &RowFilter::id(id)).await
    }

    fn left(&mut self, place: &str, what: String) {
        self.done.unmended += 1;
        self.say(place, what, false);
    }

    fn mended(&mut self, place: &str, what: String) {
        self.done.mended += 1;
        self.say(place, what, true);
    }

    fn say(&mut self, place: &str, what: String, is_mended: bool) {
        (self.tell)(&Finding {
            place: place.to_owned(),
            what,
            is_mended,
        });
    }
}

/// Erases all that has expired.
async fn sweep(driver: &dyn Driver) -> Result<u64> {
    let mut swept = 0;
    loop {
        let erased = driver.sweep(SWEEP).await?;
        swept += erased;
        if erased < SWEEP as u64 {
            return Ok(swept);
        }
    }
}
