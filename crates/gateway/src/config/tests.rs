use std::collections::HashMap;

use toolcrib_engine::Strictness;
use toolcrib_upstream::Transport;

use super::*;

struct Variables(HashMap<&'static str, &'static str>);

impl Environment for Variables {
    fn variable(&self, name: &str) -> Option<String> {
        self.0.get(name).map(|value| (*value).to_owned())
    }
}

fn read(path: &str, text: &str) -> Result<Config, ConfigError> {
    let variables = Variables(HashMap::from([("TOKEN", "s3cret"), ("HOME", "/srv/me"), ("EMPTY", "")]));
    Config::read(Path::new(path), text, Prefixing::Default, &variables)
}

fn refused(path: &str, text: &str) -> String {
    read(path, text).unwrap_err().to_string()
}

/// R5.1: `${workspaceFolder}` is the absolute path of the workspace, wherever the file stands and however it is named.
#[test]
fn the_workspace_folder_is_an_absolute_path() {
    let text = r#"{"mcpServers":{"files":{"command":"x","args":["${workspaceFolder}"]}}}"#;
    let here = std::env::current_dir().unwrap();
    for (path, workspace) in [
        ("mcp.json", here.clone()),
        ("./mcp.json", here.clone()),
        ("a/mcp.json", here.join("a")),
        (".vscode/mcp.json", here.clone()),
        ("a/.cursor/mcp.json", here.join("a")),
        ("/srv/a/.vscode/mcp.json", "/srv/a".into()),
        ("/srv/a/mcp.json", "/srv/a".into()),
    ] {
        let config = read(path, text).unwrap();
        let Transport::Stdio(command) = &config.sources[0].spec.transport else { panic!("no command") };
        assert_eq!(command.arguments, [workspace.display().to_string()], "{path}");
    }
}

/// R5.1: a missing variable is an error with its name, and so is one that would expand to nothing.
#[test]
fn an_empty_variable_needs_a_default() {
    let text = |value: &str| format!("[servers.a]\ncommand = \"x\"\nargs = [\"{value}\"]\n");
    let refusal = refused("toolcrib.toml", &text("${EMPTY}"));
    assert!(refusal.contains("the variable EMPTY is not set, or is empty"), "{refusal}");
    assert!(read("toolcrib.toml", &text("${EMPTY:-}")).is_ok());
}

/// R5.1: `toolcrib.toml` is read, with `${VAR}`.
#[test]
fn toolcrib_toml_says_which_servers_and_what_is_wanted_of_them() {
    let config = read(
        "toolcrib.toml",
        r#"
listen = "127.0.0.1:9000"
[servers.files]
command = "npx"
args = ["-y", "server", "${HOME}/x", "$${HOME}"]
env = { A = "${NOPE:-b}" }
exclude = ["write_*"]
call_ms_max = 500
rules = [{ tools = "read_*", output = "warn" }, { tools = "*", input = "off", output = "off" }]
[servers.remote]
url = "https://example.org/mcp"
bearer = "${TOKEN}"
revision = "2025-11-25"
prefix = "web"
[servers.gone]
command = "x"
disabled = true
[[auth.tokens]]
subject = "me"
token = "${TOKEN}"
"#,
    )
    .unwrap();
    assert_eq!(config.listen.as_deref(), Some("127.0.0.1:9000"));
    let [files, remote] = config.sources.as_slice() else { panic!("{:?}", config.sources) };
    let Transport::Stdio(command) = &files.spec.transport else { panic!("no command") };
    assert_eq!(command.arguments, ["-y", "server", "/srv/me/x", "${HOME}"]);
    assert_eq!(command.env.get("A").map(String::as_str), Some("b"));
    assert_eq!((files.prefix.as_deref(), files.spec.call_ms_max), (Some("files"), 500));
    assert_eq!(
        (files.spec.revision, remote.spec.revision),
        (None, Some(toolcrib_protocol::Revision::V2025_11_25))
    );
    assert!(files.admits("read_x") && !files.admits("write_x"));
    assert_eq!(files.validation("read_x").output, Strictness::Warn);
    assert_eq!(files.validation("read_x").input, Strictness::Off);
    let Transport::Http(endpoint) = &remote.spec.transport else { panic!("no url") };
    assert_eq!(endpoint.headers.get("Authorization").map(String::as_str), Some("Bearer s3cret"));
    assert_eq!(remote.prefix.as_deref(), Some("web"));
    assert!(!format!("{config:?}").contains("s3cret"), "a secret is never shown");
}

/// R5.1: the files of other clients are read unchanged.
#[test]
fn files_of_clients_are_read_as_they_are() {
    let claude = r#"{"mcpServers": {"fs": {"command": "npx", "args": ["-y", "x"], "env": {"N": 1, "T": "${TOKEN}"}},
        "web": {"type": "http", "url": "http://x/mcp", "headers": {"A": "${TOKEN}"}}}, "theme": "dark"}"#;
    let config = read("claude.json", claude).unwrap();
    assert_eq!(config.sources.len(), 2);
    let windsurf = r#"{"mcpServers": {"w": {"serverUrl": "http://x/mcp", "disabled": false}, "d": {"command": "x", "disabled": true}}}"#;
    assert_eq!(read("mcp_config.json", windsurf).unwrap().sources.len(), 1);
    let gemini = r#"{"mcpServers": {"g": {"httpUrl": "http://x/mcp", "timeout": 5000, "includeTools": ["a"], "trust": true}}}"#;
    let config = read("settings.json", gemini).unwrap();
    assert!(config.sources[0].admits("a") && !config.sources[0].admits("b"));
    assert_eq!(config.sources[0].spec.call_ms_max, 5000);
    let vscode = "{ // mine\n \"inputs\": [],\n \"servers\": {\"v\": {\"type\": \"stdio\", \"command\": \"${env:HOME}/x\", },},\n}";
    let config = read("mcp.json", vscode).unwrap();
    let Transport::Stdio(command) = &config.sources[0].spec.transport else { panic!("no command") };
    assert_eq!(command.program, "/srv/me/x");
    let codex = "model = \"x\"\n[mcp_servers.c]\ncommand = \"x\"\nargs = [\"a\"]\nstartup_timeout_sec = 2.5\n\
                 [mcp_servers.c.env]\nA = \"1\"\n[mcp_servers.h]\nurl = \"http://x\"\nbearer_token_env_var = \"TOKEN\"\n\
                 startup_timeout_ms = 20_000\n";
    let config = read("config.toml", codex).unwrap();
    assert_eq!(config.sources.len(), 2);
    assert_eq!((config.sources[0].spec.start_ms_max, config.sources[1].spec.start_ms_max), (2500, 20_000));
}

/// R5.1: a missing variable is an error with its name; every error has its place and what was expected.
#[test]
fn a_bad_file_is_refused_with_file_line_column_and_what_was_expected() {
    let server = "[servers.a]\ncommand = \"x\"\n";
    for (path, text, says) in [
        (
            "t.toml",
            "[servers.a]\ncommand = \"${NOPE}\"\n".to_owned(),
            "t.toml:2:12: the variable NOPE is not set",
        ),
        ("t.toml", format!("{server}lisen = 1\n"), "unknown field `lisen`, expected one of `command`"),
        (
            "t.toml",
            format!("listen = 5\n{server}"),
            "t.toml:1:10: invalid type: integer `5`, expected a string",
        ),
        ("t.toml", "[servers.a]\ncommand = \n".to_owned(), "t.toml:2:"),
        ("t.toml", "[servers.a]\n".to_owned(), "t.toml:1:1: server \"a\" needs either a command or a url"),
        ("t.toml", "[servers.a]\ncommand=\"x\"\nurl=\"y\"\n".to_owned(), "has both a command and a url"),
        ("t.toml", "listen = \"x\"\n".to_owned(), "names no servers"),
        ("t.toml", "[servers.a]\ncommand=\"${1x}\"\n".to_owned(), "is no variable"),
        ("t.toml", "[servers.a]\ncommand=\"${\"\n".to_owned(), "is no variable"),
        (
            "t.json",
            "{\"mcpServers\": {\"a\": {\"command\": 5}}}".to_owned(),
            "t.json:1:17: server \"a\": invalid type: integer `5`",
        ),
        ("t.json", "{\"mcpServers\":\n {\"a\" {}}}".to_owned(), "t.json:2:7: expected `:`"),
        (
            "t.json",
            "{\"servers\": {\"a\": {\"command\": \"${input:key}\"}}}".to_owned(),
            "${input:key} asks a person",
        ),
        ("t.toml", format!("{server}call_ms_max = 0\n"), "t.toml:3:15: call_ms_max is 0; expected at least"),
        (
            "t.toml",
            format!("{server}headers = {{ A = \"b\" }}\n"),
            "t.toml:3:1: headers is for a server with a url",
        ),
        (
            "t.toml",
            "[servers.a]\ncommand = \"\"\n".to_owned(),
            "t.toml:2:11: the command \"\" cannot be started",
        ),
        (
            "t.toml",
            "[servers.a]\nurl = \"ftp://x/\"\n".to_owned(),
            "t.toml:2:7: the server's URL cannot be used: it must start with http",
        ),
        (
            "t.toml",
            "[servers.a]\nurl = \"http://x/\"\nheaders = { \"a b\" = \"c\" }\n".to_owned(),
            "t.toml:3:1: the server's URL cannot be used: one of its headers",
        ),
        (
            "t.toml",
            "[servers.a]\nurl = \"https://x/\"\nca_file = \"no-such-file.pem\"\n".to_owned(),
            "t.toml:3:11: no secure connection to x:443: no-such-file.pem",
        ),
        (
            "t.toml",
            format!("listen = \"here\"\n{server}"),
            "t.toml:1:10: \"here\" is no address; expected HOST:PORT",
        ),
        (
            "t.toml",
            format!("origins = [\"x.org\"]\n{server}"),
            "t.toml:1:11: \"x.org\" is no origin; expected",
        ),
        (
            "t.toml",
            format!("{server}prefix = \"p\"\n[servers.b]\ncommand = \"x\"\nprefix = \"p\"\n"),
            "t.toml:6:10: \"a\" and \"b\" would give their tools the same prefix \"p\"",
        ),
        (
            "t.toml",
            format!("{server}revision = \"2023\"\n"),
            "t.toml:3:12: unknown variant `2023`, expected one of",
        ),
        (
            "t.toml",
            format!("{server}rules = [{{ tools = \"*\", result_bytes_max = 9 }}]\n"),
            "t.toml:3:9: RESULT_BYTES_MIN: result_bytes_max is at least 1024",
        ),
        ("t.toml", "[servers.\"\"]\ncommand = \"x\"\n".to_owned(), "a server has a name that is not empty"),
        (
            "t.json",
            "{\"mcpServers\": {\"a\": {\"command\": \"x\"},\n\"a\": {\"command\": \"y\"}}}".to_owned(),
            "t.json:2:1: server \"a\" stands there twice",
        ),
        (
            "t.json",
            "{\"mcpServers\": {\"a\": {\n\"url\": \"nowhere\"}}}".to_owned(),
            "t.json:2:1: the server's URL cannot be used",
        ),
    ] {
        let message = refused(path, &text);
        assert!(message.contains(says), "{text}: {message}");
    }
    assert!(refused("t.toml", "").contains("names no servers"));
}

/// R5.1: the published schema is generated from the types that parse the file.
#[test]
fn the_published_schema_is_current() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/reference/toolcrib.schema.json");
    let mut text = serde_json::to_string_pretty(&schema()).unwrap();
    text.push('\n');
    if std::env::var_os("TOOLCRIB_WRITE_REFERENCE").is_some() {
        std::fs::create_dir_all(Path::new(path).parent().unwrap()).unwrap();
        std::fs::write(path, &text).unwrap();
    }
    assert_eq!(
        std::fs::read_to_string(path).unwrap_or_default(),
        text,
        "run with TOOLCRIB_WRITE_REFERENCE=1"
    );
}

/// R3.2: toolsets are in the same file as the servers; a server's own toolset can be selected before it answers.
#[test]
fn toolsets_stand_beside_the_servers() {
    let servers = "[servers.files]\ncommand = \"npx\"\n";
    let text = format!(
        "{servers}[toolsets.reading]\ntools = [\"*_read\"]\nservers = [\"files\"]\n[selection]\ndefault = [\"files\"]\n\
         [client_modes]\n\"codex*\" = \"dynamic\"\n"
    );
    let mut options = toolcrib_engine::ToolsetOptions::default();
    read("toolcrib.toml", &text).unwrap().select(&mut options);
    assert_eq!((&*options.declared[0].name, &*options.expected[0]), ("reading", "files"));
    assert!(options.is_on());
    let misspelt = refused("toolcrib.toml", &format!("{servers}[toolsets.reading]\ntool = []\n"));
    assert!(misspelt.contains(":4:1") || misspelt.contains("line 4"), "{misspelt}");
    let unnamed = refused("toolcrib.toml", &format!("{servers}[toolsets.\"a b\"]\n"));
    assert!(unnamed.contains("cannot be a toolset's name"), "{unnamed}");
}

/// R12.5: the section `[safety]` is read with the file; an error in it has its place and suggests the nearest name.
#[test]
fn the_section_safety_is_read_with_the_file() {
    let server = "[servers.a]\ncommand = \"x\"\n";
    let said = |safety: &str| read("toolcrib.toml", &format!("{server}{safety}"));
    assert_eq!(said("").unwrap().safety, None);
    let rules =
        "[safety]\ndestructive = \"always\"\n[[safety.rules]]\ntools = [\"a__*\"]\ndemand = \"human\"\n";
    let policy = said(rules).unwrap().safety.unwrap();
    assert_eq!(policy, toolcrib_engine::Policy::parse(rules).unwrap());
    for (safety, says) in [
        (
            "[safety]\ndestructve = \"always\"\n",
            "toolcrib.toml:4:1: unknown field `destructve`; did you mean `destructive`?",
        ),
        (
            "[[safety.rules]]\ntools = [\"*\"]\ndemnd = \"human\"\n",
            "toolcrib.toml:5:1: unknown field `demnd`; did you mean `demand`?",
        ),
        (
            "[safety]\ndestructive = \"humans\"\n",
            "toolcrib.toml:4:15: unknown variant `humans`; did you mean `human`?",
        ),
        ("[safty]\n", "unknown field `safty`; did you mean `safety`?"),
    ] {
        let message = refused("toolcrib.toml", &format!("{server}{safety}"));
        assert!(message.contains(says), "{safety}: {message}");
    }
    let json = r#"{"mcpServers": {"a": {"command": "x"}}, "safety": {"destructive": "human"}}"#;
    assert_eq!(read("mcp.json", json).unwrap().safety, None, "another program's file");
}

/// R5.9: an issuer whose keys would be fetched over plain http is refused at the place of the URL.
#[test]
fn an_issuer_whose_keys_come_over_plain_http_is_refused_in_its_line() {
    let file = |url: &str| {
        format!(
            "[servers.s]\ncommand = \"x\"\n[auth.jwt]\nissuer = \"https://i\"\naudience = \"https://a\"\n\
             jwks_url = \"{url}\"\n"
        )
    };
    let config = read("toolcrib.toml", &file("https://login.example.org/jwks")).unwrap();
    assert_eq!(config.auth.jwt.unwrap().jwks, Jwks::Url("https://login.example.org/jwks".to_owned()));
    let says = refused("toolcrib.toml", &file("http://login.example.org/jwks"));
    assert!(says.contains("toolcrib.toml:6:12") && says.contains("expected https://HOST/PATH"), "{says}");
}

/// R5.1: a file over the size limit is refused by the limit's name, whatever length the file reports.
#[test]
fn a_configuration_over_config_bytes_max_is_not_read() {
    let folder = std::env::temp_dir().join(format!("toolcrib-config-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let file = folder.join("toolcrib.toml");
    let server = "[servers.a]\ncommand = \"x\"\n";
    let load = |path: &Path| Config::load(path, Prefixing::Default, &Variables(HashMap::new()));
    let padded = |bytes: usize, end: &str| {
        format!("{server}#{}{end}", "x".repeat(bytes - server.len() - 1 - end.len()))
    };
    let most = usize::try_from(CONFIG_BYTES_MAX).unwrap();
    std::fs::write(&file, padded(most, "é")).unwrap();
    assert_eq!(load(&file).unwrap().sources.len(), 1);
    // The limit splits a character.
    std::fs::write(&file, padded(most + 2, "é\n")).unwrap();
    assert!(load(&file).unwrap_err().to_string().contains("CONFIG_BYTES_MAX"));
    std::fs::remove_dir_all(&folder).unwrap();
    if cfg!(target_os = "linux") {
        assert!(load(Path::new("/dev/zero")).unwrap_err().to_string().contains("CONFIG_BYTES_MAX"));
    }
}

/// R5.1: `UPSTREAMS_MAX` holds for every format.
#[test]
fn more_than_upstreams_max_servers_are_refused_in_every_kind_of_file() {
    use crate::limits::UPSTREAMS_MAX;
    type Entry = fn(usize) -> String;
    let kinds: [(&str, &str, Entry, &str, &str); 3] = [
        ("toolcrib.toml", "", |n| format!("[servers.s{n}]\ncommand = \"x\""), "\n", ""),
        ("config.toml", "", |n| format!("[mcp_servers.s{n}]\ncommand = \"x\""), "\n", ""),
        ("mcp.json", "{\"mcpServers\":{", |n| format!("\"s{n}\":{{\"command\":\"x\"}}"), ",", "}}"),
    ];
    for (path, open, entry, between, close) in kinds {
        let file = |count| {
            let entries: Vec<String> = (0..count).map(entry).collect();
            format!("{open}{}{close}", entries.join(between))
        };
        assert_eq!(read(path, &file(UPSTREAMS_MAX)).unwrap().sources.len(), UPSTREAMS_MAX, "{path}");
        assert!(refused(path, &file(UPSTREAMS_MAX + 1)).contains("UPSTREAMS_MAX"), "{path}");
    }
}
