//! How much of anything a document may hold.

const MIB: usize = 1024 * 1024;

/// The largest file that is looked at.
pub const FILE_BYTES: usize = 64 * MIB;

/// The most text that is taken from a document.
pub const TEXT_BYTES: usize = 16 * MIB;

/// The most that all entries of an archive may hold together, unpacked.
pub const UNPACKED_BYTES: usize = 200 * MIB;

/// The most entries of an archive.
pub const ARCHIVE_ENTRIES: usize = 10_000;

/// The most sections: each makes a chunk, and a document has at most as many of them.
pub const SECTIONS: usize = 20_000;

/// The most blocks of text. What is known of each of them takes some 50 bytes of whoever asked.
pub const BLOCKS: usize = 250_000;

/// The most characters of what is said of a document: a title, its language, a warning, the reason why it has no text, and a
/// heading as it is repeated with each section below it.
pub const PHRASE_CHARACTERS: usize = 300;

/// The deepest level of a heading. Those below it are of this one, for each section repeats the headings above it.
pub const HEADING_LEVEL: u8 = 10;

/// The most bytes of headings, where those above a section count with each section.
pub const HEADING_BYTES: usize = 16 * MIB;

/// The longest identifier of a record.
pub const ID_BYTES: usize = 1024;

/// The most warnings of a document.
pub const WARNINGS: usize = 100;

/// The deepest nesting of elements of HTML and XML. Tags that are never closed count as such.
pub const ELEMENT_DEPTH: usize = 10_000;

/// The largest front matter of Markdown.
pub const FRONT_MATTER_BYTES: usize = 64 * 1024;

/// The most values of a front matter.
pub const FRONT_MATTER_NODES: usize = 10_000;

/// The largest document of plain text, CSV or JSON that is read in the asking process: what a parser builds of it can be a hundred
/// times as large. Larger ones are read by the child process.
pub const IN_PROCESS_BYTES: usize = 256 * 1024;

/// The same for Markdown, which can take time by the square of its size: each line is compared with all lists and quotes that
/// are open.
pub const MARKDOWN_IN_PROCESS_BYTES: usize = 64 * 1024;

/// The address space of the child process.
pub const CHILD_MEMORY_BYTES: u64 = 512 * MIB as u64;

/// The processor time of the child process, in seconds.
pub const CHILD_CPU_SECONDS: u64 = 60;

/// The most that the child process may say of a document beside its text.
pub const ANSWER_HEAD_BYTES: u64 = 32 * MIB as u64;
