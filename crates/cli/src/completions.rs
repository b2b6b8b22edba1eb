//! `toolcrib completions SHELL` and `toolcrib man`, generated from the clap definition of the command line.

use clap::CommandFactory as _;
use clap_complete::Shell;

use crate::exit::{Exit, Failure, print};
use crate::{Cli, Outcome};

#[derive(Debug, clap::Args)]
#[command(
    after_help = "bash: source <(toolcrib completions bash) · zsh: toolcrib completions zsh > ~/.zfunc/_toolcrib · \
                        fish: toolcrib completions fish > ~/.config/fish/completions/toolcrib.fish"
)]
pub(crate) struct Args {
    /// The shell.
    #[arg(value_enum)]
    shell: Shell,
}

pub(crate) fn run(args: &Args) -> Outcome {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut Cli::command(), "toolcrib", &mut script);
    print(&String::from_utf8_lossy(&script))?;
    Ok(Exit::Nothing)
}

#[derive(Debug, clap::Args)]
pub(crate) struct ManArgs {
    /// Write a page for each verb into this folder instead.
    #[arg(long, value_name = "FOLDER")]
    out: Option<std::path::PathBuf>,
}

pub(crate) fn man(args: &ManArgs) -> Outcome {
    if let Some(folder) = &args.out {
        std::fs::create_dir_all(folder)
            .and_then(|()| clap_mangen::generate_to(Cli::command(), folder))
            .map_err(|error| {
                let error = anyhow::Error::new(error).context(folder.display().to_string());
                Failure::new(Exit::Unreachable, error)
            })?;
        return Ok(Exit::Nothing);
    }
    let mut page = Vec::new();
    clap_mangen::Man::new(Cli::command())
        .render(&mut page)
        .map_err(|error| Failure::new(Exit::Internal, error))?;
    print(&String::from_utf8_lossy(&page))?;
    Ok(Exit::Nothing)
}
