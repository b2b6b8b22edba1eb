//! Home folder of a test, and the binary run in it.

use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

pub(crate) struct Home {
    pub(crate) folder: PathBuf,
}

pub(crate) struct Ran {
    pub(crate) code: i32,
    pub(crate) out: String,
    pub(crate) err: String,
}

impl Ran {
    pub(crate) fn json(&self) -> serde_json::Value {
        serde_json::from_str(&self.out).unwrap_or_else(|error| panic!("{error}: {}{}", self.out, self.err))
    }
}

impl From<Output> for Ran {
    fn from(output: Output) -> Self {
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        Self {
            code: output.status.code().unwrap_or(-1),
            out: text(&output.stdout),
            err: text(&output.stderr),
        }
    }
}

impl Home {
    /// Creates an empty home, whatever an earlier run left.
    pub(crate) fn new(name: &str) -> Self {
        let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("homes").join(name);
        let _ = std::fs::remove_dir_all(&folder);
        std::fs::create_dir_all(&folder).unwrap();
        Self { folder }
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.folder.join(name)
    }

    pub(crate) fn write(&self, name: &str, text: &str) -> PathBuf {
        let path = self.path(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, text).unwrap();
        path
    }

    pub(crate) fn read(&self, name: &str) -> String {
        std::fs::read_to_string(self.path(name)).unwrap_or_else(|error| panic!("{name}: {error}"))
    }

    pub(crate) fn command(&self, words: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_toolcrib"));
        command.args(words).current_dir(&self.folder).env("HOME", &self.folder).stdin(Stdio::null());
        for variable in [
            "XDG_CONFIG_HOME",
            "XDG_DATA_HOME",
            "TOOLCRIB_DATA",
            "CODEX_HOME",
            "CLAUDE_CONFIG_DIR",
            "TOOLCRIB_TOOLSET_CONFIG",
        ] {
            command.env_remove(variable);
        }
        command
    }

    pub(crate) fn run(&self, words: &[&str]) -> Ran {
        self.command(words).output().expect("the binary starts").into()
    }
}
