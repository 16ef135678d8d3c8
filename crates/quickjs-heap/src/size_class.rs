//! Which sizes blocks have, and which free list is for which of them.

/// Sizes are multiples of this, and blocks aligned to it.
pub const ALIGNMENT: usize = 8;
/// Up to here each size is a class of its own, and beyond it there are four for each doubling.
const SMALL: usize = 512;
/// Larger blocks have no class.
pub const LARGE: usize = 16 << 10;
/// No block is larger, so that sizes can be added up.
const LARGEST: usize = usize::MAX / 4;
/// How many classes there are.
pub const CLASSES: usize = SMALL / ALIGNMENT + 4 * (LARGE / SMALL).ilog2() as usize;

/// Returns the usable size of a block that is asked for with `size`; `None` if there cannot be such a block.
pub fn rounded(size: usize) -> Option<usize> {
    if size > LARGEST {
        return None;
    }
    let is_coarse = size > SMALL && size <= LARGE;
    let step = if is_coarse {
        size.next_power_of_two() / 8
    } else {
        ALIGNMENT
    };
    Some(size.max(ALIGNMENT).next_multiple_of(step))
}

/// Returns the class of blocks of a rounded size; `None` if they are too large to have one.
pub fn class(size: usize) -> Option<usize> {
    if size <= SMALL {
        return Some(size / ALIGNMENT - 1);
    }
    if size > LARGE {
        return None;
    }
    let power = size.next_power_of_two();
    let doublings = (power / SMALL).ilog2() as usize - 1;
    // A fifth, sixth, seventh or eighth of eight parts.
    Some(SMALL / ALIGNMENT + 4 * doublings + size * 8 / power - 5)
}

#[cfg(test)]
mod tests {
    use super::{CLASSES, LARGE, class, rounded};

    #[test]
    fn every_size_has_a_class_that_fits() {
        let mut last = None;
        let step = if cfg!(miri) { 61 } else { 1 };
        for size in (1..=2 * LARGE).step_by(step) {
            let whole = rounded(size).unwrap();
            assert!(whole >= size && whole - size < 8.max(size / 4), "{size}");
            assert_eq!(rounded(whole), Some(whole));
            let found = class(whole);
            assert_eq!(found.is_some(), whole <= LARGE);
            assert!(found.is_none() || found >= last, "{size}");
            last = found.or(last);
        }
        assert_eq!(last, Some(CLASSES - 1));
        assert_eq!(rounded(usize::MAX), None);
    }
}
