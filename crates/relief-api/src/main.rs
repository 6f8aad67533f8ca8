//! Lists the public items of the libraries, one a line, and compares them with those that are checked in under `docs/api`.
//!
//! `cargo run -p relief-api` tells what is not there any more and what is new, and ends with 1 where there is anything;
//! `cargo run -p relief-api -- --write` writes the lists. What rustdoc tells in JSON is not stable: with a compiler that
//! tells it otherwise nothing is compared, and that is said.

#![allow(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "a program for the terminal of a developer"
)]

use std::collections::BTreeSet;
use std::error::Error;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

/// The libraries that other programs are written against.
const LIBRARIES: [&str; 11] = [
    "relief-atomic",
    "relief-design",
    "relief-device",
    "relief-engine",
    "relief-io",
    "relief-kernels",
    "relief-machine",
    "relief-view",
    "relief-raster",
    "relief-scan",
    "relief-vector",
];

/// The format of rustdoc's JSON that is read here.
const FORMAT: u64 = 57;

fn main() -> Result<ExitCode, Box<dyn Error>> {
    let write = match std::env::args().skip(1).collect::<Vec<_>>().as_slice() {
        [] => false,
        [flag] if flag == "--write" => true,
        other => {
            eprintln!(
                "relief-api: expected nothing or --write, found {}",
                other.join(" ")
            );
            return Ok(ExitCode::from(2));
        }
    };
    let root = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../..")
        .canonicalize()?;
    let mut changed = false;
    let folder = document(&root)?;
    for library in LIBRARIES {
        let json = folder.join(format!("{}.json", library.replace('-', "_")));
        if format(&json)? != FORMAT {
            eprintln!(
                "relief-api: this compiler's rustdoc writes format {}; {FORMAT} is read: nothing is compared",
                format(&json)?
            );
            return Ok(ExitCode::SUCCESS);
        }
        let items = items(&json)?;
        let path = root.join("docs/api").join(format!("{library}.txt"));
        if write {
            fs::create_dir_all(root.join("docs/api"))?;
            fs::write(&path, items)?;
        } else {
            let known = fs::read_to_string(&path).unwrap_or_default();
            changed |= tell(library, &known, &items);
        }
    }
    if changed {
        println!("if that is meant: cargo run -p relief-api -- --write");
    }
    Ok(ExitCode::from(u8::from(changed)))
}

/// Has rustdoc describe all libraries, without a warning; the folder of its JSON.
fn document(root: &Path) -> Result<PathBuf, Box<dyn Error>> {
    // The flags of the unstable format are rustdoc's alone, and all libraries are described at once: what they depend on, and with which features, is
    // what `cargo doc --workspace` has compiled.
    let this = std::env::current_exe()?;
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let target = this
        .ancestors()
        .find(|path| path.join("CACHEDIR.TAG").exists())
        .ok_or("this program does not stand in a folder of cargo's")?;
    let rustdoc = wrapper(target)?;
    let mut command = Command::new(cargo);
    // `cargo run` says which package runs. Build scripts that read such variables, as that of `ring` does, would run again here and once more for the
    // next command, and all that stands on them would be compiled again.
    for name in std::env::vars_os().filter_map(|(name, _)| name.into_string().ok()) {
        if is_of_package(&name) {
            command.env_remove(name);
        }
    }
    let status = command
        .current_dir(root)
        .env("RUSTDOC", &rustdoc)
        .env(
            "RUSTDOCFLAGS",
            "-D warnings -Zunstable-options --output-format=json",
        )
        .args([
            "doc",
            "--quiet",
            "--workspace",
            "--no-deps",
            "--lib",
            "--locked",
            "--target-dir",
        ])
        .arg(target)
        .status()?;
    if !status.success() {
        return Err("rustdoc failed".into());
    }
    Ok(target.join("doc"))
}

/// Whether `cargo run` sets this variable for the program of a package.
fn is_of_package(name: &str) -> bool {
    ["CARGO_PKG_", "CARGO_MANIFEST_"]
        .iter()
        .any(|start| name.starts_with(start))
}

/// A script that lets a stable rustdoc write JSON.
fn wrapper(target: &Path) -> Result<PathBuf, Box<dyn Error>> {
    let (name, text) = if cfg!(windows) {
        ("relief-rustdoc.cmd", "@set RUSTC_BOOTSTRAP=1\r\n@rustdoc %*\r\n")
    } else {
        (
            "relief-rustdoc",
            "#!/bin/sh\nRUSTC_BOOTSTRAP=1 exec rustdoc \"$@\"\n",
        )
    };
    let path = target.join(name);
    if fs::read_to_string(&path).ok().as_deref() != Some(text) {
        fs::write(&path, text)?;
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt as _;
            fs::set_permissions(&path, fs::Permissions::from_mode(0o755))?;
        }
    }
    Ok(path)
}

fn format(json: &Path) -> Result<u64, Box<dyn Error>> {
    let text = fs::read_to_string(json)?;
    let value: serde_json::Value = serde_json::from_str(&text)?;
    Ok(value["format_version"].as_u64().unwrap_or(0))
}

/// The public items, one a line, without what the compiler derives.
fn items(json: &Path) -> Result<String, Box<dyn Error>> {
    let api = public_api::Builder::from_rustdoc_json(json)
        .omit_blanket_impls(true)
        .omit_auto_trait_impls(true)
        .omit_auto_derived_impls(true)
        .build()?;
    let lines: BTreeSet<String> = api.items().map(|item| format!("{item}\n")).collect();
    Ok(lines.into_iter().collect())
}

/// Tells what differs; whether anything does.
fn tell(library: &str, known: &str, now: &str) -> bool {
    let (known, now): (BTreeSet<&str>, BTreeSet<&str>) = (known.lines().collect(), now.lines().collect());
    if known == now {
        return false;
    }
    println!("{library}:");
    for line in known.difference(&now) {
        println!("- {line}");
    }
    for line in now.difference(&known) {
        println!("+ {line}");
    }
    true
}
