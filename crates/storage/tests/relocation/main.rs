//! Moving what is stored from one driver to another, killed at every point, and the doctor.

#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "helpers of tests fail the test"
)]

mod doctor;
mod killed;
mod place;
mod plain;
