//! Gives memory that was freed back to the system, also when nothing happens any more.

use std::hint::black_box;
use std::time::Duration;

const PERIOD: Duration = Duration::from_secs(5);

/// The allocator has no smaller class for it, and looks for pages to give back when it is freed.
const LARGE: usize = 4 << 20;

/// Does so from time to time, for ever.
///
/// The allocator keeps freed pages for a second, in case they are needed again, and looks for older ones only when it frees
/// others. Behind a burst nothing is freed any more: the freeing of a large block, which is never written, does it then.
pub async fn give_back() {
    loop {
        tokio::time::sleep(PERIOD).await;
        drop(black_box(Vec::<u8>::with_capacity(LARGE)));
    }
}
