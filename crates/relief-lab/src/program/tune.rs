//! `relief-lab tune`: the layout that suits a device, for production to use.

use std::io::{self, Write};
use std::path::PathBuf;

use clap::Args;
use relief_kernels::device::policy_file;
use relief_lab::family::Class;
use relief_lab::policy::Policies;
use relief_lab::tune::tune;
use relief_lab::{Watch, families, selection, steps};

use super::failure::Failure;
use super::{Means, Progress, machines, plan, size, write};

#[derive(Debug, Args)]
pub(crate) struct Tune {
    /// Families or ladders, or 'all'
    #[arg(required = true)]
    families: Vec<String>,
    #[command(flatten)]
    means: Means,
    /// Problems of this many elements, such as 2^24
    #[arg(long, value_name = "N", value_parser = size)]
    size: Option<u64>,
    /// Where the winners go [default: RELIEF_POLICIES, else policies in the folder of compiled kernels]
    #[arg(long, value_name = "FILE")]
    policies: Option<PathBuf>,
    /// Show what would be written, and write nothing
    #[arg(long)]
    dry_run: bool,
}

pub(crate) fn run(arguments: &Tune) -> Result<(), Failure> {
    let families = families::all();
    let asked = match arguments.families.as_slice() {
        [all] if all == "all" => &[],
        asked => asked,
    };
    let ladders = selection::ladders(&families, asked)?;
    let path = arguments.policies.clone().or_else(policy_file);
    let quick = arguments.means.quick;
    for machine in machines(&arguments.means)? {
        if machine.class() == Class::Cpu {
            let problem = "only kernels of devices are tuned; give --device cuda, or vulkan:N";
            return Err(Failure::Usage(problem.to_owned()));
        }
        let plan = plan(&machine, quick, arguments.size);
        let mut watch = Progress::new(arguments.means.quiet);
        watch.begin(ladders.iter().map(|ladder| steps(*ladder, &plan)).sum());
        let mut policies = path.as_deref().and_then(known).unwrap_or_default();
        let searches = tune(&machine, &ladders, &plan, &mut watch);
        watch.end();
        if searches.is_empty() {
            let families = arguments.families.join(", ");
            return Err(Failure::Usage(format!(
                "no kernel of {families} has layouts to search"
            )));
        }
        for search in &searches {
            writeln!(io::stdout(), "{}{}\n", search.heat_map(), search.summary())?;
            search.note(&machine, &mut policies);
        }
        match &path {
            Some(path) if !arguments.dry_run => {
                write(path, &policies.to_string())?;
                writeln!(io::stdout(), "written to {}", path.display())?;
            }
            _ => io::stdout().write_all(policies.to_string().as_bytes())?,
        }
    }
    Ok(())
}

/// What is known already; a file that is none is written anew.
fn known(path: &std::path::Path) -> Option<Policies> {
    Policies::parse(&relief_lab::read_text(path).ok()?).ok()
}
