//! The known clients: the path and format of each client's configuration file.

use std::path::{Path, PathBuf};

use serde_json::{Value, json};

/// Default URL of a Toolcrib server.
pub(crate) const USUAL_URL: &str = "http://127.0.0.1:7420/mcp";

/// A program that calls MCP servers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum Client {
    ClaudeCode,
    ClaudeDesktop,
    Cursor,
    #[value(name = "vscode")]
    VsCode,
    Codex,
    Gemini,
    Windsurf,
}

/// Whose servers: those of the person, or those of the folder.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum Scope {
    #[default]
    User,
    Project,
}

/// The environment variables and the operating system that decide where configuration files are.
#[allow(missing_debug_implementations, reason = "holds a function")]
pub(crate) struct Surroundings<'a> {
    pub(crate) variable: &'a dyn Fn(&str) -> Option<String>,
    pub(crate) system: System,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum System {
    Linux,
    Mac,
}

impl System {
    pub(crate) const fn here() -> Self {
        if cfg!(target_os = "macos") { Self::Mac } else { Self::Linux }
    }
}

impl Client {
    pub(crate) const ALL: [Self; 7] = [
        Self::ClaudeCode,
        Self::Codex,
        Self::Gemini,
        Self::VsCode,
        Self::Cursor,
        Self::ClaudeDesktop,
        Self::Windsurf,
    ];

    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::ClaudeCode => "claude-code",
            Self::ClaudeDesktop => "claude-desktop",
            Self::Cursor => "cursor",
            Self::VsCode => "vscode",
            Self::Codex => "codex",
            Self::Gemini => "gemini",
            Self::Windsurf => "windsurf",
        }
    }

    pub(crate) const fn title(self) -> &'static str {
        match self {
            Self::ClaudeCode => "Claude Code",
            Self::ClaudeDesktop => "Claude Desktop",
            Self::Cursor => "Cursor",
            Self::VsCode => "VS Code",
            Self::Codex => "Codex",
            Self::Gemini => "Gemini CLI",
            Self::Windsurf => "Windsurf",
        }
    }

    /// Returns the name of the file's member that holds the servers.
    pub(crate) const fn section(self) -> &'static str {
        match self {
            Self::VsCode => "servers",
            Self::Codex => "mcp_servers",
            _ => "mcpServers",
        }
    }

    pub(crate) const fn is_toml(self) -> bool {
        matches!(self, Self::Codex)
    }

    /// Returns a shell command that connects the client: the client's own command if it has one, else `toolcrib
    /// connect`.
    pub(crate) fn line(self, url: &str, program: &str) -> String {
        match self {
            Self::ClaudeCode => format!("claude mcp add --transport http toolcrib {url}"),
            Self::Codex => format!("codex mcp add toolcrib --url {url}"),
            Self::Gemini => format!("gemini mcp add --transport http toolcrib {url}"),
            Self::VsCode => {
                format!("code --add-mcp '{}'", json!({"name": "toolcrib", "type": "http", "url": url}))
            }
            _ if url == USUAL_URL => format!("{program} connect {}", self.name()),
            _ => format!("{program} connect {} --url {url}", self.name()),
        }
    }

    /// Returns the entry for a server at `url` in the client's file. A client that only starts commands starts
    /// `program` as a bridge.
    pub(crate) fn entry(self, url: &str, program: &str) -> Value {
        match self {
            Self::ClaudeCode | Self::VsCode => json!({"type": "http", "url": url}),
            Self::ClaudeDesktop => json!({"command": program, "args": ["serve", url, "--stdio", "--bridge"]}),
            Self::Cursor | Self::Codex => json!({"url": url}),
            Self::Gemini => json!({"httpUrl": url}),
            Self::Windsurf => json!({"serverUrl": url}),
        }
    }

    /// Returns the path of the client's file, or `None` if the client has none of this scope or the home folder is
    /// unknown.
    pub(crate) fn file(self, scope: Scope, around: &Surroundings<'_>) -> Option<PathBuf> {
        let variable =
            |name: &str| (around.variable)(name).filter(|value| !value.is_empty()).map(PathBuf::from);
        let home = variable("HOME");
        if scope == Scope::Project {
            let path = match self {
                Self::ClaudeCode => ".mcp.json",
                Self::Cursor => ".cursor/mcp.json",
                Self::VsCode => ".vscode/mcp.json",
                Self::Codex => ".codex/config.toml",
                Self::Gemini => ".gemini/settings.json",
                Self::ClaudeDesktop | Self::Windsurf => return None,
            };
            return Some(PathBuf::from(path));
        }
        let settings = || match around.system {
            System::Linux => variable("XDG_CONFIG_HOME").or_else(|| Some(home.as_ref()?.join(".config"))),
            System::Mac => Some(home.as_ref()?.join("Library/Application Support")),
        };
        let below_home = |path: &str| Some(home.as_ref()?.join(path));
        match self {
            Self::ClaudeCode => match variable("CLAUDE_CONFIG_DIR") {
                Some(folder) => Some(folder.join(".claude.json")),
                None => below_home(".claude.json"),
            },
            Self::ClaudeDesktop => Some(settings()?.join("Claude/claude_desktop_config.json")),
            Self::Cursor => below_home(".cursor/mcp.json"),
            Self::VsCode => Some(settings()?.join("Code/User/mcp.json")),
            Self::Codex => match variable("CODEX_HOME") {
                Some(folder) => Some(folder.join("config.toml")),
                None => below_home(".codex/config.toml"),
            },
            Self::Gemini => below_home(".gemini/settings.json"),
            Self::Windsurf => below_home(".codeium/windsurf/mcp_config.json"),
        }
    }

    /// Returns the path of the client's file on this machine.
    pub(crate) fn file_here(self, scope: Scope) -> Option<PathBuf> {
        let variable = |name: &str| std::env::var(name).ok();
        self.file(scope, &Surroundings { variable: &variable, system: System::here() })
    }
}

/// Returns true if the client seems to be installed: its file exists, or the folder that the file would be in.
pub(crate) fn is_there(file: &Path) -> bool {
    file.exists()
        || file
            .parent()
            .is_some_and(|folder| folder.file_name().is_some() && folder.is_dir() && !is_home(folder))
}

fn is_home(folder: &Path) -> bool {
    std::env::var_os("HOME").is_some_and(|home| folder == Path::new(&home))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_client_has_its_file_on_each_system() {
        let variable = |name: &str| match name {
            "HOME" => Some("home".to_owned()),
            _ => None,
        };
        let file =
            |client: Client, system| client.file(Scope::User, &Surroundings { variable: &variable, system });
        let path = |client, system| file(client, system).map(|path| path.display().to_string());
        assert_eq!(path(Client::ClaudeCode, System::Linux).as_deref(), Some("home/.claude.json"));
        assert_eq!(path(Client::Codex, System::Mac).as_deref(), Some("home/.codex/config.toml"));
        let desktop = [System::Linux, System::Mac].map(|system| path(Client::ClaudeDesktop, system));
        let expected = [
            "home/.config/Claude/claude_desktop_config.json",
            "home/Library/Application Support/Claude/claude_desktop_config.json",
        ];
        assert_eq!(desktop.map(Option::unwrap_or_default), expected);
        assert_eq!(path(Client::VsCode, System::Linux).as_deref(), Some("home/.config/Code/User/mcp.json"));
    }

    #[test]
    fn a_client_without_project_files_says_so() {
        let variable = |_: &str| None;
        let around = Surroundings { variable: &variable, system: System::Linux };
        assert_eq!(Client::Windsurf.file(Scope::Project, &around), None);
        assert_eq!(Client::Cursor.file(Scope::User, &around), None, "no home");
        assert_eq!(Client::Cursor.file(Scope::Project, &around), Some(".cursor/mcp.json".into()));
    }
}
