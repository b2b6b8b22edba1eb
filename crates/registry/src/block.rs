//! Finds the objects that have `tools` and `tool_definitions` in each format.

use toolcrib_contract::json::{Node, Pointer};

use crate::format::Format;
use crate::toolhive::Kind;
use crate::{PUBLISHER_KEY, STACKLOK};

/// Returns every such object with its location: ToolHive entries, also those in groups, and extension blocks.
pub(crate) fn blocks<'d>(format: Format, root: Node<'d>) -> Vec<(Pointer, Node<'d>)> {
    let mut found = Vec::new();
    match format {
        Format::Toolhive
            if root.get("image").is_some() || root.get("servers").is_none() && root.get("url").is_some() =>
        {
            found.push((Pointer::root(), root));
        }
        Format::Toolhive => {
            entries(root, &Pointer::root(), &mut found);
            for (index, group) in root.get("groups").into_iter().flat_map(Node::elements).enumerate() {
                entries(group, &Pointer::root().join("groups").join(index.to_string()), &mut found);
            }
        }
        Format::Upstream => {
            let servers = root.get("data").and_then(|data| data.get("servers"));
            let place = Pointer::root().join("data").join("servers");
            for (index, server) in servers.into_iter().flat_map(Node::elements).enumerate() {
                of_server(server, &place.join(index.to_string()), &mut found);
            }
        }
        Format::Server => of_server(root, &Pointer::root(), &mut found),
        Format::Tools => {}
    }
    found
}

fn entries<'d>(holder: Node<'d>, place: &Pointer, found: &mut Vec<(Pointer, Node<'d>)>) {
    for kind in [Kind::Image, Kind::Remote] {
        for (key, entry) in holder.get(kind.member()).into_iter().flat_map(Node::members) {
            found.push((place.join(kind.member()).join(key.as_str().unwrap_or_default()), entry));
        }
    }
}

fn of_server<'d>(server: Node<'d>, place: &Pointer, found: &mut Vec<(Pointer, Node<'d>)>) {
    let blocks =
        server.get("_meta").and_then(|meta| meta.get(PUBLISHER_KEY)).and_then(|own| own.get(STACKLOK));
    let place = place.join("_meta").join(PUBLISHER_KEY).join(STACKLOK);
    for (key, block) in blocks.into_iter().flat_map(Node::members) {
        found.push((place.join(key.as_str().unwrap_or_default()), block));
    }
}
