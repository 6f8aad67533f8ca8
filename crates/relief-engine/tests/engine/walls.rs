//! The walls of the house: what the modules of the engine name of each other leads down, and never back up.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

/// Files of a folder and those below it.
fn files(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            files(&path, found);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            found.push(path);
        }
    }
}

/// The names that follow `crate::` in a text: one, or those of a list in braces.
fn named(text: &str) -> impl Iterator<Item = String> + '_ {
    text.split("crate::").skip(1).flat_map(|after| {
        let list = match after.strip_prefix('{') {
            Some(list) => list.split("};").next().unwrap_or(list).split(',').collect(),
            None => vec![after],
        };
        list.into_iter().map(|name| {
            let letters = |letter: &char| letter.is_ascii_lowercase() || *letter == '_';
            name.trim_start().chars().take_while(letters).collect::<String>()
        })
    })
}

/// What each module of `folder`, a file or a folder, names of the others.
fn arrows(folder: &Path) -> BTreeMap<String, BTreeSet<String>> {
    let mut found = Vec::new();
    files(folder, &mut found);
    let module = |path: &Path| {
        let first = path.strip_prefix(folder).unwrap().components().next().unwrap();
        let first = first.as_os_str().to_str().unwrap();
        first.strip_suffix(".rs").unwrap_or(first).to_owned()
    };
    let modules: BTreeSet<String> = found
        .iter()
        .map(|path| module(path))
        .filter(|name| name != "lib")
        .collect();
    let mut arrows: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for path in found {
        let own = module(&path);
        let text = fs::read_to_string(&path).unwrap();
        // Comments may name anything, and so may tests.
        let text = text.split("#[cfg(test)]\nmod tests").next().unwrap();
        let code: Vec<&str> = text
            .lines()
            .filter(|line| !line.trim_start().starts_with("//"))
            .collect();
        let of_it = named(&code.join("\n"))
            .filter(|name| *name != own && modules.contains(name))
            .collect::<Vec<_>>();
        arrows.entry(own).or_default().extend(of_it);
    }
    arrows.remove("lib");
    arrows
}

#[test]
fn no_arrow_between_modules_leads_back() {
    let mut arrows = arrows(&Path::new(env!("CARGO_MANIFEST_DIR")).join("src"));
    assert!(
        arrows["nodes"].contains("node") && arrows["renderer"].contains("plan"),
        "{arrows:?}"
    );
    // Modules that name no other are taken away until there are none: those of a circle stay.
    loop {
        let leaves: Vec<String> = (arrows.iter())
            .filter(|(_, to)| to.iter().all(|name| !arrows.contains_key(name)))
            .map(|(name, _)| name.clone())
            .collect();
        if leaves.is_empty() {
            break;
        }
        leaves.iter().for_each(|name| {
            arrows.remove(name);
        });
    }
    assert!(arrows.is_empty(), "these name each other in a circle: {arrows:?}");
}

/// What a node is has one place: no other part of the engine tells kinds apart.
#[test]
fn only_nodes_tell_kinds_apart() {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut found = Vec::new();
    files(&source, &mut found);
    for path in found
        .iter()
        .filter(|path| !path.starts_with(source.join("nodes")))
    {
        let text = fs::read_to_string(path).unwrap();
        let text = text.split("#[cfg(test)]\nmod tests").next().unwrap();
        for (number, line) in text.lines().enumerate() {
            let told = line.match_indices("Kind::").any(|(at, _)| {
                let before = line[..at].chars().next_back();
                let after = line[at + "Kind::".len()..].chars().next();
                // A variant begins with a capital letter, a function of all kinds does not; other types end in these letters as well.
                !before.is_some_and(char::is_alphanumeric) && after.is_some_and(char::is_uppercase)
            });
            let told = told && !line.trim_start().starts_with("//");
            assert!(!told, "{}:{}: {line}", path.display(), number + 1);
        }
    }
}

/// A file without its tests and comments.
fn code(path: &Path) -> String {
    let text = fs::read_to_string(path).unwrap();
    let text = text.split("#[cfg(test)]\nmod tests").next().unwrap();
    let code = text.lines().filter(|line| !line.trim_start().starts_with("//"));
    code.collect::<Vec<_>>().join("\n")
}

/// A node is a file of the language, a file of the engine and a line in the list of each folder: nothing else in any crate names its kind.
/// Words that draw share one file of the engine, which takes what all of them have drawn.
#[test]
fn a_node_is_two_files_and_a_line_in_each_list() {
    let crates = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
    let (language, engine) = (
        crates.join("relief-design/src/kinds"),
        crates.join("relief-engine/src/nodes"),
    );
    let mut all = Vec::new();
    for folder in fs::read_dir(crates).unwrap() {
        let source = folder.unwrap().path().join("src");
        if source.is_dir() {
            files(&source, &mut all);
        }
    }
    let texts: Vec<(&PathBuf, String)> = all.iter().map(|path| (path, code(path))).collect();
    let list = code(&language.join("mod.rs"));
    let (_, list) = list.split_once("\nkinds! {").unwrap();
    let mut nodes = 0;
    for (path, text) in texts.iter().filter(|(path, _)| path.starts_with(&language)) {
        let file = path.file_name().unwrap();
        // The kinds of a file are those that have a signature.
        for kind in text.split("impl NodeKind for ").skip(1) {
            let kind = kind.split_whitespace().next().unwrap();
            // Some are written by a macro of their file.
            if kind.starts_with('$') {
                continue;
            }
            nodes += 1;
            let line = format!("::{kind}");
            let ends = |rest: &str| [",", ";", " =>"].iter().any(|end| rest.starts_with(end));
            let in_list = list.lines().filter_map(|text| text.split_once(&line));
            let in_list = in_list.filter(|(_, rest)| ends(rest));
            assert_eq!(in_list.count(), 1, "lines of {kind} in the list");
            let names = |text: &str| {
                ["kinds::", "Kind::"].iter().any(|path| {
                    let name = format!("{path}{kind}");
                    text.match_indices(&name).any(|(at, _)| {
                        let after = text[at + name.len()..].chars().next();
                        !after.is_some_and(|letter| letter.is_alphanumeric() || letter == '_')
                    })
                })
            };
            for (other, text) in &texts {
                let own = *other == *path || (other.starts_with(&engine) && other.file_name() == Some(file));
                assert!(own || !names(text), "{} names {kind}", other.display());
            }
        }
    }
    assert!(nodes > 40, "{nodes} kinds were found");
}
