//! The only files with `unsafe`: switching stacks, loading what was compiled here, and, beside it, an engine's memory.

#![expect(unsafe_code, reason = "each block says why it is sound")]

mod heap;

pub use heap::{Allocations, Heap};

use corosensei::stack::DefaultStack;
use corosensei::{Coroutine, CoroutineResult, Yielder};
use rquickjs::module::Declared;
use rquickjs::{Ctx, Module, WriteOptions};
use std::cell::Cell;
use std::rc::Rc;

/// Code that runs on a stack of its own and can be put aside in the middle of anything it calls.
///
/// It must be resumed until it has finished: dropping it earlier would unwind through the engine's C frames, which is
/// undefined, so the coroutine then ends the process.
pub struct Fiber<P: Send + 'static> {
    coroutine: Coroutine<(), P, (), DefaultStack>,
}

// SAFETY: a suspended coroutine is plain memory: its stack and the values on it. `Fiber::new` takes only a `Send` body, and
// everything else on that stack was made by the body after it started: the JavaScript runtime, its `Rc`s and the `Pauser`.
// None of these leave the fiber (what leaves it, `P`, is `Send`), so moving the fiber moves all owners of each of them at
// once. Nothing on the stack is tied to a thread: the engine keeps no thread-local state and compares stack addresses with
// the top it recorded when it was made, on this same stack; and `Pauser::pause`, which is never inlined, is called while no
// reference to a thread-local is held.
unsafe impl<P: Send + 'static> Send for Fiber<P> {}

/// Why a fiber gave its thread back.
pub enum Step<P> {
    /// It paused and says what it waits for.
    Paused(P),
    /// It has returned.
    Finished,
}

impl<P: Send + 'static> Fiber<P> {
    /// A fiber that has not started.
    pub fn new(stack: DefaultStack, body: impl FnOnce(Pauser<P>) + Send + 'static) -> Self {
        let coroutine = Coroutine::with_stack(stack, move |yielder: &Yielder<(), P>, ()| {
            let address = Rc::new(Cell::new(Some(std::ptr::from_ref(yielder))));
            let end = EndOfBody(Rc::clone(&address));
            body(Pauser { yielder: address });
            drop(end);
        });
        Self { coroutine }
    }

    /// The stack of a fiber that has finished, for another.
    pub fn into_stack(self) -> Option<DefaultStack> {
        self.coroutine.done().then(|| self.coroutine.into_stack())
    }

    /// Runs the fiber on this thread until it pauses or returns. A panic in it comes out here.
    pub fn resume(&mut self) -> Step<P> {
        match self.coroutine.resume(()) {
            CoroutineResult::Yield(pause) => Step::Paused(pause),
            CoroutineResult::Return(()) => Step::Finished,
        }
    }
}

/// Forgets the yielder when the body ends, also by a panic.
struct EndOfBody<P>(Rc<Cell<Option<*const Yielder<(), P>>>>);

impl<P> Drop for EndOfBody<P> {
    fn drop(&mut self) {
        self.0.set(None);
    }
}

/// Given to a fiber's body, and by it to its host functions: puts the fiber aside.
pub struct Pauser<P> {
    yielder: Rc<Cell<Option<*const Yielder<(), P>>>>,
}

impl<P> Clone for Pauser<P> {
    fn clone(&self) -> Self {
        Self {
            yielder: Rc::clone(&self.yielder),
        }
    }
}

impl<P> Pauser<P> {
    /// Puts the fiber aside until it is resumed. May only be called on the fiber's own stack; once the body has ended it
    /// does nothing.
    #[inline(never)]
    pub fn pause(&self, pause: P) {
        let Some(yielder) = self.yielder.get() else {
            return;
        };
        // SAFETY: the yielder lives on the fiber's stack for as long as its body runs, and the address is cleared when the
        // body ends. Pausers are not `Send` and are kept only by what the body owns (its runtime's host functions and
        // interrupt handler), which run on that stack and nowhere else.
        unsafe { &*yielder }.suspend(pause);
    }
}

/// A module compiled by this process's engine. There is no way to make one from bytes.
pub struct Bytecode(Vec<u8>);

impl Bytecode {
    /// What the engine compiled; its source is left out.
    pub fn of(module: &Module<'_, Declared>) -> rquickjs::Result<Self> {
        let options = WriteOptions {
            strip_source: true,
            ..WriteOptions::default()
        };
        Ok(Self(module.write(options)?))
    }

    /// What the engine compiled, without its source and its lines: for what no stack shows.
    pub fn without_lines(module: &Module<'_, Declared>) -> rquickjs::Result<Self> {
        let options = WriteOptions {
            strip_source: true,
            strip_debug: true,
            ..WriteOptions::default()
        };
        Ok(Self(module.write(options)?))
    }

    /// The module in a runtime that has not seen it yet.
    pub fn load<'js>(&self, ctx: &Ctx<'js>) -> rquickjs::Result<Module<'js, Declared>> {
        // SAFETY: the bytes were written by the same engine in this process, and cannot be changed or come from elsewhere.
        unsafe { Module::load(ctx.clone(), &self.0) }
    }
}
