//! Where a job stands, and how it ends.
//!
//! One table of steps holds for machines and files alike; whoever drives a job, records it or tells of it asks here. The
//! diagram in `docs/protocol.md` shows the same steps.

use crate::Error;

/// Where a job stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum JobState {
    /// No machine has taken the job, and its file is not open.
    Waiting,
    /// A machine has taken the job, or its file is open.
    Running,
    /// The sender was asked to stop. The machine has not said yet what it has executed in all.
    Stopping,
    /// All lines are executed: the machine has said that they are and are stored, or the file has its END.
    Done,
    /// It was stopped, and what is executed is known.
    Stopped,
    /// It was stopped, and the machine was not heard to stop: it may have executed more than is known.
    Unheard,
    /// It failed.
    Failed,
}

impl JobState {
    /// Whether nothing follows.
    #[must_use]
    pub const fn is_over(self) -> bool {
        matches!(self, Self::Done | Self::Stopped | Self::Unheard | Self::Failed)
    }

    /// The state after an event; `None` where the event changes nothing.
    const fn after(self, event: Event) -> Option<Self> {
        match (self, event) {
            (Self::Waiting, Event::Taken) => Some(Self::Running),
            // Nothing was sent: nobody has to be asked.
            (Self::Waiting, Event::Stop) => Some(Self::Stopped),
            (Self::Running, Event::Stop) => Some(Self::Stopping),
            // The line under way may have been the last.
            (Self::Running | Self::Stopping, Event::Done) => Some(Self::Done),
            (Self::Stopping, Event::Halted) => Some(Self::Stopped),
            (Self::Stopping, Event::Lost) => Some(Self::Unheard),
            (Self::Waiting | Self::Running | Self::Stopping, Event::Failed) => Some(Self::Failed),
            _ => None,
        }
    }
}

/// What happens to a job.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Event {
    /// A machine takes it, again after a lost connection, or its file is open.
    Taken,
    /// The sender is asked to stop.
    Stop,
    /// All lines are executed and stored.
    Done,
    /// The machine says that it executes no more, or nothing more is written to the file.
    Halted,
    /// There is no connection, so the machine cannot be asked.
    Lost,
    /// It cannot go on.
    Failed,
}

/// The course of a job.
#[derive(Debug)]
pub(crate) struct Course {
    state: JobState,
    failure: Option<Error>,
}

impl Course {
    pub(crate) const fn new() -> Self {
        Self {
            state: JobState::Waiting,
            failure: None,
        }
    }

    pub(crate) const fn state(&self) -> JobState {
        self.state
    }

    pub(crate) const fn is_over(&self) -> bool {
        self.state.is_over()
    }

    /// Whether it goes on: it was not asked to stop, and did not end.
    pub(crate) const fn goes_on(&self) -> bool {
        matches!(self.state, JobState::Waiting | JobState::Running)
    }

    /// Takes the step of an event, where there is one: a job that has ended stays as it ended.
    pub(crate) const fn step(&mut self, event: Event) {
        if let Some(state) = self.state.after(event) {
            self.state = state;
        }
    }

    /// Ends a job that cannot go on; the first failure counts.
    pub(crate) fn fail(&mut self, error: Error) {
        if !self.state.is_over() {
            self.step(Event::Failed);
            self.failure = Some(error);
        }
    }

    /// How it ended, with the lines known to be executed.
    pub(crate) fn outcome(&mut self, executed: u64) -> Result<(), Error> {
        match self.state {
            JobState::Done => Ok(()),
            JobState::Unheard => Err(Error::Unheard { executed }),
            _ => Err(self.failure.take().unwrap_or(Error::Stopped { executed })),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const STATES: [JobState; 7] = [
        JobState::Waiting,
        JobState::Running,
        JobState::Stopping,
        JobState::Done,
        JobState::Stopped,
        JobState::Unheard,
        JobState::Failed,
    ];
    const EVENTS: [Event; 6] = [
        Event::Taken,
        Event::Stop,
        Event::Done,
        Event::Halted,
        Event::Lost,
        Event::Failed,
    ];

    /// The edges of the diagram in `docs/protocol.md`.
    fn drawn() -> Vec<(String, String)> {
        let page = include_str!("../../../docs/protocol.md");
        let (_, rest) = page.split_once("stateDiagram-v2\n").unwrap();
        let (diagram, _) = rest.split_once("```").unwrap();
        let edge = |line: &str| {
            let (from, to) = line.split_once("-->")?;
            let to = to.split(':').next()?;
            let word = |text: &str| text.trim().to_owned();
            (word(from) != "[*]" && word(to) != "[*]").then(|| (word(from), word(to)))
        };
        let mut edges: Vec<_> = diagram.lines().filter_map(edge).collect();
        edges.sort();
        edges.dedup();
        edges
    }

    #[test]
    fn the_steps_are_those_of_the_diagram() {
        let mut edges = Vec::new();
        for state in STATES {
            for event in EVENTS {
                if let Some(next) = state.after(event) {
                    edges.push((format!("{state:?}"), format!("{next:?}")));
                }
            }
        }
        edges.sort();
        edges.dedup();
        assert_eq!(edges, drawn());
    }

    #[test]
    fn nothing_follows_an_end_and_every_other_state_can_fail() {
        for state in STATES {
            let steps = EVENTS.iter().filter(|event| state.after(**event).is_some());
            assert_eq!(state.is_over(), steps.count() == 0, "{state:?}");
            assert_eq!(
                !state.is_over(),
                state.after(Event::Failed) == Some(JobState::Failed)
            );
        }
    }

    #[test]
    fn the_first_end_counts() {
        let mut course = Course::new();
        course.fail(Error::Random);
        course.fail(Error::Thread("later".to_owned()));
        for event in EVENTS {
            course.step(event);
        }
        assert!(matches!(course.outcome(0), Err(Error::Random)));
        let mut course = Course::new();
        for event in [Event::Taken, Event::Stop, Event::Done, Event::Lost] {
            course.step(event);
        }
        course.fail(Error::Random);
        assert!(course.outcome(7).is_ok());
    }
}
