//! `toolcrib init`: creates a `toolcrib.toml` from the servers of the user's clients.
//!
//! The clients' files are only read. A server with the same entry in two clients is taken once; with different entries
//! it is taken under a second name. Every entry that cannot be converted is reported.

use std::path::{Path, PathBuf};

use serde_json::{Map, Value, json};

use crate::Outcome;
use crate::add::{CONFIG, HEAD, SECTION, judged};
use crate::connect::client::{Client, Scope};
use crate::connect::servers;
use crate::edit;
use crate::exit::Exit;
use crate::form::Form;
use crate::terminal::{confirmed, counted};

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Only what this client has; may be given several times.
    #[arg(long, value_enum, value_name = "CLIENT")]
    from: Vec<Client>,
    /// The file to write.
    #[arg(long, value_name = "FILE", default_value = CONFIG)]
    config: PathBuf,
    /// Only show what would be written.
    #[arg(long)]
    dry_run: bool,
    /// Do not ask.
    #[arg(long, short)]
    yes: bool,
    #[command(flatten)]
    form: Form,
}

#[derive(Debug, Default)]
struct Import {
    /// Name, entry, and the title of the client that has it.
    found: Vec<(String, Value, &'static str)>,
    remarks: Vec<String>,
}

pub(crate) fn run(args: &Args) -> Outcome {
    let clients = if args.from.is_empty() { Client::ALL.to_vec() } else { args.from.clone() };
    let mut import = Import::default();
    for client in clients {
        let user = client.file_here(Scope::User);
        // In the home folder, both scopes can be the same file.
        let project = client.file_here(Scope::Project).filter(|path| !same(user.as_deref(), path));
        for path in user.iter().chain(&project) {
            import.read(client, path);
        }
    }
    let existing = edit::read(&args.config)?;
    let before = existing.clone().unwrap_or_default();
    let known = edit::toml::names(&args.config, &before, SECTION)?;
    let mut after = existing.clone().unwrap_or_else(|| HEAD.to_owned());
    let mut added = Vec::new();
    for (name, entry, client) in &import.found {
        if known.contains(name) {
            import.remarks.push(format!("{name} of {client}: {} has one already", args.config.display()));
            continue;
        }
        after = edit::toml::set(&args.config, &after, SECTION, name, entry)?;
        added.push(json!({"server": name, "from": client, "entry": entry}));
    }
    if !added.is_empty() {
        judged(&args.config, &after)?;
    } else if existing.is_none() {
        after.push_str("# toolcrib add NAME -- COMMAND …    or    toolcrib add NAME https://…\n");
    }
    let remarks: String = import.remarks.iter().map(|remark| format!("not taken: {remark}\n")).collect();
    let new = added.len();
    let told = |outcome: &str| json!({"outcome": outcome, "file": args.config, "added": added, "not_taken": import.remarks});
    if after == before {
        let text = format!("{remarks}nothing to add to {}\n", args.config.display());
        args.form.say(&text, &told("unchanged"))?;
        return Ok(Exit::Nothing);
    }
    args.form.remark(&format!("{}\n{}{remarks}", args.config.display(), edit::shown(&before, &after)))?;
    if args.dry_run
        || !(args.yes || confirmed("write this?", "agree beforehand with --yes, or look with --dry-run")?)
    {
        args.form.say("nothing was written\n", &told("not written"))?;
        return Ok(Exit::Nothing);
    }
    edit::write(&args.config, &after)?;
    let file = args.config.display();
    let text =
        format!("{file} has {} more\nserve them: toolcrib serve --config {file}\n", counted(new, "server"));
    args.form.say(&text, &told("written"))?;
    Ok(Exit::Nothing)
}

fn same(one: Option<&Path>, other: &Path) -> bool {
    let whole = |path: &Path| path.canonicalize().ok();
    one.and_then(whole).is_some_and(|one| Some(one) == whole(other))
}

impl Import {
    fn read(&mut self, client: Client, path: &std::path::Path) {
        let all = match edit::read(path) {
            Ok(None) => return,
            Ok(Some(text)) => servers(client, path, &text),
            Err(error) => Err(error),
        };
        let all = match all {
            Ok(all) => all,
            Err(error) => return self.remarks.push(error.to_string()),
        };
        for (name, server) in all.as_object().into_iter().flatten() {
            match translated(server) {
                Err(reason) => self.remarks.push(format!("{name} of {}: {reason}", client.title())),
                Ok(entry) => self.take(name, entry, client),
            }
        }
    }

    fn take(&mut self, name: &str, entry: Value, client: Client) {
        let name = allowed(name);
        let same = self.found.iter().find(|(known, ..)| *known == name);
        let name = match same {
            None => name,
            Some((_, known, _)) if *known == entry => return,
            Some(_) => format!("{name}-{}", client.name()),
        };
        if !self.found.iter().any(|(known, ..)| *known == name) {
            self.found.push((name, entry, client.title()));
        }
    }
}

/// Replaces the characters that may not stand in a tool name prefix.
fn allowed(name: &str) -> String {
    let good = |c: char| if c.is_ascii_alphanumeric() || c == '-' || c == '_' { c } else { '-' };
    name.chars().map(good).collect()
}

/// Converts a client's entry into one of `toolcrib.toml`.
fn translated(server: &Value) -> Result<Value, &'static str> {
    let text = |name: &str| server.get(name).and_then(Value::as_str);
    if server.to_string().contains("${input:") {
        return Err("it asks a person for a value; put ${NAME} in its place");
    }
    let mut entry = Map::new();
    if let Some(command) = text("command") {
        if command.rsplit(['/', '\\']).next() == Some("toolcrib") {
            return Err("it is toolcrib itself");
        }
        entry.insert("command".to_owned(), command.into());
        for name in ["args", "env", "cwd"] {
            copy(server, name, name, &mut entry);
        }
    } else if let Some(url) = text("httpUrl").or(text("url")).or(text("serverUrl")) {
        if url.contains("127.0.0.1:7420") || url.contains("localhost:7420") {
            return Err("it is toolcrib itself");
        }
        if text("type") == Some("sse") {
            return Err("it speaks the old SSE transport; use its Streamable HTTP endpoint");
        }
        entry.insert("url".to_owned(), url.into());
        copy(server, "headers", "headers", &mut entry);
        copy(server, "http_headers", "headers", &mut entry);
        if let Some(variable) = text("bearer_token_env_var") {
            entry.insert("bearer".to_owned(), format!("${{{variable}}}").into());
        }
    } else {
        return Err("it has neither a command nor a URL");
    }
    if server.get("disabled") == Some(&json!(true)) || server.get("enabled") == Some(&json!(false)) {
        entry.insert("disabled".to_owned(), true.into());
    }
    Ok(Value::Object(entry))
}

/// Copies a member that is not empty, with scalar values in it converted to strings.
fn copy(server: &Value, from: &str, to: &str, entry: &mut Map<String, Value>) {
    let plain = |value: &Value| match value {
        Value::String(_) => value.clone(),
        other => other.to_string().into(),
    };
    let value = match server.get(from) {
        Some(Value::Object(members)) if !members.is_empty() => {
            let set = members.iter().filter(|(_, value)| !value.is_null());
            Value::Object(set.map(|(name, value)| (name.clone(), plain(value))).collect())
        }
        Some(Value::Array(items)) if !items.is_empty() => Value::Array(items.iter().map(plain).collect()),
        Some(Value::String(text)) => text.as_str().into(),
        _ => return,
    };
    entry.insert(to.to_owned(), value);
}
