//! Designs of others: what they may name, and what of them reaches the terminal.

use std::path::Path;

use tempfile::TempDir;

use crate::process::{run, run_with, written};

const HEAD: &str = "relief version=1\ncanvas width=8 height=8\n";

/// Whether a terminal would obey something in the text.
fn is_unseen(c: char) -> bool {
    (c.is_control() && c != '\n') || matches!(c, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

fn with_machine(table: &str) -> String {
    format!("{HEAD}scan {{ machine \"{table}\" }}\nfill value=1\n")
}

/// A PGM of one pixel.
fn place(path: &Path) {
    std::fs::write(path, b"P5 1 1 255\n\x09").unwrap();
}

#[test]
fn tables_that_cannot_be_used_are_problems_of_the_design() {
    let folder = TempDir::new().unwrap();
    let file = |name: &str, text: &str| std::fs::write(folder.path().join(name), text).unwrap();
    file(
        "right.json",
        r#"{"name": "laser", "points": [[0, 0], [255, 200]]}"#,
    );
    file(
        "falling.json",
        r#"{"name": "laser", "points": [[9, 0], [3, 200]]}"#,
    );
    file(
        "sixteen.json",
        r#"{"name": "laser", "points": [[0, 0], [65535, 200]]}"#,
    );
    file("other.json", r#"{"curve": [1, 2]}"#);
    std::fs::write(folder.path().join("latin.json"), b"{\"name\": \"\xe9\"}").unwrap();
    // Large enough to be refused, and no byte of it is on the disk.
    let large = std::fs::File::create(folder.path().join("large.json")).unwrap();
    large.set_len(1 << 40).unwrap();
    let check = |table: &str| run(&["check", &written(&folder, &with_machine(table))]);
    assert_eq!(check("right.json").code, Some(0));
    for (table, why) in [
        ("nope.json", "No such file"),
        ("falling.json", "must rise"),
        ("sixteen.json", "must rise"),
        ("other.json", "unknown field"),
        ("latin.json", "UTF-8"),
        ("large.json", "where 4194304 are allowed"),
        (".", "it is a folder"),
    ] {
        let ended = check(table);
        ended.failed(3, "E804");
        let said = ended.err.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(said.contains(table), "{said}");
        assert!(said.replace(" │ ", " ").contains(why), "{said}");
    }
}

#[cfg(unix)]
#[test]
fn no_file_is_read_that_may_never_end() {
    let folder = TempDir::new().unwrap();
    let fifo = folder.path().join("fifo");
    assert!(
        std::process::Command::new("mkfifo")
            .arg(&fifo)
            .status()
            .unwrap()
            .success()
    );
    for table in ["/dev/zero", "fifo"] {
        let design = written(&folder, &with_machine(table));
        for arguments in [
            &["check", &design][..],
            &["plan", &design],
            &["stream", &design, "file:x"],
        ] {
            run(arguments).failed(3, "regular file");
        }
    }
    let design = written(&folder, &format!("{HEAD}fill value=1\n"));
    for file in ["/dev/zero", fifo.to_str().unwrap()] {
        for option in ["--scan", "--material", "--machine"] {
            run(&["stream", &design, "file:/dev/null", option, file]).failed(1, "regular file");
        }
    }
}

#[test]
fn a_confined_design_names_files_in_its_folder_alone() {
    let folder = TempDir::new().unwrap();
    let inside = folder.path().join("inside");
    std::fs::create_dir_all(inside.join("designs")).unwrap();
    place(&folder.path().join("out.pgm"));
    place(&inside.join("in.pgm"));
    let table = r#"{"name": "laser", "points": [[0, 0]]}"#;
    std::fs::write(folder.path().join("out.json"), table).unwrap();
    std::fs::write(inside.join("in.json"), table).unwrap();
    let design = inside.join("designs/design.kdl");
    let root = inside.to_str().unwrap();
    let commands: [&[&str]; 5] = [
        &["check"],
        &["plan"],
        &["digest"],
        &["render", "-f", "null"],
        &["stream"],
    ];
    let outcome = |text: &str| {
        std::fs::write(&design, text).unwrap();
        let design = design.to_str().unwrap();
        commands.map(|command| {
            let machine: &[&str] = if command[0] == "stream" {
                &["file:/dev/null", "--raw", "-q"]
            } else {
                &[]
            };
            run(&[command, &[design], machine, &["--confined", root]].concat())
        })
    };
    let image = |path: &str| format!("{HEAD}image \"{path}\"\n");
    let machine = |path: &str| with_machine(path);
    for text in [image("../in.pgm"), machine("../in.json")] {
        for ended in outcome(&text) {
            assert_eq!(ended.code, Some(0), "{ended:?}");
        }
    }
    let absolute = folder.path().join("out.pgm");
    let mut outside = vec![
        image("../../out.pgm"),
        image("../../nowhere.pgm"),
        image(absolute.to_str().unwrap()),
        machine("../../out.json"),
    ];
    #[cfg(unix)]
    {
        std::os::unix::fs::symlink("../out.pgm", inside.join("link.pgm")).unwrap();
        std::os::unix::fs::symlink("../out.json", inside.join("link.json")).unwrap();
        outside.extend([image("../link.pgm"), machine("../link.json")]);
    }
    for text in outside {
        for ended in outcome(&text) {
            ended.failed(3, "it lies outside the folder");
        }
    }
    // Without the option the design is the user's own.
    std::fs::write(&design, image("../../out.pgm")).unwrap();
    assert_eq!(run(&["check", design.to_str().unwrap()]).code, Some(0));
    let nowhere = folder.path().join("nowhere");
    run(&[
        "check",
        design.to_str().unwrap(),
        "--confined",
        nowhere.to_str().unwrap(),
    ])
    .failed(1, "nowhere");
}

#[test]
fn nothing_that_a_design_or_a_path_says_steers_the_terminal() {
    let folder = TempDir::new().unwrap();
    let texts = [
        format!("{HEAD}image \"\\u{{1b}}]0;owned\\u{{7}}.png\"\n"),
        format!("{HEAD}image \"a\\nb\\u{{202e}}gnp.png\"\n"),
        with_machine("\\u{1b}[2J.json"),
        format!("{HEAD}bogus // \u{1b}]0;owned\u{7}\n"),
        format!("{HEAD}\"\\u{{9b}}31m\" value=1\n"),
    ];
    for text in texts {
        let ended = run(&["check", &written(&folder, &text)]);
        assert_eq!(ended.code, Some(3), "{ended:?}");
        assert!(!ended.err.contains(is_unseen), "{:?}", ended.err);
    }
    let table = folder.path().join("table.json");
    std::fs::write(&table, "{\"\\u001b[2J\": 1}").unwrap();
    let ended = run(&["check", &written(&folder, &with_machine("table.json"))]);
    assert!(!ended.err.contains(is_unseen), "{:?}", ended.err);
    // Rows that others wrote name files, of which is told what has become of them.
    let rows = folder.path().join("rows.csv");
    std::fs::write(&rows, "serial\n\"\u{1b}[31ma\nb\"\n").unwrap();
    let design = written(
        &folder,
        "relief version=1\nparameter \"serial\" \"1\"\ncanvas width=8 height=8\nfill value=1\n",
    );
    for (command, output) in [
        ("render", "{serial}.pgm"),
        ("render", "{serial}.tif"),
        ("stream", "file:{serial}.raw"),
    ] {
        let (kind, name) = output.split_once(':').unwrap_or(("", output));
        let path = folder.path().join(name);
        let place = path.to_str().unwrap();
        let to = match kind {
            "" => vec!["-o".to_owned(), place.to_owned()],
            kind => vec![format!("{kind}:{place}"), "--raw".to_owned()],
        };
        let mut arguments = vec![command, &design, "--each", rows.to_str().unwrap()];
        arguments.extend(to.iter().map(String::as_str));
        let ended = run(&arguments);
        let said = [ended.text(), &ended.err].concat();
        assert!(said.contains("\\u{1b}[31ma\\nb."), "{said:?}");
        assert!(!said.contains(is_unseen), "{said:?}");
    }
    for arguments in [
        &["check", "\u{1b}[2J\n.kdl"][..],
        &["fmt", "\u{1b}[2J\n.kdl"],
        &["explain", "\u{1b}[2J"],
        &["stream", "logo/design.kdl", "file:x", "--scan", "\u{1b}[2J\n"],
        &["verify", "\u{1b}[2J\n.json", "a"],
    ] {
        let ended = run(arguments);
        assert!(
            !ended.err.trim_end().contains(|c| c == '\n' || is_unseen(c)),
            "{:?}",
            ended.err
        );
    }
}

#[test]
fn a_long_wrong_design_is_told_of_in_short() {
    let text = format!("{HEAD}{}", "bogus\t;".repeat(200_000));
    let ended = run_with(&["check", "-"], &text);
    ended.failed(3, "of which the first 100 are shown");
    assert!(ended.err.len() <= 1 << 20, "{} bytes", ended.err.len());
}

#[test]
fn a_missing_file_is_named_with_the_folder_where_it_was_looked_for() {
    let folder = TempDir::new().unwrap();
    let ended = run(&["check", &written(&folder, &format!("{HEAD}image \"nope.png\"\n"))]);
    let said: String = ended.err.split_whitespace().filter(|word| *word != "│").collect();
    let place = folder.path().join("nope.png");
    assert!(said.contains(place.to_str().unwrap()), "{}", ended.err);
}
