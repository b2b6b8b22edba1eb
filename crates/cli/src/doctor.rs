//! `toolcrib doctor`: checks each condition that can keep Toolcrib from working, and says what to do.
//!
//! Starts nothing but a listener, which is closed at once, and writes nothing. A missing data folder is not created.

use std::io::ErrorKind;
use std::net::{TcpListener, TcpStream};
use std::os::unix::fs::FileTypeExt as _;
use std::os::unix::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::time::Duration;

use rustix::fs::{Access, access};
use serde_json::{Value, json};
use toolcrib_contract::text::one_line;
use toolcrib_gateway::config::ProcessEnvironment;
use toolcrib_gateway::{Config, Prefixing};
use toolcrib_server::UNIX_PREFIX;
use toolcrib_store::safety::Look;
use toolcrib_upstream::Transport;

use crate::add::CONFIG;
use crate::connect::client::{Client, Scope, is_there};
use crate::connect::servers;
use crate::data::{Data, now_ms, since};
use crate::exit::{Exit, print};
use crate::form::{Form, Format};
use crate::terminal::{Paint, Style, Table, counted};
use crate::{Outcome, edit};

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The file of servers.
    #[arg(long, value_name = "FILE", default_value = CONFIG)]
    config: PathBuf,
    /// The address to serve at.
    #[arg(long, default_value = "127.0.0.1:7420")]
    listen: String,
    #[command(flatten)]
    data: Data,
    #[command(flatten)]
    form: Form,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Health {
    Fine,
    /// Worth knowing, but not a fault.
    Note,
    Fault,
}

struct Finding {
    what: String,
    health: Health,
    said: String,
}

pub(crate) fn run(args: &Args) -> Outcome {
    let mut findings = vec![finding("version", Health::Fine, crate::VERSION)];
    findings.push(address(&args.listen));
    findings.extend(configuration(&args.config));
    findings.extend(kept(&args.data));
    findings.extend(Client::ALL.into_iter().filter_map(client));
    let fault = findings.iter().any(|finding| finding.health == Health::Fault);
    print(&match args.form.format() {
        Format::Terminal => table(&findings),
        Format::Json => as_json(&findings),
    })?;
    Ok(if fault { Exit::Findings } else { Exit::Nothing })
}

fn finding(what: &str, health: Health, said: impl Into<String>) -> Finding {
    Finding { what: what.to_owned(), health, said: said.into() }
}

fn address(listen: &str) -> Finding {
    if let Some(path) = listen.strip_prefix(UNIX_PREFIX) {
        return socket(listen, Path::new(path));
    }
    let Err(error) = TcpListener::bind(listen) else {
        return finding("address", Health::Fine, format!("{listen} is free"));
    };
    let answering = listen
        .parse()
        .is_ok_and(|address| TcpStream::connect_timeout(&address, Duration::from_millis(500)).is_ok());
    if answering {
        let said = format!("{listen} is taken; `toolcrib status http://{listen}/mcp` says by what");
        return finding("address", Health::Note, said);
    }
    finding("address", Health::Fault, format!("{listen}: {error}; choose another with --listen"))
}

/// Judges the path of a unix socket as `serve` does, without touching it.
fn socket(listen: &str, path: &Path) -> Finding {
    let fault = |why: &str| {
        finding("address", Health::Fault, format!("{listen}: {why}; choose another with --listen"))
    };
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    match std::fs::symlink_metadata(path).map(|about| about.file_type().is_socket()) {
        Ok(false) => fault("the file is there and is no socket"),
        Ok(true) => match answers(path) {
            Ok(()) => {
                let said = format!("{listen} is taken; `toolcrib status {listen}` says by what");
                finding("address", Health::Note, said)
            }
            // The file of a dead process, which `serve` replaces.
            Err(ErrorKind::ConnectionRefused) => {
                finding("address", Health::Fine, format!("{listen} is free"))
            }
            Err(kind) => fault(&kind.to_string()),
        },
        Err(error) if error.kind() != ErrorKind::NotFound => fault(&error.to_string()),
        Err(_) if let Err(error) = SocketAddr::from_pathname(path) => fault(&error.to_string()),
        Err(_) if let Err(error) = access(folder, Access::WRITE_OK) => fault(&format!("its folder: {error}")),
        Err(_) => finding("address", Health::Fine, format!("{listen} is free")),
    }
}

/// Connects to a socket. A blocking `connect` would wait without end for a process whose accept queue is full.
fn answers(path: &Path) -> Result<(), ErrorKind> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime = runtime.map_err(|error| error.kind())?;
    let connected = runtime.block_on(tokio::net::UnixStream::connect(path));
    match connected.map_err(|error| error.kind()) {
        Ok(_) | Err(ErrorKind::WouldBlock) => Ok(()),
        Err(kind) => Err(kind),
    }
}

fn configuration(path: &Path) -> Vec<Finding> {
    let shown = path.display().to_string();
    if !path.exists() {
        let said =
            format!("no {shown}: `toolcrib serve` serves the demonstration; `toolcrib init` makes one");
        return vec![finding("configuration", Health::Note, said)];
    }
    let config = match Config::load(path, Prefixing::Default, &ProcessEnvironment) {
        Ok(config) => config,
        Err(error) => return vec![finding("configuration", Health::Fault, error.to_string())],
    };
    let mut findings = vec![finding(
        "configuration",
        Health::Fine,
        format!("{shown} names {}", counted(config.sources.len(), "server")),
    )];
    if let Some(policy) = &config.safety {
        let said = format!(
            "[safety] of {shown}: destructive tools {}, {}",
            policy.destructive.name(),
            counted(policy.rules.len(), "rule")
        );
        findings.push(finding("policy", Health::Fine, said));
    }
    for source in &config.sources {
        let what = format!("server {}", source.name());
        findings.push(match &source.spec.transport {
            Transport::Http(endpoint) => finding(&what, Health::Fine, endpoint.url.clone()),
            Transport::Stdio(command) => match program(&command.program) {
                Some(path) => finding(&what, Health::Fine, path.display().to_string()),
                None => {
                    let said = format!(
                        "{:?} is no program on PATH; install it or write its whole path",
                        command.program
                    );
                    finding(&what, Health::Fault, said)
                }
            },
        });
    }
    findings
}

/// Reports the emergency stops, the end of the audit, and the number of calls with an unknown outcome.
fn kept(data: &Data) -> Vec<Finding> {
    let Some(path) = data.path().filter(|path| path.is_dir()) else { return Vec::new() };
    let shown = path.display().to_string();
    let look = match Look::at(&path, now_ms()) {
        Ok(Some(look)) => look,
        Ok(None) => return vec![finding("data", Health::Fine, format!("{shown} keeps nothing yet"))],
        Err(error) => return vec![finding("data", Health::Fault, format!("{shown}: {error}"))],
    };
    let mut findings = vec![finding("data", Health::Fine, shown)];
    for stop in &look.stops {
        let said = format!(
            "in force for {} since {}, by {}: {}; `{}` lifts it",
            stop.scope.words(),
            since(stop.since_ms),
            one_line(&stop.by),
            one_line(&stop.reason),
            data.command(&stop.scope.unlock())
        );
        findings.push(finding("emergency stop", Health::Fault, said));
    }
    findings.push(match &look.broken {
        Some(broken) => {
            let verify = data.command("audit verify");
            finding("audit", Health::Fault, format!("broken: {broken}; `{verify}` looks at all of it"))
        }
        None => finding("audit", Health::Fine, "its end is signed and anchored"),
    });
    if look.unknown > 0 {
        let calls = usize::try_from(look.unknown).unwrap_or(usize::MAX);
        let said = format!(
            "nobody knows how {} ended; `{}` shows them",
            counted(calls, "call"),
            data.command("audit unknown")
        );
        findings.push(finding("calls", Health::Note, said));
    }
    findings
}

/// Returns the path of a program, looked up on `PATH` as a shell does.
fn program(name: &str) -> Option<PathBuf> {
    if name.contains('/') {
        return Some(PathBuf::from(name)).filter(|path| path.is_file());
    }
    std::env::split_paths(&std::env::var_os("PATH")?)
        .map(|folder| folder.join(name))
        .find(|path| path.is_file())
}

/// Reports whether a client is connected; `None` if the client is not installed.
fn client(client: Client) -> Option<Finding> {
    let path = client.file_here(Scope::User).filter(|path| is_there(path))?;
    let connect = format!("`toolcrib connect {}`", client.name());
    let text = match edit::read(&path) {
        Ok(Some(text)) => text,
        Ok(None) => return Some(finding(client.title(), Health::Note, format!("not connected: {connect}"))),
        Err(error) => return Some(finding(client.title(), Health::Fault, error.to_string())),
    };
    Some(match servers(client, &path, &text) {
        Err(error) => finding(client.title(), Health::Fault, error.to_string()),
        Ok(Value::Object(all)) if all.contains_key("toolcrib") => {
            finding(client.title(), Health::Fine, format!("connected in {}", path.display()))
        }
        Ok(_) => finding(client.title(), Health::Note, format!("not connected: {connect}")),
    })
}

fn table(findings: &[Finding]) -> String {
    let style = Style::of_stdout();
    let mut table = Table::new(&[]);
    for Finding { what, health, said } in findings {
        let sign = match health {
            Health::Fine => style.paint("ok", Paint::Good),
            Health::Note => style.paint("note", Paint::Faint),
            Health::Fault => style.paint("FAULT", Paint::Bad),
        };
        table.row([sign, what.clone(), said.clone()]);
    }
    // Rendered without a width limit, because instructions must not be cut.
    table.render_plain()
}

fn as_json(findings: &[Finding]) -> String {
    let all: Vec<Value> = findings
        .iter()
        .map(|finding| {
            let health = match finding.health {
                Health::Fine => "ok",
                Health::Note => "note",
                Health::Fault => "fault",
            };
            json!({"what": finding.what, "health": health, "said": finding.said})
        })
        .collect();
    json!({"findings": all}).to_string()
}
