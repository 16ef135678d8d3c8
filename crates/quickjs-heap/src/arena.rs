//! One piece of memory that blocks are cut from, from its beginning to its end.

use crate::size_class::ALIGNMENT;
use std::alloc::{Layout, alloc, dealloc};
use std::cell::Cell;
use std::mem::MaybeUninit;
use std::ptr::{NonNull, copy_nonoverlapping};

/// Bytes of an arena. A runtime with what is made in it takes about a third; the system gives memory only where it is touched.
pub const ARENA: usize = 1 << 20;

/// Before each block stands its size.
const HEADER: usize = size_of::<usize>();

const LAYOUT: Layout = match Layout::from_size_align(ARENA, 64) {
    Ok(layout) => layout,
    Err(_) => panic!("the alignment is a power of two"),
};

/// The memory, and how much of it was given.
pub struct Arena {
    start: NonNull<u8>,
    used: Cell<usize>,
}

impl Arena {
    /// Returns an arena of which nothing was given; `None` if there is no memory.
    pub fn new() -> Option<Self> {
        // SAFETY: the layout is not empty.
        let start = NonNull::new(unsafe { alloc(LAYOUT) })?;
        let used = Cell::new(0);
        Some(Self { start, used })
    }

    /// Returns a new block of a rounded size, its header before it; `None` if it does not fit any more.
    pub fn allocate(&self, size: usize) -> Option<*mut u8> {
        let at = self.used.get();
        let end = at + HEADER + size;
        if end > ARENA {
            return None;
        }
        self.used.set(end);
        // SAFETY: these bytes are within the arena and were not given to anybody; `at` is a multiple of the alignment, as all
        // rounded sizes are.
        unsafe {
            let header = self.start.as_ptr().add(at);
            header.cast::<usize>().write(size);
            Some(header.add(HEADER))
        }
    }

    /// Returns true if a block lies here.
    pub fn contains(&self, block: *mut u8) -> bool {
        block.addr().wrapping_sub(self.start.as_ptr().addr()) < ARENA
    }

    /// Returns a copy of what was given. Some of its bytes may never have been written; pointers in it keep what they may
    /// reach.
    pub fn copy(&self) -> Box<[MaybeUninit<u8>]> {
        let mut bytes = Box::new_uninit_slice(self.used.get());
        // SAFETY: the first `used` bytes are within the arena, and the copy is as long and lies elsewhere.
        unsafe { copy_nonoverlapping(self.start.as_ptr().cast(), bytes.as_mut_ptr(), bytes.len()) };
        bytes
    }

    /// Writes a copy back; what was given since then was not.
    ///
    /// # Safety
    ///
    /// The copy is of this arena. No reference into the arena is alive.
    pub unsafe fn write_back(&self, bytes: &[MaybeUninit<u8>]) {
        let start = self.start.as_ptr().cast();
        // SAFETY: the copy is of this arena, so it is no longer than it and lies elsewhere; nothing refers to what it replaces.
        unsafe { copy_nonoverlapping(bytes.as_ptr(), start, bytes.len()) };
        self.used.set(bytes.len());
    }
}

impl Drop for Arena {
    fn drop(&mut self) {
        // SAFETY: it was allocated with this layout, and blocks live no longer than their heap.
        unsafe { dealloc(self.start.as_ptr(), LAYOUT) };
    }
}

const _: () = assert!(HEADER == ALIGNMENT);
