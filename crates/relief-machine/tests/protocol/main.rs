//! Both ends of the protocol, on clocks of their own and on real sockets.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a test fails by a panic"
)]

mod corpus;
mod end_states;
mod hour;
mod motion;
mod receiving;
mod streaming;
mod wire;
