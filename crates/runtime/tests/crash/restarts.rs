//! Later.
crate::cases![];
