//! The server as programs and people meet it: real sockets, real clients, a real browser.

#![recursion_limit = "256"]
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test fails by a panic")]

mod client;
mod clients;
mod edits;
mod hands;
mod hostile;
mod page;
mod served;
mod stores;
mod tiles;
mod why;
