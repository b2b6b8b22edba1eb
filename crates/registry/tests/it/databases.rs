//! Runs one suite over every database: the catalogue behaves the same in SQLite and in PostgreSQL.

use std::sync::atomic::{AtomicU32, Ordering};

use toolcrib_store::catalogue::Catalogue;
use toolcrib_testkit::postgres::PostgresServer;

/// Opens an empty catalogue.
pub(crate) type Open<'o> = &'o dyn Fn() -> Catalogue;

/// Runs `test` over SQLite in memory, SQLite on disk, and a PostgreSQL server that is started for it.
pub(crate) fn each(test: impl Fn(Open<'_>)) {
    static LAST: AtomicU32 = AtomicU32::new(0);
    test(&|| Catalogue::in_memory().unwrap());
    let folder = std::path::Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!(
        "databases-{}-{}",
        std::process::id(),
        LAST.fetch_add(1, Ordering::Relaxed)
    ));
    test(&|| {
        let path = folder.join(LAST.fetch_add(1, Ordering::Relaxed).to_string()).join("toolcrib.db");
        Catalogue::open(path.to_str().unwrap()).unwrap()
    });
    let _ = std::fs::remove_dir_all(&folder);
    if let Some(server) = PostgresServer::start(&[]) {
        let server = server.unwrap();
        test(&|| Catalogue::open(&fresh(&server)).unwrap());
    }
}

/// Creates a database and returns its URL.
pub(crate) fn fresh(server: &PostgresServer) -> String {
    static LAST: AtomicU32 = AtomicU32::new(0);
    let name = format!("t{}", LAST.fetch_add(1, Ordering::Relaxed));
    let mut client = postgres::Client::connect(&server.url("postgres"), postgres::NoTls).unwrap();
    client.batch_execute(&format!("CREATE DATABASE {name}")).unwrap();
    server.url(&name)
}
