//! An hour of a machine, on a clock of its own: the real sender, the real receiver, a real socket.
//!
//! Bytes are a thousandth of what they stand for, and time passes only when everyone waits for it: the raster, which is
//! computed at a rate and stands still for some seconds in every minute, and the machine, which executes at another
//! rate. Time stands still while bytes and words are on their way.

use std::sync::{Arc, Condvar, Mutex};
use std::time::Duration;

use relief_engine::{Cancel, Raster, Rect, SamplesMut};
use relief_machine::message::Job;
use relief_machine::{
    Address, Control, Machine, Phase, Progress, Receiver, ReceiverOptions, SenderOptions, send,
};
use relief_raster::Depth;
use relief_scan::{Program, Scan, Tables, Windows};

/// Bytes of a line: 2 MB in thousandths.
const LINE: u64 = 2_000;
/// Bytes a second that the machine executes: 10 MB in thousandths.
const EXECUTED: f64 = 10e3;
/// Bytes a second that are computed.
const COMPUTED: f64 = 12e3;
/// Seconds of the machine.
const HOUR: f64 = 3_600.0;

/// Time, and who waits for it.
#[derive(Default)]
struct Clock {
    state: Mutex<Waiting>,
    changed: Condvar,
}

#[derive(Default)]
struct Waiting {
    now: f64,
    /// When the raster is computed and when the machine has executed its line.
    raster: Option<f64>,
    machine: Option<f64>,
    /// When the machine was done with the line before.
    due: Option<f64>,
    /// Lines computed, and lines executed.
    computed: u64,
    executed: u64,
    /// What the sender knows.
    sender: Option<Progress>,
    underruns: u64,
    lost: f64,
}

impl Waiting {
    /// Lets time pass to the next event, where everyone waits for one.
    fn pass(&mut self) {
        let Some(sender) = self.sender else { return };
        // What is computed is in the look-ahead, and what is executed is known.
        if (sender.made_lines, sender.executed) != (self.computed, self.executed) {
            return;
        }
        let raster = self.raster.is_some() || sender.resting;
        // Before the start, and where all that was made is executed, the machine waits for the raster.
        let starved = sender.phase == Phase::Filling || sender.ahead == 0;
        let machine = self.machine.is_some() || starved;
        if raster && machine {
            let next = [self.raster, self.machine]
                .into_iter()
                .flatten()
                .min_by(f64::total_cmp);
            self.now = self.now.max(next.unwrap_or(self.now));
        }
    }
}

impl Clock {
    fn change(&self, change: impl FnOnce(&mut Waiting)) {
        let mut state = self.state.lock().unwrap();
        change(&mut state);
        state.pass();
        drop(state);
        self.changed.notify_all();
    }

    fn wait(&self, who: fn(&mut Waiting) -> &mut Option<f64>, until: f64) {
        let mut state = self.state.lock().unwrap();
        *who(&mut state) = Some(until);
        state.pass();
        self.changed.notify_all();
        while state.now < until {
            state = self.changed.wait(state).unwrap();
        }
        *who(&mut state) = None;
    }

    /// The machine executes a line.
    fn line(&self, bytes: usize) {
        let mut state = self.state.lock().unwrap();
        let now = state.now;
        if let Some(due) = state.due
            && now > due
        {
            state.underruns += 1;
            state.lost += now - due;
        }
        let until = now + bytes as f64 / EXECUTED;
        state.due = Some(until);
        drop(state);
        self.wait(|state| &mut state.machine, until);
        self.state.lock().unwrap().executed += 1;
    }
}

/// A raster that takes time to compute, and stands still for the last `stall` seconds of every minute.
struct Slow {
    clock: Arc<Clock>,
    lines: u64,
    stall: f64,
}

impl Slow {
    /// When `work` seconds of computing are done.
    fn done(&self, mut now: f64, mut work: f64) -> f64 {
        loop {
            let minute = (now / 60.0).floor() * 60.0;
            let left = (minute + 60.0 - self.stall - now).max(0.0);
            if work <= left {
                return now + work;
            }
            work -= left;
            now = minute + 60.0;
        }
    }
}

impl Windows for Slow {
    fn raster(&self) -> Raster {
        Raster::new(LINE, self.lines, Depth::Eight)
    }

    fn read(&self, window: Rect, _: SamplesMut<'_>, _: &Cancel) -> Result<(), relief_engine::Error> {
        let now = self.clock.state.lock().unwrap().now;
        let until = self.done(now, (window.height() * LINE) as f64 / COMPUTED);
        self.clock.wait(|state| &mut state.raster, until);
        self.clock.state.lock().unwrap().computed += window.height();
        Ok(())
    }
}

/// Underruns, seconds lost and the time of the last line of a job of an hour.
fn run(look_ahead: u64, stall: f64) -> (u64, f64, f64) {
    let clock = Arc::new(Clock::default());
    let lines = (HOUR * EXECUTED) as u64 / LINE;
    let raster = Slow {
        clock: clock.clone(),
        lines,
        stall,
    };
    let program = Program::new(&Scan::default(), &Tables::default(), &raster.raster()).unwrap();
    let inner = clock.clone();
    let options = ReceiverOptions::default().with(|with| {
        with.machine = Machine {
            buffer: 3 * LINE,
            ..Machine::default()
        };
        with.on_line = Some(Arc::new(move |_, line| {
            inner.line(line.len());
            Ok(())
        }));
        with.idle_timeout = Duration::from_secs(60);
    });
    let address: Address = "tcp://127.0.0.1:0".parse().unwrap();
    let receiver = Receiver::bind(&address, options).unwrap();
    let sender = SenderOptions::new(receiver.address().clone()).with(|with| {
        with.look_ahead = look_ahead;
        with.high_water = look_ahead / 4 * 3;
        with.idle_timeout = Duration::from_secs(60);
    });
    let job = Job::new(&program, [1; 32], [2; 32], [3; 16]);
    let control = Control::default();
    std::thread::scope(|scope| {
        let received = scope.spawn(|| receiver.run().unwrap());
        let mut observe = |progress: &Progress| clock.change(|state| state.sender = Some(*progress));
        let sent = send(&program, &raster, job, &sender, None, &control, &mut observe).unwrap();
        assert_eq!((sent.executed, received.join().unwrap().executed), (lines, lines));
    });
    let state = clock.state.lock().unwrap();
    (state.underruns, state.lost, state.now)
}

#[test]
fn sixty_megabytes_outlast_stalls_of_five_seconds_in_every_minute_for_an_hour() {
    let (underruns, lost, end) = run(60_000, 5.0);
    assert_eq!((underruns, lost), (0, 0.0));
    // The time that filling took, and an hour without a gap.
    assert!((HOUR..HOUR + 10.0).contains(&end), "{end}");
}

#[test]
fn a_look_ahead_shorter_than_the_stalls_runs_dry_in_every_minute() {
    let (underruns, lost, _) = run(40_000, 5.0);
    assert!(underruns >= 59, "{underruns}");
    // Of each stall about a second is not covered.
    assert!((40.0..120.0).contains(&lost), "{lost}");
}
