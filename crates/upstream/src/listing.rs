//! Reads whole lists, page by page.
//!
//! Refuses, by the limit's name, too many items, pages, bytes, or values and keys. Also refuses a cursor that equals
//! the previous one: such a list has no end.

use toolcrib_contract::Definition;
use toolcrib_contract::json::Node;
use toolcrib_protocol::{Code, write};

use crate::catalogue::{Catalogue, Listed};
use crate::connection::Connection;
use crate::error::{Cause, UpstreamError};
use crate::limits::{
    UPSTREAM_ITEMS_MAX, UPSTREAM_LIST_BYTES_MAX, UPSTREAM_LIST_MS_MAX, UPSTREAM_LIST_NODES_MAX,
    UPSTREAM_PAGES_MAX,
};
use crate::request::Request;

pub(crate) async fn catalogue(connection: &Connection) -> Result<Catalogue, UpstreamError> {
    let mut taken = Taken::default();
    let mut tools = Vec::new();
    walk(connection, "tools/list", "tools", &mut taken, |node| tools.push(listed(node))).await?;
    let introduction = connection.introduction();
    let (mut resources, mut templates, mut prompts) = (Vec::new(), Vec::new(), Vec::new());
    if introduction.offers("resources") {
        let take = |node: Node<'_>| resources.push(raw(node));
        walk(connection, "resources/list", "resources", &mut taken, take).await?;
        let take = |node: Node<'_>| templates.push(raw(node));
        walk(connection, "resources/templates/list", "resourceTemplates", &mut taken, take).await?;
    }
    if introduction.offers("prompts") {
        let take = |node: Node<'_>| prompts.push(raw(node));
        walk(connection, "prompts/list", "prompts", &mut taken, take).await?;
    }
    Ok(Catalogue { introduction: introduction.clone(), tools, resources, templates, prompts })
}

/// Lists the tools only.
pub(crate) async fn tools(connection: &Connection) -> Result<Vec<Listed>, UpstreamError> {
    let mut tools = Vec::new();
    let mut taken = Taken::default();
    walk(connection, "tools/list", "tools", &mut taken, |node| tools.push(listed(node))).await?;
    Ok(tools)
}

/// Size of all lists of a server so far.
#[derive(Debug, Default)]
struct Taken {
    bytes: usize,
    nodes: usize,
}

impl Taken {
    fn add(&mut self, page: Node<'_>) -> Result<(), UpstreamError> {
        self.bytes += page.raw().len();
        self.nodes += page.nodes();
        if self.bytes > UPSTREAM_LIST_BYTES_MAX {
            return Err(too_long("UPSTREAM_LIST_BYTES_MAX", UPSTREAM_LIST_BYTES_MAX, "bytes"));
        }
        if self.nodes > UPSTREAM_LIST_NODES_MAX {
            return Err(too_long("UPSTREAM_LIST_NODES_MAX", UPSTREAM_LIST_NODES_MAX, "values and keys"));
        }
        Ok(())
    }
}

/// Bytes of a page that are processed before the task yields.
const TURN_BYTES: usize = 64 * 1024;

fn too_long(limit: &'static str, max: usize, what: &'static str) -> UpstreamError {
    UpstreamError::sent(Cause::ListTooLong { limit, max, what })
}

fn raw(node: Node<'_>) -> Box<str> {
    node.to_compact().into()
}

fn listed(node: Node<'_>) -> Listed {
    let name = node.get("name").and_then(Node::as_str).unwrap_or_default();
    Listed { name: name.as_ref().into(), definition: Definition::from_node(node) }
}

async fn walk(
    connection: &Connection,
    method: &'static str,
    member: &'static str,
    taken: &mut Taken,
    mut take: impl FnMut(Node<'_>),
) -> Result<(), UpstreamError> {
    let mut items = 0;
    let mut cursor: Option<String> = None;
    for _ in 0..UPSTREAM_PAGES_MAX {
        let mut request = Request::new(method);
        if let Some(cursor) = &cursor {
            request = request.raw("cursor", &write::quoted(cursor));
        }
        let message = connection.ask(&request, UPSTREAM_LIST_MS_MAX).await?;
        let result = match message.result() {
            Ok(result) => result,
            // A server that declares a list but does not know its method has an empty list.
            Err(error) if error.code == Code::MethodNotFound.number() && cursor.is_none() => return Ok(()),
            Err(error) => return Err(UpstreamError::sent(Cause::Refused(error))),
        };
        let Some(page) = result.get(member).filter(|page| page.is_array()) else {
            return Err(UpstreamError::sent(Cause::Garbage("a page of its list has no items")));
        };
        items += page.len();
        if items > UPSTREAM_ITEMS_MAX {
            return Err(too_long("UPSTREAM_ITEMS_MAX", UPSTREAM_ITEMS_MAX, "items"));
        }
        taken.add(page)?;
        let mut turn = 0;
        for item in page.elements() {
            take(item);
            turn += item.raw().len();
            if turn > TURN_BYTES {
                turn = 0;
                tokio::task::yield_now().await;
            }
        }
        match result.get("nextCursor").and_then(Node::as_str) {
            None => return Ok(()),
            Some(next) if cursor.as_deref() == Some(&*next) => {
                return Err(UpstreamError::sent(Cause::Garbage("its list goes round in a circle")));
            }
            Some(next) => cursor = Some(next.into_owned()),
        }
    }
    Err(too_long("UPSTREAM_PAGES_MAX", UPSTREAM_PAGES_MAX, "pages"))
}

#[cfg(test)]
mod tests {
    use toolcrib_contract::json::{Document, Limits};

    use super::*;
    use crate::fake;
    use crate::spec::Spec;

    /// R5.6: `UPSTREAM_LIST_NODES_MAX` and `UPSTREAM_LIST_BYTES_MAX` bound all lists of a server together.
    #[test]
    fn lists_are_bounded_together() {
        let refused = |item: &str, count: usize, times: usize| {
            let text = format!("[{}]", vec![item; count].join(","));
            let page = Document::parse(text.as_bytes(), &Limits::file()).unwrap();
            let mut taken = Taken::default();
            let added = (0..times).try_for_each(|_| taken.add(page.root()));
            added.err().map(|error| *error.cause)
        };
        // The array itself counts as a value too.
        let half = UPSTREAM_LIST_NODES_MAX / 2 - 1;
        assert_eq!(refused("0", half, 2), None);
        let (limit, max, what) = ("UPSTREAM_LIST_NODES_MAX", UPSTREAM_LIST_NODES_MAX, "values and keys");
        assert_eq!(refused("0", half, 3), Some(Cause::ListTooLong { limit, max, what }));
        let long = format!("\"{}\"", "x".repeat(UPSTREAM_LIST_BYTES_MAX / 2 - 4));
        assert_eq!(refused(&long, 1, 2), None);
        let (limit, max, what) = ("UPSTREAM_LIST_BYTES_MAX", UPSTREAM_LIST_BYTES_MAX, "bytes");
        assert_eq!(refused(&long, 1, 3), Some(Cause::ListTooLong { limit, max, what }));
    }

    /// R5.6: a page that never arrives.
    #[tokio::test(start_paused = true)]
    async fn a_page_of_a_list_has_upstream_list_ms_max() {
        let url = fake::serve(|asked| (asked.method != "tools/list").then(|| asked.usual())).await;
        let connection = Connection::open(&Spec::url("silent", &url)).await.unwrap();
        let begun = tokio::time::Instant::now();
        let error = tools(&connection).await.unwrap_err();
        assert_eq!(*error.cause, Cause::TooSlow { ms_max: UPSTREAM_LIST_MS_MAX });
        assert_eq!(begun.elapsed(), std::time::Duration::from_millis(UPSTREAM_LIST_MS_MAX));
    }
}
