//! What the binary says about itself.

use serde_json::Value;

use crate::process::run;

fn said(arguments: &[&str]) -> String {
    String::from_utf8(run(arguments).done()).unwrap()
}

#[test]
fn every_shell_has_completions_that_name_the_commands() {
    for shell in ["bash", "elvish", "fish", "powershell", "zsh"] {
        let script = said(&["completions", shell]);
        for word in ["render", "digest", "memory"] {
            assert!(script.contains(word), "{word} in {shell}");
        }
    }
}

#[test]
fn every_command_has_a_manual_page() {
    assert!(said(&["man"]).contains(".TH relief"));
    for command in [
        "check",
        "plan",
        "render",
        "digest",
        "schema",
        "nodes",
        "explain",
        "fmt",
        "completions",
        "man",
    ] {
        let page = said(&["man", command]);
        assert!(page.contains(".TH") && page.contains(command), "{command}");
        assert!(said(&[command, "--help"]).contains("Usage"), "{command}");
    }
}

#[test]
fn the_schema_is_json_and_the_reference_names_every_kind() {
    let schema: Value = serde_json::from_str(&said(&["schema"])).unwrap();
    assert!(schema.is_object());
    let nodes = said(&["nodes"]);
    for kind in [
        "fill",
        "image",
        "ramp",
        "disc",
        "noise",
        "repeat",
        "lattice",
        "distance",
        "map",
        "threshold",
        "compose",
    ] {
        assert!(nodes.contains(&format!("### `{kind}`")), "{kind}");
    }
}

#[test]
fn every_error_code_is_explained_in_either_case() {
    let list = said(&["explain"]);
    let codes: Vec<&str> = list
        .lines()
        .map(|line| line.split_whitespace().next().unwrap())
        .collect();
    assert!(codes.len() > 20);
    for code in codes {
        assert_eq!(said(&["explain", code]), said(&["explain", &code.to_lowercase()]));
        assert!(said(&["explain", code]).len() > 40, "{code}");
    }
}

#[test]
fn the_version_is_that_of_the_package() {
    assert_eq!(
        said(&["--version"]),
        concat!("relief ", env!("CARGO_PKG_VERSION"), "\n")
    );
}
