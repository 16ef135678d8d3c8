//! Memory from the system itself: zero when it is new, there only where it is touched, and gone as soon as it is let go of.

use std::ptr::NonNull;

/// Pages of memory, as many as an arena needs.
pub struct Pages {
    start: NonNull<u8>,
    size: usize,
}

impl Pages {
    /// Returns pages that are all zero; `None` if there is no memory.
    pub fn new(size: usize) -> Option<Self> {
        system::reserve(size).map(|start| Self { start, size })
    }

    pub fn start(&self) -> NonNull<u8> {
        self.start
    }

    /// Has the system give the memory behind the first `size` bytes, rounded up to whole pages, at once: it would take several times
    /// as long page by page, where each is first touched.
    pub fn populate(&self, size: usize) {
        system::populate(self.start, size.min(self.size));
    }

    /// Lets go of the memory behind the first `size` bytes, rounded up to whole pages. They may be written again; until then it is
    /// not said what they are.
    ///
    /// # Safety
    ///
    /// Nobody reads them before they are written.
    pub unsafe fn discard(&self, size: usize) {
        // SAFETY: these are pages of ours, and the caller promises that nobody reads them.
        unsafe { system::discard(self.start, size.min(self.size)) };
    }
}

impl Drop for Pages {
    fn drop(&mut self) {
        // SAFETY: they were reserved with this size, and nothing refers to them any more.
        unsafe { system::release(self.start, self.size) };
    }
}

#[cfg(all(unix, not(miri)))]
mod system {
    use rustix::mm::{Advice, MapFlags, ProtFlags, madvise, mmap_anonymous, munmap};
    use std::ptr::{NonNull, null_mut};

    #[cfg(target_os = "linux")]
    const GONE: Advice = Advice::LinuxDontNeed;
    #[cfg(not(target_os = "linux"))]
    const GONE: Advice = Advice::DontNeed;

    pub fn reserve(size: usize) -> Option<NonNull<u8>> {
        let access = ProtFlags::READ | ProtFlags::WRITE;
        // SAFETY: the address is the system's choice, so that nothing is there already.
        let start = unsafe { mmap_anonymous(null_mut(), size, access, MapFlags::PRIVATE) }.ok()?;
        // Most of an arena is never touched: a huge page would be there as a whole.
        #[cfg(target_os = "linux")]
        // SAFETY: these pages are nobody else's, and what they hold stays. Without success they are only larger.
        let _ = unsafe { madvise(start, size, Advice::LinuxNoHugepage) };
        NonNull::new(start.cast())
    }

    pub fn populate(start: NonNull<u8>, size: usize) {
        #[cfg(target_os = "linux")]
        // SAFETY: these pages are ours, and what they hold stays. Without success they are given where they are touched.
        let _ = unsafe { madvise(start.as_ptr().cast(), size, Advice::LinuxPopulateWrite) };
        #[cfg(not(target_os = "linux"))]
        let _ = (start, size);
    }

    /// # Safety
    ///
    /// The memory was reserved, and nobody reads it before it is written.
    pub unsafe fn discard(start: NonNull<u8>, size: usize) {
        // SAFETY: the caller promises what this needs. Without success the pages stay as they are.
        let _ = unsafe { madvise(start.as_ptr().cast(), size, GONE) };
    }

    /// # Safety
    ///
    /// The memory was reserved with this size, and nothing refers to it.
    pub unsafe fn release(start: NonNull<u8>, size: usize) {
        // SAFETY: the caller promises what this needs. It cannot fail for what was reserved.
        let _ = unsafe { munmap(start.as_ptr().cast(), size) };
    }
}

#[cfg(any(not(unix), miri))]
mod system {
    use std::alloc::{Layout, alloc_zeroed, dealloc};
    use std::ptr::NonNull;

    pub fn reserve(size: usize) -> Option<NonNull<u8>> {
        // SAFETY: an arena is not empty.
        NonNull::new(unsafe { alloc_zeroed(layout(size)?) })
    }

    pub fn populate(_: NonNull<u8>, _: usize) {}

    /// # Safety
    ///
    /// The memory was reserved, and nobody reads it before it is written.
    pub unsafe fn discard(start: NonNull<u8>, size: usize) {
        // SAFETY: the memory was reserved; what is there now shows who reads it all the same.
        unsafe { start.write_bytes(0x5a, size) };
    }

    /// # Safety
    ///
    /// The memory was reserved with this size, and nothing refers to it.
    pub unsafe fn release(start: NonNull<u8>, size: usize) {
        if let Some(layout) = layout(size) {
            // SAFETY: it was allocated with this layout.
            unsafe { dealloc(start.as_ptr(), layout) };
        }
    }

    fn layout(size: usize) -> Option<Layout> {
        Layout::from_size_align(size, 4096).ok()
    }
}
