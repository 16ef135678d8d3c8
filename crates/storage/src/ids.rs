//! Making ids.

use crate::clock::{Clock, Millis};

const LETTERS: &[u8; 32] = b"0123456789abcdefghjkmnpqrstvwxyz";

/// The letters of an ordered id that say its time, and the random ones.
const TIME: u32 = 10;
const RANDOM: u32 = 16;

/// 26 letters: 50 bits of time, so that indexes grow at their end, and 80 random bits.
pub fn ordered(clock: &Clock) -> String {
    let time = u64::try_from(clock.now()).unwrap_or_default();
    let mut id = letters(u128::from(time), TIME);
    id.push_str(&letters(rand::random(), RANDOM));
    id
}

/// What an ordered id says of the time at which it was made; nothing for other ids. Ids that begin with it are kept near to others of
/// their time.
pub fn time_part(id: &str) -> &str {
    let is_ordered = id.len() == (TIME + RANDOM) as usize;
    let time = id.get(..TIME as usize).filter(|_| is_ordered);
    time.unwrap_or_default()
}

/// When an ordered id was made; nothing for other ids.
pub fn made_at(id: &str) -> Option<Millis> {
    let place = |letter: u8| LETTERS.iter().position(|known| *known == letter);
    let letters = Some(time_part(id)).filter(|time| !time.is_empty())?;
    letters.bytes().try_fold(0, |time: Millis, letter| {
        let place = i64::try_from(place(letter)?).ok()?;
        Some((time << 5) | place)
    })
}

/// How long an id is that cannot be guessed.
pub(crate) const UNGUESSABLE: u32 = 20;

/// 20 random letters: 100 bits, not to be guessed.
pub fn unguessable() -> String {
    letters(rand::random(), UNGUESSABLE)
}

/// True for a text of the form that `unguessable` makes.
pub fn is_unguessable(id: &str) -> bool {
    id.len() == UNGUESSABLE as usize && id.bytes().all(|letter| LETTERS.contains(&letter))
}

fn letters(bits: u128, count: u32) -> String {
    let letter = |at: u32| char::from(LETTERS[((bits >> (5 * at)) & 31) as usize]);
    (0..count).rev().map(letter).collect()
}
