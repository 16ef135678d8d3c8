//! The only module of this crate with `unsafe`: switching stacks, loading what was compiled here, the memory of a runtime and
//! the words of its engine.

#![expect(unsafe_code, reason = "each block says why it is sound")]

mod engine_words;

pub use engine_words::{EngineWordOffsets, EngineWordSlot, EngineWords};

use ambit_quickjs_heap::{HeapTemplate, MemoryMeter, SnapshotHeap};
use corosensei::stack::DefaultStack;
use corosensei::{Coroutine, CoroutineResult, Yielder};
use rquickjs::allocator::Allocator;
use rquickjs::module::Declared;
use rquickjs::{Ctx, Module, WriteOptions};
use std::cell::Cell;
use std::ptr::null_mut;
use std::rc::Rc;
use std::sync::Arc;

/// Code that runs on a stack of its own and can be put aside in the middle of anything it calls.
///
/// It must be resumed until it has finished: dropping it earlier would unwind through the engine's C frames, which is
/// undefined, so the coroutine then ends the process.
pub struct Fiber<P: Send + 'static> {
    coroutine: Coroutine<(), P, (), DefaultStack>,
}

// SAFETY: a suspended coroutine is plain memory: its stack and the values on it. `Fiber::new` takes only a `Send` body, and
// everything else on that stack was made by the body after it started: the JavaScript runtime, its `Rc`s and the `FiberPauser`.
// None of these leave the fiber (what leaves it, `P`, is `Send`), so moving the fiber moves all owners of each of them at
// once. Nothing on the stack is tied to a thread: the engine keeps no thread-local state and compares stack addresses with
// the top it recorded when it was made, on this same stack; and `FiberPauser::pause`, which is never inlined, is called while no
// reference to a thread-local is held.
unsafe impl<P: Send + 'static> Send for Fiber<P> {}

/// Why a fiber gave its thread back.
pub enum FiberStep<P> {
    /// It paused and says what it waits for.
    Paused(P),
    Finished,
}

impl<P: Send + 'static> Fiber<P> {
    /// A fiber that has not started.
    pub fn new(stack: DefaultStack, body: impl FnOnce(FiberPauser<P>) + Send + 'static) -> Self {
        let coroutine = Coroutine::with_stack(stack, move |yielder: &Yielder<(), P>, ()| {
            let address = Rc::new(Cell::new(Some(std::ptr::from_ref(yielder))));
            let end = YielderGuard(Rc::clone(&address));
            body(FiberPauser { yielder: address });
            drop(end);
        });
        Self { coroutine }
    }

    /// The stack of a fiber that has finished, for another.
    pub fn into_stack(self) -> Option<DefaultStack> {
        self.coroutine.done().then(|| self.coroutine.into_stack())
    }

    /// Runs the fiber on this thread until it pauses or returns. A panic in it comes out here.
    pub fn resume(&mut self) -> FiberStep<P> {
        match self.coroutine.resume(()) {
            CoroutineResult::Yield(pause) => FiberStep::Paused(pause),
            CoroutineResult::Return(()) => FiberStep::Finished,
        }
    }
}

/// Forgets the yielder when the body ends, also by a panic.
struct YielderGuard<P>(Rc<Cell<Option<*const Yielder<(), P>>>>);

impl<P> Drop for YielderGuard<P> {
    fn drop(&mut self) {
        self.0.set(None);
    }
}

/// Given to a fiber's body, and by it to its host functions: puts the fiber aside.
pub struct FiberPauser<P> {
    yielder: Rc<Cell<Option<*const Yielder<(), P>>>>,
}

impl<P> Clone for FiberPauser<P> {
    fn clone(&self) -> Self {
        Self {
            yielder: Rc::clone(&self.yielder),
        }
    }
}

impl<P> FiberPauser<P> {
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

/// The memory of one runtime.
#[derive(Clone)]
pub struct RuntimeMemory(Rc<SnapshotHeap>);

impl RuntimeMemory {
    /// Memory for a runtime; `None` if there is none.
    pub fn new() -> Option<Self> {
        SnapshotHeap::new().map(|heap| Self(Rc::new(heap)))
    }

    /// What the engine allocates with; for one runtime.
    pub fn allocator(&self) -> RuntimeAllocator {
        RuntimeAllocator(Rc::clone(&self.0))
    }

    /// Counts to this meter from now on, what is in use already included.
    pub fn count_to(&self, meter: &Arc<MemoryMeter>) {
        self.0.count_to(meter);
    }

    /// Takes the snapshot that is restored; false if the runtime is too large for one.
    pub fn take_snapshot(&self) -> bool {
        self.0.take_snapshot()
    }

    /// Takes a snapshot of which little is kept; false if the runtime is too large for one.
    pub fn take_small_snapshot(&self, template: &Arc<HeapTemplate>) -> bool {
        self.0.take_small_snapshot(template)
    }

    /// Makes the runtime as it was when the snapshot was taken; false if there is none.
    ///
    /// Only `run` calls this, behind a run: it has then left `Context::with`, so that no code of the runtime runs and
    /// no `Ctx` or value is borrowed, and has dropped every `Persistent` made since the snapshot.
    pub fn restore(&self) -> bool {
        // SAFETY: as said above, nothing refers to what the run has made. What the snapshot points at outside of the heap are
        // the prelude's host functions: they are made before it and owned by an object that is frozen, so that no script frees
        // them, and no host function makes another. What points into the heap from outside is the runtime and its context, and
        // the `Persistent` of the prelude's object; they are made before the snapshot too, and dropped with the runtime.
        unsafe { self.0.restore() }
    }

    /// Waits without the runtime's memory, and then makes the runtime as it was when the snapshot was taken; false, without
    /// waiting, if there is none.
    ///
    /// Only `run` calls this, as it calls `restore`; `wait` touches nothing of the runtime.
    pub fn restore_behind(&self, wait: impl FnOnce()) -> bool {
        // SAFETY: as in `restore`, and until `wait` returns the fiber is paused, so that no code of its runtime runs.
        let is_empty = unsafe { self.0.empty() };
        if is_empty {
            wait();
        }
        is_empty && self.restore()
    }

    /// A picture of the runtime as it is now, to which others are compared.
    pub fn template(&self) -> Arc<HeapTemplate> {
        Arc::new(self.0.template())
    }

    /// Waits without the runtime's memory, of which only what differs from the template is kept meanwhile.
    ///
    /// Only `RunContext` calls this, to pause its fiber: `wait` touches nothing of the runtime.
    pub fn put_aside<T>(&self, template: &Arc<HeapTemplate>, wait: impl FnOnce() -> T) -> T {
        // SAFETY: until `wait` returns the fiber is paused, and no code of its runtime runs. Whatever refers to values of the
        // runtime lies on the fiber's stack or is owned by what lies there, and so is not used meanwhile; what leaves a fiber is
        // `Send`, and values are not. A fiber that is paused is never dropped, nor is its runtime.
        unsafe { self.0.put_aside(template) };
        let _taken_up = TakeUpOnDrop(&self.0);
        wait()
    }
}

/// Takes a runtime's memory up again, also behind a panic.
struct TakeUpOnDrop<'a>(&'a SnapshotHeap);

impl Drop for TakeUpOnDrop<'_> {
    fn drop(&mut self) {
        self.0.take_up();
    }
}

/// The engine's way to its memory.
pub struct RuntimeAllocator(Rc<SnapshotHeap>);

// SAFETY: a block of the heap is null or at least as large as was asked, aligned to eight bytes, and nobody else's; its usable
// size is what the heap says. A block is taken back or moved only where the engine says so, and by `RuntimeMemory::restore`,
// which the engine cannot notice.
unsafe impl Allocator for RuntimeAllocator {
    fn alloc(&mut self, size: usize) -> *mut u8 {
        self.0.allocate(size)
    }

    fn calloc(&mut self, count: usize, size: usize) -> *mut u8 {
        let size = count.checked_mul(size);
        size.map_or(null_mut(), |size| self.0.allocate_zeroed(size))
    }

    unsafe fn dealloc(&mut self, block: *mut u8) {
        // SAFETY: the caller promises that the block came from here and is not used any more.
        unsafe { self.0.deallocate(block) };
    }

    unsafe fn realloc(&mut self, block: *mut u8, size: usize) -> *mut u8 {
        // SAFETY: as in `dealloc`; a null block is a new one.
        unsafe { self.0.reallocate(block, size) }
    }

    unsafe fn usable_size(block: *mut u8) -> usize {
        // SAFETY: the caller promises that the block came from here.
        unsafe { SnapshotHeap::usable_size(block) }
    }
}
