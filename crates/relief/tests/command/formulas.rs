//! Lenses, gratings and phase plates as NumPy computes them, by `formulas.py`.
//!
//! `RELIEF_READERS` names a Python with NumPy; without it the test says that it was skipped, unless `RELIEF_REQUIRE_READERS=1` asks for it.

use std::path::Path;
use std::process::Command;

#[test]
fn surfaces_of_lithography_have_the_samples_of_numpy() {
    let python = std::env::var_os("RELIEF_READERS").unwrap_or_else(|| "python3".into());
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/formulas.py");
    let there = Command::new(&python).arg(&script).arg("--check").output();
    if !there.is_ok_and(|output| output.status.success()) {
        let required = std::env::var_os("RELIEF_REQUIRE_READERS").is_some_and(|value| value == "1");
        assert!(!required, "{} has no NumPy", python.display());
        eprintln!("skipped: {} has no NumPy", python.display());
        return;
    }
    let output = Command::new(&python)
        .arg(&script)
        .arg(env!("CARGO_BIN_EXE_relief"))
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(
        output.status.success() && said.lines().count() == 4,
        "{said}\n{}",
        String::from_utf8_lossy(&output.stderr)
    );
}
