//! Pseudo-terminal to run the binary in.

use std::fs::File;
use std::io::Read as _;
use std::os::fd::OwnedFd;
use std::process::{Command, Stdio};

use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};

/// Returns the two ends: the person's, and the program's.
fn pair() -> (OwnedFd, File) {
    let person = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).unwrap();
    grantpt(&person).unwrap();
    unlockpt(&person).unwrap();
    let name = ptsname(&person, Vec::new()).unwrap().into_string().unwrap();
    let program = std::fs::OpenOptions::new().read(true).write(true).open(name).unwrap();
    let size = rustix::termios::Winsize { ws_row: 24, ws_col: 80, ws_xpixel: 0, ws_ypixel: 0 };
    rustix::termios::tcsetwinsize(&program, size).unwrap();
    (person, program)
}

/// Output of a program.
pub(crate) struct Said {
    pub(crate) code: i32,
    /// Standard output, a pipe.
    pub(crate) out: String,
    /// Standard error, a terminal, with all control sequences.
    pub(crate) shown: String,
}

/// Runs a program with standard error on a terminal, and standard input as well if an answer is typed.
pub(crate) fn run(command: &mut Command, typed: Option<&str>) -> Said {
    let (person, program) = pair();
    command.env("TERM", "xterm").env_remove("CI").env_remove("NO_COLOR");
    run_as_it_is(command, typed, person, program)
}

/// Like `run`, with an environment variable set.
pub(crate) fn run_with(command: &mut Command, name: &str, value: &str) -> Said {
    let (person, program) = pair();
    command.env("TERM", "xterm").env_remove("CI").env_remove("NO_COLOR").env(name, value);
    run_as_it_is(command, None, person, program)
}

fn run_as_it_is(command: &mut Command, typed: Option<&str>, person: OwnedFd, program: File) -> Said {
    if let Some(text) = typed {
        command.stdin(program.try_clone().unwrap());
        rustix::io::write(&person, text.as_bytes()).unwrap();
    }
    let mut child = command
        .stdout(Stdio::piped())
        .stderr(program.try_clone().unwrap())
        .spawn()
        .expect("the binary starts");
    // The command holds copies of the program's end, which would keep the terminal open.
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    drop(program);
    let reader = std::thread::spawn(move || {
        let (mut all, mut person) = (Vec::new(), File::from(person));
        let mut buffer = [0; 4096];
        // The end of a terminal is reported as an error.
        while let Ok(count) = person.read(&mut buffer) {
            if count == 0 {
                break;
            }
            all.extend_from_slice(&buffer[..count]);
        }
        String::from_utf8_lossy(&all).into_owned()
    });
    let mut out = String::new();
    child.stdout.take().unwrap().read_to_string(&mut out).unwrap();
    let code = child.wait().unwrap().code().unwrap_or(-1);
    Said { code, out, shown: reader.join().unwrap() }
}
