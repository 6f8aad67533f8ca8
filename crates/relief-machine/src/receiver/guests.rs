//! Who is connected.
//!
//! Connections are few, and one that says nothing costs a place until it is given up. Where all places are taken a
//! new connection gets the place of the one that has shown the least for the longest: whoever connects and says
//! nothing cannot keep the sender out. A connection that has proven the secret, or named a job where there is none,
//! keeps its place; so does the one that drives the machine.

use crate::transport::Closer;

/// The most connections at once.
const MAX_GUESTS: usize = 16;

/// What a connection has shown of itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Stage {
    /// Nothing.
    Connected,
    /// It speaks the protocol.
    Greeted,
    /// It knows the secret, or named a job where no secret is asked for.
    Admitted,
}

struct Guest {
    number: u64,
    stage: Stage,
    closer: Closer,
    /// It was cut, and its thread will end.
    leaving: bool,
}

/// All connections, the oldest first.
#[derive(Default)]
pub(super) struct Guests {
    all: Vec<Guest>,
    /// Connections so far.
    count: u64,
}

impl Guests {
    /// Takes a connection in; its number.
    pub(super) fn enter(&mut self, closer: Closer) -> u64 {
        self.count += 1;
        self.all.push(Guest {
            number: self.count,
            stage: Stage::Connected,
            closer,
            leaving: false,
        });
        self.count
    }

    /// Notes what a connection has shown.
    pub(super) fn promote(&mut self, number: u64, stage: Stage) {
        if let Some(guest) = self.all.iter_mut().find(|guest| guest.number == number) {
            guest.stage = stage;
        }
    }

    pub(super) fn leave(&mut self, number: u64) {
        self.all.retain(|guest| guest.number != number);
    }

    /// Whether there is a place.
    pub(super) const fn have_room(&self) -> bool {
        self.all.len() < MAX_GUESTS
    }

    /// Cuts the connection that has shown the least for the longest, where none is leaving already; `false` where all
    /// keep their places.
    pub(super) fn make_room(&mut self) -> bool {
        if self.all.iter().any(|guest| guest.leaving) {
            return true;
        }
        let least = self
            .all
            .iter_mut()
            .filter(|guest| guest.stage < Stage::Admitted)
            .min_by_key(|guest| (guest.stage, guest.number));
        least.is_some_and(|guest| {
            guest.leaving = true;
            guest.closer.close();
            true
        })
    }

    /// Cuts all connections.
    pub(super) fn close(&mut self) {
        for guest in &self.all {
            guest.closer.close();
        }
    }
}
