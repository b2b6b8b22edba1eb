//! Publishing: authorization, checks, and the transaction that stores a version.

use serde_json::json;
use toolcrib_contract::json::{Document, Limits, Node, Pointer};
use toolcrib_contract::{Definition, Digest};
use toolcrib_store::catalogue::{Catalogue, Put, ServerRow, Status, StatusChange};

use super::answer::server_response;
use super::query::Query;
use super::{Options, Request, Response, gate};
use crate::budget::extension_bytes;
use crate::format::Format;
use crate::issue::{Fault, Level, Report};
use crate::limits::{PUBLISH_BYTES_MAX, STATUS_MESSAGE_CHARS_MAX};
use crate::listed::Listed;
use crate::{strict, sync, time, version};

/// Maximum faults named in one response.
pub(super) const DETAILS_MAX: usize = 50;

/// Attempts at one publication; each is judged anew if another version was published in between.
const TRIES: usize = 3;

/// Publisher with a token and the names that it may publish.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Publisher {
    /// Digest of the token; the token itself is not stored.
    token: Digest,
    /// `io.github.acme/*`, a full name, or `*`.
    names: Vec<String>,
}

impl Publisher {
    /// Creates a publisher that may publish `names` with `token`.
    #[must_use]
    pub fn new(token: &str, names: Vec<String>) -> Self {
        Self { token: Digest::of_bytes(token.as_bytes()), names }
    }

    fn may(&self, name: &str) -> bool {
        self.names.iter().any(|own| match own.strip_suffix('*') {
            Some(prefix) => name.starts_with(prefix),
            None => own == name,
        })
    }
}

fn publisher<'o>(options: &'o Options, authorization: Option<&str>) -> Result<&'o Publisher, Response> {
    if options.publishers.is_empty() {
        return Err(Response::error(501, "publishing is switched off: no publisher is configured"));
    }
    let challenge = || Response::error(401, "a bearer token is needed").with("www-authenticate", "Bearer");
    let (scheme, token) = authorization.and_then(|text| text.split_once(' ')).ok_or_else(challenge)?;
    if !scheme.eq_ignore_ascii_case("bearer") {
        return Err(challenge());
    }
    // Digests are compared, so the time that the comparison takes reveals nothing about the token.
    let digest = Digest::of_bytes(token.trim().as_bytes());
    options.publishers.iter().find(|publisher| publisher.token == digest).ok_or_else(challenge)
}

fn allowed(publisher: &Publisher, name: &str) -> Result<(), Response> {
    if publisher.may(name) {
        return Ok(());
    }
    Err(Response::error(403, "this token may not publish under that name"))
}

fn body<'b>(request: &'b Request) -> Result<Document<'b>, Response> {
    let limits = Limits::message().with_bytes_max(PUBLISH_BYTES_MAX);
    Document::parse(&request.body, &limits)
        .map_err(|error| Response::error(400, &format!("the body: {error}")))
}

pub(super) async fn publish(
    catalogue: &Catalogue,
    options: &Options,
    request: &Request,
) -> Result<Response, Response> {
    let publisher = publisher(options, request.authorization.as_deref())?;
    let breaking = Query::read(&request.query)?.choice("breaking", "allow")?;
    let listed = {
        let document = body(request)?;
        let root = document.root();
        let mut report = strict::check(Format::Server, root);
        let name = root.get("name").and_then(Node::as_str).unwrap_or_default();
        allowed(publisher, &name)?;
        let found = extension_bytes(root);
        if found > options.target.bytes_max {
            let (limit, target) = (options.target.bytes_max, options.target.name.clone());
            report.note(
                Pointer::root().join("_meta").join(crate::PUBLISHER_KEY),
                Fault::OverBudget { found, limit, target },
            );
        }
        let read = Listed::read(root, &mut Report::default());
        refuse_faults(&report, &sync::lint(Format::Server, root))?;
        read.map_err(|issue| Response::error(400, &issue.to_string()))?
    };
    if options.gate {
        let tools = listed.tools.clone();
        let judged = tokio::task::spawn_blocking(move || gate::refuse_unusable(&tools)).await;
        judged.map_err(|_| Response::error(500, "the comparison failed"))?.map_err(|refused| *refused)?;
    }
    for _ in 0..TRIES {
        if let Some(row) = attempt(catalogue, options, &listed, breaking).await? {
            return Ok(Response::json(200, server_response(&row)));
        }
    }
    Err(Response::error(409, "other versions of this server are being published; try again"))
}

/// Refuses a document with faults, all of them listed in one response.
fn refuse_faults(report: &Report, sync: &Report) -> Result<(), Response> {
    let all = report.issues().iter().chain(sync.issues());
    let faults: Vec<_> = all.filter(|issue| issue.level() > Level::Note).collect();
    let Some(first) = faults.first() else { return Ok(()) };
    let details: Vec<_> = faults
        .iter()
        .take(DETAILS_MAX)
        .map(|issue| json!({"place": issue.pointer.as_str(), "rule": issue.fault.code(), "message": issue.fault.to_string()}))
        .collect();
    Err(Response::json(400, json!({"error": first.to_string(), "details": details}).to_string()))
}

/// Compares with the latest version, then stores the new one. Returns `None` if another version became the latest in
/// between.
async fn attempt(
    catalogue: &Catalogue,
    options: &Options,
    listed: &Listed,
    breaking: bool,
) -> Result<Option<ServerRow>, Response> {
    let name = listed.name.clone();
    let latest = catalogue
        .read::<_, Response, _>(move |db| {
            let row = db.server(&name, "latest", false)?;
            let tools = match &row {
                Some(row) => db.tools(&name, &row.version)?,
                None => Vec::new(),
            };
            Ok(row.map(|row| (row.version, tools)))
        })
        .wait()
        .await?;
    let judged = latest.as_ref().map(|(version, _)| version.clone());
    if let Some((version, tools)) = latest.filter(|_| options.gate) {
        let old: Vec<Definition> =
            tools.iter().filter_map(|tool| Definition::parse(&tool.definition).ok()).collect();
        let (new_version, new) = (listed.version.clone(), listed.tools.clone());
        let verdict = tokio::task::spawn_blocking(move || {
            gate::judge((&version, &old), (&new_version, &new), breaking)
        });
        verdict
            .await
            .map_err(|_| Response::error(500, "the comparison failed"))?
            .map_err(|refused| *refused)?;
    }
    let new = listed.clone().into_new();
    catalogue
        .write::<_, Response, _>(move |db| {
            let now = db.server(&new.name, "latest", false)?.map(|row| row.version);
            if now != judged {
                return Ok(None);
            }
            match db.put(&new, &time::now())? {
                Put::Added => {}
                Put::Same | Put::Conflict => {
                    return Err(Response::error(400, "cannot publish duplicate version"));
                }
            }
            Ok(db.server(&new.name, &new.version, true)?)
        })
        .wait()
        .await
}

/// Changes the status of one version or of all versions of a server.
pub(super) async fn status(
    catalogue: &Catalogue,
    options: &Options,
    name: String,
    version: Option<String>,
    request: &Request,
) -> Result<Response, Response> {
    allowed(publisher(options, request.authorization.as_deref())?, &name)?;
    let (status, message) = {
        let document = body(request)?;
        let root = document.root();
        let status = root.get("status").and_then(Node::as_str).and_then(|text| Status::from_name(&text));
        let status = status.ok_or_else(|| Response::error(400, "status is active, deprecated or deleted"))?;
        let message = match root.get("statusMessage").filter(|message| !message.is_null()) {
            None => None,
            Some(message) => Some(
                message
                    .as_str()
                    .ok_or_else(|| Response::error(400, "statusMessage is a string"))?
                    .into_owned(),
            ),
        };
        (status, message)
    };
    if message.as_ref().is_some_and(|message| message.chars().count() > STATUS_MESSAGE_CHARS_MAX) {
        return Err(Response::error(
            400,
            &format!("statusMessage has at most {STATUS_MESSAGE_CHARS_MAX} characters"),
        ));
    }
    catalogue
        .write::<_, Response, _>(move |db| {
            let known = match &version {
                Some(version) => db.server(&name, version, true)?.is_some(),
                None => !db.versions(&name, true)?.is_empty(),
            };
            if !known {
                return Err(Response::error(404, "Server not found"));
            }
            let exact = version.as_deref();
            let now = time::now();
            let change = StatusChange { status, message: message.as_deref(), now: &now };
            let changed = db.set_status(&name, exact, change, version::replaces)?;
            if changed == 0 {
                return Err(Response::error(400, "nothing changes"));
            }
            match exact {
                Some(exact) => {
                    let row = db.server(&name, exact, true)?;
                    Ok(Response::json(200, row.as_ref().map(server_response).unwrap_or_default()))
                }
                None => {
                    let rows = db.versions(&name, true)?;
                    let items: Vec<String> = rows.iter().map(server_response).collect();
                    Ok(super::answer::list("servers", &items, None))
                }
            }
        })
        .wait()
        .await
}
