//! Two words of the engine's memory by which the watch thread reaches a run. One counts the steps until the engine asks whether
//! the run must end: a call of a built-in function is one step, however long it takes, so the engine is made to ask at its next.
//! The other says where the stack ends: where the engine looks within a step whether its stack is full, as `JSON` does at each
//! value, it is told so once the run must end.

use super::RuntimeAllocator;
use parking_lot::Mutex;
use rquickjs::allocator::Allocator;
use rquickjs::{Context, Ctx, Runtime, qjs};
use std::cell::Cell;
use std::ptr::NonNull;
use std::rc::Rc;
use std::sync::atomic::{AtomicI32, AtomicUsize, Ordering};

/// The engine asks after so many steps, and begins to count anew before it asks.
const STEPS: i32 = 10_000;

/// By so much a stack is made larger to see which word of the runtime says where it ends.
const LARGER: usize = 64 << 10;

/// Where a runtime counts, and where it says how far its stack may reach.
#[derive(Clone, Copy)]
pub struct EngineWords {
    count: NonNull<i32>,
    stack_end: NonNull<usize>,
}

// SAFETY: they are addresses; who uses them is said at `EngineWordSlot`.
unsafe impl Send for EngineWords {}

/// How far into its context an engine counts, and how far into its runtime it says how far the stack may reach.
#[derive(Clone, Copy)]
pub struct EngineWordOffsets {
    count: usize,
    stack_end: usize,
}

impl EngineWords {
    /// Where an engine has the words; `None` if it cannot be told. Its runtime has a `RuntimeAllocator`. It takes the place of
    /// the runtime's interrupt handler, and leaves a stack of another size.
    pub fn find_offsets(runtime: &Runtime, context: &Context) -> Option<EngineWordOffsets> {
        Some(EngineWordOffsets {
            count: find_count(runtime, context)?,
            stack_end: find_stack_end(runtime, context)?,
        })
    }

    /// The words of a runtime whose engine has them there.
    pub fn new(context: &Context, offsets: EngineWordOffsets) -> Self {
        let context = context.with(|ctx| ctx.as_raw());
        // SAFETY: the context lives, and so does its runtime, which is never null. The offsets were found within a context and a
        // runtime, and those of an engine are all as large.
        unsafe {
            let runtime = NonNull::new_unchecked(qjs::JS_GetRuntime(context.as_ptr()));
            Self {
                count: context.cast::<i32>().add(offsets.count),
                stack_end: runtime.cast::<usize>().add(offsets.stack_end),
            }
        }
    }
}

/// The one word of a context that is full when the engine asks.
fn find_count(runtime: &Runtime, context: &Context) -> Option<usize> {
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
        told.set(only((0..size / size_of::<i32>()).filter(is_full)));
        false
    };
    runtime.set_interrupt_handler(Some(Box::new(look)));
    let count = |ctx: Ctx<'_>| ctx.eval::<(), _>("for (let i = 0; i < 20000; i++);");
    let is_done = context.with(count).is_ok();
    runtime.set_interrupt_handler(None);
    found.get().filter(|_| is_done)
}

/// The one word of a runtime that falls by as much as the stack grows.
fn find_stack_end(runtime: &Runtime, context: &Context) -> Option<usize> {
    let raw = context.with(|ctx| ctx.as_raw());
    // SAFETY: the context lives, and so does its runtime.
    let block = unsafe { qjs::JS_GetRuntime(raw.as_ptr()) };
    // SAFETY: a runtime is the one block that the engine asks its allocator for by itself; what it says of the sizes of blocks is
    // right for those within its own larger ones alone.
    let size = unsafe { RuntimeAllocator::usable_size(block.cast()) };
    let words = 0..size / size_of::<usize>();
    let read = |stack: usize| -> Vec<usize> {
        runtime.set_max_stack_size(stack);
        // SAFETY: the words lie in the block, which the engine has filled with zeros at first; it is not at work on them now.
        let word = |at: usize| unsafe { block.cast::<usize>().add(at).read_volatile() };
        words.clone().map(word).collect()
    };
    let (small, large) = (read(LARGER), read(2 * LARGER));
    only(words.filter(|&at| small[at].wrapping_sub(large[at]) == LARGER))
}

/// What is found where nothing else is.
fn only(mut found: impl Iterator<Item = usize>) -> Option<usize> {
    found.next().filter(|_| found.next().is_none())
}

/// The words of the run that has a runtime just now.
///
/// Only `RunContext` sets it: it takes the words out before the runtime's memory is put back, given away or freed.
#[derive(Default)]
pub struct EngineWordSlot(Mutex<Option<EngineWords>>);

impl EngineWordSlot {
    /// Sets the words of the run.
    pub fn set(&self, words: Option<EngineWords>) {
        *self.0.lock() = words;
    }

    /// Takes the words away: until they are set again, nothing reaches the engine.
    pub fn take(&self) -> Option<EngineWords> {
        self.0.lock().take()
    }

    /// Has the engine ask at its next step.
    pub fn ask_soon(&self) {
        let slot = self.0.lock();
        let Some(words) = *slot else {
            return;
        };
        // SAFETY: the runtime lives and keeps its memory as long as the words are here, and here they are while the lock is
        // held. The engine counts down with plain instructions on another thread: one of them may undo this store, which
        // the watch thread repeats; nothing but this word, which may have any value, depends on the order of both.
        unsafe { AtomicI32::from_ptr(words.count.as_ptr()) }.store(0, Ordering::Relaxed);
    }

    /// Has each further look at the stack fail, until the next run sets how large its stack is.
    pub fn end_stack(&self) {
        let slot = self.0.lock();
        let Some(words) = *slot else {
            return;
        };
        // SAFETY: the words are here while the lock is held, as in `ask_soon`. The engine only reads this one while a run is at
        // work; it may have any value.
        unsafe { AtomicUsize::from_ptr(words.stack_end.as_ptr()) }
            .store(usize::MAX, Ordering::Relaxed);
    }
}
