//! What a heap differs in from one that was just made.
//!
//! Runtimes are made in the same order, so that their arenas hold the same but for where they lie: a word that points into its own
//! arena is compared by its distance from the beginning. Nothing rests on how much is the same: what differs is kept as it is.

use crate::arena::{ARENA, Arena, GROUP, WordGroup};

/// A picture of a heap, which others are compared with.
pub struct HeapTemplate {
    /// Its words, in whole groups; those that point into the heap as their distance from its beginning.
    words: Vec<usize>,
    /// All ones for each word that points into the heap, else zero.
    pointers: Vec<i8>,
}

/// What an arena holds, as far as that is not what the template says.
pub struct ArenaDifference {
    /// A bit for each word: whether it is among those that differ.
    differs: Vec<u64>,
    words: Vec<usize>,
    /// How many words the arena holds.
    length: usize,
}

impl HeapTemplate {
    pub(crate) fn new(arena: &Arena) -> Self {
        let length = arena.length().next_multiple_of(GROUP);
        let (mut words, mut pointers) = (Vec::with_capacity(length), Vec::with_capacity(length));
        for word in (0..length / GROUP).flat_map(|group| arena.group(group * GROUP)) {
            let distance = word.wrapping_sub(arena.address());
            let is_pointer = distance < ARENA;
            words.push(if is_pointer { distance } else { word });
            pointers.push(-i8::from(is_pointer));
        }
        Self { words, pointers }
    }

    /// Returns what the words of a group would be in an arena that begins at this address; those behind the end are zero.
    fn group(&self, group: usize, address: usize) -> WordGroup {
        let mut expected = [0; GROUP];
        let range = group * GROUP..(group + 1) * GROUP;
        if let (Some(words), Some(pointers)) =
            (self.words.get(range.clone()), self.pointers.get(range))
        {
            let both = words.iter().zip(pointers);
            for (expected, (word, pointer)) in expected.iter_mut().zip(both) {
                *expected = word.wrapping_add(address & isize::from(*pointer).cast_unsigned());
            }
        }
        expected
    }
}

impl ArenaDifference {
    /// How many words differ.
    #[cfg(test)]
    pub fn len(&self) -> usize {
        self.words.len()
    }

    /// Returns what an arena holds now.
    pub fn of(arena: &Arena, template: &HeapTemplate) -> Self {
        let length = arena.length();
        let mut differs = Vec::with_capacity(length.div_ceil(GROUP));
        let mut words = Vec::new();
        for group in 0..length.div_ceil(GROUP) {
            let own = arena.group(group * GROUP);
            let expected = template.group(group, arena.address());
            let bits = differences(&own, &expected);
            differs.push(bits);
            words.extend(ones(bits).map(|at| own[at]));
        }
        Self {
            differs,
            words,
            length,
        }
    }

    /// Has the arena hold the same again.
    ///
    /// # Safety
    ///
    /// It is the arena that was compared, with this template. No reference into it is alive.
    pub unsafe fn write_to(&self, arena: &Arena, template: &HeapTemplate) {
        arena.populate(self.length);
        let mut words = self.words.iter();
        for (group, bits) in self.differs.iter().enumerate() {
            let mut own = template.group(group, arena.address());
            for (at, word) in ones(*bits).zip(&mut words) {
                own[at] = *word;
            }
            // SAFETY: the caller promises that nothing refers to what is written over.
            unsafe { arena.write(group * GROUP, &own) };
        }
        arena.set_length(self.length);
    }
}

/// A bit for each word: whether it is another one.
fn differences(own: &WordGroup, expected: &WordGroup) -> u64 {
    let both = || own.iter().zip(expected);
    // Most groups are the same.
    if both().fold(0, |any, (own, expected)| any | own ^ expected) == 0 {
        return 0;
    }
    let bits = both().enumerate();
    bits.fold(0, |bits, (at, (own, expected))| {
        bits | u64::from(own != expected) << at
    })
}

/// The numbers of the bits that are set.
fn ones(mut bits: u64) -> impl Iterator<Item = usize> {
    std::iter::from_fn(move || {
        let at = bits.trailing_zeros() as usize;
        let is_set = bits != 0;
        bits &= bits.wrapping_sub(1);
        is_set.then_some(at)
    })
}
