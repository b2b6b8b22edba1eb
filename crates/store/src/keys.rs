//! The keys of one data folder: created once, readable by the owner only, stored beside the database and not in it.

use std::io::{Read as _, Write as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use toolcrib_engine::safety::audit::{PublicKey, Signer, from_hex, to_hex};
use toolcrib_engine::safety::ticket::SecretKey;
use toolcrib_engine::safety::vouch::Voucher;
use toolcrib_engine::seal::{NoRandomness, Sealer};

use crate::error::StoreError;

const FILE: &str = "keys";
/// File with the public key of the audit, for verification elsewhere.
const PUBLIC_FILE: &str = "audit.pub";

/// Returns `true` if a folder has keys, which makes it a data folder.
pub(crate) fn exist(folder: &Path) -> bool {
    folder.join(FILE).exists()
}

/// Keys that hash, seal and sign what a data folder stores.
#[derive(Debug, Clone)]
pub struct Keys {
    pub secrets: SecretKey,
    pub sealer: Sealer,
    pub signer: Signer,
    /// Key that vouches for confirmed calls: the signer's key, used for another purpose.
    pub voucher: Voucher,
}

impl Keys {
    /// Generates keys that are not stored.
    pub fn random() -> Result<Self, NoRandomness> {
        Ok(Self::from_seeds(&[random()?, random()?, random()?]))
    }

    fn from_seeds([secrets, sealer, signer]: &[[u8; 32]; 3]) -> Self {
        Self {
            secrets: SecretKey::new(*secrets),
            sealer: Sealer::with_keys(&[*sealer]),
            signer: Signer::new(signer),
            voucher: Voucher::new(signer),
        }
    }

    /// Returns the public key in a folder's file `audit.pub`.
    pub fn published(&self, folder: &Path) -> Result<Option<PublicKey>, StoreError> {
        Self::published_in(folder)
    }

    /// Returns the public key in a folder's file `audit.pub` without reading the private keys.
    pub fn published_in(folder: &Path) -> Result<Option<PublicKey>, StoreError> {
        let path = folder.join(PUBLIC_FILE);
        match std::fs::read_to_string(&path) {
            Ok(text) => Ok(PublicKey::parse(&text)),
            Err(cause) if cause.kind() == std::io::ErrorKind::NotFound => Ok(None),
            Err(cause) => Err(StoreError::File { path, cause: Arc::new(cause) }),
        }
    }

    /// Reads the keys of a folder; writes nothing.
    pub fn load(folder: &Path) -> Result<Self, StoreError> {
        let path = folder.join(FILE);
        let failed = |cause| StoreError::File { path: path.clone(), cause: Arc::new(cause) };
        let mut text = String::new();
        std::fs::File::open(&path).and_then(|mut file| file.read_to_string(&mut text)).map_err(failed)?;
        let seeds: Vec<[u8; 32]> = text.lines().filter_map(from_hex).collect();
        let seeds: [[u8; 32]; 3] = seeds.try_into().map_err(|_| StoreError::Corrupt { what: "keys" })?;
        Ok(Self::from_seeds(&seeds))
    }

    /// Reads the keys of a folder; creates them if it has none. If two processes create them at once, both use the
    /// first one's.
    pub fn load_or_create(folder: &Path) -> Result<Self, StoreError> {
        let path = folder.join(FILE);
        let failed = |cause| StoreError::File { path: path.clone(), cause: Arc::new(cause) };
        if !path.exists() {
            let mut text = String::new();
            for _ in 0..3 {
                let seed: [u8; 32] = random().map_err(|error| failed(std::io::Error::other(error)))?;
                text.push_str(&to_hex(&seed));
                text.push('\n');
            }
            let draft = draft(&path, &text, 0o600).map_err(failed)?;
            // Linked, not renamed: the keys of a process that was first stay.
            let placed = std::fs::hard_link(&draft, &path);
            let _ = std::fs::remove_file(&draft);
            if let Err(cause) = placed
                && cause.kind() != std::io::ErrorKind::AlreadyExists
            {
                return Err(failed(cause));
            }
        }
        let keys = Self::load(folder)?;
        let public = folder.join(PUBLIC_FILE);
        if !public.exists() {
            let draft = draft(&public, &format!("{}\n", keys.signer.public()), 0o644).map_err(failed)?;
            std::fs::rename(draft, &public).map_err(failed)?;
        }
        Ok(keys)
    }
}

/// Writes a file beside `path` to be moved there whole. Its name is random: a draft that a crash left behind is in
/// nobody's way.
fn draft(path: &Path, text: &str, mode: u32) -> std::io::Result<PathBuf> {
    let random = random().map_err(std::io::Error::other)?;
    let suffix: String = to_hex(&random).chars().take(16).collect();
    let draft = path.with_extension(format!("draft-{suffix}"));
    let mut options = std::fs::OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, mode);
    let mut file = options.open(&draft)?;
    file.write_all(text.as_bytes()).and_then(|()| file.sync_all())?;
    Ok(draft)
}

fn random() -> Result<[u8; 32], NoRandomness> {
    toolcrib_engine::seal::fresh()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// R4.8: a process that ended between writing and placing the keys keeps no later one from starting.
    #[test]
    fn a_draft_that_a_crash_left_behind_is_in_nobodys_way() {
        let folder = std::env::temp_dir().join(format!("toolcrib-keys-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        std::fs::write(folder.join(format!("{FILE}.{}", std::process::id())), "half").unwrap();
        let keys = Keys::load_or_create(&folder).unwrap();
        let again = Keys::load_or_create(&folder).unwrap();
        assert_eq!(keys.signer.public().to_string(), again.signer.public().to_string());
        let public = std::fs::read_to_string(folder.join(PUBLIC_FILE)).unwrap();
        assert_eq!(public.trim(), keys.signer.public().to_string());
        std::fs::remove_dir_all(folder).unwrap();
    }
}
