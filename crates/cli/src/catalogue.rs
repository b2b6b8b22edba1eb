//! The catalogue that verbs read: the store, or a catalogue file loaded into memory.

use std::path::{Path, PathBuf};

use anyhow::anyhow;
use toolcrib_contract::Definition;
use toolcrib_registry::import::{ImportError, Options, import};
use toolcrib_store::catalogue::{Catalogue, ListQuery, ServerRow};
use toolcrib_store::{DataFolder, StoreError};

use crate::convert::{failure, read, stem};
use crate::exit::{Exit, Failure};

/// Where the catalogue is.
#[derive(Debug, Clone, Default, clap::Args)]
pub(crate) struct Place {
    /// The catalogue's database: a file of SQLite, or postgres://USER@HOST/NAME [default: catalogue.db in the
    /// data folder].
    #[arg(long, env = "TOOLCRIB_STORE", value_name = "PATH|URL", hide_env_values = true)]
    store: Option<String>,
    /// Read this catalogue file instead, in any format.
    #[arg(long, conflicts_with = "store", value_name = "FILE")]
    file: Option<PathBuf>,
}

impl Place {
    /// Opens the catalogue.
    pub(crate) fn open(&self) -> Result<Catalogue, Failure> {
        match (&self.file, &self.store) {
            (Some(file), _) => in_memory(file),
            (None, Some(address)) => Catalogue::open(address).map_err(unreachable),
            (None, None) => DataFolder::open_catalogue(&Self::folder()?).map_err(unreachable),
        }
    }

    /// Returns the data folder, used if no database is named.
    fn folder() -> Result<PathBuf, Failure> {
        DataFolder::default_path(|name| std::env::var(name).ok()).ok_or_else(|| {
            Failure::new(Exit::Usage, anyhow!("neither TOOLCRIB_DATA nor HOME is set"))
                .hint("say where with --store")
        })
    }
}

/// Loads a file's servers into an in-memory catalogue.
pub(crate) fn in_memory(file: &Path) -> Result<Catalogue, Failure> {
    let store = Catalogue::in_memory().map_err(unreachable)?;
    let mut options = Options::default();
    options.lenient = true;
    options.name = stem(file);
    import(&store, read(file)?, &options).map_err(|error| import_failure(file, error))?;
    Ok(store)
}

pub(crate) fn import_failure(file: &Path, error: ImportError) -> Failure {
    match error {
        ImportError::File(error) => failure(file, error),
        other => Failure::new(Exit::Unreachable, other),
    }
}

pub(crate) fn unreachable(error: StoreError) -> Failure {
    Failure::new(Exit::Unreachable, error)
}

/// A server, and the tool if one was named.
#[derive(Debug)]
pub(crate) struct Found {
    pub(crate) server: ServerRow,
    pub(crate) tools: Vec<Definition>,
    /// The tool that was named, if any.
    pub(crate) tool: Option<Definition>,
}

/// Finds `SERVER` or `SERVER/TOOL`, each by the server's full name or its last path segment.
pub(crate) fn find(store: &Catalogue, wanted: &str) -> Result<Found, Failure> {
    if let Some(server) = server(store, wanted)? {
        let tools = tools(store, &server)?;
        return Ok(Found { server, tools, tool: None });
    }
    if let Some((name, tool)) = wanted.rsplit_once('/')
        && let Some(server) = server(store, name)?
    {
        let tools = tools(store, &server)?;
        let found = tools.iter().find(|own| own.name() == tool).cloned();
        let tool = found.ok_or_else(|| {
            let hint = crate::suggestion::hint(tool, tools.iter().map(Definition::name));
            Failure::new(Exit::Usage, anyhow!("{} has no tool {tool:?}", server.name)).hint(hint)
        })?;
        return Ok(Found { server, tools, tool: Some(tool) });
    }
    Err(Failure::new(Exit::Usage, anyhow!("the catalogue has no server {wanted:?}"))
        .hint("`toolcrib list` shows what it has"))
}

/// Returns the latest version of the server `name`. A last path segment that several servers share is an error.
fn server(store: &Catalogue, name: &str) -> Result<Option<ServerRow>, Failure> {
    let exact = name.to_owned();
    let row = store
        .read::<_, StoreError, _>(move |db| db.server(&exact, "latest", true))
        .wait_blocking()
        .map_err(unreachable)?;
    if row.is_some() || name.is_empty() {
        return Ok(row);
    }
    let query = ListQuery {
        search: Some(name.to_owned()),
        version: Some("latest".to_owned()),
        limit: u32::MAX,
        documents: true,
        ..ListQuery::default()
    };
    let rows =
        store.read::<_, StoreError, _>(move |db| db.list(&query)).wait_blocking().map_err(unreachable)?;
    let mut named: Vec<ServerRow> =
        rows.into_iter().filter(|row| row.name.rsplit('/').next() == Some(name)).collect();
    if named.len() > 1 {
        let names: Vec<&str> = named.iter().map(|row| row.name.as_str()).collect();
        return Err(Failure::new(Exit::Usage, anyhow!("{name:?} can be {}", names.join(" or "))));
    }
    Ok(named.pop())
}

fn tools(store: &Catalogue, server: &ServerRow) -> Result<Vec<Definition>, Failure> {
    let (name, version) = (server.name.clone(), server.version.clone());
    let rows = store
        .read::<_, StoreError, _>(move |db| db.tools(&name, &version))
        .wait_blocking()
        .map_err(unreachable)?;
    Ok(rows.iter().filter_map(|row| Definition::parse(&row.definition).ok()).collect())
}
