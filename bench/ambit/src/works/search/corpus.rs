//! Texts from a fixed seed, whose words are as frequent as those of a language: the n-th word occurs 1/n times as often as the
//! first.

/// Words that there are.
const WORDS: f64 = 50_000.0;
const ENDINGS: [&str; 8] = ["", "", "s", "ed", "ing", "er", "ation", "ness"];

/// A source of texts; that of a seed always gives the same.
pub struct Corpus {
    state: u64,
}

impl Corpus {
    pub fn new(seed: u64) -> Self {
        Self { state: seed }
    }

    /// So many texts of so many words.
    pub fn texts(&mut self, count: usize, words: usize) -> Vec<String> {
        (0..count).map(|_| self.text(words)).collect()
    }

    pub fn text(&mut self, words: usize) -> String {
        let mut text = String::with_capacity(words * 8);
        for number in 0..words {
            if number > 0 {
                text.push(' ');
            }
            let rank = WORDS.powf(self.fraction()) as u64;
            push_word(rank, &mut text);
        }
        text
    }

    /// So many vectors of so many numbers from -1 to 1.
    pub fn vectors(&mut self, count: usize, dimension: usize) -> Vec<Vec<f32>> {
        let mut number = || (self.fraction() * 2.0 - 1.0) as f32;
        let mut vector = || (0..dimension).map(|_| number()).collect();
        (0..count).map(|_| vector()).collect()
    }

    /// From 0 to 1.
    fn fraction(&mut self) -> f64 {
        // splitmix64
        self.state = self.state.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut x = self.state;
        x = (x ^ (x >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        x = (x ^ (x >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        ((x ^ (x >> 31)) >> 11) as f64 / (1_u64 << 53) as f64
    }
}

/// Two or three syllables, and an ending.
fn push_word(rank: u64, text: &mut String) {
    // Words with ranks side by side have nothing in common.
    let mut rest = rank.wrapping_mul(2_654_435_761) % 1_000_003;
    let syllables = 2 + rest % 2;
    for _ in 0..syllables {
        text.push((b'a' + (rest % 26) as u8) as char);
        text.push(b"aeiou"[(rest / 26 % 5) as usize] as char);
        rest /= 67;
    }
    text.push_str(ENDINGS[(rank % 8) as usize]);
}
