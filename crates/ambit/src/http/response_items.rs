//! Items of OpenAI's Responses and Conversations: what clients send, and what is stored of a conversation.

mod content;
mod input;
mod page;
mod stored_items;

pub use input::{InputItem, InputItems};
pub use page::{ItemList, ItemListQuery};
pub use stored_items::{ItemReader, ListedItem, StoredListedItem, find_item};
