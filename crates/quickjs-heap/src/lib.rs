//! The memory of one QuickJS runtime, with a snapshot that can be restored.
//!
//! Making a runtime and freeing it takes longer than most scripts run. A [`SnapshotHeap`] is the allocator of one runtime:
//! once the runtime is made, its memory is copied; behind each script the copy is written back, and the runtime is byte for
//! byte the one that was made. Nothing of a script can be left, because everything that a runtime knows is in its memory.
//!
//! ```
//! use ambit_quickjs_heap::SnapshotHeap;
//!
//! let heap = SnapshotHeap::new().expect("there is memory");
//! let counter = heap.allocate(size_of::<u64>()).cast::<u64>();
//! // SAFETY: the block is large enough and aligned for it, and alive until the heap is dropped.
//! unsafe { counter.write(1) };
//! assert!(heap.take_snapshot());
//!
//! // SAFETY: as above.
//! unsafe { *counter += 41 };
//! let garbage = heap.allocate(100_000);
//! assert!(!garbage.is_null());
//! // SAFETY: `garbage` is not used any more, and `counter` is from before the snapshot.
//! assert!(unsafe { heap.restore() });
//! // SAFETY: as above.
//! assert_eq!(unsafe { *counter }, 1);
//! ```
//!
//! # What the allocator promises
//!
//! - A block that is not null is at least as large as was asked, aligned to eight bytes, and overlaps no other block that is in
//!   use. [`SnapshotHeap::usable_size`] says how large it is, and all of it may be used.
//! - A block stays where it is until it is deallocated, reallocated, or dropped with the heap or by
//!   [`SnapshotHeap::restore`].
//! - The meter counts exactly the usable sizes of the blocks in use. A block that would pass the meter's limit is not given:
//!   the answer is null, as where the system has no memory, and no block has changed.
//! - The heap belongs to one thread at a time (it is not `Sync`), and calls no code but Rust's global allocator and the system, for
//!   the pages of its arena.
//!
//! # How it is laid out
//!
//! Blocks lie in one *arena* of a megabyte, one behind the other, each behind a word with its size. A block that is given back
//! goes to the free list of its size class and is used again from there. Blocks that do not fit into the arena, and large ones
//! asked for after the snapshot, are *outside blocks*: single allocations in a doubly linked list.
//!
//! These hold between any two calls:
//!
//! 1. The first `used` bytes of the arena are a sequence of headers and blocks without gaps; the rest was never given.
//! 2. The word before each block, in the arena or outside, holds its usable size, which is that of a size class.
//! 3. Each free list holds blocks of its class in the arena that nobody uses, each once.
//! 4. The list of outside blocks holds all of them that are in use, and nothing else.
//! 5. If there is a snapshot, all blocks that were in use when it was taken lie in its part of the arena.
//!
//! # What a snapshot is
//!
//! A copy of the used part of the arena, the heads of the free lists, and what was counted. A heap has at most one. A small one
//! ([`SnapshotHeap::take_small_snapshot`]) keeps of the arena what differs from a [`HeapTemplate`]; between its runs the heap can let
//! go of its memory ([`SnapshotHeap::empty`]).
//! [`SnapshotHeap::take_snapshot`] refuses while there are outside blocks, so that the copy is all there is (invariant 5).
//! Pointers are not translated: a snapshot is restored in place, and every pointer in it is valid again because the block it
//! points at is where it was, with the bytes it had.
//!
//! # When restoring is sound
//!
//! [`SnapshotHeap::restore`] frees every block that was made since the snapshot and overwrites all others, also those that were
//! deallocated in the meantime. It is `unsafe`; whoever calls it answers for three things:
//!
//! - No reference into the heap is alive, and no pointer to a block made since the snapshot is used again. For a runtime: no
//!   code of it is running, and every handle to a value made since then was dropped *before*.
//! - What lies outside of the heap and is pointed at from the snapshot (functions of the host, for example) is alive and as it
//!   was, and was not freed by the owner of the blocks in the meantime.
//! - What lies outside of the heap and points into it points at blocks of the snapshot, and expects them as they were then.
//!
//! # Heaps that are put aside
//!
//! A runtime that waits needs no memory. [`SnapshotHeap::put_aside`] keeps what differs from a [`HeapTemplate`], a hundredth of
//! it, and lets go of the arena's pages; [`SnapshotHeap::take_up`] writes every byte of it again where it was. Between the two
//! nobody may read or write a block of the arena; pointers to them stay valid. Free lists are read as addresses, so that it does
//! not matter that their links were kept as numbers.
//!
//! # How it is checked
//!
//! Each `unsafe` block says which of these it rests on. Under Miri the pages come from Rust's global allocator, and no foreign
//! call is made, so that the tests run there as they are (`cargo +nightly miri test -p ambit-quickjs-heap`, with smaller numbers there). That scripts find
//! the same in a restored and in a fresh runtime is tested in `ambit-script`, by 10,000 generated scripts.

mod arena;
mod heap;
mod meter;
mod outside;
mod pages;
mod put_aside;
mod size_class;

pub use heap::SnapshotHeap;
pub use meter::MemoryMeter;
pub use put_aside::HeapTemplate;
