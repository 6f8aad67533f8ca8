//! What Relief says about itself: schema, node reference, error codes, completions, manual pages.

use std::io::{self, IsTerminal, Write};

use clap::CommandFactory;

use crate::arguments::{Arguments, Completions, Explain, Man, Nodes};
use crate::failure::Failure;

pub(crate) fn schema() -> Result<(), Failure> {
    writeln!(io::stdout(), "{:#}", relief_design::schema())?;
    Ok(())
}

pub(crate) fn nodes(nodes: &Nodes) -> Result<(), Failure> {
    let page = match &nodes.name {
        None => relief_design::reference(),
        Some(name) => relief_design::reference_of(name).map_err(|near| {
            let near = near.map_or(String::new(), |near| format!("; did you mean {near}?"));
            Failure::Usage(format!(
                "there is no word '{name}' in the language{near} 'relief nodes' shows all"
            ))
        })?,
    };
    io::stdout().write_all(page.as_bytes())?;
    Ok(())
}

pub(crate) fn explain(explain: &Explain) -> Result<(), Failure> {
    let Some(code) = &explain.code else {
        for code in relief_design::codes() {
            let title = relief_design::explain(code)
                .and_then(|text| text.lines().next())
                .unwrap_or_default();
            let title = title.trim_start_matches(['#', ' ']);
            // The heading begins with the code.
            let title = title
                .strip_prefix(code)
                .map_or(title, |rest| rest.trim_start_matches([':', ' ']));
            writeln!(io::stdout(), "{code}  {title}")?;
        }
        return Ok(());
    };
    let upper = code.to_ascii_uppercase();
    let text = relief_design::explain(&upper).ok_or_else(|| {
        Failure::Usage(format!(
            "there is no code '{code}' of an error or a warning; 'relief explain' lists all"
        ))
    })?;
    io::stdout().write_all(text.as_bytes())?;
    Ok(())
}

pub(crate) fn completions(completions: &Completions) -> Result<(), Failure> {
    let mut script = Vec::new();
    clap_complete::generate(
        completions.shell,
        &mut Arguments::command(),
        "relief",
        &mut script,
    );
    io::stdout().write_all(&script)?;
    Ok(())
}

pub(crate) fn man(man: &Man) -> Result<(), Failure> {
    let mut relief = Arguments::command();
    relief.build();
    let command = match &man.command {
        None => relief,
        Some(name) => {
            let known: Vec<String> = relief
                .get_subcommands()
                .map(|known| known.get_name().to_owned())
                .collect();
            relief.find_subcommand(name).cloned().ok_or_else(|| {
                Failure::Usage(format!(
                    "there is no command '{name}'; there are {}",
                    known.join(", ")
                ))
            })?
        }
    };
    let mut page = Vec::new();
    clap_mangen::Man::new(command)
        .source(concat!("relief ", env!("CARGO_PKG_VERSION")))
        .render(&mut page)?;
    io::stdout().write_all(&page)?;
    if io::stdout().is_terminal() {
        let arguments = man
            .command
            .as_ref()
            .map_or(String::new(), |name| format!(" {name}"));
        // A page is a page although nobody hears how to read it.
        let _ = writeln!(
            io::stderr(),
            "relief: this is the source of the page; 'relief man{arguments} | man -l -' shows it"
        );
    }
    Ok(())
}
