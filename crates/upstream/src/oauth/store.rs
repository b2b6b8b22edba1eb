//! Stored tokens: one file per server, readable by its owner only.
//!
//! A file belongs to one name at one URL, so a server whose URL changes needs a new login.

use std::io::Write as _;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use toolcrib_contract::Digest;

use super::client::now_s;
use super::error::OAuthError;

/// A token that expires within this time is not used any more.
const MARGIN_S: u64 = 30;

/// Credentials of the gateway at an authorization server.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Client {
    pub(super) id: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) secret: Option<String>,
}

#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Tokens {
    pub(super) access: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) refresh: Option<String>,
    /// Expiry in seconds since the epoch.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) expires_s: Option<u64>,
}

impl Tokens {
    pub(super) fn is_fresh(&self) -> bool {
        self.expires_s.is_none_or(|end| end > now_s().saturating_add(MARGIN_S))
    }
}

/// Content of a token file.
#[derive(Clone, Serialize, Deserialize)]
pub(super) struct Kept {
    /// The server's URL.
    pub(super) server: String,
    pub(super) issuer: String,
    pub(super) client: Client,
    pub(super) tokens: Tokens,
    /// Scopes that the tokens were requested with.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(super) scopes: Vec<String>,
    /// Scopes that the server has asked for since; the next login requests them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(super) wanted: Vec<String>,
}

fn path(folder: &Path, name: &str, url: &str) -> PathBuf {
    let clean: String =
        name.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '-' }).take(40).collect();
    let digest = Digest::of_bytes(format!("{name}\n{url}").as_bytes()).to_string();
    let mark: String = digest.rsplit(':').next().unwrap_or_default().chars().take(12).collect();
    folder.join(format!("{clean}-{mark}.json"))
}

/// Reads a token file; `None` if it is missing, unreadable or for another URL.
pub(super) fn read(folder: Option<&Path>, name: &str, url: &str) -> Option<Kept> {
    let text = std::fs::read_to_string(path(folder?, name, url)).ok()?;
    let kept: Kept = serde_json::from_str(&text).ok()?;
    (kept.server == url).then_some(kept)
}

/// Replaces the token file atomically.
pub(super) fn write(folder: Option<&Path>, name: &str, kept: &Kept) -> Result<(), OAuthError> {
    let Some(folder) = folder else { return Ok(()) };
    let path = path(folder, name, &kept.server);
    let failed = |error: std::io::Error| OAuthError::Store {
        path: folder.display().to_string().into(),
        kind: error.kind(),
    };
    let text = serde_json::to_vec(kept).map_err(|error| failed(error.into()))?;
    std::fs::create_dir_all(folder).map_err(failed)?;
    let fresh = path.with_extension(format!("{}.new", std::process::id()));
    let _ = std::fs::remove_file(&fresh);
    let file = std::fs::OpenOptions::new().write(true).create_new(true).mode(0o600).open(&fresh);
    let mut file = file.map_err(failed)?;
    file.write_all(&text).and_then(|()| file.sync_all()).map_err(failed)?;
    std::fs::rename(&fresh, &path).map_err(failed)
}

/// Logs out of a server; returns `false` if nobody was logged in.
pub fn forget(folder: &Path, name: &str, url: &str) -> Result<bool, OAuthError> {
    match std::fs::remove_file(path(folder, name, url)) {
        Ok(()) => Ok(true),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(false),
        Err(error) => {
            Err(OAuthError::Store { path: folder.display().to_string().into(), kind: error.kind() })
        }
    }
}
