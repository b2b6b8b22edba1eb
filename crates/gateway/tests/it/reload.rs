//! Changes of the configuration while clients are served.

use serde_json::json;
use toolcrib_gateway::GatewayError;

use super::bed::{Bed, lives, stdio};

/// R5.8: unchanged servers are not touched, removed ones are stopped, an invalid set changes nothing.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_change_of_servers_touches_only_those_that_changed() {
    let bed = Bed::new(vec![stdio("stays", "counts"), stdio("goes", "forks")]).await;
    assert_eq!(bed.text("stays__poke", json!({})).await, "1");
    let child: u32 = bed.text("goes__poke", json!({})).await.parse().unwrap();
    bed.gateway.change(vec![stdio("stays", "counts"), stdio("comes", "")]).await.unwrap();
    bed.until("changed", |bed| bed.tools().contains(&"comes__echo".to_owned())).await;
    assert!(!bed.tools().contains(&"goes__echo".to_owned()));
    assert_eq!(bed.text("stays__poke", json!({})).await, "2", "the same process");
    bed.until("gone", |_| !lives(child)).await;
    let twice = bed.gateway.change(vec![stdio("a", ""), stdio("a", "")]).await;
    assert_eq!(twice, Err(GatewayError::Twice("a".to_owned())));
    assert_eq!(bed.text("stays__poke", json!({})).await, "3");
    bed.gateway.stop().await;
}
