use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use super::*;
use crate::load::LoadLimits;
use crate::seats::Seats;
use crate::socket::BoundSocket;

/// Answers each byte with the name of the thread it was answered on; after an `m` the connection leaves.
async fn named(socket: Socket, _: Stay) -> Option<Socket> {
    let Socket::Tcp(mut stream) = socket else { return None };
    let mut byte = [0];
    while stream.read_exact(&mut byte).await.is_ok() {
        let name = std::thread::current().name().unwrap_or_default().to_owned();
        stream.write_all(format!("{name}\n").as_bytes()).await.ok()?;
        if byte == *b"m" {
            return Some(Socket::Tcp(stream));
        }
    }
    None
}

struct Room {
    workers: Workers,
    tcp: BoundSocket,
    seats: Seats,
}

impl Room {
    async fn new() -> Self {
        let workers = Workers::start(3, named).unwrap();
        let tcp = BoundSocket::bind("127.0.0.1:0").await.unwrap();
        Self { workers, tcp, seats: Seats::new(LoadLimits::default().connections) }
    }

    fn load(&self, number: usize, used: u64) {
        self.workers.crew.workers[number].load.0.keep_saying(used);
    }

    async fn connect(&self) -> TcpStream {
        let client = TcpStream::connect(self.tcp.address().unwrap()).await.unwrap();
        let (stream, seat) = self.seats.accept(&self.tcp).await.unwrap();
        self.workers.take(stream, seat).unwrap();
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
async fn connections_are_dealt_out_evenly() {
    let room = Room::new().await;
    let mut clients = Vec::new();
    for number in 0..7 {
        let mut client = room.connect().await;
        assert_eq!(ask(&mut client, b'a').await, format!("toolcrib-{}", number % 3));
        clients.push(client);
    }
    // What a thread does makes no difference to a new one.
    room.load(1, 1_000);
    let mut client = room.connect().await;
    assert_eq!(ask(&mut client, b'a').await, "toolcrib-1");
    tokio::task::spawn_blocking(move || room.workers.stop()).await.unwrap();
}

#[tokio::test]
async fn a_connection_that_leaves_goes_on_at_another_thread_and_keeps_its_place() {
    let room = Room::new().await;
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
    assert_eq!(room.seats.taken(), 1);
    drop(client);
    let freed = tokio::time::timeout(Duration::from_secs(10), room.seats.all_free()).await;
    assert!(freed.is_ok(), "the place is free when the connection ends");
    let open = room.workers.crew.workers.iter().map(|worker| worker.connections.load(Ordering::Relaxed));
    assert_eq!(open.sum::<usize>(), 0);
    tokio::task::spawn_blocking(move || room.workers.stop()).await.unwrap();
}
