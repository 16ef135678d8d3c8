//! Blocks that lie outside of the arena, each an allocation of its own.

use crate::size_class::ALIGNMENT;
use std::alloc::{Layout, alloc, dealloc, realloc};
use std::cell::Cell;
use std::ptr::null_mut;

/// The outside blocks in use, as a doubly linked list. Dropping it frees them.
#[derive(Default)]
pub struct OutsideBlocks {
    first: Cell<*mut OutsideHeader>,
}

/// What stands before an outside block; the size is last, as in the arena.
#[repr(C)]
struct OutsideHeader {
    previous: *mut Self,
    next: *mut Self,
    size: usize,
}

impl OutsideBlocks {
    /// Returns true if there are none.
    pub fn is_empty(&self) -> bool {
        self.first.get().is_null()
    }

    /// Makes a block of a rounded size; null if there is no memory.
    pub fn allocate(&self, size: usize) -> *mut u8 {
        // SAFETY: the layout is not empty: it has room for the header.
        let header = unsafe { alloc(layout(size)) }.cast::<OutsideHeader>();
        if header.is_null() {
            return null_mut();
        }
        // SAFETY: the allocation is new, and has room for the header and `size` bytes behind it.
        unsafe { self.link(header, size) }
    }

    /// Frees a block.
    ///
    /// # Safety
    ///
    /// The block is in this list, and is not used any more.
    pub unsafe fn deallocate(&self, block: *mut u8) {
        // SAFETY: the block is in the list, so its header stands before it and was allocated with the layout of its size.
        unsafe {
            let header = block.cast::<OutsideHeader>().sub(1);
            self.unlink(header);
            dealloc(header.cast(), layout((*header).size));
        }
    }

    /// Gives a block another rounded size and returns where it is then; null if there is no memory, and then it is as it was.
    ///
    /// # Safety
    ///
    /// The block is in this list. Unless null is returned it is not used any more.
    pub unsafe fn reallocate(&self, block: *mut u8, size: usize) -> *mut u8 {
        // SAFETY: as in `deallocate`. While the block is moved it is in no list, so that no neighbour points at it.
        unsafe {
            let header = block.cast::<OutsideHeader>().sub(1);
            let before = (*header).size;
            self.unlink(header);
            let moved = realloc(header.cast(), layout(before), layout(size).size());
            if moved.is_null() {
                self.link(header, before);
                return null_mut();
            }
            self.link(moved.cast(), size)
        }
    }

    /// Frees all blocks.
    ///
    /// # Safety
    ///
    /// None of them is used any more.
    pub unsafe fn clear(&self) {
        let mut next = self.first.replace(null_mut());
        while !next.is_null() {
            // SAFETY: the list holds headers of allocations with the layouts of their sizes; each is read before it is freed,
            // and the list is forgotten.
            unsafe {
                let header = next;
                next = (*header).next;
                dealloc(header.cast(), layout((*header).size));
            }
        }
    }

    /// Puts a block at the head of the list and returns it.
    ///
    /// # Safety
    ///
    /// The header begins an allocation with the layout of `size` that is in no list.
    unsafe fn link(&self, header: *mut OutsideHeader, size: usize) -> *mut u8 {
        let next = self.first.replace(header);
        let previous = null_mut();
        // SAFETY: the caller answers for this header, and those in the list are alive.
        unsafe {
            header.write(OutsideHeader {
                previous,
                next,
                size,
            });
            if !next.is_null() {
                (*next).previous = header;
            }
            header.add(1).cast()
        }
    }

    /// Takes a block out of the list.
    ///
    /// # Safety
    ///
    /// It is in the list.
    unsafe fn unlink(&self, header: *mut OutsideHeader) {
        // SAFETY: the header and its neighbours are in the list, and so alive.
        unsafe {
            let OutsideHeader { previous, next, .. } = header.read();
            match previous.is_null() {
                true => self.first.set(next),
                false => (*previous).next = next,
            }
            if !next.is_null() {
                (*next).previous = previous;
            }
        }
    }
}

impl Drop for OutsideBlocks {
    fn drop(&mut self) {
        // SAFETY: blocks live no longer than their heap.
        unsafe { self.clear() };
    }
}

/// Returns how a block and its header are allocated.
fn layout(size: usize) -> Layout {
    // SAFETY: the alignment is a power of two, and rounded sizes are far below the largest.
    unsafe { Layout::from_size_align_unchecked(size_of::<OutsideHeader>() + size, ALIGNMENT) }
}
