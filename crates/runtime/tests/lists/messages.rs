pub const CASES: &[(&str, crate::Run)] = &[];
