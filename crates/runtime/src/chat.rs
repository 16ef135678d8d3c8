//! What is said to models and by them: messages, calls of tools, and the options of a call. One type each, from the request to
//! the provider; JSON is read where it comes in and written where it goes out.
//!
//! Nothing is lost on the way: what has no field here, and what does not have its field's form, stays in `extra` as it came.

mod call;
mod client_fields;
mod content;
mod dropped;
mod layers;
mod message;
mod options;
mod origin;
mod reasoning;
mod tool;
mod tool_arguments;

pub use call::ModelCall;
pub use client_fields::ClientMessageFields;
pub use content::{ChatContent, ContentPart, FileContent, ImageUrl, InputAudio};
pub use dropped::{DroppedItem, DroppedKind, DroppedMessages, DroppedParts, bounded};
pub use layers::{LayeredValue, LayeredValues, OptionLayer, overrule};
pub use message::{ChatMessage, ROLES, Role, role_name, role_named, to_json};
pub use options::{GenerationOptions, ResponseFormat, StopSequences, ToolChoice};
pub use origin::{BlockCut, BlockKind, BlockSource, BlockVia, MessageMeasure, MessageOrigin};
pub use reasoning::ReasoningPart;
pub use tool::{ToolCall, ToolDefinition};
pub use tool_arguments::read_arguments;
