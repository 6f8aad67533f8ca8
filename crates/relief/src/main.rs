//! `relief`: computes surfaces too large to store.
//!
//! The binary reads arguments, shows progress and turns errors into messages and exit codes; everything else is in
//! the libraries.

mod arguments;
mod batch;
mod commands;
mod design;
mod failure;
mod foreign;
mod interrupt;
mod job;
mod quantity;
mod replace;
mod show;

use std::process::ExitCode;

use clap::{ColorChoice, CommandFactory, FromArgMatches};
use tracing_subscriber::filter::{LevelFilter, Targets};
use tracing_subscriber::prelude::*;

use arguments::{Arguments, Command};

fn main() -> ExitCode {
    return_what_is_freed();
    let arguments = arguments();
    log();
    outlive_limits_of_files();
    let outcome = match arguments.command {
        Command::Check(check) => commands::check::run(&check),
        Command::Plan(plan) => commands::plan::run(&plan),
        Command::Render(render) => commands::render::run(&render),
        Command::Digest(digest) => commands::digest::run(&digest),
        Command::Why(why) => commands::why::run(&why),
        Command::Stats(stats) => commands::stats::run(&stats),
        Command::Diff(diff) => return commands::diff::run(&diff),
        Command::Devices(devices) => commands::devices::run(&devices),
        Command::Stream(stream) => commands::stream::run(&stream),
        Command::Receive(receive) => commands::receive::run(&receive),
        Command::Verify(verify) => commands::verify::run(&verify),
        #[cfg(feature = "view")]
        Command::View(view) => commands::view::run(&view),
        Command::Lab(lab) => {
            return commands::lab::run(&lab).unwrap_or_else(|failure| failure.report());
        }
        Command::Schema => commands::reference::schema(),
        Command::Nodes(nodes) => commands::reference::nodes(&nodes),
        Command::Explain(explain) => commands::reference::explain(&explain),
        Command::Prepare(prepare) => commands::prepare::run(&prepare),
        Command::Pack(pack) => commands::pack::run(&pack),
        Command::Fmt(fmt) => commands::fmt::run(&fmt),
        Command::Completions(completions) => commands::reference::completions(&completions),
        Command::Man(man) => commands::reference::man(&man),
    };
    outcome.map_or_else(|failure| failure.report(), |()| ExitCode::SUCCESS)
}

/// What was asked for; ends the process where it cannot be read, or where only help was asked for.
fn arguments() -> Arguments {
    // Left to itself, clap draws on a terminal that only shows text where the variable CI is set.
    let colors = if show::only_text() {
        ColorChoice::Never
    } else {
        ColorChoice::Auto
    };
    let matches = Arguments::command().color(colors).get_matches();
    Arguments::from_arg_matches(&matches).unwrap_or_else(|error| error.exit())
}

/// Has large blocks returned to the system when they are freed. Left to itself the allocator of glibc keeps the more the larger the blocks that were freed,
/// up to 64 MiB for each of its heaps, which no plan of memory knows. Below 1 MiB returning them takes more time than a job should lose: a quarter of the
/// processor's where tiles are compressed.
#[cfg(all(target_os = "linux", target_env = "gnu"))]
#[allow(unsafe_code)]
fn return_what_is_freed() {
    const BYTES: i32 = 1 << 20;
    for option in [libc::M_TRIM_THRESHOLD, libc::M_MMAP_THRESHOLD] {
        // SAFETY: it is given numbers that it documents, before there are other threads. That it refuses one changes nothing.
        unsafe { libc::mallopt(option, BYTES) };
    }
}

#[cfg(not(all(target_os = "linux", target_env = "gnu")))]
const fn return_what_is_freed() {}

/// Has a file that may not grow fail its write, which is told and cleaned up after, instead of ending the process.
#[cfg(unix)]
fn outlive_limits_of_files() {
    let told = std::sync::Arc::default();
    if let Err(error) = signal_hook::flag::register(signal_hook::consts::SIGXFSZ, told) {
        tracing::warn!("a limit of the size of files ends the process: {error}");
    }
}

#[cfg(not(unix))]
const fn outlive_limits_of_files() {}

/// Writes what the libraries trace to the standard error, where RELIEF_LOG asks for it.
fn log() {
    let Ok(wanted) = std::env::var("RELIEF_LOG") else {
        return;
    };
    let errors = || Targets::new().with_default(LevelFilter::ERROR);
    let (targets, wrong) = match wanted.parse::<Targets>() {
        _ if wanted.trim().is_empty() => (errors(), None),
        // The filter would take a span for the name of a target, and show nothing.
        Ok(_) if wanted.contains('[') => (errors(), Some("spans and fields cannot be chosen".to_owned())),
        Ok(targets) => (targets, None),
        Err(wrong) => (errors(), Some(wrong.to_string())),
    };
    let lines = tracing_subscriber::fmt::layer().with_writer(std::io::stderr);
    tracing_subscriber::registry()
        .with(lines.with_filter(targets))
        .init();
    if let Some(wrong) = wrong {
        tracing::error!(
            "RELIEF_LOG is '{wanted}' ({wrong}), not like 'debug' or 'relief_engine=trace,relief_machine=debug'"
        );
    }
}
