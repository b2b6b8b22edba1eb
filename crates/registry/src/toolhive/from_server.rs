//! Maps a server.json to a ToolHive entry.

use toolcrib_contract::json::{Node, ObjectWriter, Pointer};

use super::{Kind, input};
use crate::extension;
use crate::issue::{Fault, Issue, Report};

/// Extension members before the image or URL, in ToolHive's order.
const BEFORE: [&str; 10] = [
    "tier",
    "status",
    "transport",
    "tools",
    "metadata",
    "repository_url",
    "tags",
    "overview",
    "tool_definitions",
    "custom_metadata",
];
/// Members from the image or URL on, in ToolHive's order.
const AFTER: [&str; 11] = [
    "image",
    "url",
    "target_port",
    "permissions",
    "headers",
    "oauth_config",
    "env_vars",
    "args",
    "provenance",
    "docker_tags",
    "proxy_port",
];
/// Members that come from server.json itself and never from the extension.
const OWN: [&str; 9] =
    ["name", "title", "description", "transport", "repository_url", "image", "url", "target_port", "headers"];

/// Maps `server` to an entry and returns it with its kind.
pub(crate) fn from_server(
    server: Node<'_>,
    with_name: bool,
    report: &mut Report,
) -> Result<(Kind, String), Issue> {
    let subject = Subject::of(server)?;
    let block = match extension::block(server) {
        Ok(found) => found.map(|(_, block)| block),
        Err(fault @ Fault::UnmatchedExtension { .. }) => {
            report.note(Pointer::root().join("_meta"), fault);
            None
        }
        Err(fault) => return Err(Issue::new(Pointer::root().join("_meta"), fault)),
    };
    let mut out = ObjectWriter::new();
    let copy = |key: &str, out: &mut ObjectWriter| {
        if let Some(value) = server.get(key) {
            out.raw(key, &value.to_compact());
        }
    };
    if with_name {
        copy("name", &mut out);
    }
    copy("title", &mut out);
    copy("description", &mut out);
    let own = subject.members(server)?;
    for key in BEFORE.into_iter().chain(AFTER) {
        let made = own.iter().find(|(name, _)| *name == key).map(|(_, value)| value.clone());
        let extended =
            || block.filter(|_| !OWN.contains(&key)).and_then(|block| block.get(key)).map(Node::to_compact);
        match made.or_else(extended) {
            Some(value) => {
                out.raw(key, &value);
            }
            None if key == "status" => {
                out.string(key, "active");
            }
            None => {}
        }
    }
    for (key, value) in block.into_iter().flat_map(Node::members) {
        let name = key.as_str().unwrap_or_default();
        let known = |list: &[&str]| list.contains(&name.as_ref());
        if !known(&BEFORE) && !known(&AFTER) && !known(&OWN) {
            out.copy(key, value);
        }
    }
    Ok((subject.kind, out.finish()))
}

/// Returns the kind of the entry that `server` maps to.
pub(crate) fn kind_of(server: Node<'_>) -> Result<Kind, Issue> {
    Subject::of(server).map(|subject| subject.kind)
}

/// Package or remote that an entry is made from.
struct Subject<'d> {
    kind: Kind,
    node: Node<'d>,
    place: Pointer,
}

impl<'d> Subject<'d> {
    fn of(server: Node<'d>) -> Result<Self, Issue> {
        let packages = Pointer::root().join("packages");
        let mut images = extension::oci_packages(server);
        let (first, count) = (images.next(), 1 + images.count());
        if let Some((index, node)) = first {
            if count > 1 {
                return Err(Issue::new(packages, Fault::SeveralOciPackages { count }));
            }
            return Ok(Self { kind: Kind::Image, node, place: packages.join(index.to_string()) });
        }
        let remote = server.get("remotes").and_then(|remotes| remotes.element(0));
        let node = remote.ok_or_else(|| Issue::new(packages, Fault::NoOciPackage))?;
        Ok(Self { kind: Kind::Remote, node, place: Pointer::root().join("remotes").join("0") })
    }

    /// Returns the members that come from server.json itself.
    fn members(&self, server: Node<'d>) -> Result<Vec<(&'static str, String)>, Issue> {
        let (key, member) = match self.kind {
            Kind::Image => ("identifier", "image"),
            Kind::Remote => ("url", "url"),
        };
        let named = self.node.get(key).filter(|name| name.as_str().is_some());
        let named = named.ok_or_else(|| Issue::new(self.place.clone(), Fault::NoSubject))?;
        let mut out = vec![(member, named.raw().to_owned())];
        let url = server.get("repository").and_then(|repository| repository.get("url"));
        out.extend(
            url.filter(|url| url.as_str().is_some()).map(|url| ("repository_url", url.raw().to_owned())),
        );
        match self.kind {
            Kind::Image => self.image(&mut out)?,
            Kind::Remote => self.remote(&mut out),
        }
        Ok(out)
    }

    fn image(&self, out: &mut Vec<(&'static str, String)>) -> Result<(), Issue> {
        let transport = self.node.get("transport");
        let kind =
            transport.and_then(|transport| transport.get("type")).filter(|kind| kind.as_str().is_some());
        out.push(("transport", kind.map_or_else(|| "\"stdio\"".to_owned(), |kind| kind.raw().to_owned())));
        if let Some(url) = transport.and_then(|transport| transport.get("url")).and_then(Node::as_str) {
            let fault = || {
                Issue::new(
                    self.place.join("transport").join("url"),
                    Fault::BadPort { url: url.as_ref().to_owned() },
                )
            };
            if let Some(port) = port(&url).map_err(|()| fault())? {
                out.push(("target_port", port.to_string()));
            }
        }
        let mut variables = self
            .node
            .get("environmentVariables")
            .map_or_else(Vec::new, |list| input::list_from_server(list, false));
        let runtime = self.node.get("runtimeArguments").into_iter().flat_map(Node::elements);
        variables.extend(runtime.filter_map(input::from_runtime_argument));
        if !variables.is_empty() {
            out.push(("env_vars", format!("[{}]", variables.join(","))));
        }
        let words = self.node.get("packageArguments").map_or_else(Vec::new, input::command_line);
        if !words.is_empty() {
            out.push(("args", format!("[{}]", words.join(","))));
        }
        Ok(())
    }

    fn remote(&self, out: &mut Vec<(&'static str, String)>) {
        let kind = self.node.get("type").filter(|kind| kind.as_str().is_some());
        out.push(("transport", kind.map_or_else(|| "\"sse\"".to_owned(), |kind| kind.raw().to_owned())));
        let headers =
            self.node.get("headers").map_or_else(Vec::new, |list| input::list_from_server(list, true));
        if !headers.is_empty() {
            out.push(("headers", format!("[{}]", headers.join(","))));
        }
    }
}

/// Returns the explicit port of a URL.
fn port(url: &str) -> Result<Option<u16>, ()> {
    let rest = url.split_once("://").map_or(url, |(_, rest)| rest);
    let authority = rest.split(['/', '?', '#']).next().unwrap_or_default();
    let host = authority.rsplit('@').next().unwrap_or_default();
    // A colon inside the brackets of an IPv6 address does not begin a port.
    let after = host.rsplit(']').next().unwrap_or_default();
    match after.rsplit_once(':') {
        None => Ok(None),
        Some((_, port)) if port.starts_with(|c: char| c.is_ascii_digit()) => {
            port.parse().ok().filter(|port| *port > 0).map(Some).ok_or(())
        }
        Some(_) => Err(()),
    }
}

#[cfg(test)]
mod tests {
    use super::port;

    #[test]
    fn ports_are_read_from_urls() {
        assert_eq!(port("http://localhost:8080"), Ok(Some(8080)));
        assert_eq!(port("http://localhost:8080/mcp?x=1:2"), Ok(Some(8080)));
        assert_eq!(port("http://[::1]:90/"), Ok(Some(90)));
        assert_eq!(port("http://[::1]/"), Ok(None));
        assert_eq!(port("http://localhost"), Ok(None));
        for bad in [
            "http://localhost:port",
            "http://localhost:99999",
            "http://localhost:0",
            "http://localhost:",
            "http://localhost:{port}",
        ] {
            assert_eq!(port(bad), Err(()), "{bad}");
        }
    }
}
