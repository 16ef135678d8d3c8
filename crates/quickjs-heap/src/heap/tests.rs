//! Blocks keep their bytes, whatever is asked for, given back and restored. Sizes are drawn from a seeded sequence, so that a
//! failure can be repeated, and there is less of everything under Miri.

use super::SnapshotHeap;
use crate::arena::ARENA;
use crate::meter::MemoryMeter;
use std::sync::Arc;

const SCALE: usize = if cfg!(miri) { 50 } else { 1 };

struct Numbers(u64);

impl Numbers {
    fn below(&mut self, end: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 % end as u64) as usize
    }
}

/// A heap, its blocks, and what was written into them.
struct Blocks {
    heap: SnapshotHeap,
    all: Vec<Block>,
    numbers: Numbers,
}

#[derive(Clone)]
struct Block {
    start: *mut u8,
    bytes: Vec<u8>,
}

impl Blocks {
    fn new(seed: u64) -> Self {
        Self {
            heap: SnapshotHeap::new().unwrap(),
            all: Vec::new(),
            numbers: Numbers(seed),
        }
    }

    fn fill(&mut self, start: *mut u8, size: usize) {
        assert!(!start.is_null() && start.addr().is_multiple_of(8));
        let first = self.numbers.below(256);
        let bytes: Vec<u8> = (first..first + size).map(|byte| byte as u8).collect();
        // SAFETY: the block came from the heap, and is as large as it says, which is at least what was asked.
        unsafe {
            assert!(SnapshotHeap::usable_size(start) >= size);
            start.copy_from_nonoverlapping(bytes.as_ptr(), size);
        }
        self.all.push(Block { start, bytes });
    }

    fn check(&self) {
        for block in &self.all {
            // SAFETY: so many bytes were written there.
            let found = unsafe { std::slice::from_raw_parts(block.start, block.bytes.len()) };
            assert_eq!(found, block.bytes);
        }
    }

    /// Takes one of the blocks out, by chance.
    fn draw(&mut self) -> Option<Block> {
        let number = self.numbers.below(self.all.len() + 1);
        (number < self.all.len()).then(|| self.all.swap_remove(number))
    }

    /// Allocates, deallocates and reallocates.
    fn work(&mut self, times: usize, largest: usize) {
        for _ in 0..times / SCALE {
            let size = self.numbers.below(largest + 1);
            match self.numbers.below(4) {
                0 => {
                    if let Some(block) = self.draw() {
                        // SAFETY: the block came from the heap and is forgotten.
                        unsafe { self.heap.deallocate(block.start) };
                    }
                }
                1 => {
                    if let Some(block) = self.draw() {
                        self.reallocate(&block, size);
                    }
                }
                2 => {
                    let block = self.heap.allocate_zeroed(size);
                    // SAFETY: the block is at least so large.
                    let found = unsafe { std::slice::from_raw_parts(block, size) };
                    assert!(found.iter().all(|byte| *byte == 0));
                    self.fill(block, size);
                }
                _ => {
                    let block = self.heap.allocate(size);
                    self.fill(block, size);
                }
            }
        }
    }

    fn reallocate(&mut self, block: &Block, size: usize) {
        // SAFETY: the block came from the heap; the new one has the old bytes, up to the smaller of both sizes.
        let moved = unsafe {
            let moved = self.heap.reallocate(block.start, size);
            let same = size.min(block.bytes.len());
            assert_eq!(
                std::slice::from_raw_parts(moved, same),
                &block.bytes[..same]
            );
            moved
        };
        self.fill(moved, size);
    }

    fn used(&self) -> usize {
        let size = |block: &Block| {
            // SAFETY: the block came from the heap.
            unsafe { SnapshotHeap::usable_size(block.start) }
        };
        self.all.iter().map(size).sum()
    }

    fn counted(&self) -> usize {
        self.heap.meter.borrow().own()
    }
}

#[test]
fn blocks_keep_what_is_written_into_them() {
    let mut blocks = Blocks::new(1);
    blocks.work(3_000, 2_000);
    blocks.work(500, 50_000);
    blocks.check();
    assert!(cfg!(miri) || blocks.used() > ARENA);
    assert_eq!(blocks.counted(), blocks.used());
}

#[test]
fn a_restored_heap_is_as_it_was() {
    let mut blocks = Blocks::new(2);
    // SAFETY: without a snapshot nothing is done.
    assert!(!unsafe { blocks.heap.restore() });
    blocks.work(1_000, 300);
    assert!(blocks.heap.take_snapshot());
    assert!(!blocks.heap.take_snapshot());
    let (kept, used) = (blocks.all.clone(), blocks.used());
    for _ in 0..5 {
        let meter = Arc::new(MemoryMeter::new(64 << 20));
        blocks.heap.count_to(&meter);
        blocks.work(3_000, 1_000);
        blocks.work(200, 50_000);
        blocks.check();
        assert_eq!(meter.own(), blocks.used());
        blocks.all.clone_from(&kept);
        // SAFETY: blocks made since the snapshot are forgotten.
        assert!(unsafe { blocks.heap.restore() });
        blocks.check();
        assert_eq!((blocks.counted(), meter.own()), (used, 0));
    }
}

#[test]
fn a_small_snapshot_is_restored_byte_for_byte() {
    let mut like = Blocks::new(8);
    like.work(700, 300);
    let template = Arc::new(like.heap.template());
    let mut blocks = Blocks::new(9);
    // SAFETY: without a snapshot nothing is done.
    assert!(!unsafe { blocks.heap.empty() });
    blocks.work(1_000, 300);
    assert!(blocks.heap.take_small_snapshot(&template));
    assert!(!blocks.heap.take_snapshot());
    let (kept, used) = (blocks.all.clone(), blocks.used());
    for emptied in [false, true, true, false] {
        let meter = Arc::new(MemoryMeter::new(64 << 20));
        blocks.heap.count_to(&meter);
        blocks.work(3_000, 1_000);
        blocks.work(200, 50_000);
        blocks.check();
        blocks.all.clone_from(&kept);
        // SAFETY: blocks made since the snapshot are forgotten, and none is read before it is restored.
        unsafe {
            assert_eq!(emptied, emptied && blocks.heap.empty());
            assert!(blocks.heap.restore());
        }
        blocks.check();
        assert_eq!((blocks.counted(), meter.own()), (used, 0));
    }
}

#[test]
fn a_restored_heap_gives_the_same_blocks_again() {
    let mut blocks = Blocks::new(3);
    blocks.work(500, 300);
    assert!(blocks.heap.take_snapshot());
    let kept = blocks.all.clone();
    let mut starts = Vec::new();
    for _ in 0..3 {
        blocks.numbers = Numbers(4);
        blocks.work(1_000, 500);
        let found: Vec<_> = blocks.all.iter().map(|block| block.start.addr()).collect();
        starts.push(found);
        blocks.all.clone_from(&kept);
        // SAFETY: blocks made since the snapshot are forgotten.
        assert!(unsafe { blocks.heap.restore() });
    }
    assert!(starts.iter().all(|found| *found == starts[0]));
}

#[test]
fn there_is_no_snapshot_of_what_does_not_fit() {
    let mut blocks = Blocks::new(5);
    let block = blocks.heap.allocate(ARENA);
    blocks.fill(block, ARENA);
    assert!(!blocks.heap.take_snapshot());
    // SAFETY: without a snapshot nothing is done.
    assert!(!unsafe { blocks.heap.restore() });
    blocks.check();
}

#[test]
fn what_passes_the_limit_is_not_given() {
    let heap = SnapshotHeap::new().unwrap();
    let meter = Arc::new(MemoryMeter::new(1 << 20));
    heap.count_to(&meter);
    assert!(heap.allocate(2 << 20).is_null());
    assert!(heap.allocate_zeroed(usize::MAX).is_null());
    let block = heap.allocate(100_000);
    // SAFETY: the block came from the heap.
    unsafe {
        assert!(heap.reallocate(block, 4 << 20).is_null());
        assert!(heap.reallocate(block, usize::MAX).is_null());
        heap.deallocate(block);
    }
    assert_eq!((meter.own(), meter.exceeded()), (0, true));
}

#[test]
fn a_heap_that_was_put_aside_is_as_it_was() {
    let mut like = Blocks::new(7);
    let mut blocks = Blocks::new(7);
    for some in [&mut like, &mut blocks] {
        for _ in 0..2_000 / SCALE {
            let size = some.numbers.below(300) + 1;
            let start = some.heap.allocate(size);
            some.fill(start, size);
        }
        let first = some.all[0].start;
        let address = some.heap.allocate(size_of::<usize>());
        // A word that points into its own heap.
        some.fill(address, size_of::<usize>());
        some.all.pop();
        // SAFETY: the block is large enough for it, and no bytes of it are checked.
        unsafe { address.cast::<usize>().write(first.addr()) };
    }
    let template = Arc::new(like.heap.template());
    let given_back = blocks.all.swap_remove(3);
    // SAFETY: the block is one of this heap, and is used no more.
    unsafe { blocks.heap.deallocate(given_back.start) };
    for _ in 0..2 {
        let (start, size) = (blocks.heap.allocate(900), 900);
        blocks.fill(start, size);
        // SAFETY: nobody reads or writes a block before it is taken up.
        unsafe { blocks.heap.put_aside(&template) };
        blocks.heap.take_up();
        blocks.check();
    }
    let again = blocks.heap.allocate(given_back.bytes.len());
    assert_eq!(again, given_back.start);
    like.check();
}

#[test]
fn little_is_kept_of_a_heap_like_the_template() {
    let heap = || {
        let heap = SnapshotHeap::new().unwrap();
        let mut before = 0;
        for _ in 0..100 {
            let block = heap.allocate(64).cast::<usize>();
            // SAFETY: the block is large enough for a word.
            unsafe { block.write(before) };
            before = block.addr();
        }
        heap
    };
    let template = Arc::new(heap().template());
    let heap = heap();
    let own = heap.allocate(64);
    assert!(!own.is_null());
    // SAFETY: the heap is dropped as it is.
    unsafe { heap.put_aside(&template) };
    let emptied = heap.emptied.borrow();
    let (kept, _) = emptied.as_ref().unwrap();
    assert!(kept.len() <= 64 / size_of::<usize>() + 1, "{}", kept.len());
}
