//! The binary `toolcrib`, one file per verb. Without a verb it serves.
#![allow(clippy::print_stdout, clippy::print_stderr, reason = "a program for people at a terminal")]

mod add;
mod amount;
mod approve;
mod audit;
mod auth;
mod call;
mod capture;
mod catalogue;
mod check;
mod compat;
mod completions;
mod config;
mod connect;
mod convert;
mod credential;
mod data;
mod demonstration;
mod diff;
mod doctor;
mod edit;
mod exit;
mod explain;
mod form;
mod gateway;
mod greeting;
mod init;
mod judge;
pub mod limits;
mod lint;
mod list;
mod lock;
mod log;
mod origin;
mod progress;
mod reference;
mod registry;
mod safe;
mod search;
mod serve;
mod show;
mod source;
mod status;
mod stop;
mod stubs;
mod suggestion;
mod table;
mod terminal;
mod toolsets;
mod validate;
mod words;
mod workshop;
mod written;

use std::process::ExitCode;

use clap::{Parser, Subcommand};

use crate::exit::{Exit, Failure};

/// Package version and the commit that the binary was built from.
const VERSION: &str = concat!(env!("CARGO_PKG_VERSION"), " (", env!("TOOLCRIB_COMMIT"), ")");

/// A tool call makes about fifty heap allocations. mimalloc takes about a tenth less CPU time per call than the system
/// allocator, with hardly more memory as long as huge pages are off.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// The tool crib for MCP tools: catalogued, inspected, issued against a signature.
#[derive(Debug, Parser)]
#[command(name = "toolcrib", version = VERSION, propagate_version = true, max_term_width = 100)]
#[command(after_help = "Without a verb, toolcrib serves. Exit codes: 0 nothing found, 1 findings, 2 usage, \
                        3 a side could not be loaded or reached, 4 internal failure.")]
struct Cli {
    /// Show no progress.
    #[arg(long, short, global = true)]
    quiet: bool,
    #[command(subcommand)]
    verb: Option<Verb>,
}

#[derive(Debug, Subcommand)]
enum Verb {
    /// Serve other MCP servers, or the demonstration tools, at one endpoint.
    Serve(serve::Args),
    /// Put Toolcrib into a client's own file, or take it out again.
    Connect(connect::Args),
    /// Make a toolcrib.toml from what your clients have already.
    Init(init::Args),
    /// Add a server to toolcrib.toml.
    Add(add::Args),
    /// Remove a server from toolcrib.toml.
    Remove(add::RemoveArgs),
    /// Call a tool; its arguments are checked before they leave.
    Call(call::Args),
    /// Say what runs at an address.
    Status(status::Args),
    /// Find out why something does not work.
    Doctor(doctor::Args),
    /// Print completions for a shell.
    Completions(completions::Args),
    /// Print the manual page.
    Man(completions::ManArgs),
    /// Print the command line as Markdown, or another reference.
    #[command(hide = true)]
    Reference(reference::Args),
    /// Judge or describe configuration files, without starting anything.
    Config(config::Args),
    /// Say what is wrong or unwise in tool definitions.
    Lint(lint::Args),
    /// List the servers of the catalogue, with their tools.
    List(list::Args),
    /// Show tools with signatures a person can read.
    Show(show::Args),
    /// Check arguments or an answer against a tool's contract, with nothing running.
    Validate(validate::Args),
    /// Write typed stubs from the schemas.
    Types(stubs::Args),
    /// Convert catalogue files between formats, losing nothing.
    Convert(convert::Args),
    /// Ask a running server for its tools and fill them into its entry.
    Capture(capture::Args),
    /// Import, export and serve the catalogue.
    Registry(registry::Args),
    /// Say what broke between two lists of tools, each break with the call that used to work.
    Diff(diff::Args),
    /// Pin what servers offer, or approve a changed tool by its digest.
    Lock(lock::Args),
    /// Say what broke between the lock and what servers offer now.
    Check(check::Args),
    /// Find tools by what they do, or measure how well that works.
    Search(search::Args),
    /// Show, allow or deny the calls that wait for a person.
    Approve(approve::Args),
    /// Stop every tool at once, everywhere, until an operator unlocks.
    Stop(stop::StopArgs),
    /// Lift an emergency stop.
    Unlock(stop::UnlockArgs),
    /// Show what was decided, and check that nobody changed it since.
    Audit(audit::Args),
    /// Log in to a server that asks for OAuth, with the browser.
    Auth(auth::Args),
    /// Make and take back bearer credentials.
    Credential(credential::Args),
    /// Say why a client sees a tool and can call it, or why not.
    Explain(explain::Args),
    /// Judge pairs of schemas, one per line.
    Compat(compat::Args),
}

fn main() -> ExitCode {
    let cli = match Cli::try_parse() {
        Ok(cli) => cli,
        Err(error) => return words::refused(&error).into(),
    };
    if cli.quiet {
        progress::be_quiet();
    }
    let outcome = std::panic::catch_unwind(|| match cli.verb {
        None => serve::run(&serve::Args::default()),
        Some(Verb::Serve(args)) => serve::run(&args),
        Some(Verb::Connect(args)) => connect::run(&args),
        Some(Verb::Init(args)) => init::run(&args),
        Some(Verb::Add(args)) => add::run(args),
        Some(Verb::Remove(args)) => add::remove(&args),
        Some(Verb::Call(args)) => call::run(&args),
        Some(Verb::Status(args)) => status::run(&args),
        Some(Verb::Doctor(args)) => doctor::run(&args),
        Some(Verb::Completions(args)) => completions::run(&args),
        Some(Verb::Man(args)) => completions::man(&args),
        Some(Verb::Reference(args)) => reference::run(&args),
        Some(Verb::Config(args)) => config::run(&args),
        Some(Verb::Approve(args)) => approve::run(&args),
        Some(Verb::Stop(args)) => stop::stop(&args),
        Some(Verb::Unlock(args)) => stop::unlock(&args),
        Some(Verb::Audit(args)) => audit::run(&args),
        Some(Verb::Auth(args)) => auth::run(&args),
        Some(Verb::Credential(args)) => credential::run(&args),
        Some(Verb::Lint(args)) => lint::run(&args),
        Some(Verb::List(args)) => list::run(&args),
        Some(Verb::Show(args)) => show::run(&args),
        Some(Verb::Validate(args)) => validate::run(&args),
        Some(Verb::Types(args)) => stubs::run(&args),
        Some(Verb::Convert(args)) => convert::run(&args),
        Some(Verb::Capture(args)) => capture::run(&args),
        Some(Verb::Registry(args)) => registry::run(&args),
        Some(Verb::Diff(args)) => diff::run(&args),
        Some(Verb::Lock(args)) => lock::run(&args),
        Some(Verb::Check(args)) => check::run(&args),
        Some(Verb::Search(args)) => search::run(&args),
        Some(Verb::Explain(args)) => explain::run(&args),
        Some(Verb::Compat(args)) => compat::run(&args),
    });
    match outcome {
        Ok(Ok(exit)) => exit.into(),
        Ok(Err(failure)) => failure.report().into(),
        Err(_) => Exit::Internal.into(),
    }
}

/// Result of a verb: an exit code, or a failure that carries one.
type Outcome = Result<Exit, Failure>;
