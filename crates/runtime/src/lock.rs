//! Locking what several tasks share.

use std::sync::{Mutex, MutexGuard, PoisonError};

/// Locks a mutex. What it guards is whole between any two statements, so that a holder's panic leaves nothing half done.
pub fn lock<T: ?Sized>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
