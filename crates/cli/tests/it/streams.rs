//! `serve --stdio` on any standard streams: pipes, sockets, files.

use std::fs::File;
use std::io::{Read as _, Write as _};
use std::net::Shutdown;
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::process::Stdio;

use rustix::fs::{OFlags, fcntl_getfl};
use rustix::pipe::{PipeFlags, pipe_with};

use crate::home::Home;

const REQUESTS: &str = concat!(
    r#"{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}"#,
    "\n",
    r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#,
    "\n",
    r#"{"jsonrpc":"2.0","id":2,"method":"tools/list","params":{}}"#,
    "\n"
);

fn both_are_answered(text: &str) {
    let ids: Vec<i64> = text
        .lines()
        .filter_map(|line| serde_json::from_str::<serde_json::Value>(line).ok()?.get("id")?.as_i64())
        .collect();
    assert_eq!(ids, [1, 2], "{text}");
}

/// R8.1: pipes, as most clients use; they stay in blocking mode for the other process.
#[test]
fn pipes_are_served_and_left_as_they_were() {
    let home = Home::new("streams-pipe");
    let pipe = || pipe_with(PipeFlags::CLOEXEC).unwrap();
    let ((input, requests), (answers, output)) = (pipe(), pipe());
    let mut requests = File::from(requests);
    let kept: [OwnedFd; 2] = [input.try_clone().unwrap(), output.try_clone().unwrap()];
    let mut child = home
        .command(&["serve", "--stdio"])
        .stdin(input)
        .stdout(output)
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    requests.write_all(REQUESTS.as_bytes()).unwrap();
    drop(requests);
    assert!(child.wait().unwrap().success());
    for end in &kept {
        assert!(!fcntl_getfl(end).unwrap().contains(OFlags::NONBLOCK));
    }
    drop(kept);
    let mut text = String::new();
    File::from(answers).read_to_string(&mut text).unwrap();
    both_are_answered(&text);
}

/// R8.1: a socket pair, as clients on Node use.
#[test]
fn sockets_are_served() {
    let home = Home::new("streams-socket");
    let (ours, theirs) = UnixStream::pair().unwrap();
    let output: OwnedFd = theirs.try_clone().unwrap().into();
    let mut command = home.command(&["serve", "--stdio"]);
    let mut child =
        command.stdin(OwnedFd::from(theirs)).stdout(output).stderr(Stdio::null()).spawn().unwrap();
    drop(command);
    (&ours).write_all(REQUESTS.as_bytes()).unwrap();
    ours.shutdown(Shutdown::Write).unwrap();
    let mut text = String::new();
    (&ours).read_to_string(&mut text).unwrap();
    assert!(child.wait().unwrap().success());
    both_are_answered(&text);
}

/// R8.1: files, which cannot be polled for readiness.
#[test]
fn files_are_served() {
    let home = Home::new("streams-file");
    home.write("requests", REQUESTS);
    let input = File::open(home.folder.join("requests")).unwrap();
    let output = File::create(home.folder.join("answers")).unwrap();
    let mut command = home.command(&["serve", "--stdio"]);
    let status = command.stdin(input).stdout(output).stderr(Stdio::null()).status().unwrap();
    assert!(status.success());
    both_are_answered(&home.read("answers"));
}
