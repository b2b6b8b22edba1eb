//! `toolcrib connect CLIENT`: writes Toolcrib into a client's own configuration file after showing the change, and can
//! undo it (R8.5).

pub(crate) mod client;

use std::path::{Path, PathBuf};

use anyhow::anyhow;
use serde_json::{Value, json};

use crate::Outcome;
use crate::connect::client::{Client, Scope};
use crate::edit::{self, EditError, undo};
use crate::exit::{Exit, Failure};
use crate::form::Form;
use crate::terminal::confirmed;

#[derive(Debug, clap::Args)]
#[command(after_help = "The file is shown and copied before it changes; `--undo` takes the change back.")]
pub(crate) struct Args {
    /// The client.
    #[arg(value_enum)]
    client: Client,
    /// Where Toolcrib serves.
    #[arg(long, default_value = client::USUAL_URL)]
    url: String,
    /// The name the client knows it by.
    #[arg(long, default_value = "toolcrib")]
    name: String,
    /// The person's own file, or that of the folder.
    #[arg(long, value_enum, default_value_t = Scope::User)]
    scope: Scope,
    /// Another file than the client's own.
    #[arg(long)]
    file: Option<PathBuf>,
    /// Take the last change back.
    #[arg(long)]
    undo: bool,
    /// Only show what would change.
    #[arg(long)]
    dry_run: bool,
    /// Do not ask.
    #[arg(long, short)]
    yes: bool,
    #[command(flatten)]
    form: Form,
}

impl From<EditError> for Failure {
    fn from(error: EditError) -> Self {
        let exit = match error {
            EditError::Io { .. } => Exit::Unreachable,
            _ => Exit::Usage,
        };
        Self::new(exit, error)
    }
}

pub(crate) fn run(args: &Args) -> Outcome {
    let own = args.client.file_here(args.scope);
    let path = args.file.clone().or(own).ok_or_else(|| {
        let error = anyhow!("{} has no file of this scope that is known", args.client.title());
        Failure::new(Exit::Usage, error).hint("name one with --file")
    })?;
    if args.undo { take_back(args, &path) } else { put_in(args, &path) }
}

fn put_in(args: &Args, path: &Path) -> Outcome {
    let program = std::env::current_exe().map_err(|error| Failure::new(Exit::Internal, error))?;
    let entry = args.client.entry(&args.url, &program.display().to_string());
    let before = edit::read(path)?;
    let text = before.as_deref().unwrap_or_default();
    let after = set(args.client, path, text, &args.name, &entry)?;
    if before.as_deref() == Some(after.as_str()) {
        return said(
            args,
            path,
            "unchanged",
            &format!("{} has it already: {}\n", args.client.title(), path.display()),
        );
    }
    if !agreed(args, path, text, &after)? {
        return said(args, path, "unchanged", "nothing was changed\n");
    }
    undo::keep(path, before.as_deref(), &after, &args.name)?;
    edit::write(path, &after)?;
    let copy = match before {
        Some(_) => format!("the file as it was: {}\n", undo::backup_of(path).display()),
        None => String::new(),
    };
    let back = format!("undo: toolcrib connect {} --undo\n", args.client.name());
    said(
        args,
        path,
        "connected",
        &format!("{} is connected: {}\n{copy}{back}", args.client.title(), path.display()),
    )
}

fn take_back(args: &Args, path: &Path) -> Outcome {
    let client = args.client;
    let (now, undone) = undo::plan(path, |now, before, name| match entry_of(client, path, before, name)? {
        Some(old) => set(client, path, now, name, &old),
        None => remove(client, path, now, name),
    })?;
    let text = match &undone {
        undo::Undone::Restored(text) | undo::Undone::EntryOnly(text) => text.as_str(),
        undo::Undone::Gone => "",
    };
    if !agreed(args, path, &now, text)? {
        return said(args, path, "unchanged", "nothing was changed\n");
    }
    undo::apply(path, &undone)?;
    let (word, how) = match undone {
        undo::Undone::Restored(_) => ("restored", "is what it was, byte for byte"),
        undo::Undone::Gone => ("removed", "was made by toolcrib and is gone"),
        undo::Undone::EntryOnly(_) => ("entry-removed", "changed since; only the entry was taken back"),
    };
    said(args, path, word, &format!("{} {how}\n", path.display()))
}

/// Shows the change and asks for confirmation. Returns false for `--dry-run`, true for `--yes`.
fn agreed(args: &Args, path: &Path, before: &str, after: &str) -> Result<bool, Failure> {
    args.form.remark(&format!("{}\n{}", path.display(), edit::shown(before, after)))?;
    if args.dry_run {
        return Ok(false);
    }
    Ok(args.yes || confirmed("write this?", "agree beforehand with --yes, or look with --dry-run")?)
}

fn said(args: &Args, path: &Path, outcome: &str, text: &str) -> Outcome {
    let json = json!({"client": args.client.name(), "file": path, "outcome": outcome, "name": args.name});
    args.form.say(text, &json)?;
    Ok(Exit::Nothing)
}

fn set(client: Client, path: &Path, text: &str, name: &str, entry: &Value) -> Result<String, EditError> {
    let set = if client.is_toml() { edit::toml::set } else { edit::json::set };
    set(path, text, client.section(), name, entry)
}

fn remove(client: Client, path: &Path, text: &str, name: &str) -> Result<String, EditError> {
    let remove = if client.is_toml() { edit::toml::remove } else { edit::json::remove };
    remove(path, text, client.section(), name)
}

/// Returns the servers in a client's file; those of a TOML file converted to JSON.
pub(crate) fn servers(client: Client, path: &Path, text: &str) -> Result<Value, EditError> {
    let whole: Value = if client.is_toml() {
        toml_edit::de::from_str(text).map_err(|error| EditError::Malformed {
            path: path.to_owned(),
            kind: "TOML",
            cause: error.message().to_owned(),
        })?
    } else {
        edit::json::value(path, text)?
    };
    Ok(whole.get(client.section()).cloned().unwrap_or(Value::Null))
}

fn entry_of(client: Client, path: &Path, text: &str, name: &str) -> Result<Option<Value>, EditError> {
    Ok(servers(client, path, text)?.get(name).cloned())
}
