//! The allocator: blocks of the arena and outside of it, and the snapshot.

#[cfg(test)]
mod tests;

use crate::arena::Arena;
use crate::meter::MemoryMeter;
use crate::outside::OutsideBlocks;
use crate::put_aside::{ArenaDifference, HeapTemplate};
use crate::size_class::{CLASSES, class, rounded};
use std::cell::{Cell, OnceCell, RefCell};
use std::mem::MaybeUninit;
use std::ptr::{copy_nonoverlapping, null_mut};
use std::sync::Arc;

/// The memory of one runtime. The crate's page says what it promises.
pub struct SnapshotHeap {
    arena: Arena,
    /// Blocks of the arena that were given back, by size class.
    free: [Cell<*mut FreeBlock>; CLASSES],
    outside: OutsideBlocks,
    snapshot: OnceCell<HeapSnapshot>,
    emptied: RefCell<Option<(ArenaDifference, Arc<HeapTemplate>)>>,
    meter: RefCell<Arc<MemoryMeter>>,
}

/// A block that waits to be used again.
struct FreeBlock {
    next: *mut Self,
}

struct HeapSnapshot {
    bytes: SnapshotBytes,
    free: [*mut FreeBlock; CLASSES],
    counted: usize,
}

enum SnapshotBytes {
    /// All of them.
    Whole(Box<[MaybeUninit<u8>]>),
    /// Those that are not what the template says.
    Difference(ArenaDifference, Arc<HeapTemplate>),
}

impl SnapshotHeap {
    /// Returns an empty heap without a limit; `None` if there is no memory for its arena.
    pub fn new() -> Option<Self> {
        Some(Self {
            arena: Arena::new()?,
            free: [const { Cell::new(null_mut()) }; CLASSES],
            outside: OutsideBlocks::default(),
            snapshot: OnceCell::new(),
            emptied: RefCell::default(),
            meter: RefCell::new(Arc::new(MemoryMeter::unlimited())),
        })
    }

    /// Counts to this meter from now on, what is in use already included.
    pub fn count_to(&self, meter: &Arc<MemoryMeter>) {
        let before = self.meter.replace(Arc::clone(meter));
        meter.add(before.own());
    }

    /// Returns a block of at least `size` bytes; null if the limit or the system does not allow it.
    pub fn allocate(&self, size: usize) -> *mut u8 {
        let Some(size) = rounded(size) else {
            return null_mut();
        };
        let meter = self.meter.borrow();
        if !meter.take(size) {
            return null_mut();
        }
        let block = self.uncounted(size);
        if block.is_null() {
            meter.give(size);
        }
        block
    }

    /// Returns a block of at least `size` bytes, which are zero; null if the limit or the system does not allow it.
    pub fn allocate_zeroed(&self, size: usize) -> *mut u8 {
        let block = self.allocate(size);
        if !block.is_null() {
            // SAFETY: the block has at least this size and was just given.
            unsafe { block.write_bytes(0, size) };
        }
        block
    }

    /// Returns a block of a rounded size that is not counted yet.
    fn uncounted(&self, size: usize) -> *mut u8 {
        if let Some(class) = class(size) {
            let first = self.free[class].get();
            if !first.is_null() {
                // SAFETY: the list holds blocks of this class that nobody uses.
                let next = unsafe { (*first).next };
                self.free[class].set(self.arena.pointer(next.addr()).cast());
                return first.cast();
            }
        } else if self.snapshot.get().is_some() {
            // It could not be used again until the snapshot is restored: the arena would fill up.
            return self.outside.allocate(size);
        }
        match self.arena.allocate(size) {
            Some(block) => block,
            None => self.outside.allocate(size),
        }
    }

    /// Takes a block back.
    ///
    /// # Safety
    ///
    /// The block is one of this heap in use, and is not used any more.
    pub unsafe fn deallocate(&self, block: *mut u8) {
        // SAFETY: the caller promises that it is a block of this heap. One of the arena that has a class can hold a link, and
        // nobody else uses it; one that does not lie in the arena is in the list of those outside.
        unsafe {
            let size = Self::usable_size(block);
            self.meter.borrow().give(size);
            if !self.arena.contains(block) {
                self.outside.deallocate(block);
            } else if let Some(class) = class(size) {
                let block = block.cast::<FreeBlock>();
                let next = self.free[class].replace(block);
                block.write(FreeBlock { next });
            }
        }
    }

    /// Gives a block another size and returns where it is then, with the bytes it had, up to the smaller of both sizes. Null if
    /// the limit or the system does not allow it; then the block is as it was. A null block is a new one.
    ///
    /// # Safety
    ///
    /// The block is null, or one of this heap in use. Unless null is returned it is not used any more.
    pub unsafe fn reallocate(&self, block: *mut u8, size: usize) -> *mut u8 {
        if block.is_null() {
            return self.allocate(size);
        }
        let Some(after) = rounded(size) else {
            return null_mut();
        };
        // SAFETY: as in `deallocate`. The new block is another one, and larger than the old.
        unsafe {
            let before = Self::usable_size(block);
            if !self.arena.contains(block) {
                return self.reallocate_outside(block, before, after);
            }
            if after <= before {
                return block;
            }
            let moved = self.allocate(size);
            if !moved.is_null() {
                copy_nonoverlapping(block, moved, before);
                self.deallocate(block);
            }
            moved
        }
    }

    /// # Safety
    ///
    /// The block lies outside and has `before` bytes. Unless null is returned it is not used any more.
    unsafe fn reallocate_outside(&self, block: *mut u8, before: usize, after: usize) -> *mut u8 {
        let meter = self.meter.borrow();
        let more = after.saturating_sub(before);
        if more > 0 && !meter.take(more) {
            return null_mut();
        }
        // SAFETY: the caller promises what this needs.
        let moved = unsafe { self.outside.reallocate(block, after) };
        meter.give(if moved.is_null() {
            more
        } else {
            before.saturating_sub(after)
        });
        moved
    }

    /// Returns how many bytes of a block may be used.
    ///
    /// # Safety
    ///
    /// The block is one of a heap, and in use.
    pub unsafe fn usable_size(block: *mut u8) -> usize {
        // SAFETY: the word before a block of a heap is its size.
        unsafe { block.cast::<usize>().sub(1).read() }
    }

    /// Takes the snapshot. Returns false, and takes none, if there is one already or if not everything lies in the arena.
    pub fn take_snapshot(&self) -> bool {
        self.take(|| SnapshotBytes::Whole(self.arena.copy()))
    }

    /// Takes a snapshot of which only what differs from the template is kept. Restoring it takes longer than restoring a whole one.
    /// Returns false, and takes none, as `take_snapshot` does.
    pub fn take_small_snapshot(&self, template: &Arc<HeapTemplate>) -> bool {
        self.take(|| {
            let own = ArenaDifference::of(&self.arena, template);
            SnapshotBytes::Difference(own, Arc::clone(template))
        })
    }

    fn take(&self, bytes: impl FnOnce() -> SnapshotBytes) -> bool {
        let snapshot = || HeapSnapshot {
            bytes: bytes(),
            free: std::array::from_fn(|class| self.free[class].get()),
            counted: self.meter.borrow().own(),
        };
        self.outside.is_empty()
            && self.snapshot.get().is_none()
            && self.snapshot.set(snapshot()).is_ok()
    }

    /// Makes everything as it was when the snapshot was taken; returns false, and does nothing, if there is none. What is in
    /// use then counts to a meter without a limit; the meter that was counted to until now counts nothing of this heap any more.
    ///
    /// # Safety
    ///
    /// No reference into the heap is alive, and no pointer to a block made since the snapshot is used again. What the blocks of
    /// the snapshot say of the world outside of the heap is true, and what the world outside says of them is as it was then. The
    /// crate's page says what that means for a runtime.
    pub unsafe fn restore(&self) -> bool {
        let Some(snapshot) = self.snapshot.get() else {
            return false;
        };
        // SAFETY: no outside block is of the snapshot, and the caller promises that those made since are not used again. The
        // copy is of this arena, and the caller promises that nothing refers to it.
        unsafe {
            self.outside.clear();
            match &snapshot.bytes {
                SnapshotBytes::Whole(bytes) => self.arena.write_back(bytes),
                SnapshotBytes::Difference(own, template) => own.write_to(&self.arena, template),
            }
        }
        for (list, first) in self.free.iter().zip(snapshot.free) {
            list.set(first);
        }
        self.count_anew(snapshot.counted);
        true
    }

    /// Lets go of all memory but the snapshot's; returns false, and does nothing, if there is none.
    ///
    /// # Safety
    ///
    /// As for `restore`. Until that returns nobody reads or writes a block, and nothing else is asked of this heap but to drop it.
    pub unsafe fn empty(&self) -> bool {
        if self.snapshot.get().is_none() {
            return false;
        }
        // SAFETY: no outside block is of the snapshot, and the caller promises that nobody reads or writes any other.
        unsafe {
            self.outside.clear();
            self.arena.discard();
        }
        self.count_anew(0);
        true
    }

    /// Counts to a meter without a limit from now on. Others may hold the old one still: what was counted to it is in use no more.
    fn count_anew(&self, counted: usize) {
        let meter = MemoryMeter::unlimited();
        meter.add(counted);
        let before = self.meter.replace(Arc::new(meter));
        before.give(before.own());
    }

    /// Returns a picture of the heap as it is now, for `put_aside` of this and other heaps.
    pub fn template(&self) -> HeapTemplate {
        HeapTemplate::new(&self.arena)
    }

    /// Lets go of the arena's memory; what differs from the template is kept. Does nothing if that was done already.
    ///
    /// # Safety
    ///
    /// Until `take_up` returns nobody reads or writes a block of the arena, and nothing else is asked of this heap but to drop it.
    pub unsafe fn put_aside(&self, template: &Arc<HeapTemplate>) {
        let mut emptied = self.emptied.borrow_mut();
        if emptied.is_none() {
            let own = ArenaDifference::of(&self.arena, template);
            // SAFETY: the caller promises what this needs.
            unsafe { self.arena.discard() };
            *emptied = Some((own, Arc::clone(template)));
        }
    }

    /// Makes the arena as it was when it was put aside; does nothing if it was not.
    pub fn take_up(&self) {
        if let Some((own, template)) = self.emptied.take() {
            // SAFETY: this arena was emptied, and compared with this template.
            unsafe { own.write_to(&self.arena, &template) };
        }
    }
}
