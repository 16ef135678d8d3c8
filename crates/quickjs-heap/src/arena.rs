//! One piece of memory that blocks are cut from, from its beginning to its end.

use crate::pages::Pages;
use crate::size_class::ALIGNMENT;
use std::cell::Cell;
use std::mem::MaybeUninit;
use std::ptr::{NonNull, copy_nonoverlapping};

/// Bytes of an arena. A runtime with what is made in it takes about a third; the system gives memory only where it is touched.
pub const ARENA: usize = 1 << 20;

/// Bytes of a word.
const WORD: usize = size_of::<usize>();

/// Words that are compared and written at once.
pub const GROUP: usize = u64::BITS as usize;

pub type WordGroup = [usize; GROUP];

/// Before each block stands its size.
const HEADER: usize = size_of::<usize>();

/// The memory, and how much of it was given.
pub struct Arena {
    start: NonNull<u8>,
    pages: Pages,
    used: Cell<usize>,
}

impl Arena {
    /// Returns an arena of which nothing was given; `None` if there is no memory.
    pub fn new() -> Option<Self> {
        let pages = Pages::new(ARENA)?;
        Some(Self {
            start: pages.start(),
            pages,
            used: Cell::new(0),
        })
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

    /// Returns this address as a pointer into the arena, whoever has written it.
    pub fn pointer(&self, address: usize) -> *mut u8 {
        self.start.as_ptr().with_addr(address)
    }

    /// Returns where the arena begins.
    pub fn address(&self) -> usize {
        self.start.addr().get()
    }

    /// Returns how many words were given.
    pub fn length(&self) -> usize {
        self.used.get() / WORD
    }

    /// Says how many words were given.
    pub fn set_length(&self, length: usize) {
        self.used.set(length * WORD);
    }

    /// Returns the words from this one on; those that were not given may be anything.
    pub fn group(&self, first: usize) -> WordGroup {
        assert!(first.is_multiple_of(GROUP) && first < ARENA / WORD);
        // SAFETY: the words are within the arena, which is as long as whole groups, and are initialized: pages are zero when they
        // are new, and what is written into them are words and the bytes of blocks.
        unsafe { self.start.cast::<usize>().add(first).cast().read() }
    }

    /// Writes words, the first of them here.
    ///
    /// # Safety
    ///
    /// No reference to them is alive, and those that were given are meant.
    pub unsafe fn write(&self, first: usize, words: &WordGroup) {
        assert!(first.is_multiple_of(GROUP) && first < ARENA / WORD);
        // SAFETY: as in `group`; the caller promises that nothing refers to the words.
        unsafe { self.start.cast::<usize>().add(first).cast().write(*words) };
    }

    /// Has the system give the memory of so many words at once, which are all written next.
    pub fn populate(&self, words: usize) {
        self.pages.populate(words * WORD);
    }

    /// Lets go of the memory.
    ///
    /// # Safety
    ///
    /// Nobody reads or writes the arena until it was written again.
    pub unsafe fn discard(&self) {
        // SAFETY: the caller promises that nobody reads it.
        unsafe { self.pages.discard(self.used.get()) };
    }
}

const _: () = assert!(HEADER == ALIGNMENT && ARENA.is_multiple_of(GROUP * WORD));
