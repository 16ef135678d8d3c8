//! The engine's count of the steps until it asks whether the run must end. A call of a built-in function is one step, however
//! long it takes, so the watch thread has the engine ask at its next step.

use parking_lot::Mutex;
use rquickjs::{Context, Ctx, Runtime, qjs};
use std::cell::Cell;
use std::ptr::NonNull;
use std::rc::Rc;
use std::sync::atomic::{AtomicI32, Ordering};

/// The engine asks after so many steps, and begins to count anew before it asks.
const STEPS: i32 = 10_000;

/// Where a runtime counts.
#[derive(Clone, Copy)]
pub struct StepCounter(NonNull<i32>);

// SAFETY: it is an address; who uses it is said at `StepCounterSlot`.
unsafe impl Send for StepCounter {}

impl StepCounter {
    /// How far into its context an engine counts: there is the one word that is full when the engine asks. `None` if there is
    /// none. It takes the place of the runtime's interrupt handler.
    pub fn find_offset(runtime: &Runtime, context: &Context) -> Option<usize> {
        let raw = context.with(|ctx| ctx.as_raw());
        let words = raw.cast::<i32>();
        // SAFETY: the engine allocates a context as one block, and says how large it is.
        let size = unsafe { qjs::js_malloc_usable_size(raw.as_ptr(), raw.as_ptr().cast()) };
        let size = usize::try_from(size).ok()?;
        let found = Rc::new(Cell::new(None));
        let told = Rc::clone(&found);
        let look = move || {
            // SAFETY: the words lie in the block, which the engine has filled with zeros at first; it is not at work on them
            // while it asks.
            let is_full = |at: &usize| unsafe { words.add(*at).read_volatile() } == STEPS;
            let mut full = (0..size / size_of::<i32>()).filter(is_full);
            told.set(full.next().filter(|_| full.next().is_none()));
            false
        };
        runtime.set_interrupt_handler(Some(Box::new(look)));
        let count = |ctx: Ctx<'_>| ctx.eval::<(), _>("for (let i = 0; i < 20000; i++);");
        let is_done = context.with(count).is_ok();
        runtime.set_interrupt_handler(None);
        found.get().filter(|_| is_done)
    }

    /// Where a runtime counts whose engine counts there.
    pub fn new(context: &Context, offset: usize) -> Self {
        let words = context.with(|ctx| ctx.as_raw().cast::<i32>());
        // SAFETY: the offset was found within a context, and they are all as large.
        Self(unsafe { words.add(offset) })
    }
}

/// Where the run counts that has a runtime just now.
///
/// Only `RunContext` sets it: it takes the counter out before the runtime's memory is put back, given away or freed.
#[derive(Default)]
pub struct StepCounterSlot(Mutex<Option<StepCounter>>);

impl StepCounterSlot {
    /// Sets where the run counts.
    pub fn set(&self, counter: Option<StepCounter>) {
        *self.0.lock() = counter;
    }

    /// Has the engine ask at its next step.
    pub fn ask_soon(&self) {
        let counter = self.0.lock();
        if let Some(StepCounter(count)) = *counter {
            // SAFETY: the runtime lives and keeps its memory as long as the counter is here, and here it is while the lock is
            // held. The engine counts down with plain instructions on another thread: one of them may undo this store, which
            // the watch thread repeats; nothing but this word, which may have any value, depends on the order of both.
            unsafe { AtomicI32::from_ptr(count.as_ptr()) }.store(0, Ordering::Relaxed);
        }
    }
}
