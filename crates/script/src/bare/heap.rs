//! The memory of one runtime. Once the runtime is made it can be kept as it is, and be put back after each run: every byte that
//! the run has changed, and nothing of what it has added.

use crate::meter::Meter;
use rquickjs::allocator::Allocator;
use std::alloc::{Layout, alloc, dealloc, realloc};
use std::cell::{Cell, RefCell};
use std::mem::MaybeUninit;
use std::ptr::{NonNull, copy_nonoverlapping, null_mut};
use std::rc::Rc;
use std::sync::Arc;

/// Bytes of the piece that a runtime is made in; making takes about a third of it. What does not fit, and what is large, lies
/// outside. Memory is taken only where it is touched.
const ROOM: usize = 1 << 20;
/// Sizes are multiples of this.
const BLOCK: usize = 8;
/// Up to here each size has a list of its own, and beyond it there are four for each doubling.
const SMALL: usize = 512;
/// Larger blocks have no list.
const LARGE: usize = 16 << 10;
/// No block is larger, so that sizes can be added up.
const LARGEST: usize = usize::MAX / 4;
const LISTS: usize = SMALL / BLOCK + 4 * (LARGE / SMALL).ilog2() as usize;
/// Before each block of the piece stands its size.
const HEAD: usize = size_of::<usize>();

/// The memory of one runtime.
pub struct Heap {
    piece: NonNull<u8>,
    used: Cell<usize>,
    /// Blocks of the piece that were given back, by size.
    free: [Cell<*mut Free>; LISTS],
    /// All blocks outside of the piece.
    outside: Cell<*mut Outside>,
    kept: RefCell<Option<Kept>>,
    meter: RefCell<Arc<Meter>>,
}

/// A block that waits to be used again.
struct Free {
    next: *mut Self,
}

/// What stands before a block that lies outside; the size is last, as in the piece.
#[repr(C)]
struct Outside {
    previous: *mut Self,
    next: *mut Self,
    size: usize,
}

/// How everything was.
struct Kept {
    bytes: Box<[MaybeUninit<u8>]>,
    free: [*mut Free; LISTS],
    counted: usize,
}

const PIECE: Layout = match Layout::from_size_align(ROOM, 64) {
    Ok(layout) => layout,
    Err(_) => panic!("the alignment is a power of two"),
};

impl Heap {
    /// Memory for a runtime; `None` if there is none.
    pub fn new() -> Option<Rc<Self>> {
        // SAFETY: the layout is not empty.
        let piece = NonNull::new(unsafe { alloc(PIECE) })?;
        Some(Rc::new(Self {
            piece,
            used: Cell::new(0),
            free: [const { Cell::new(null_mut()) }; LISTS],
            outside: Cell::new(null_mut()),
            kept: RefCell::new(None),
            meter: RefCell::new(Arc::new(Meter::unlimited())),
        }))
    }

    /// From now on memory counts to this meter, what is in use already included.
    pub fn count_to(&self, meter: &Arc<Meter>) {
        let before = self.meter.replace(Arc::clone(meter));
        meter.add(before.own());
    }

    /// Keeps how everything is. Does nothing if the piece was too small.
    pub fn keep(&self) {
        if !self.outside.get().is_null() {
            return;
        }
        let mut bytes = Box::new_uninit_slice(self.used.get());
        // SAFETY: the first `used` bytes are within the piece, and the copy is as long and lies elsewhere.
        unsafe { copy_nonoverlapping(self.piece.as_ptr().cast(), bytes.as_mut_ptr(), bytes.len()) };
        *self.kept.borrow_mut() = Some(Kept {
            bytes,
            free: std::array::from_fn(|list| self.free[list].get()),
            counted: self.meter.borrow().own(),
        });
    }

    /// Puts everything back as it was kept; false if it was not.
    ///
    /// The caller has let go of everything that came out of the runtime since then, nothing of it runs, and nothing that was
    /// made outside of the piece (a function of the host) was given to the runtime or freed by it meanwhile. Then the runtime
    /// cannot tell that time has passed: whatever it points at is as it was.
    pub fn restore(&self) -> bool {
        let kept = self.kept.borrow();
        let Some(kept) = kept.as_ref() else {
            return false;
        };
        self.drop_outside();
        // SAFETY: as in `keep`. No reference to anything in the piece exists, only the engine's pointers.
        unsafe {
            copy_nonoverlapping(
                kept.bytes.as_ptr(),
                self.piece.as_ptr().cast(),
                kept.bytes.len(),
            );
        }
        self.used.set(kept.bytes.len());
        for (list, first) in self.free.iter().zip(kept.free) {
            list.set(first);
        }
        let meter = Meter::unlimited();
        meter.add(kept.counted);
        // Somebody may hold the run's own still: what the run used is not used any more.
        let of_run = self.meter.replace(Arc::new(meter));
        of_run.give(of_run.own());
        true
    }

    fn drop_outside(&self) {
        let mut next = self.outside.replace(null_mut());
        while !next.is_null() {
            // SAFETY: the list holds the blocks that were made outside and not given back, and is forgotten here.
            unsafe {
                let block = next;
                next = (*block).next;
                dealloc(block.cast(), outside((*block).size));
            }
        }
    }

    /// True if the block lies in the piece.
    fn holds(&self, block: *mut u8) -> bool {
        block.addr().wrapping_sub(self.piece.as_ptr().addr()) < ROOM
    }

    /// A block of a rounded size; null if there is no memory.
    fn block(&self, size: usize) -> *mut u8 {
        if let Some(list) = list(size) {
            let first = self.free[list].get();
            if !first.is_null() {
                // SAFETY: what is in the list is a block of this size that nobody uses.
                self.free[list].set(unsafe { (*first).next });
                return first.cast();
            }
        } else if self.kept.borrow().is_some() {
            return self.outside(size);
        }
        let at = self.used.get();
        let end = at + HEAD + size;
        if end > ROOM {
            return self.outside(size);
        }
        self.used.set(end);
        // SAFETY: these bytes are within the piece and were not given to anybody; `at` is a multiple of eight.
        unsafe {
            let head = self.piece.as_ptr().add(at);
            head.cast::<usize>().write(size);
            head.add(HEAD)
        }
    }

    fn outside(&self, size: usize) -> *mut u8 {
        // SAFETY: the layout is not empty.
        let block = unsafe { alloc(outside(size)) }.cast::<Outside>();
        if block.is_null() {
            return null_mut();
        }
        // SAFETY: the block is new and large enough.
        unsafe { self.link(block, size) }
    }

    /// Puts a block at the head of the list.
    unsafe fn link(&self, block: *mut Outside, size: usize) -> *mut u8 {
        let next = self.outside.replace(block);
        let previous = null_mut();
        // SAFETY: the caller gives a block that is in no list; what the list holds is alive.
        unsafe {
            block.write(Outside {
                previous,
                next,
                size,
            });
            if !next.is_null() {
                (*next).previous = block;
            }
            block.add(1).cast()
        }
    }

    /// Takes a block out of the list.
    unsafe fn unlink(&self, block: *mut Outside) {
        // SAFETY: the caller gives a block of the list; its neighbours are alive.
        unsafe {
            let Outside { previous, next, .. } = block.read();
            match previous.is_null() {
                true => self.outside.set(next),
                false => (*previous).next = next,
            }
            if !next.is_null() {
                (*next).previous = previous;
            }
        }
    }

    /// A block of this size that is counted.
    fn counted(&self, size: usize) -> *mut u8 {
        let Some(size) = rounded(size) else {
            return null_mut();
        };
        let meter = self.meter.borrow();
        if !meter.take(size) {
            return null_mut();
        }
        let block = self.block(size);
        if block.is_null() {
            meter.give(size);
        }
        block
    }

    /// Gives a block another size outside of the piece, where it already lies.
    unsafe fn resize(&self, block: *mut u8, before: usize, after: usize) -> *mut u8 {
        let meter = self.meter.borrow();
        let more = after.saturating_sub(before);
        if more > 0 && !meter.take(more) {
            return null_mut();
        }
        // SAFETY: the caller gives a block that was made outside. If it stays as it is it goes back to the list.
        unsafe {
            let head = block.cast::<Outside>().sub(1);
            self.unlink(head);
            let moved = realloc(head.cast(), outside(before), outside(after).size());
            if moved.is_null() {
                meter.give(more);
                self.link(head, before);
                return null_mut();
            }
            meter.give(before.saturating_sub(after));
            self.link(moved.cast(), after)
        }
    }
}

impl Drop for Heap {
    fn drop(&mut self) {
        self.drop_outside();
        // SAFETY: it was made with this layout, and a runtime that lies in it would hold it.
        unsafe { dealloc(self.piece.as_ptr(), PIECE) };
    }
}

/// What a block of this size takes; `None` if there cannot be such a block.
fn rounded(size: usize) -> Option<usize> {
    if size > LARGEST {
        return None;
    }
    let is_coarse = size > SMALL && size <= LARGE;
    let step = if is_coarse {
        size.next_power_of_two() / 8
    } else {
        BLOCK
    };
    Some(size.max(BLOCK).next_multiple_of(step))
}

/// The list for blocks of a rounded size.
fn list(size: usize) -> Option<usize> {
    if size <= SMALL {
        return Some(size / BLOCK - 1);
    }
    if size > LARGE {
        return None;
    }
    let power = size.next_power_of_two();
    let doublings = (power / SMALL).ilog2() as usize - 1;
    // A fifth, sixth, seventh or eighth of eight parts.
    Some(SMALL / BLOCK + 4 * doublings + size * 8 / power - 5)
}

/// How a block outside of the piece is laid out.
fn outside(size: usize) -> Layout {
    // SAFETY: `rounded` gives no size that is near to the largest.
    unsafe { Layout::from_size_align_unchecked(size_of::<Outside>() + size, BLOCK) }
}

/// The engine's way to its memory.
pub struct Allocations(pub Rc<Heap>);

// SAFETY: a block is a part of the piece or a block of Rust's allocator, at least as large as was asked and aligned to eight
// bytes, and belongs to nobody else until it is given back: what is given back goes to the list of its size or to Rust's
// allocator. Before each block stands how large it is. `restore` makes the blocks of the piece what they were.
unsafe impl Allocator for Allocations {
    fn alloc(&mut self, size: usize) -> *mut u8 {
        self.0.counted(size)
    }

    fn calloc(&mut self, count: usize, size: usize) -> *mut u8 {
        let Some(size) = count.checked_mul(size) else {
            return null_mut();
        };
        let block = self.0.counted(size);
        if !block.is_null() {
            // SAFETY: the block has at least this size.
            unsafe { block.write_bytes(0, size) };
        }
        block
    }

    unsafe fn dealloc(&mut self, block: *mut u8) {
        let heap = &self.0;
        // SAFETY: the caller promises that the block came from here and is not used any more.
        unsafe {
            let size = Self::usable_size(block);
            heap.meter.borrow().give(size);
            if !heap.holds(block) {
                let block = block.cast::<Outside>().sub(1);
                heap.unlink(block);
                dealloc(block.cast(), outside(size));
            } else if let Some(list) = list(size) {
                let block = block.cast::<Free>();
                block.write(Free {
                    next: heap.free[list].replace(block),
                });
            }
        }
    }

    unsafe fn realloc(&mut self, block: *mut u8, size: usize) -> *mut u8 {
        if block.is_null() {
            return self.alloc(size);
        }
        let Some(after) = rounded(size) else {
            return null_mut();
        };
        // SAFETY: as in `dealloc`; what is copied is as long as the smaller of the two.
        unsafe {
            let before = Self::usable_size(block);
            if !self.0.holds(block) {
                return self.0.resize(block, before, after);
            }
            if after <= before {
                return block;
            }
            let moved = self.alloc(size);
            if !moved.is_null() {
                copy_nonoverlapping(block, moved, before);
                self.dealloc(block);
            }
            moved
        }
    }

    unsafe fn usable_size(block: *mut u8) -> usize {
        // SAFETY: the caller promises that the block came from here; before it stands its size.
        unsafe { block.cast::<usize>().sub(1).read() }
    }
}

#[cfg(test)]
mod tests {
    use super::{Allocations, Heap, LARGE, LISTS, ROOM, list, rounded};
    use crate::meter::Meter;
    use rand::RngExt;
    use rquickjs::allocator::Allocator;
    use std::rc::Rc;
    use std::sync::Arc;

    /// Blocks with what was written into them.
    struct Blocks {
        heap: Rc<Heap>,
        all: Vec<(*mut u8, Vec<u8>)>,
    }

    impl Blocks {
        fn new() -> Self {
            let heap = Heap::new().expect("there is memory");
            let all = Vec::new();
            Self { heap, all }
        }

        fn way(&self) -> Allocations {
            Allocations(Rc::clone(&self.heap))
        }

        fn write(&mut self, block: *mut u8, size: usize) {
            assert!(!block.is_null() && block.addr().is_multiple_of(8));
            // SAFETY: the block came from the heap, and is as large as it says, which is at least what was asked.
            unsafe {
                assert!(Allocations::usable_size(block) >= size);
                let bytes: Vec<u8> = (0..size).map(|_| rand::random()).collect();
                block.copy_from_nonoverlapping(bytes.as_ptr(), size);
                self.all.push((block, bytes));
            }
        }

        fn check(&self) {
            for (block, bytes) in &self.all {
                // SAFETY: so many bytes were written there.
                let found = unsafe { std::slice::from_raw_parts(*block, bytes.len()) };
                assert_eq!(found, bytes);
            }
        }

        /// Gives blocks, takes some back and changes the size of others.
        fn work(&mut self, times: usize, largest: usize) {
            let mut random = rand::rng();
            for _ in 0..times {
                let size = random.random_range(0..=largest);
                let one = match self.all.len() {
                    0 => None,
                    all => Some(self.all.swap_remove(random.random_range(0..all))),
                };
                match (random.random_range(0..4), one) {
                    (0, Some((block, _))) => {
                        // SAFETY: the block came from here and is forgotten.
                        unsafe { self.way().dealloc(block) };
                    }
                    (1, Some((block, bytes))) => {
                        // SAFETY: as above; the new block has the old bytes, up to the smaller of both sizes.
                        unsafe {
                            let block = self.way().realloc(block, size);
                            let kept = size.min(bytes.len());
                            let found = std::slice::from_raw_parts(block, kept);
                            assert_eq!(found, &bytes[..kept]);
                            self.write(block, size);
                        }
                    }
                    (2, one) => {
                        self.all.extend(one);
                        let block = self.way().calloc(1, size);
                        // SAFETY: the block is at least so large.
                        let found = unsafe { std::slice::from_raw_parts(block, size) };
                        assert!(found.iter().all(|byte| *byte == 0));
                        self.write(block, size);
                    }
                    (_, one) => {
                        self.all.extend(one);
                        let block = self.way().alloc(size);
                        self.write(block, size);
                    }
                }
            }
        }

        fn used(&self) -> usize {
            let size = |block: &(*mut u8, Vec<u8>)| {
                // SAFETY: the block came from here.
                unsafe { Allocations::usable_size(block.0) }
            };
            self.all.iter().map(size).sum()
        }
    }

    #[test]
    fn every_size_has_the_list_of_its_blocks() {
        let mut last = None;
        for size in 1..=2 * LARGE {
            let whole = rounded(size).unwrap();
            assert!(whole >= size && whole - size < 8.max(size / 4), "{size}");
            assert_eq!(rounded(whole), Some(whole));
            let found = list(whole);
            assert_eq!(found.is_some(), whole <= LARGE);
            assert!(found.is_none() || found >= last, "{size}");
            last = found.or(last);
        }
        assert_eq!(last, Some(LISTS - 1));
        assert_eq!(rounded(usize::MAX), None);
    }

    #[test]
    fn blocks_keep_what_is_written_into_them() {
        let mut blocks = Blocks::new();
        blocks.work(3_000, 2_000);
        blocks.work(300, 100_000);
        blocks.check();
        assert!(blocks.used() > ROOM);
        assert_eq!(blocks.heap.meter.borrow().own(), blocks.used());
    }

    #[test]
    fn what_was_kept_is_put_back() {
        let mut blocks = Blocks::new();
        assert!(!blocks.heap.restore());
        blocks.work(1_000, 300);
        blocks.heap.keep();
        let (kept, used) = (blocks.all.clone(), blocks.used());
        for _ in 0..5 {
            let meter = Arc::new(Meter::new(64 << 20));
            blocks.heap.count_to(&meter);
            blocks.work(3_000, 1_000);
            blocks.work(300, 100_000);
            blocks.check();
            assert_eq!(meter.own(), blocks.used());
            assert!(blocks.heap.restore());
            blocks.all.clone_from(&kept);
            blocks.check();
            assert_eq!(blocks.heap.meter.borrow().own(), used);
        }
    }

    #[test]
    fn a_heap_that_did_not_fit_is_not_kept() {
        let mut blocks = Blocks::new();
        let block = blocks.way().alloc(2 * ROOM);
        blocks.write(block, 2 * ROOM);
        blocks.heap.keep();
        assert!(!blocks.heap.restore());
        blocks.check();
    }

    #[test]
    fn what_is_over_the_limit_is_not_given() {
        let blocks = Blocks::new();
        let meter = Arc::new(Meter::new(1 << 20));
        blocks.heap.count_to(&meter);
        let mut way = blocks.way();
        assert!(way.alloc(2 << 20).is_null());
        assert!(way.calloc(2, usize::MAX / 2).is_null());
        let block = way.alloc(100_000);
        // SAFETY: the block came from here.
        unsafe {
            assert!(way.realloc(block, 4 << 20).is_null());
            way.dealloc(block);
        }
        assert_eq!((meter.own(), meter.exceeded()), (0, true));
    }
}
