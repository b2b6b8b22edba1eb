//! Step between an upstream file with one server and that server.json.

use toolcrib_contract::json::{Node, ObjectWriter, Pointer};

use super::file::{FILE_VERSION, bare_upstream, filled};
use super::{kind, object, payload, read, restored, to_carry};
use crate::carry::slot;
use crate::issue::{Fault, Issue, Report};
use crate::{EPOCH, UPSTREAM_SCHEMA};

const UPSTREAM: &str = "upstream";

fn skeleton() -> String {
    let mut out = ObjectWriter::new();
    out.string("$schema", UPSTREAM_SCHEMA).string("version", FILE_VERSION);
    out.raw("meta", &format!(r#"{{"last_updated":"{EPOCH}"}}"#)).raw("data", r#"{"servers":null}"#);
    out.finish()
}

/// Returns the only server of an upstream file.
pub(crate) fn into_server(root: Node<'_>) -> Result<String, Issue> {
    let list = object(root, "data")?.get("servers");
    let place = Pointer::root().join("data").join("servers");
    let missing = || Issue::new(Pointer::root().join("data"), Fault::Missing { member: "servers" });
    let server = list.ok_or_else(missing)?.element(0).ok_or_else(|| {
        Issue::new(place.clone(), Fault::LeftOut { reason: "the list is empty".to_owned() })
    })?;
    if !server.is_object() {
        return Err(kind(place.join("0"), "an object", server));
    }
    let bare = bare_upstream(root);
    let patch = read(&bare, |bare| to_carry(&skeleton(), bare))??;
    Ok(match payload([("patch", patch)]) {
        Some(carry) => slot::SERVER.with(server, UPSTREAM, &carry),
        None => server.to_compact(),
    })
}

/// Returns an upstream file with this server.
pub(crate) fn from_server(server: Node<'_>, report: &mut Report) -> Result<String, Issue> {
    let carried = slot::SERVER.carried(server, UPSTREAM);
    let skeleton = restored(skeleton(), carried, report)?;
    filled(&skeleton, &[slot::SERVER.without(server, UPSTREAM)], None)
}
