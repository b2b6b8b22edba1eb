//! Unix socket of a listener.
//!
//! Guarantees: the socket file has mode 600 before anybody can connect. The file of a dead process is replaced; that
//! of a live one is an error that names the path. A file that is not a socket is never touched. The file is removed
//! when the listener is dropped, unless another listener has replaced it.

use std::fs::File;
use std::io;
use std::os::unix::fs::{FileTypeExt as _, MetadataExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};
use std::time::Duration;

use rustix::fs::{FlockOperation, flock};
use tokio::net::{UnixListener, UnixSocket, UnixStream};

/// Length of the accept queue: the value that tokio uses for TCP.
const BACKLOG: u32 = 1024;

/// Attempts to lock the folder, and the pause between them in milliseconds.
const LOCK_TRIES: u32 = 50;
const LOCK_PAUSE_MS: u64 = 20;

/// Bound unix socket.
#[derive(Debug)]
pub(crate) struct Unix {
    listener: UnixListener,
    path: PathBuf,
    /// Device and inode of the socket file.
    id: (u64, u64),
}

impl Unix {
    pub(crate) async fn bind(path: &Path) -> io::Result<Self> {
        Self::bound(path)
            .await
            .map_err(|error| io::Error::new(error.kind(), format!("{}: {error}", path.display())))
    }

    async fn bound(path: &Path) -> io::Result<Self> {
        let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
        // Prevents two processes that start at once from both replacing the file of a dead one.
        let _lock = locked(folder.unwrap_or(Path::new("."))).await?;
        remove_stale(path).await?;
        let socket = UnixSocket::new_stream()?;
        socket.bind(path)?;
        let bound = std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o600))
            .and_then(|()| std::fs::symlink_metadata(path))
            .and_then(|about| Ok((socket.listen(BACKLOG)?, (about.dev(), about.ino()))));
        match bound {
            Ok((listener, id)) => Ok(Self { listener, path: path.to_owned(), id }),
            Err(error) => {
                let _ = std::fs::remove_file(path);
                Err(error)
            }
        }
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    pub(crate) async fn accept(&self) -> io::Result<UnixStream> {
        self.listener.accept().await.map(|(stream, _)| stream)
    }
}

impl Drop for Unix {
    fn drop(&mut self) {
        let is_ours =
            std::fs::symlink_metadata(&self.path).is_ok_and(|about| (about.dev(), about.ino()) == self.id);
        if is_ours {
            let _ = std::fs::remove_file(&self.path);
        }
    }
}

/// Locks the folder of the socket until the file is closed.
async fn locked(folder: &Path) -> io::Result<File> {
    let file = File::open(folder)?;
    for _ in 0..LOCK_TRIES {
        if flock(&file, FlockOperation::NonBlockingLockExclusive).is_ok() {
            return Ok(file);
        }
        tokio::time::sleep(Duration::from_millis(LOCK_PAUSE_MS)).await;
    }
    Err(io::Error::new(io::ErrorKind::ResourceBusy, "another process keeps the folder locked"))
}

/// Removes the socket file of a dead process.
async fn remove_stale(path: &Path) -> io::Result<()> {
    let about = match std::fs::symlink_metadata(path) {
        Ok(about) => about,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        Err(error) => return Err(error),
    };
    let in_use = |message| Err(io::Error::new(io::ErrorKind::AddrInUse, message));
    if !about.file_type().is_socket() {
        return in_use("the file is there and is no socket");
    }
    match UnixStream::connect(path).await {
        Ok(_) => in_use("another process listens at this socket"),
        Err(error) if error.kind() == io::ErrorKind::ConnectionRefused => std::fs::remove_file(path),
        // A live process whose accept queue is full.
        Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
            in_use("another process listens at this socket")
        }
        Err(error) => Err(error),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Folder(PathBuf);

    impl Folder {
        fn new(name: &str) -> Self {
            let folder = std::env::temp_dir().join(format!("toolcrib-unix-{}-{name}", std::process::id()));
            std::fs::create_dir_all(&folder).unwrap();
            Self(folder)
        }
    }

    impl Drop for Folder {
        fn drop(&mut self) {
            let _ = std::fs::remove_dir_all(&self.0);
        }
    }

    /// R14.2: the socket is private to its owner, and is removed at a clean stop.
    #[tokio::test]
    async fn a_socket_has_mode_600_and_is_removed_when_dropped() {
        let folder = Folder::new("mode");
        let path = folder.0.join("s.sock");
        let unix = Unix::bind(&path).await.unwrap();
        assert_eq!(std::fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
        let (_client, _server) = tokio::try_join!(UnixStream::connect(&path), unix.accept()).unwrap();
        drop(unix);
        assert!(!path.exists());
    }

    /// R14.2: a live socket and a file of another kind are left alone; a dead socket is replaced.
    #[tokio::test]
    async fn a_live_socket_is_refused_and_a_stale_one_replaced() {
        let folder = Folder::new("stale");
        let path = folder.0.join("s.sock");
        let live = Unix::bind(&path).await.unwrap();
        let error = Unix::bind(&path).await.unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::AddrInUse);
        assert!(error.to_string().contains(&*path.to_string_lossy()), "{error}");
        drop(live);
        // A killed process leaves its file.
        drop(std::os::unix::net::UnixListener::bind(&path).unwrap());
        assert!(path.exists());
        let first = Unix::bind(&path).await.unwrap();
        std::fs::remove_file(&path).unwrap();
        let second = Unix::bind(&path).await.unwrap();
        drop(first);
        assert!(path.exists(), "it is another's by now");
        drop(second);
        std::fs::write(&path, "mine").unwrap();
        assert_eq!(Unix::bind(&path).await.unwrap_err().kind(), io::ErrorKind::AddrInUse);
        assert_eq!(std::fs::read_to_string(&path).unwrap(), "mine");
    }
}
