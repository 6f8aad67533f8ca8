//! `relief-lab`: the program of the lab.
//!
//! It reads arguments, shows progress and turns errors into messages and exit codes; everything else is in the library.

mod program;

fn main() -> std::process::ExitCode {
    program::run()
}
