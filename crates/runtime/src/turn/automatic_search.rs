//! The search before an agent's model call: whether it is on, what for, and what people see of it.

mod decision;
mod progress;
