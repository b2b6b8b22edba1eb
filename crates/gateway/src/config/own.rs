//! The format of `toolcrib.toml`. Doc comments of its tables are the descriptions in the published JSON Schema.

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::path::PathBuf;

use ipnet::IpNet;
use schemars::JsonSchema;
use serde::Deserialize;
use toolcrib_contract::nearest;
use toolcrib_engine::toolset::config::SelectionConfig;
use toolcrib_engine::{Mode, Policy, Strictness, Toolset, toolset};
use toolcrib_protocol::Revision;
use toolcrib_upstream::spec::{Command, Endpoint};
use toolcrib_upstream::{Spec, Transport};

use super::oauth::OAuthTable;
use super::place::{ConfigError, Problem};
use super::safety::SafetyTable;
use super::{Auth, Config, Jwks, Jwt, Pins, Prefixing, Reader, TlsFiles, Token, TrustedPeers};
use crate::drift::{Action, Classes};
use crate::limits::{RESULT_BYTES_MIN, UPSTREAMS_MAX};
use crate::naming;
use crate::pattern::Pattern;
use crate::source::{Rule, Source};

/// Which servers stand behind the gateway, and who may call them.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(title = "toolcrib.toml")]
struct File {
    /// The address to listen at, such as 127.0.0.1:7420 or unix:/run/toolcrib.sock.
    listen: Option<String>,
    /// Certificate and key to serve HTTPS with.
    tls: Option<TlsTable>,
    /// Speak HTTP/2 without TLS with clients that begin with it. Over TLS both sides choose.
    #[serde(default)]
    http2: bool,
    /// Addresses or networks of reverse proxies whose Forwarded and X-Forwarded-For headers are believed, such as
    /// 10.0.0.0/8; `unix` for whoever connects over a unix socket.
    #[serde(default)]
    trusted_proxies: Vec<String>,
    /// Whether tools carry their server's name; `always` unless said otherwise.
    prefix: Option<PrefixWord>,
    /// Names the endpoint answers to besides those of this machine.
    #[serde(default)]
    hosts: Vec<String>,
    /// Origins of web pages that may call, such as https://example.org.
    #[serde(default)]
    origins: Vec<String>,
    /// Answer with a stream of one event, instead of plain JSON, whoever lists text/event-stream first.
    #[serde(default)]
    streams_when_listed_first: bool,
    /// The servers, by name.
    #[serde(default)]
    servers: BTreeMap<String, Server>,
    #[serde(default)]
    auth: AuthTable,
    /// Where spans are sent.
    #[serde(default)]
    telemetry: TelemetryTable,
    /// Holds the servers to a lock.
    drift: Option<DriftTable>,
    /// Which calls have to be confirmed.
    #[schemars(with = "Option<SafetyTable>")]
    safety: Option<Policy>,
    /// Toolsets by name: which tools they hold, by patterns over tools, servers and hints.
    #[serde(default)]
    #[schemars(with = "BTreeMap<String, serde_json::Value>")]
    toolsets: BTreeMap<toml::Spanned<String>, Toolset>,
    /// Toolsets that are allowed, and those that are loaded at the start.
    #[serde(default)]
    #[schemars(with = "BTreeMap<String, serde_json::Value>")]
    selection: SelectionConfig,
    /// Modes of clients by pattern over their name: dynamic, static or anthropic.
    #[serde(default)]
    #[schemars(with = "BTreeMap<String, String>")]
    client_modes: BTreeMap<String, Mode>,
    /// Each vendor's names for the callers of tools that code may call.
    #[serde(default)]
    allowed_callers: BTreeMap<String, Vec<Box<str>>>,
}

/// Certificate of the endpoint. Both files are read again when they change.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct TlsTable {
    /// The certificate and those that lead to its authority, PEM.
    cert: PathBuf,
    /// The certificate's private key, PEM.
    key: PathBuf,
}

/// Action on tools that differ from the lock, for each class of change: pass, warn, approve or quarantine.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct DriftTable {
    /// The lock, as `toolcrib lock` writes it.
    #[serde(default = "lock_name")]
    lock: PathBuf,
    breaking: Option<Action>,
    dangerous: Option<Action>,
    compatible: Option<Action>,
    unknown: Option<Action>,
    /// Tools that the lock does not have.
    unpinned: Option<Action>,
}

fn lock_name() -> PathBuf {
    PathBuf::from("toolcrib.lock")
}

fn pins(reader: &Reader<'_>, table: DriftTable) -> Pins {
    let usual = Classes::default();
    let classes = Classes {
        breaking: table.breaking.unwrap_or(usual.breaking),
        dangerous: table.dangerous.unwrap_or(usual.dangerous),
        compatible: table.compatible.unwrap_or(usual.compatible),
        unknown: table.unknown.unwrap_or(usual.unknown),
        unpinned: table.unpinned.unwrap_or(usual.unpinned),
    };
    Pins { lock: reader.folder().join(table.lock), classes }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
enum PrefixWord {
    Always,
    Never,
}

/// One server: a command that speaks MCP over stdio, or a URL.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Server {
    /// The program to start.
    command: Option<String>,
    #[serde(default)]
    args: Vec<String>,
    /// Variables set for the program.
    #[serde(default)]
    env: BTreeMap<String, String>,
    /// Pass on nothing of this process's environment but what a program needs to run at all.
    #[serde(default)]
    clean_env: bool,
    /// The folder to start it in.
    cwd: Option<String>,
    /// The Streamable HTTP endpoint.
    url: Option<String>,
    /// Headers sent with every request.
    #[serde(default)]
    headers: BTreeMap<String, String>,
    /// A bearer token sent with every request.
    bearer: Option<String>,
    /// A file that holds the bearer token.
    bearer_file: Option<PathBuf>,
    /// Certificates to trust besides the system's, PEM.
    ca_file: Option<PathBuf>,
    /// A certificate to show to the server, PEM.
    client_cert: Option<PathBuf>,
    /// The key of that certificate, PEM.
    client_key: Option<PathBuf>,
    /// The proxy on the way to it, such as http://proxy.example:3128; `none` for none. HTTPS_PROXY, HTTP_PROXY,
    /// ALL_PROXY and NO_PROXY say it if this is absent.
    proxy: Option<String>,
    /// Speak HTTP/2 with it without TLS. Over TLS both sides choose.
    #[serde(default)]
    http2: bool,
    /// Tokens by OAuth; `toolcrib auth NAME` logs in.
    oauth: Option<OAuthTable>,
    /// The prefix of its tools instead of its name; an empty text for none.
    prefix: Option<String>,
    /// The toolset its tools belong to.
    toolset: Option<String>,
    /// Only tools whose names fit one of these; `*` stands for anything.
    #[serde(default)]
    include: Vec<String>,
    /// No tools whose names fit one of these.
    #[serde(default)]
    exclude: Vec<String>,
    /// The revision of MCP to speak with it, for a server that does not say the truth about those it speaks or does
    /// some things in one way only; negotiated if absent.
    revision: Option<RevisionWord>,
    /// How long it may take to start and to list what it has, in milliseconds.
    start_ms_max: Option<u64>,
    /// How long one call may take, in milliseconds.
    call_ms_max: Option<u64>,
    /// Leave it out.
    #[serde(default)]
    disabled: bool,
    /// Actions on a broken contract, by tool; the first rule that says something counts.
    #[serde(default)]
    rules: Vec<RuleTable>,
}

/// A published revision of MCP.
#[derive(Debug, Clone, Copy, Deserialize, JsonSchema)]
enum RevisionWord {
    #[serde(rename = "2024-11-05")]
    V2024_11_05,
    #[serde(rename = "2025-03-26")]
    V2025_03_26,
    #[serde(rename = "2025-06-18")]
    V2025_06_18,
    #[serde(rename = "2025-11-25")]
    V2025_11_25,
    #[serde(rename = "2026-07-28")]
    V2026_07_28,
}

impl From<RevisionWord> for Revision {
    fn from(word: RevisionWord) -> Self {
        match word {
            RevisionWord::V2024_11_05 => Self::V2024_11_05,
            RevisionWord::V2025_03_26 => Self::V2025_03_26,
            RevisionWord::V2025_06_18 => Self::V2025_06_18,
            RevisionWord::V2025_11_25 => Self::V2025_11_25,
            RevisionWord::V2026_07_28 => Self::V2026_07_28,
        }
    }
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct RuleTable {
    /// A pattern over the server's own tool names.
    tools: String,
    input: Option<ModeWord>,
    output: Option<ModeWord>,
    /// Bytes of an answer, at least 1024; a longer one is kept as a resource and linked to.
    result_bytes_max: Option<usize>,
}

#[derive(Debug, Clone, Copy, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
enum ModeWord {
    Enforce,
    Warn,
    Off,
}

/// Credentials that callers over HTTP need; if absent, none are needed on loopback.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct AuthTable {
    /// Bearer tokens.
    #[serde(default)]
    tokens: Vec<TokenTable>,
    /// JSON Web Tokens.
    jwt: Option<JwtTable>,
}

/// Where spans are sent; the variables of OpenTelemetry say it too.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct TelemetryTable {
    /// A collector that speaks OTLP over HTTP, such as http://127.0.0.1:4318.
    otlp_endpoint: Option<String>,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct TokenTable {
    /// Whose token it is.
    subject: String,
    token: Option<String>,
    /// A file that holds the token.
    token_file: Option<PathBuf>,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct JwtTable {
    issuer: String,
    audience: String,
    jwks_file: Option<PathBuf>,
    /// Where the issuer publishes its keys: https, or http to a loopback address.
    jwks_url: Option<String>,
    /// A PEM file with certificates that are trusted besides the system's, to fetch `jwks_url`.
    ca_file: Option<PathBuf>,
    /// Scopes a token must have, all of them.
    #[serde(default)]
    scopes: Vec<String>,
}

/// Returns the JSON Schema of `toolcrib.toml`.
#[must_use]
pub fn schema() -> serde_json::Value {
    schemars::schema_for!(File).to_value()
}

pub(super) fn read(reader: &Reader<'_>) -> Result<Config, ConfigError> {
    let file: File = parse(reader)?;
    if file.servers.len() > UPSTREAMS_MAX {
        return Err(reader.error(None, Problem::TooManyServers));
    }
    let prefixed = match (reader.prefixing, file.prefix) {
        (Prefixing::Default, Some(word)) => word == PrefixWord::Always,
        _ => reader.prefixes(),
    };
    let toolsets = toolset::config::Config {
        toolsets: file.toolsets,
        selection: file.selection,
        client_modes: file.client_modes,
        allowed_callers: file.allowed_callers,
    };
    if let Some((at, error)) = toolsets.bad_name() {
        return Err(reader.error(Some(at), Problem::Value(error.to_string())));
    }
    let mut sources = Vec::new();
    for (name, server) in file.servers {
        if !server.disabled {
            sources.push(source(reader, &name, server, prefixed)?);
        }
    }
    Ok(Config {
        listen: file.listen.map(|listen| reader.expand(&listen)).transpose()?,
        tls: file
            .tls
            .map(|tls| TlsFiles { cert: reader.folder().join(tls.cert), key: reader.folder().join(tls.key) }),
        http2: file.http2,
        trusted_proxies: trusted_proxies(reader, &file.trusted_proxies)?,
        sources,
        pins: file.drift.map(|table| pins(reader, table)),
        auth: auth(reader, file.auth)?,
        otlp_endpoint: file.telemetry.otlp_endpoint.map(|url| reader.expand(&url)).transpose()?,
        hosts: file.hosts,
        origins: file.origins,
        streams_when_listed_first: file.streams_when_listed_first,
        toolsets,
        safety: file.safety,
    })
}

/// Parses `trusted_proxies`: addresses, networks and the word `unix`.
fn trusted_proxies(reader: &Reader<'_>, words: &[String]) -> Result<TrustedPeers, ConfigError> {
    let mut proxies = TrustedPeers::default();
    for word in words {
        if word == "unix" {
            proxies.unix = true;
            continue;
        }
        let network = word.parse().or_else(|_| word.parse::<IpAddr>().map(IpNet::from));
        proxies.networks.push(network.map_err(|_| {
            let says =
                format!("{word:?} is no address or network; expected one such as 10.0.0.0/8, or `unix`");
            reader.error(reader.offset(&["trusted_proxies"]), Problem::Value(says))
        })?);
    }
    Ok(proxies)
}

fn parse(reader: &Reader<'_>) -> Result<File, ConfigError> {
    toml::from_str(reader.text).map_err(|error| {
        let offset = error.span().map(|span| span.start);
        reader.error(offset, Problem::Syntax(suggesting(error.message().trim_end())))
    })
}

/// Maximum difference in length between a misspelt name and the suggestion.
const SLIP_BYTES_MAX: usize = 3;

/// Shortens a parser's message that lists all known names to the nearest one, if one is near.
fn suggesting(message: &str) -> String {
    let near = || {
        let (wrong, known) = message.strip_prefix("unknown ")?.split_once(", expected ")?;
        let wrong = wrong.split('`').nth(1)?;
        let near = nearest(wrong, known.split('`').skip(1).step_by(2))?;
        // A typo changes a few characters; values that are far longer, such as dates, are not typos.
        (near.len().abs_diff(wrong.len()) <= SLIP_BYTES_MAX).then_some(())?;
        let (said, _) = message.split_once(", expected ")?;
        Some(format!("{said}; did you mean `{near}`?"))
    };
    near().unwrap_or_else(|| message.to_owned())
}

fn source(reader: &Reader<'_>, name: &str, server: Server, prefixed: bool) -> Result<Source, ConfigError> {
    let near = |problem| {
        let table = reader.text.find(&format!("[servers.{name}"));
        reader.error(table.or_else(|| reader.offset_within(&["servers", name], 2)), problem)
    };
    if let Some((key, whose)) = misplaced(&server) {
        let place = reader.offset_within(&["servers", name, key], 3);
        let problem = format!("{key} is for a server with a {whose}, which {name:?} has not");
        return Err(reader.error(place, Problem::Value(problem)));
    }
    let transport = match (server.command, server.url) {
        (None, None) => return Err(near(Problem::NoTransport(name.to_owned()))),
        (Some(_), Some(_)) => return Err(near(Problem::TwoTransports(name.to_owned()))),
        (Some(program), None) => Transport::Stdio(Command {
            program: reader.expand(&program)?,
            arguments: reader.expand_all(&server.args)?,
            env: reader.expand_map(server.env)?,
            clean_env: server.clean_env,
            folder: server
                .cwd
                .map(|folder| reader.expand(&folder))
                .transpose()?
                .map(|folder| reader.folder().join(folder)),
        }),
        (None, Some(url)) => {
            let mut headers = reader.expand_map(server.headers)?;
            if let Some(token) = secret(reader, server.bearer, server.bearer_file)? {
                headers.insert("Authorization".to_owned(), format!("Bearer {token}"));
            }
            let beside = |file: Option<PathBuf>| file.map(|file| reader.folder().join(file));
            let ca_file = beside(server.ca_file);
            let (client_cert, client_key) = (beside(server.client_cert), beside(server.client_key));
            if client_cert.is_some() != client_key.is_some() {
                let problem = "client_cert and client_key go together";
                return Err(near(Problem::Value(problem.to_owned())));
            }
            let proxy = server.proxy.map(|proxy| reader.expand(&proxy)).transpose()?;
            if server.oauth.is_some() && headers.keys().any(|name| name.eq_ignore_ascii_case("authorization"))
            {
                let problem = "a server has either oauth or a credential of its own in bearer or headers";
                return Err(near(Problem::Value(problem.to_owned())));
            }
            let oauth = server.oauth.map(|table| table.read(reader, &near)).transpose()?;
            let (url, http2) = (reader.expand(&url)?, server.http2);
            Transport::Http(Box::new(Endpoint {
                url,
                headers,
                ca_file,
                client_cert,
                client_key,
                proxy,
                http2,
                oauth,
            }))
        }
    };
    let mut spec = Spec::new(name, transport);
    spec.start_ms_max = server.start_ms_max.unwrap_or(spec.start_ms_max);
    spec.call_ms_max = server.call_ms_max.unwrap_or(spec.call_ms_max);
    spec.revision = server.revision.map(Into::into);
    if server.rules.iter().filter_map(|rule| rule.result_bytes_max).any(|bytes| bytes < RESULT_BYTES_MIN) {
        let problem = format!("RESULT_BYTES_MIN: result_bytes_max is at least {RESULT_BYTES_MIN}");
        let place = reader.offset_within(&["servers", name, "rules"], 3);
        return Err(reader.error(place, Problem::Value(problem)));
    }
    let mut source = Source::new(spec, prefixed);
    match server.prefix.as_deref() {
        Some("") => source.prefix = None,
        Some(own) if reader.prefixing != Prefixing::Never => source.prefix = Some(naming::prefix(own)),
        Some(_) | None => {}
    }
    let patterns = |texts: Vec<String>| texts.iter().map(|text| Pattern::new(text)).collect();
    source.toolset = server.toolset;
    source.include = patterns(server.include);
    source.exclude = patterns(server.exclude);
    source.rules = server.rules.iter().map(rule).collect();
    Ok(source)
}

/// Returns a key that is set but belongs to the other transport, and the transport that it belongs to.
fn misplaced(server: &Server) -> Option<(&'static str, &'static str)> {
    let of_commands = [
        ("args", !server.args.is_empty()),
        ("env", !server.env.is_empty()),
        ("clean_env", server.clean_env),
        ("cwd", server.cwd.is_some()),
    ];
    let of_urls = [
        ("headers", !server.headers.is_empty()),
        ("bearer", server.bearer.is_some()),
        ("bearer_file", server.bearer_file.is_some()),
        ("ca_file", server.ca_file.is_some()),
        ("client_cert", server.client_cert.is_some()),
        ("client_key", server.client_key.is_some()),
        ("proxy", server.proxy.is_some()),
        ("http2", server.http2),
        ("oauth", server.oauth.is_some()),
    ];
    let first =
        |keys: &[(&'static str, bool)]| keys.iter().find(|(_, is_there)| *is_there).map(|(key, _)| *key);
    match (&server.command, &server.url) {
        (None, Some(_)) => first(&of_commands).map(|key| (key, "command")),
        (Some(_), None) => first(&of_urls).map(|key| (key, "url")),
        _ => None,
    }
}

fn rule(table: &RuleTable) -> Rule {
    Rule {
        tools: Pattern::new(&table.tools),
        input: table.input.map(Into::into),
        output: table.output.map(Into::into),
        result_bytes_max: table.result_bytes_max,
    }
}

impl From<ModeWord> for Strictness {
    fn from(word: ModeWord) -> Self {
        match word {
            ModeWord::Enforce => Self::Enforce,
            ModeWord::Warn => Self::Warn,
            ModeWord::Off => Self::Off,
        }
    }
}

/// Returns a secret, either from the configuration file or from a file that it names.
pub(super) fn secret(
    reader: &Reader<'_>,
    text: Option<String>,
    file: Option<PathBuf>,
) -> Result<Option<String>, ConfigError> {
    match (text, file) {
        (Some(text), _) => reader.expand(&text).map(Some),
        (None, Some(file)) => {
            let path = reader.folder().join(&file);
            let shown = file.display().to_string();
            let read = std::fs::read_to_string(&path);
            let unreadable = |error: std::io::Error| {
                reader
                    .error_near(&shown, Problem::UnreadableSecret { path: shown.clone(), kind: error.kind() })
            };
            read.map(|text| Some(text.trim().to_owned())).map_err(unreadable)
        }
        (None, None) => Ok(None),
    }
}

fn auth(reader: &Reader<'_>, table: AuthTable) -> Result<Auth, ConfigError> {
    let mut tokens = Vec::new();
    for entry in table.tokens {
        let problem =
            || Problem::Value(format!("the token of {:?} needs token or token_file", entry.subject));
        let token = secret(reader, entry.token.clone(), entry.token_file.clone())?;
        let token = token
            .filter(|token| !token.is_empty())
            .ok_or_else(|| reader.error_near(&entry.subject, problem()))?;
        tokens.push(Token { subject: entry.subject, token });
    }
    let jwt = match table.jwt {
        None => None,
        Some(jwt) => {
            let jwks = match (jwt.jwks_file, jwt.jwks_url) {
                (Some(file), None) => Jwks::File(reader.folder().join(file)),
                (None, Some(url)) => Jwks::Url(reader.expand(&url)?),
                _ => {
                    let problem = Problem::Value("auth.jwt needs either jwks_file or jwks_url".to_owned());
                    return Err(reader.error_near("[auth.jwt]", problem));
                }
            };
            let ca_file = jwt.ca_file.map(|file| reader.folder().join(file));
            Some(Jwt { issuer: jwt.issuer, audience: jwt.audience, jwks, ca_file, scopes: jwt.scopes })
        }
    };
    Ok(Auth { tokens, jwt })
}
