//! Bytes a second over loopback on this machine: raw, framed with checksums and acknowledgements, and a whole job.
//!
//! `cargo bench -p relief-machine --no-default-features` prints the median of five runs each.
#![allow(clippy::unwrap_used, clippy::expect_used)]

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::time::Instant;

use relief_engine::{Cancel, Raster, Rect, SamplesMut};
use relief_machine::message::Job;
use relief_machine::{Address, Control, Machine, Receiver, ReceiverOptions, SenderOptions, send};
use relief_raster::Depth;
use relief_scan::{Program, Scan, Tables, Windows};

/// A raster that costs nothing to compute.
struct Blank;

const WIDTH: u64 = 64 << 10;
const HEIGHT: u64 = 32 << 10;

impl Windows for Blank {
    fn raster(&self) -> Raster {
        Raster {
            width: WIDTH,
            height: HEIGHT,
            depth: Depth::Eight,
            pixel: None,
        }
    }

    fn read(&self, _: Rect, _: SamplesMut<'_>, _: &Cancel) -> Result<(), relief_engine::Error> {
        Ok(())
    }
}

fn raw() -> f64 {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let total = WIDTH * HEIGHT;
    let reader = std::thread::spawn(move || {
        let (mut socket, _) = listener.accept().unwrap();
        let (mut buffer, mut read) = (vec![0; 1 << 20], 0);
        while let Ok(count @ 1..) = socket.read(&mut buffer) {
            read += count as u64;
        }
        assert_eq!(read, total);
    });
    let start = Instant::now();
    let mut socket = TcpStream::connect(address).unwrap();
    let block = vec![0; 1 << 20];
    (0..total >> 20).for_each(|_| socket.write_all(&block).unwrap());
    drop(socket);
    reader.join().unwrap();
    total as f64 / start.elapsed().as_secs_f64()
}

fn framed() -> f64 {
    let options = ReceiverOptions {
        machine: Machine {
            buffer: 32 << 20,
            ..Machine::default()
        },
        ..ReceiverOptions::default()
    };
    let address: Address = "tcp://127.0.0.1:0".parse().unwrap();
    let receiver = Receiver::bind(&address, options).unwrap();
    let program = Program::new(&Scan::default(), &Tables::default(), &Blank.raster()).unwrap();
    let job = Job::new(&program, [0; 32], [0; 32], [0; 16]);
    let sender = SenderOptions::new(receiver.address().clone());
    std::thread::scope(|scope| {
        let received = scope.spawn(|| receiver.run().unwrap());
        let start = Instant::now();
        let sent = send(
            &program,
            &Blank,
            job,
            &sender,
            None,
            &Control::default(),
            &mut |_| (),
        )
        .unwrap();
        let took = start.elapsed().as_secs_f64();
        assert_eq!(
            (sent.executed, received.join().unwrap().executed),
            (HEIGHT, HEIGHT)
        );
        (WIDTH * HEIGHT) as f64 / took
    })
}

#[allow(clippy::print_stdout)]
fn main() {
    for (name, run) in [
        ("raw", raw as fn() -> f64),
        ("framed, checked, acknowledged", framed),
    ] {
        let mut rates: Vec<f64> = (0..5).map(|_| run()).collect();
        rates.sort_by(f64::total_cmp);
        println!("{name}: {:.2} GB/s", rates[2] / 1e9);
    }
}
