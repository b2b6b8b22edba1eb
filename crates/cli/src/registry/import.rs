//! `toolcrib registry import|export|remove`: moves servers into and out of the catalogue.

use std::path::PathBuf;

use anyhow::anyhow;
use serde_json::json;
use toolcrib_contract::json::{Document, Limits};
use toolcrib_registry::convert::{Options as ConvertOptions, convert};
use toolcrib_registry::import::{Options, import};
use toolcrib_registry::{Level, pretty, version};
use toolcrib_store::StoreError;
use toolcrib_store::catalogue::ListQuery;

use crate::Outcome;
use crate::catalogue::{Place, find, import_failure, unreachable};
use crate::convert::{FormatName, failure, read, stem, tell};
use crate::exit::{Exit, Failure, print};
use crate::form::{Form, Format};
use crate::progress::Progress;
use crate::terminal::counted;
use crate::written;

#[derive(Debug, clap::Args)]
pub(crate) struct ImportArgs {
    /// Catalogue files: ToolHive's, upstream, server.json, or lists of tools; JSON or YAML.
    #[arg(required = true)]
    files: Vec<PathBuf>,
    /// The format; found out by its shape unless given.
    #[arg(long, value_enum)]
    from: Option<FormatName>,
    /// Take what can be taken and list the rest, instead of stopping.
    #[arg(long)]
    lenient: bool,
    /// A version that is there with another document is replaced.
    #[arg(long)]
    replace: bool,
    /// The name of a server that the file does not name.
    #[arg(long)]
    name: Option<String>,
    #[command(flatten)]
    form: Form,
    #[command(flatten)]
    place: Place,
}

pub(crate) fn import_files(args: &ImportArgs) -> Outcome {
    let store = args.place.open()?;
    let mut lines = Vec::new();
    let mut found = false;
    for file in &args.files {
        let mut options = Options::default();
        options.from = args.from.map(Into::into);
        options.lenient = args.lenient;
        options.replace = args.replace;
        options.name = args.name.clone().or_else(|| stem(file));
        let done = {
            let progress = Progress::new(&format!("importing {}", file.display()), 0);
            options.counted = Some(progress.counters());
            import(&store, read(file)?, &options).map_err(|error| import_failure(file, error))?
        };
        tell(&file.display().to_string(), &done.report);
        found |= done.report.count(Level::Error) > 0;
        lines.push(match args.form.format() {
            Format::Terminal => format!(
                "{}: {} added, {} replaced, {} unchanged; {}",
                file.display(),
                counted(done.added, "server"),
                done.replaced,
                done.same,
                counted(done.tools, "tool")
            ),
            Format::Json => {
                json!({"file": file.display().to_string(), "added": done.added, "replaced": done.replaced,
                "unchanged": done.same, "tools": done.tools, "issues": done.report.issues().len()})
                .to_string()
            }
        });
    }
    print(&format!("{}\n", lines.join("\n")))?;
    Ok(if found { Exit::Findings } else { Exit::Nothing })
}

#[derive(Debug, clap::Args)]
pub(crate) struct ExportArgs {
    /// The format to write.
    #[arg(long, value_enum, default_value = "upstream")]
    to: FormatName,
    /// Where to write; standard output unless given.
    #[arg(short, long)]
    output: Option<PathBuf>,
    /// Only servers with this in their names.
    search: Option<String>,
    /// Write what can be written and list the rest, instead of stopping.
    #[arg(long)]
    lenient: bool,
    #[command(flatten)]
    place: Place,
}

pub(crate) fn export(args: &ExportArgs) -> Outcome {
    let store = args.place.open()?;
    let query = ListQuery {
        search: args.search.clone(),
        version: Some("latest".to_owned()),
        limit: u32::MAX,
        documents: true,
        ..ListQuery::default()
    };
    let rows =
        store.read::<_, StoreError, _>(move |db| db.list(&query)).wait_blocking().map_err(unreachable)?;
    let updated = rows.iter().map(|row| row.updated_at.as_str()).max().unwrap_or("1970-01-01T00:00:00Z");
    let documents: Vec<&str> = rows.iter().map(|row| row.document.as_str()).collect();
    let upstream = format!(
        r#"{{"version":"1.0.0","meta":{{"last_updated":"{updated}"}},"data":{{"servers":[{}]}}}}"#,
        documents.join(",")
    );
    let mut options = ConvertOptions::default();
    options.lenient = args.lenient;
    let here = PathBuf::from("the catalogue");
    let converted =
        convert(upstream.as_bytes(), args.to.into(), &options).map_err(|error| failure(&here, error))?;
    tell("the catalogue", &converted.report);
    let document = Document::parse(converted.text.as_bytes(), &Limits::file())
        .map_err(|error| Failure::new(Exit::Internal, error))?;
    let text = pretty(document.root());
    match &args.output {
        Some(path) => written::replace(path, &text)?,
        None => print(&text)?,
    }
    Ok(Exit::Nothing)
}

#[derive(Debug, clap::Args)]
pub(crate) struct RemoveArgs {
    /// The server.
    server: String,
    #[command(flatten)]
    form: Form,
    #[command(flatten)]
    place: Place,
}

pub(crate) fn remove(args: &RemoveArgs) -> Outcome {
    let store = args.place.open()?;
    let found = find(&store, &args.server)?;
    if found.tool.is_some() {
        return Err(Failure::new(Exit::Usage, anyhow!("a tool cannot be taken out of its server's entry")));
    }
    let (name, exact) = (found.server.name.clone(), found.server.version.clone());
    store
        .write::<_, StoreError, _>(move |db| db.remove(&name, &exact, version::replaces))
        .wait_blocking()
        .map_err(unreachable)?;
    let (name, version) = (&found.server.name, &found.server.version);
    let json = json!({"outcome": "removed", "server": name, "version": version});
    args.form.say(&format!("removed {name} {version}\n"), &json)?;
    Ok(Exit::Nothing)
}
