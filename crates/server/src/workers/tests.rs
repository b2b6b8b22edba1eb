use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use super::*;
use crate::load::LoadLimits;
use crate::seats::Seats;
use crate::socket::BoundSocket;

/// Answers each byte with the name of the serving thread.
async fn named(socket: Socket) {
    let Socket::Tcp(mut stream) = socket else { return };
    let mut byte = [0];
    while stream.read_exact(&mut byte).await.is_ok() {
        let name = std::thread::current().name().unwrap_or_default().to_owned();
        if stream.write_all(format!("{name}\n").as_bytes()).await.is_err() {
            return;
        }
    }
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
    clients.clear();
    let freed = tokio::time::timeout(Duration::from_secs(10), room.seats.all_free()).await;
    assert!(freed.is_ok(), "places are free when connections end");
    let open = room.workers.workers.iter().map(|worker| worker.connections.load(Ordering::Relaxed));
    assert_eq!(open.sum::<usize>(), 0);
    tokio::task::spawn_blocking(move || room.workers.stop()).await.unwrap();
}

#[tokio::test]
async fn a_connection_that_no_thread_takes_is_not_counted() {
    let mut room = Room::new().await;
    for worker in &mut room.workers.workers {
        // The thread ends with its inbox.
        worker.arrivals = mpsc::unbounded_channel().0;
    }
    let _client = TcpStream::connect(room.tcp.address().unwrap()).await.unwrap();
    let (stream, seat) = room.seats.accept(&room.tcp).await.unwrap();
    assert!(room.workers.take(stream, seat).is_err());
    let open = room.workers.workers.iter().map(|worker| worker.connections.load(Ordering::Relaxed));
    assert_eq!((open.sum::<usize>(), room.seats.taken()), (0, 0));
}
