use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;
use tokio::sync::Semaphore;

use super::*;

/// Answers each byte with the name of the thread it was answered on; after an `m` the connection leaves.
async fn named(mut stream: TcpStream, _: Stay) -> Option<TcpStream> {
    let mut byte = [0];
    while stream.read_exact(&mut byte).await.is_ok() {
        let name = std::thread::current().name().unwrap_or_default().to_owned();
        stream.write_all(format!("{name}\n").as_bytes()).await.ok()?;
        if byte == *b"m" {
            return Some(stream);
        }
    }
    None
}

struct Room {
    workers: Workers,
    tcp: TcpListener,
    permits: Arc<Semaphore>,
}

impl Room {
    /// `None` where threads cannot be measured.
    async fn new() -> Option<Self> {
        let workers = Workers::start(3, named).unwrap();
        if !workers.crew.is_measured {
            eprintln!("SKIPPED: this system does not say what a thread uses");
            return None;
        }
        let tcp = TcpListener::bind("127.0.0.1:0").await.unwrap();
        Some(Self { workers, tcp, permits: Arc::new(Semaphore::new(100)) })
    }

    fn load(&self, number: usize, used: u64) {
        self.workers.crew.workers[number].load.0.keep_saying(used);
    }

    async fn connect(&self) -> TcpStream {
        let client = TcpStream::connect(self.tcp.local_addr().unwrap()).await.unwrap();
        let (stream, _) = self.tcp.accept().await.unwrap();
        self.workers.take(stream, self.permits.clone().try_acquire_owned().unwrap()).unwrap();
        client
    }
}

async fn ask(client: &mut TcpStream, byte: u8) -> String {
    client.write_all(&[byte]).await.unwrap();
    let mut line = Vec::new();
    while line.last() != Some(&b'\n') {
        line.push(client.read_u8().await.unwrap());
    }
    String::from_utf8(line).unwrap().trim().to_owned()
}

#[tokio::test]
async fn connections_share_a_thread_while_it_has_room() {
    let Some(room) = Room::new().await else { return };
    let mut clients = Vec::new();
    for number in 0..2 * SHARED {
        let mut client = room.connect().await;
        assert_eq!(ask(&mut client, b'a').await, format!("toolcrib-{}", number / SHARED));
        clients.push(client);
    }
    room.load(2, ROOM_USED_MAX);
    for number in 0..3 * SHARED {
        let mut client = room.connect().await;
        let fewest = if number < SHARED { 2 } else { (number - SHARED) % 3 };
        assert_eq!(ask(&mut client, b'a').await, format!("toolcrib-{fewest}"), "connection {number}");
        clients.push(client);
    }
    tokio::task::spawn_blocking(move || room.workers.stop()).await.unwrap();
}

#[tokio::test]
async fn a_connection_that_leaves_goes_on_at_another_thread_and_keeps_its_place() {
    let Some(room) = Room::new().await else { return };
    let mut client = room.connect().await;
    assert_eq!(ask(&mut client, b'a').await, "toolcrib-0");
    room.load(0, 900);
    assert_eq!(ask(&mut client, b'm').await, "toolcrib-0");
    // It has arrived once it is answered there.
    assert_eq!(ask(&mut client, b'a').await, "toolcrib-1");
    room.load(1, 900);
    room.load(2, 100);
    assert_eq!(ask(&mut client, b'm').await, "toolcrib-1");
    assert_eq!(ask(&mut client, b'a').await, "toolcrib-2");
    assert_eq!(room.permits.available_permits(), 99);
    drop(client);
    let all = room.permits.clone();
    let freed = tokio::time::timeout(Duration::from_secs(10), all.acquire_many(100)).await;
    assert!(freed.is_ok(), "the place is free when the connection ends");
    drop(freed);
    let open = room.workers.crew.workers.iter().map(|worker| worker.connections.load(Ordering::Relaxed));
    assert_eq!(open.sum::<usize>(), 0);
    tokio::task::spawn_blocking(move || room.workers.stop()).await.unwrap();
}

#[test]
fn without_a_measure_connections_are_dealt_out_in_turn() {
    let worker = || Worker {
        arrivals: mpsc::unbounded_channel().0,
        load: Apart(Load::new(Instant::now())),
        connections: AtomicUsize::new(0),
    };
    let workers = vec![worker(), worker(), worker()];
    let crew = Crew { workers, is_measured: false, next: AtomicUsize::new(0) };
    assert_eq!([crew.turn(), crew.turn(), crew.turn(), crew.turn()], [0, 1, 2, 0]);
}
