//! The keys of one data folder: created once, readable by the owner only, stored beside the database and not in it.

use std::io::{Read as _, Write as _};
use std::path::Path;
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
            // Written to a draft file, then linked to the final name unless another process was first.
            let draft = folder.join(format!("{FILE}.{}", std::process::id()));
            let mut options = std::fs::OpenOptions::new();
            options.write(true).create_new(true);
            #[cfg(unix)]
            std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
            let mut file = options.open(&draft).map_err(failed)?;
            file.write_all(text.as_bytes()).and_then(|()| file.sync_all()).map_err(failed)?;
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
            std::fs::write(&public, format!("{}\n", keys.signer.public())).map_err(failed)?;
        }
        Ok(keys)
    }
}

fn random() -> Result<[u8; 32], NoRandomness> {
    toolcrib_engine::seal::fresh()
}
