//! The read-only requests.

use toolcrib_contract::json::ObjectWriter;
use toolcrib_contract::{Definition, signature};
use toolcrib_store::catalogue::{Catalogue, ListQuery, Status, ToolQuery};

use super::Response;
use super::answer::{list, server_response};
use super::query::{Query, written, written_offset};

fn not_found(what: &str) -> Response {
    Response::error(404, what)
}

pub(super) async fn servers(catalogue: &Catalogue, query: &str) -> Result<Response, Response> {
    let query = Query::read(query)?;
    let (limit, updated_since) = (query.limit()?, query.updated_since()?);
    let wanted = ListQuery {
        after: query.cursor()?,
        limit: limit + 1,
        search: query.text("search").map(str::to_owned),
        // A client that polls for changes must see deletions.
        include_deleted: query.flag("include_deleted")?.unwrap_or(false) || updated_since.is_some(),
        updated_since,
        version: query.text("version").map(str::to_owned),
        documents: true,
    };
    let rows = catalogue.read::<_, Response, _>(move |db| Ok(db.list(&wanted)?)).wait().await?;
    let page = rows.get(..rows.len().min(limit as usize)).unwrap_or(&rows);
    let next = page.last().filter(|_| rows.len() > page.len()).map(|row| written(&row.name, &row.version));
    let items: Vec<String> = page.iter().map(server_response).collect();
    Ok(list("servers", &items, next.as_deref()))
}

pub(super) async fn versions(catalogue: &Catalogue, name: String, query: &str) -> Result<Response, Response> {
    let deleted = Query::read(query)?.flag("include_deleted")?.unwrap_or(false);
    let rows = catalogue.read::<_, Response, _>(move |db| Ok(db.versions(&name, deleted)?)).wait().await?;
    if rows.is_empty() {
        return Err(not_found("Server not found"));
    }
    let items: Vec<String> = rows.iter().map(server_response).collect();
    Ok(list("servers", &items, None))
}

pub(super) async fn version(
    catalogue: &Catalogue,
    name: String,
    version: String,
    query: &str,
) -> Result<Response, Response> {
    let deleted = Query::read(query)?.flag("include_deleted")?.unwrap_or(false);
    let row =
        catalogue.read::<_, Response, _>(move |db| Ok(db.server(&name, &version, deleted)?)).wait().await?;
    let row = row.ok_or_else(|| not_found("Server not found"))?;
    Ok(Response::json(200, server_response(&row)))
}

pub(super) async fn search_tools(catalogue: &Catalogue, query: &str) -> Result<Response, Response> {
    let query = Query::read(query)?;
    let (limit, offset) = (query.limit()?, query.offset()?);
    let wanted = ToolQuery {
        words: query.text("search").unwrap_or_default().split_whitespace().map(str::to_owned).collect(),
        server: query.text("server").map(str::to_owned),
        read_only: query.flag("read_only")?,
        destructive: query.flag("destructive")?,
        has_output: query.flag("has_output")?,
        limit: limit + 1,
        offset,
    };
    let hits = catalogue.read::<_, Response, _>(move |db| Ok(db.search(&wanted)?)).wait().await?;
    let page = hits.get(..hits.len().min(limit as usize)).unwrap_or(&hits);
    let next = (hits.len() > page.len()).then(|| written_offset(offset.saturating_add(limit)));
    let items: Vec<String> = page
        .iter()
        .map(|hit| tool_text(Some((&hit.server, &hit.version)), &hit.definition, hit.digest.as_deref()))
        .collect();
    Ok(list("tools", &items, next.as_deref()))
}

/// Renders a tool with its signature, effect and digest.
fn tool_text(of: Option<(&str, &str)>, definition: &str, digest: Option<&str>) -> String {
    let mut out = ObjectWriter::new();
    if let Some((server, version)) = of {
        out.string("server", server).string("version", version);
    }
    out.raw("tool", definition);
    if let Ok(read) = Definition::parse(definition) {
        let effect = read.annotations().effect();
        out.string("signature", &signature(&read)).string("effect", effect_name(effect));
    }
    if let Some(digest) = digest {
        out.string("digest", digest);
    }
    out.finish()
}

/// Returns one word for a tool's effect. An unannotated tool is never shown as safe (R1.3).
pub(super) fn effect_name(effect: toolcrib_contract::Effect) -> &'static str {
    match effect {
        toolcrib_contract::Effect { read_only: true, .. } => "read-only",
        toolcrib_contract::Effect { destructive: true, .. } => "destructive",
        _ => "writes",
    }
}

pub(super) async fn tools(
    catalogue: &Catalogue,
    name: String,
    version: String,
) -> Result<Response, Response> {
    let rows = catalogue
        .read::<_, Response, _>(move |db| {
            let row = db.server(&name, &version, false)?;
            if row.is_none_or(|row| row.status == Status::Deleted) {
                return Err(not_found("Server not found"));
            }
            Ok(db.tools(&name, &version)?)
        })
        .wait()
        .await?;
    let items: Vec<String> =
        rows.iter().map(|row| tool_text(None, &row.definition, row.digest.as_deref())).collect();
    Ok(list("tools", &items, None))
}

pub(super) async fn tool(
    catalogue: &Catalogue,
    name: String,
    version: String,
    tool: String,
) -> Result<Response, Response> {
    let row = catalogue
        .read::<_, Response, _>(move |db| Ok(db.tool(&name, &version, &tool)?))
        .wait()
        .await?
        .ok_or_else(|| not_found("Tool not found"))?;
    Ok(Response::json(200, tool_text(None, &row.definition, row.digest.as_deref())))
}
