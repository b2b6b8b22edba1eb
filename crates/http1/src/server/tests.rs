//! Tests of connections: the test is the client and sees every byte that it sends and receives.

use tokio::io::{AsyncReadExt, AsyncWriteExt, DuplexStream, duplex};

use std::pin::pin;

use super::*;
use crate::limits::{BODY_GRACE_MS, BODY_RATE_BYTES_MIN, BODY_TURN_BYTES_MAX};

/// Service that echoes the request, after `slow` milliseconds if the path says so.
struct Echo {
    bytes_max: usize,
    within: Duration,
    /// `true` if there is room for one large head at a time.
    is_narrow: bool,
}

const SMALL: Echo = Echo { bytes_max: 100, within: Duration::from_secs(5), is_narrow: false };
const LARGE: Echo = Echo { bytes_max: 1 << 20, within: Duration::from_secs(60), is_narrow: false };
const NARROW: Echo = Echo { is_narrow: true, ..LARGE };

impl Service for Echo {
    type Admitted = ();
    type HeadRoom = Option<tokio::sync::SemaphorePermit<'static>>;

    fn head_room(&self, _: Option<&RequestHead>, _: Option<IpAddr>) -> Result<Self::HeadRoom, Response> {
        static ROOM: Semaphore = Semaphore::const_new(1);
        if !self.is_narrow {
            return Ok(None);
        }
        ROOM.try_acquire().map(Some).map_err(|_| Response::empty(StatusCode::SERVICE_UNAVAILABLE))
    }

    fn admit(&self, head: &RequestHead, _: Option<IpAddr>) -> Result<(), Response> {
        if head.path() == "/no" { Err(Response::empty(StatusCode::FORBIDDEN)) } else { Ok(()) }
    }

    fn body_limits(&self) -> (usize, Duration) {
        (self.bytes_max, self.within)
    }

    /// Grants room for half of the largest body.
    fn reserve(&self, (): &mut (), bytes: usize) -> Result<(), Response> {
        if bytes <= self.bytes_max / 2 {
            Ok(())
        } else {
            Err(Response::empty(StatusCode::SERVICE_UNAVAILABLE))
        }
    }

    fn unread(&self, (): (), why: Unreadable) -> Response {
        Response::json(StatusCode::BAD_REQUEST, format!("{why:?}"))
    }

    async fn answer(self: &Arc<Self>, head: RequestHead, (): ()) -> Response {
        if head.path() == "/slow" {
            tokio::time::sleep(Duration::from_secs(1)).await;
        }
        if head.path() == "/long" {
            return Response::json(StatusCode::OK, "x".repeat(100_000));
        }
        Response::json(StatusCode::OK, format!("{} {}", head.path(), String::from_utf8_lossy(head.body())))
    }
}

struct Client {
    stream: DuplexStream,
    stop: watch::Sender<bool>,
    served: tokio::task::JoinHandle<()>,
}

fn served<S>(stream: S, stopped: watch::Receiver<bool>) -> tokio::task::JoinHandle<()>
where
    S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    served_by(SMALL, stream, stopped)
}

fn served_by<S>(echo: Echo, stream: S, stopped: watch::Receiver<bool>) -> tokio::task::JoinHandle<()>
where
    S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    tokio::spawn(serve(stream, Arc::new(echo), None, stopped, Duration::from_secs(10)))
}

fn client() -> Client {
    client_of(SMALL)
}

fn client_of(echo: Echo) -> Client {
    let (stream, other) = duplex(1 << 21);
    let (stop, stopped) = watch::channel(false);
    let served = served_by(echo, other, stopped);
    Client { stream, stop, served }
}

impl Client {
    async fn send(&mut self, text: &str) {
        self.stream.write_all(text.as_bytes()).await.unwrap();
    }

    /// Reads everything until the connection closes.
    async fn rest(mut self) -> String {
        let mut text = String::new();
        self.stream.read_to_string(&mut text).await.unwrap();
        self.served.await.unwrap();
        text
    }

    /// Reads everything that arrives within 50 ms.
    async fn now(&mut self) -> String {
        let mut bytes = [0; 4_096];
        let read = tokio::time::timeout(Duration::from_millis(50), self.stream.read(&mut bytes)).await;
        String::from_utf8_lossy(&bytes[..read.map_or(0, Result::unwrap)]).into_owned()
    }
}

/// Stream that buffers writes until it is flushed and ends with an alert, like TLS.
struct Buffered {
    stream: DuplexStream,
    waiting: Vec<u8>,
    bytes_max: usize,
    is_ended: bool,
}

impl Buffered {
    fn new(stream: DuplexStream, bytes_max: usize) -> Self {
        Self { stream, waiting: Vec::new(), bytes_max, is_ended: false }
    }
}

impl AsyncRead for Buffered {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        read: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_read(cx, read)
    }
}

impl AsyncWrite for Buffered {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        let flushed = self.as_mut().poll_flush(cx)?;
        let room = self.bytes_max - self.waiting.len();
        match flushed {
            Poll::Ready(()) if self.bytes_max == 0 => Pin::new(&mut self.stream).poll_write(cx, bytes),
            Poll::Pending if room == 0 => Poll::Pending,
            _ => {
                let taken = room.min(bytes.len());
                self.waiting.extend_from_slice(&bytes[..taken]);
                Poll::Ready(Ok(taken))
            }
        }
    }

    fn poll_flush(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let Self { stream, waiting, .. } = self.get_mut();
        while !waiting.is_empty() {
            let sent = std::task::ready!(Pin::new(&mut *stream).poll_write(cx, waiting))?;
            waiting.drain(..sent);
        }
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        if !std::mem::replace(&mut self.is_ended, true) {
            self.waiting.extend_from_slice(b"alert");
        }
        std::task::ready!(self.as_mut().poll_flush(cx))?;
        Pin::new(&mut self.stream).poll_shutdown(cx)
    }
}

/// Splits the input into status lines and bodies.
fn answers(text: &str) -> Vec<(String, String)> {
    let mut answers = Vec::new();
    let mut rest = text;
    while let Some((head, after)) = rest.split_once("\r\n\r\n") {
        let length = head
            .lines()
            .find_map(|line| line.strip_prefix("content-length: "))
            .map_or(0, |length| length.parse().unwrap());
        let (body, after) = after.split_at(length);
        answers.push((head.lines().next().unwrap()["HTTP/1.1 ".len()..].to_owned(), body.to_owned()));
        rest = after;
    }
    assert_eq!(rest, "");
    answers
}

fn pairs(expected: &[(&str, &str)]) -> Vec<(String, String)> {
    expected.iter().map(|(status, body)| ((*status).to_owned(), (*body).to_owned())).collect()
}

const POST: &str = "POST /a HTTP/1.1\r\nHost: x\r\nContent-Length: 3\r\n\r\nabc";
const LAST: &str = "GET /b HTTP/1.1\r\nConnection: close\r\n\r\n";

#[tokio::test(start_paused = true)]
async fn requests_are_answered_in_turn_however_they_arrive() {
    let chunked = "POST /c HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nde\r\n0\r\n\r\n";
    let text = format!("{POST}{chunked}{POST}{LAST}");
    for size in [1, 2, 7, 64, text.len()] {
        let mut client = client();
        for piece in text.as_bytes().chunks(size) {
            client.stream.write_all(piece).await.unwrap();
            tokio::task::yield_now().await;
        }
        let expected =
            pairs(&[("200 OK", "/a abc"), ("200 OK", "/c de"), ("200 OK", "/a abc"), ("200 OK", "/b ")]);
        assert_eq!(answers(&client.rest().await), expected, "in pieces of {size}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_refused_request_leaves_the_connection_where_its_body_ends() {
    let mut client = client();
    client.send(&POST.replace("/a", "/no")).await;
    client.send(&format!("{POST}{LAST}")).await;
    let expected = pairs(&[("403 Forbidden", ""), ("200 OK", "/a abc"), ("200 OK", "/b ")]);
    assert_eq!(answers(&client.rest().await), expected);
}

#[tokio::test(start_paused = true)]
async fn what_cannot_be_passed_over_closes_the_connection() {
    for (text, status) in [
        ("POST /no HTTP/1.1\r\nContent-Length: 50\r\n\r\nabc", "403 Forbidden"),
        ("POST /a HTTP/1.1\r\nContent-Length: 101\r\n\r\nabc", "400 Bad Request"),
        ("POST /a HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\nff\r\n", "400 Bad Request"),
        ("POST /a HTTP/1.1\r\nTransfer-Encoding: chunked\r\nContent-Length: 3\r\n\r\n", "400 Bad Request"),
        ("POST /a HTTP/1.1\r\nContent-Length: 3\r\nContent-Length: 4\r\n\r\nabcd", "400 Bad Request"),
        ("POST /a HTTP/1.1\r\nContent-Length: 9\r\nExpect: the-unexpected\r\n\r\n", "417 Expectation Failed"),
        ("nonsense\r\n\r\n", "400 Bad Request"),
        ("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", "505 HTTP Version Not Supported"),
    ] {
        let mut client = client();
        client.send(text).await;
        let got = client.rest().await;
        assert!(got.starts_with(&format!("HTTP/1.1 {status}\r\n")), "{text:?}: {got:?}");
        assert!(got.contains("connection: close\r\n"), "{text:?}: {got:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_client_that_waits_for_leave_to_send_its_body_gets_it() {
    let mut client = client();
    client
        .send("POST /a HTTP/1.1\r\nContent-Length: 3\r\nExpect: 100-Continue\r\nConnection: close\r\n\r\n")
        .await;
    assert_eq!(client.now().await, "HTTP/1.1 100 Continue\r\n\r\n");
    client.send("abc").await;
    assert_eq!(answers(&client.rest().await), pairs(&[("200 OK", "/a abc")]));
}

/// `HEAD_MS_MAX`, `BODY_MS_MAX` and `LINGER_MS_MAX`: a head or body that does not arrive ends the connection.
#[tokio::test(start_paused = true)]
async fn heads_and_bodies_that_do_not_come_end_the_connection_in_time() {
    let begun = tokio::time::Instant::now();
    assert_eq!(client().rest().await, "");
    assert_eq!(begun.elapsed().as_secs(), 10, "an idle connection");
    let mut slow = client();
    slow.send("GET /a HT").await;
    let begun = tokio::time::Instant::now();
    assert!(slow.rest().await.starts_with("HTTP/1.1 408 "));
    assert_eq!(begun.elapsed().as_secs(), 10 + LINGER_MS_MAX / 1_000, "a head");
    let mut slow = client();
    slow.send("POST /a HTTP/1.1\r\nContent-Length: 3\r\n\r\nab").await;
    let begun = tokio::time::Instant::now();
    assert!(slow.rest().await.contains("TooSlow"));
    assert_eq!(begun.elapsed().as_secs(), 5 + LINGER_MS_MAX / 1_000, "a body");
    let mut kept = client();
    for _ in 0..5 {
        kept.send(POST).await;
        assert!(kept.now().await.ends_with("/a abc"));
        tokio::time::sleep(Duration::from_secs(8)).await;
    }
    kept.send(LAST).await;
    assert_eq!(answers(&kept.rest().await), pairs(&[("200 OK", "/b ")]));
}

/// `LINGERING_MAX`, `LINGER_BYTES_MAX`: a flood of refused uploads is not read to its end.
#[tokio::test(start_paused = true)]
async fn only_some_refused_clients_are_listened_to_and_each_only_so_long() {
    const REFUSED: &str = "POST /no HTTP/1.1\r\nContent-Length: 50\r\n\r\n";
    let mut clients = Vec::new();
    for _ in 0..LINGERING_MAX + 4 {
        let mut refused = client();
        refused.send(REFUSED).await;
        clients.push(refused);
    }
    tokio::time::sleep(Duration::from_millis(10)).await;
    let closed = |clients: &[Client]| clients.iter().filter(|client| client.served.is_finished()).count();
    assert_eq!(closed(&clients), 4, "those for which there is no place");
    for client in clients {
        assert!(client.rest().await.starts_with("HTTP/1.1 403 "));
    }
    let mut flood = client();
    flood.send(REFUSED).await;
    let begun = tokio::time::Instant::now();
    let mut sent = 0;
    while flood.stream.write_all(&[b'x'; 1 << 16]).await.is_ok() {
        sent += 1 << 16;
    }
    let in_flight = 1 << 21;
    assert!((LINGER_BYTES_MAX..=LINGER_BYTES_MAX + in_flight + (1 << 17)).contains(&sent), "{sent}");
    assert!(begun.elapsed() < Duration::from_millis(LINGER_MS_MAX));
}

fn upload(bytes: usize, body: &str) -> String {
    format!("POST /a HTTP/1.1\r\nContent-Length: {bytes}\r\n\r\n{body}")
}

/// A large body must bring `BODY_RATE_BYTES_MIN` a second after `BODY_GRACE_MS`; a small one has `BODY_MS_MAX`.
#[tokio::test(start_paused = true)]
async fn a_large_body_that_stalls_is_given_up_after_its_grace_time_and_a_small_one_is_not() {
    let mut stalled = client_of(LARGE);
    stalled.send(&upload(500_000, "begun")).await;
    let begun = tokio::time::Instant::now();
    assert!(stalled.rest().await.contains("TooSlow"));
    let linger = Duration::from_millis(LINGER_MS_MAX);
    assert_eq!(begun.elapsed().as_secs(), (Duration::from_millis(BODY_GRACE_MS) + linger).as_secs());
    let mut steady = client_of(LARGE);
    steady.send(&upload(20 * BODY_RATE_BYTES_MIN / 2, "")).await;
    for _ in 0..20 {
        tokio::time::sleep(Duration::from_millis(700)).await;
        steady.send(&"x".repeat(BODY_RATE_BYTES_MIN / 2)).await;
    }
    steady.send(LAST).await;
    let answered = answers(&steady.rest().await);
    assert_eq!(answered[0].0, "200 OK");
    assert_eq!(answered[0].1.len(), "/a ".len() + 20 * BODY_RATE_BYTES_MIN / 2);
    let mut small = client_of(LARGE);
    small.send(&upload(3, "ab")).await;
    tokio::time::sleep(Duration::from_secs(50)).await;
    small.send(&format!("c{LAST}")).await;
    assert_eq!(answers(&small.rest().await), pairs(&[("200 OK", "/a abc"), ("200 OK", "/b ")]));
}

/// Bodies up to `UNCOUNTED_BYTES_MAX` need no room; others are refused before they are read.
#[tokio::test(start_paused = true)]
async fn a_body_for_which_there_is_no_room_is_refused_before_it_is_read() {
    let mut declared = client_of(LARGE);
    declared.send(&upload(600_000, "")).await;
    let got = declared.rest().await;
    assert!(got.starts_with("HTTP/1.1 503 ") && got.contains("connection: close\r\n"), "{got}");
    let mut chunked = client_of(LARGE);
    chunked.send("POST /a HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n").await;
    for _ in 0..60 {
        chunked.send(&format!("2710\r\n{}\r\n", "x".repeat(10_000))).await;
        tokio::task::yield_now().await;
    }
    assert!(chunked.rest().await.starts_with("HTTP/1.1 503 "));
    let mut kept = client_of(LARGE);
    kept.send(&upload(400_000, &"x".repeat(400_000))).await;
    kept.send(&upload(UNCOUNTED_BYTES_MAX, &"x".repeat(UNCOUNTED_BYTES_MAX))).await;
    kept.send(LAST).await;
    let statuses: Vec<String> = answers(&kept.rest().await).into_iter().map(|(status, _)| status).collect();
    assert_eq!(statuses, ["200 OK"; 3]);
}

/// R5.10: a head over `UNCOUNTED_BYTES_MAX` takes room while it is received and until its request is answered. One for
/// which there is no room is refused; smaller ones are served meanwhile.
#[tokio::test(start_paused = true)]
async fn a_large_head_for_which_there_is_no_room_is_refused() {
    let long = |path: &str| format!("GET {path} HTTP/1.1\r\nX-Long: {}", "x".repeat(UNCOUNTED_BYTES_MAX));
    let mut first = client_of(NARROW);
    first.send(&long("/slow")).await;
    tokio::time::sleep(Duration::from_millis(10)).await;
    for end in ["", "\r\n\r\n"] {
        first.send(end).await;
        tokio::time::sleep(Duration::from_millis(10)).await;
        let mut second = client_of(NARROW);
        second.send(&long("/a")).await;
        assert!(second.rest().await.starts_with("HTTP/1.1 503 "));
        let mut small = client_of(NARROW);
        small.send(LAST).await;
        assert!(small.rest().await.starts_with("HTTP/1.1 200 "));
    }
    tokio::time::sleep(Duration::from_secs(2)).await;
    let mut third = client_of(NARROW);
    third.send(&format!("{}\r\nConnection: close\r\n\r\n", long("/a"))).await;
    assert!(third.rest().await.starts_with("HTTP/1.1 200 "), "the room was given back");
    drop(first);
}

#[tokio::test(start_paused = true)]
async fn a_server_that_stops_answers_what_it_took_and_closes_the_rest() {
    let idle = client();
    tokio::task::yield_now().await;
    idle.stop.send(true).unwrap();
    let begun = tokio::time::Instant::now();
    assert_eq!(idle.rest().await, "");
    assert_eq!(begun.elapsed().as_millis(), 0);
    let mut busy = client();
    busy.send(&POST.replace("/a", "/slow")).await;
    tokio::time::sleep(Duration::from_millis(10)).await;
    busy.stop.send(true).unwrap();
    let got = busy.rest().await;
    assert!(got.contains("connection: close\r\n"), "{got}");
    assert_eq!(answers(&got), pairs(&[("200 OK", "/slow abc")]));
    let mut begun = client();
    begun.send("GET /a HTTP/1.1\r\n").await;
    tokio::time::sleep(Duration::from_millis(10)).await;
    begun.stop.send(true).unwrap();
    tokio::time::sleep(Duration::from_millis(10)).await;
    begun.send("\r\n").await;
    assert_eq!(answers(&begun.rest().await), pairs(&[("200 OK", "/a ")]));
}

#[tokio::test(start_paused = true)]
async fn a_client_that_leaves_ends_its_request() {
    let mut leaving = client();
    leaving.send(&POST.replace("/a", "/slow")).await;
    tokio::time::sleep(Duration::from_millis(10)).await;
    let begun = tokio::time::Instant::now();
    drop(leaving.stream);
    leaving.served.await.unwrap();
    assert!(begun.elapsed() < Duration::from_millis(500), "the answer takes a second");
}

/// `AHEAD_BYTES_MAX`: pipelined input is buffered up to it.
#[tokio::test(start_paused = true)]
async fn what_is_sent_ahead_is_read_within_bounds() {
    let (mut stream, other) = duplex(1_000);
    let (_stop, stopped) = watch::channel(false);
    served(other, stopped);
    stream.write_all(POST.replace("/a", "/slow").as_bytes()).await.unwrap();
    let mut taken = 0;
    while let Ok(sent) = tokio::time::timeout(Duration::from_millis(100), stream.write(&[b'x'; 1_000])).await
    {
        taken += sent.unwrap();
    }
    assert!((AHEAD_BYTES_MAX..AHEAD_BYTES_MAX + 3_000).contains(&taken), "{taken}");
}

/// `WRITE_MS_MAX`: a client that accepts no byte is disconnected, also if the stream buffers part of the answer or all
/// of it.
#[tokio::test(start_paused = true)]
async fn a_client_that_reads_nothing_does_not_hold_its_connection() {
    for buffer in [0, 1 << 10, 1 << 20] {
        let (mut stream, other) = duplex(64);
        let (_stop, stopped) = watch::channel(false);
        let served = served(Buffered::new(other, buffer), stopped);
        stream.write_all(b"GET /long HTTP/1.1\r\n\r\n").await.unwrap();
        let begun = tokio::time::Instant::now();
        tokio::time::timeout(Duration::from_secs(3_600), served).await.unwrap().unwrap();
        assert_eq!(begun.elapsed().as_millis(), u128::from(WRITE_MS_MAX), "{buffer} bytes are buffered");
    }
}

/// `WRITE_MS_MAX`: the last bytes of a stream, such as TLS's close_notify, are not waited for longer than an answer.
#[tokio::test(start_paused = true)]
async fn a_client_that_does_not_take_the_end_of_the_stream_does_not_hold_its_connection() {
    for refused in ["nonsense\r\n\r\n", LAST] {
        let mut whole = client();
        whole.send(refused).await;
        let (mut stream, other) = duplex(whole.rest().await.len());
        let (_stop, stopped) = watch::channel(false);
        let served = served(Buffered::new(other, 1 << 10), stopped);
        stream.write_all(refused.as_bytes()).await.unwrap();
        let begun = tokio::time::Instant::now();
        tokio::time::timeout(Duration::from_secs(3_600), served).await.unwrap().unwrap();
        assert_eq!(begun.elapsed().as_millis(), u128::from(WRITE_MS_MAX));
    }
}

/// `WRITE_BYTES_PER_S_MIN`: a few bytes every ten seconds would keep an answer in memory for hours.
#[tokio::test(start_paused = true)]
async fn a_client_that_reads_drop_by_drop_does_not_hold_its_connection() {
    let all = WRITE_MS_MAX + 100_000 * 1_000 / WRITE_BYTES_PER_S_MIN;
    // A flush of more than rustls buffers shows no progress and has `WRITE_MS_MAX`.
    for (buffer, most) in [(0, all), (64 << 10, all), (1 << 20, WRITE_MS_MAX)] {
        let (mut stream, other) = duplex(64);
        let (_stop, stopped) = watch::channel(false);
        let served = served(Buffered::new(other, buffer), stopped);
        stream.write_all(b"GET /long HTTP/1.1\r\n\r\n").await.unwrap();
        let begun = tokio::time::Instant::now();
        let reading = tokio::spawn(async move {
            while stream.read(&mut [0; 32]).await.is_ok_and(|read| read > 0) {
                tokio::time::sleep(Duration::from_secs(10)).await;
            }
        });
        tokio::time::timeout(Duration::from_secs(3_600), served).await.unwrap().unwrap();
        let took = begun.elapsed().as_millis() as u64;
        assert!(
            (most - 1_000..=most + 1_000).contains(&took),
            "{took} ms of {most}, {buffer} bytes buffered"
        );
        reading.abort();
    }
}

/// `WRITE_BYTES_PER_S_MIN`: a client that reads at this rate gets its whole answer over a stream that buffers like
/// rustls.
#[tokio::test(start_paused = true)]
async fn a_client_that_reads_at_the_minimum_rate_gets_its_answer() {
    let (mut stream, other) = duplex(64);
    let (_stop, stopped) = watch::channel(false);
    let served = served(Buffered::new(other, 64 << 10), stopped);
    stream.write_all(b"GET /long HTTP/1.1\r\nConnection: close\r\n\r\n").await.unwrap();
    let mut read = 0;
    let mut piece = [0; WRITE_BYTES_PER_S_MIN as usize / 64];
    while stream.read_exact(&mut piece).await.is_ok() {
        read += piece.len();
        tokio::time::sleep(Duration::from_millis(1_000 / 64)).await;
    }
    assert!(read >= 100_000, "{read}");
    served.await.unwrap();
}

/// `BODY_TURN_BYTES_MAX`: other tasks of the thread run while a long body arrives.
#[tokio::test(start_paused = true)]
async fn a_long_body_leaves_turns_to_others() {
    struct Large;
    impl Service for Large {
        type Admitted = ();
        type HeadRoom = ();
        fn head_room(&self, _: Option<&RequestHead>, _: Option<IpAddr>) -> Result<(), Response> {
            Ok(())
        }
        fn admit(&self, _head: &RequestHead, _address: Option<IpAddr>) -> Result<(), Response> {
            Ok(())
        }
        fn body_limits(&self) -> (usize, Duration) {
            (usize::MAX, Duration::from_secs(5))
        }
        fn reserve(&self, (): &mut (), _bytes: usize) -> Result<(), Response> {
            Ok(())
        }
        fn unread(&self, (): (), why: Unreadable) -> Response {
            Response::json(StatusCode::BAD_REQUEST, format!("{why:?}"))
        }
        async fn answer(self: &Arc<Self>, head: RequestHead, (): ()) -> Response {
            Response::json(StatusCode::OK, head.body().len().to_string())
        }
    }
    const TURNS: usize = 4;
    let body = "x".repeat(TURNS * BODY_TURN_BYTES_MAX);
    let text =
        format!("POST / HTTP/1.1\r\nConnection: close\r\nContent-Length: {}\r\n\r\n{body}", body.len());
    let (mut stream, other) = duplex(text.len());
    stream.write_all(text.as_bytes()).await.unwrap();
    let (_stop, stopped) = watch::channel(false);
    let mut serving = pin!(serve(other, Arc::new(Large), None, stopped, Duration::from_secs(5)));
    // The whole body is available, so each pending poll is a turn for other tasks.
    let mut polls = 0;
    std::future::poll_fn(|cx| {
        polls += 1;
        serving.as_mut().poll(cx).map(drop)
    })
    .await;
    assert!(polls > TURNS - 1, "{polls}");
    let mut answer = String::new();
    stream.read_to_string(&mut answer).await.unwrap();
    assert!(answer.ends_with(&body.len().to_string()), "{answer}");
}

#[tokio::test(start_paused = true)]
async fn long_answers_arrive_whole_and_a_head_request_gets_none_of_them() {
    let (mut stream, other) = duplex(1_000);
    let (_stop, stopped) = watch::channel(false);
    let served = served(other, stopped);
    stream.write_all(b"GET /long HTTP/1.0\r\n\r\n").await.unwrap();
    let mut text = String::new();
    stream.read_to_string(&mut text).await.unwrap();
    assert_eq!(answers(&text), pairs(&[("200 OK", &"x".repeat(100_000))]));
    served.await.unwrap();
    let mut head = client();
    head.send("HEAD /long HTTP/1.1\r\nConnection: close\r\n\r\n").await;
    let got = head.rest().await;
    assert!(got.contains("content-length: 100000\r\n") && got.ends_with("GMT\r\n\r\n"), "{got}");
}
