//! R6.7: the HTTP API as clients see it: the official registry's shapes, pages, errors, publishing and its gate.

use serde_json::{Value, json};
use toolcrib_contract::json::{Document, Limits};
use toolcrib_contract::{Schema, SchemaOptions};
use toolcrib_registry::api::{Api, OPENAPI, Options, Publisher, Request, Response};
use toolcrib_registry::import::{self, import};
use toolcrib_registry::limits::{
    PAGE_RESULTS_DEFAULT, PAGE_RESULTS_MAX, PUBLISH_BYTES_MAX, QUERY_BYTES_MAX, STATUS_MESSAGE_CHARS_MAX,
};
use toolcrib_registry::{PUBLISHER_KEY, STACKLOK};
use toolcrib_store::catalogue::Catalogue;

use crate::databases::{self, Open};
use crate::real;

const TOKEN: &str = "a-token-of-some-length";

struct Client {
    api: Api,
    runtime: tokio::runtime::Runtime,
}

impl Client {
    fn new(store: Catalogue) -> Self {
        let mut options = Options::default();
        options.publishers =
            vec![Publisher::new(TOKEN, vec!["com.example/*".into(), "io.github.acme/one".into()])];
        Self { api: Api::new(store, options), runtime: tokio::runtime::Runtime::new().unwrap() }
    }

    fn send(&self, request: Request) -> Response {
        self.runtime.block_on(self.api.answer(request))
    }

    fn get(&self, target: &str) -> Response {
        let (path, query) = target.split_once('?').unwrap_or((target, ""));
        self.send(Request {
            method: "GET".into(),
            path: path.into(),
            query: query.into(),
            ..Request::default()
        })
    }

    fn json(&self, target: &str) -> Value {
        let response = self.get(target);
        assert_eq!(response.status, 200, "{target}: {}", String::from_utf8_lossy(&response.body));
        serde_json::from_slice(&response.body).unwrap()
    }

    fn write(&self, method: &str, target: &str, body: &Value, token: Option<&str>) -> (u16, Value) {
        let (path, query) = target.split_once('?').unwrap_or((target, ""));
        let response = self.send(Request {
            method: method.into(),
            path: path.into(),
            query: query.into(),
            authorization: token.map(|token| format!("Bearer {token}")),
            body: body.to_string().into_bytes(),
            ..Request::default()
        });
        (response.status, serde_json::from_slice(&response.body).unwrap())
    }

    fn publish(&self, server: &Value) -> (u16, Value) {
        self.write("POST", "/v0.1/publish", server, Some(TOKEN))
    }
}

fn server(name: &str, version: &str, tools: &Value) -> Value {
    let names: Vec<&str> =
        tools.as_array().unwrap().iter().map(|tool| tool["name"].as_str().unwrap()).collect();
    json!({"name": name, "description": "Finds things.", "version": version,
        "packages": [{"registryType": "oci", "identifier": "img:1", "transport": {"type": "stdio"}}],
        "_meta": {PUBLISHER_KEY: {STACKLOK: {"img:1": {"status": "active", "tools": names, "tool_definitions": tools}}}}})
}

fn finder(parameter: &str) -> Value {
    json!([{"name": "find_thing", "description": "Finds a thing.", "annotations": {"readOnlyHint": true},
        "inputSchema": {"type": "object", "required": [parameter], "properties": {parameter: {"type": "string"}}}}])
}

fn filled(open: Open<'_>, count: usize) -> Client {
    let client = Client::new(open());
    for number in 0..count {
        let name = format!("com.example/s{number:03}");
        let (status, body) = client.publish(&server(&name, "1.0.0", &finder("q")));
        assert_eq!(status, 200, "{body}");
    }
    client
}

/// R6.7: pages follow each other without a gap or a repeat, whatever their size.
#[test]
fn pages_follow_each_other() {
    databases::each(|open| {
        let client = filled(open, 65);
        assert_eq!(
            client.json("/v0.1/servers")["servers"].as_array().unwrap().len(),
            PAGE_RESULTS_DEFAULT as usize
        );
        for limit in [1, 7, 64, 65, PAGE_RESULTS_MAX] {
            let (mut names, mut cursor) = (Vec::new(), String::new());
            loop {
                let page = client.json(&format!("/v0.1/servers?limit={limit}{cursor}"));
                let servers = page["servers"].as_array().unwrap();
                assert_eq!(page["metadata"]["count"], servers.len());
                names.extend(
                    servers.iter().map(|server| server["server"]["name"].as_str().unwrap().to_owned()),
                );
                match page["metadata"]["nextCursor"].as_str() {
                    Some(next) => cursor = format!("&cursor={next}"),
                    None => break,
                }
            }
            assert_eq!(names.len(), 65, "limit {limit}");
            assert!(names.windows(2).all(|pair| pair[0] < pair[1]));
        }
    });
}

/// R6.7: a wrong parameter is 400 with its name, a missing resource 404, a wrong method 405.
#[test]
fn wrong_requests_are_told_apart() {
    databases::each(|open| {
        let client = filled(open, 1);
        let long = "x".repeat(QUERY_BYTES_MAX + 1);
        for (target, status, says) in [
            ("/v0.1/servers?limit=0", 400, "limit"),
            (&*format!("/v0.1/servers?limit={}", PAGE_RESULTS_MAX + 1), 400, "limit"),
            ("/v0.1/servers?limit=x", 400, "limit"),
            ("/v0.1/servers?cursor=!!", 400, "cursor"),
            ("/v0.1/servers?updated_since=yesterday", 400, "updated_since"),
            ("/v0.1/servers?include_deleted=perhaps", 400, "include_deleted"),
            ("/v0.1/servers?search=%FF", 400, "UTF-8"),
            (&format!("/v0.1/servers?search={long}"), 400, "search"),
            ("/v0.1/x/toolcrib/tools?read_only=1", 400, "read_only"),
            ("/v0.1/servers/com.example%2Fnone/versions", 404, "Server not found"),
            ("/v0.1/servers/com.example%2Fs000/versions/2.0.0", 404, "Server not found"),
            ("/v0.1/x/toolcrib/servers/com.example%2Fs000/versions/latest/tools/none", 404, "Tool not found"),
            ("/v0.1/nothing", 404, "nothing"),
            ("/v0.1/publish", 405, "not allowed"),
        ] {
            let response = client.get(target);
            let body: Value = serde_json::from_slice(&response.body).unwrap();
            assert_eq!(response.status, status, "{target}: {body}");
            assert!(body["error"].as_str().unwrap().contains(says), "{target}: {body}");
        }
    });
}

/// R6.7: a response that the client has already is not sent again.
#[test]
fn an_etag_saves_the_body() {
    databases::each(|open| {
        let client = filled(open, 2);
        let first = client.get("/v0.1/servers");
        let tag = first.headers.iter().find(|(name, _)| *name == "etag").unwrap().1.clone();
        let mut request = Request {
            method: "GET".into(),
            path: "/v0.1/servers".into(),
            if_none_match: Some(format!("\"x\", W/{tag}")),
            ..Request::default()
        };
        let again = client.send(request.clone());
        assert_eq!((again.status, again.body.len()), (304, 0));
        client.publish(&server("com.example/new", "1.0.0", &finder("q")));
        request.if_none_match = Some(tag);
        assert_eq!(client.send(request).status, 200);
    });
}

/// R6.7: publishing needs a token that is allowed to use the name.
#[test]
fn publishing_needs_a_credential_for_the_name() {
    databases::each(|open| {
        let client = Client::new(open());
        let entry = server("com.example/a", "1.0.0", &finder("q"));
        assert_eq!(client.write("POST", "/v0.1/publish", &entry, None).0, 401);
        assert_eq!(client.write("POST", "/v0.1/publish", &entry, Some("another-token")).0, 401);
        assert_eq!(client.publish(&server("org.other/a", "1.0.0", &finder("q"))).0, 403);
        assert_eq!(client.publish(&server("io.github.acme/two", "1.0.0", &finder("q"))).0, 403);
        assert_eq!(client.publish(&server("io.github.acme/one", "1.0.0", &finder("q"))).0, 200);
        let closed = Client { api: Api::new(open(), Options::default()), ..client };
        assert_eq!(closed.publish(&entry).0, 501);
    });
}

/// R6.7: a version is published once; violations of the format, the budget or the name index are refused with every
/// location.
#[test]
fn bad_entries_are_refused_with_their_places() {
    databases::each(|open| {
        let client = filled(open, 1);
        let (status, body) = client.publish(&server("com.example/s000", "1.0.0", &finder("other")));
        assert!(status == 400 || status == 409, "{body}");
        let again = client.publish(&server("com.example/s000", "1.0.0", &finder("q")));
        assert_eq!((again.0, &again.1["error"]), (400, &json!("cannot publish duplicate version")));
        let mut long = server("com.example/x", "^1.0", &finder("q"));
        long["description"] = json!("x".repeat(101));
        let (status, body) = client.publish(&long);
        let places: Vec<&str> =
            body["details"].as_array().unwrap().iter().map(|d| d["place"].as_str().unwrap()).collect();
        assert_eq!((status, places), (400, vec!["/description", "/version"]), "{body}");
        let mut unlisted = server("com.example/x", "1.0.0", &finder("q"));
        unlisted["_meta"][PUBLISHER_KEY][STACKLOK]["img:1"]["tools"] = json!(["other"]);
        assert_eq!(client.publish(&unlisted).1["details"][0]["rule"], "tools.out-of-sync");
        let mut large = server("com.example/x", "1.0.0", &finder("q"));
        large["_meta"][PUBLISHER_KEY]["com.example"] = json!({"x": "y".repeat(262_144)});
        assert_eq!(client.publish(&large).1["details"][0]["rule"], "budget.over");
        large["_meta"][PUBLISHER_KEY]["com.example"] = json!({"x": "y".repeat(PUBLISH_BYTES_MAX)});
        assert!(client.publish(&large).1["error"].as_str().unwrap().contains("json.bytes_max"));
    });
}

/// R6.7: a version that breaks callers must declare it; the refusal carries a call that used to work.
#[test]
fn a_breaking_version_must_say_so() {
    databases::each(|open| {
        let client = filled(open, 1);
        let (status, body) = client.publish(&server("com.example/s000", "1.1.0", &finder("query")));
        assert_eq!(status, 409, "{body}");
        assert!(body["report"]["changes"][0]["witness"].get("q").is_some(), "{body}");
        assert_eq!(client.publish(&server("com.example/s000", "2.0.0", &finder("query"))).0, 200);
        let third = server("com.example/s000", "2.0.1", &finder("words"));
        assert_eq!(client.write("POST", "/v0.1/publish?breaking=allow", &third, Some(TOKEN)).0, 200);
        let latest = client.json("/v0.1/servers/com.example%2Fs000/versions/latest");
        assert_eq!(latest["server"]["version"], "2.0.1");
        let list = client.json("/v0.1/servers/com.example%2Fs000/versions");
        let versions: Vec<&str> = list["servers"]
            .as_array()
            .unwrap()
            .iter()
            .map(|s| s["server"]["version"].as_str().unwrap())
            .collect();
        assert_eq!(versions, ["2.0.1", "2.0.0", "1.0.0"]);
        let only = client.json("/v0.1/servers?version=latest");
        assert_eq!(only["metadata"]["count"], 1);
    });
}

/// R7.3: an unusable schema is refused with its tool and location, also in a first version and where a break is
/// allowed.
#[test]
fn an_unusable_schema_is_not_published() {
    databases::each(|open| {
        let client = filled(open, 1);
        for (schema, place) in [
            (json!({"type": "objekt"}), "/inputSchema/type"),
            (json!({"type": "object", "$schema": "http://nope/x"}), "/inputSchema/$schema"),
            (json!({"type": "object", "$ref": "https://x.example/s.json"}), "/inputSchema/$ref"),
        ] {
            let tools = json!([{"name": "find", "inputSchema": schema}]);
            for (name, version) in [("com.example/fresh", "1.0.0"), ("com.example/s000", "2.0.0")] {
                let entry = server(name, version, &tools);
                let (status, body) =
                    client.write("POST", "/v0.1/publish?breaking=allow", &entry, Some(TOKEN));
                assert_eq!(status, 400, "{body}");
                let said = body["details"][0]["place"].as_str().unwrap();
                assert!(said.ends_with(place), "{body}");
            }
        }
    });
}

/// R6.7: of parallel publications of one version exactly one is kept.
#[test]
fn parallel_publications_of_a_version_are_one() {
    databases::each(|open| {
        let client = Client::new(open());
        let (api, entry) = (client.api.clone(), server("com.example/a", "1.0.0", &finder("q")));
        let kept = client.runtime.block_on(async {
            let tasks: Vec<_> = (0..20)
                .map(|_| {
                    let (api, body) = (api.clone(), entry.to_string().into_bytes());
                    tokio::spawn(async move {
                        let request = Request {
                            method: "POST".into(),
                            path: "/v0.1/publish".into(),
                            authorization: Some(format!("Bearer {TOKEN}")),
                            body,
                            ..Request::default()
                        };
                        api.answer(request).await.status
                    })
                })
                .collect();
            let mut kept = 0;
            for task in tasks {
                kept += usize::from(task.await.unwrap() == 200);
            }
            kept
        });
        assert_eq!(kept, 1);
    });
}

/// R6.7: the status of one version or of all can change; a deleted version is gone from lists but not from change
/// polling.
#[test]
fn status_changes_and_deletions_are_followed() {
    databases::each(|open| {
        let client = filled(open, 2);
        let at = "/v0.1/servers/com.example%2Fs000/versions/1.0.0/status";
        let before =
            client.json("/v0.1/servers")["servers"][0]["_meta"]["io.modelcontextprotocol.registry/official"]
                ["updatedAt"]
                .clone();
        assert_eq!(
            client.write("PATCH", at, &json!({"status": "active"}), Some(TOKEN)).0,
            400,
            "nothing changes"
        );
        assert_eq!(client.write("PATCH", at, &json!({"status": "gone"}), Some(TOKEN)).0, 400);
        let long = json!({"status": "deleted", "statusMessage": "x".repeat(STATUS_MESSAGE_CHARS_MAX + 1)});
        assert_eq!(client.write("PATCH", at, &long, Some(TOKEN)).0, 400);
        let (status, body) =
            client.write("PATCH", at, &json!({"status": "deleted", "statusMessage": "retired"}), Some(TOKEN));
        assert_eq!(
            (status, &body["_meta"]["io.modelcontextprotocol.registry/official"]["statusMessage"]),
            (200, &json!("retired"))
        );
        assert_eq!(client.json("/v0.1/servers")["metadata"]["count"], 1);
        assert_eq!(client.json("/v0.1/servers?include_deleted=true")["metadata"]["count"], 2);
        assert_eq!(
            client.json(&format!("/v0.1/servers?updated_since={}", before.as_str().unwrap()))["metadata"]["count"],
            2
        );
        assert_eq!(client.json("/v0.1/servers?updated_since=2999-01-01T00:00:00Z")["metadata"]["count"], 0);
        assert_eq!(client.get("/v0.1/servers/com.example%2Fs000/versions").status, 404);
        assert_eq!(client.get("/v0.1/servers/com.example%2Fs000/versions?include_deleted=true").status, 200);
        assert_eq!(
            client.get("/v0.1/x/toolcrib/servers/com.example%2Fs000/versions/1.0.0/tools/find_thing").status,
            404
        );
        let all = client.write(
            "PATCH",
            "/v0.1/servers/com.example%2Fs001/status",
            &json!({"status": "deprecated"}),
            Some(TOKEN),
        );
        assert_eq!(
            (all.0, &all.1["servers"][0]["_meta"]["io.modelcontextprotocol.registry/official"]["status"]),
            (200, &json!("deprecated"))
        );
    });
}

/// R6.7: tools are found by words and by effect, each with its signature and its definition as given.
#[test]
fn tools_are_found_across_servers() {
    databases::each(|open| {
        let client = filled(open, 3);
        let mut writer = finder("q");
        writer[0]["name"] = json!("dropTable");
        writer[0]["description"] = json!("Drops all rows.");
        writer[0]["annotations"] = json!({});
        writer[0]["outputSchema"] = json!({"type": "object"});
        client.publish(&server("com.example/db", "1.0.0", &writer));
        let found = |query: &str| {
            client.json(&format!("/v0.1/x/toolcrib/tools?{query}"))["tools"].as_array().unwrap().clone()
        };
        assert_eq!(found("search=find+thing").len(), 3);
        assert_eq!(found("search=table")[0]["tool"]["name"], "dropTable");
        assert_eq!(found("search=table")[0]["effect"], "destructive");
        assert_eq!(found("search=table&read_only=true").len(), 0);
        assert_eq!(found("destructive=true").len(), 1);
        assert_eq!(found("has_output=true").len(), 1);
        assert_eq!(found("server=S00").len(), 3);
        assert_eq!(found("search=%22OR%22*%20NEAR(").len(), 0);
        let page = client.json("/v0.1/x/toolcrib/tools?search=find&limit=2");
        let next = page["metadata"]["nextCursor"].as_str().unwrap();
        assert_eq!(
            client.json(&format!("/v0.1/x/toolcrib/tools?search=find&limit=2&cursor={next}"))["metadata"]["count"],
            1
        );
        let one = client.json("/v0.1/x/toolcrib/servers/com.example%2Fs000/versions/1.0.0/tools/find_thing");
        assert_eq!((&one["tool"], &one["signature"]), (&finder("q")[0], &json!("find_thing(q: string)")));
    });
}

/// R6.7: responses have the shapes of the official registry's own description, over a real registry.
#[test]
fn answers_have_the_official_shapes() {
    databases::each(|open| {
        let (Some(text), Some(swagger)) = (
            real::file("toolhive-registry-server/upstream-registry-2025-11-26.json"),
            real::file("toolhive-registry-server/swagger.json"),
        ) else {
            return;
        };
        let store = open();
        import(&store, text.into_bytes(), &import::Options::default()).unwrap();
        let client = Client::new(store);
        // The whole description would exceed the limits of a tool's schema; responses are made of these parts.
        let swagger: Value = serde_json::from_str(&swagger).unwrap();
        let parts: serde_json::Map<String, Value> = swagger["components"]["schemas"]
            .as_object()
            .unwrap()
            .iter()
            .filter(|(name, _)| name.starts_with("v0.") || name.starts_with("model."))
            .map(|(name, schema)| (name.clone(), schema.clone()))
            .collect();
        for (target, name) in [
            ("/v0.1/servers?limit=100", "v0.ServerListResponse"),
            ("/v0.1/servers/io.github.stacklok%2Fgithub/versions/latest", "v0.ServerResponse"),
        ] {
            let mut answer = client.json(target);
            let text =
                json!({"$ref": format!("#/components/schemas/{name}"), "components": {"schemas": parts}})
                    .to_string();
            let schema = Document::parse(text.as_bytes(), &Limits::file()).unwrap();
            let compiled = Schema::compile(schema.root(), &SchemaOptions::default()).unwrap();
            let body = answer.to_string();
            let instance = Document::parse(body.as_bytes(), &Limits::file()).unwrap();
            compiled
                .check(schema.root(), instance.root())
                .unwrap_or_else(|error| panic!("{target}: {error}"));
            // A wrong shape must be found, or the check would prove nothing.
            if let Some(list) = answer.get_mut("servers") {
                list[0]["_meta"]["io.modelcontextprotocol.registry/official"]["isLatest"] = json!("yes");
                let body = answer.to_string();
                let instance = Document::parse(body.as_bytes(), &Limits::file()).unwrap();
                assert!(!compiled.accepts(instance.root()));
            }
        }
    });
}

/// R6.7: the OpenAPI document is served, and names every route that answers.
#[test]
fn the_openapi_document_names_every_route() {
    let client = Client::new(Catalogue::in_memory().unwrap());
    let document = client.json("/openapi.json");
    assert_eq!(document, serde_json::from_str::<Value>(OPENAPI).unwrap());
    for (path, methods) in document["paths"].as_object().unwrap() {
        let concrete = path.replace("{name}", "a%2Fb").replace("{version}", "1").replace("{tool}", "t");
        for method in methods.as_object().unwrap().keys() {
            let request =
                Request { method: method.to_uppercase(), path: concrete.clone(), ..Request::default() };
            let response = client.send(request);
            assert_ne!(response.status, 405, "{method} {path}");
            assert!(
                methods[method]["responses"].get(response.status.to_string()).is_some(),
                "{method} {path}: {}",
                response.status
            );
        }
    }
}
