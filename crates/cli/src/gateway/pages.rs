//! The pages `/livez`, `/readyz` and `/metrics` (R5.10), and the protected resource metadata of RFC 9728.

use std::fmt::Write as _;
use std::sync::{Arc, OnceLock, Weak};

use arc_swap::ArcSwapOption;
use toolcrib::engine::Engine;
use toolcrib::engine::safety::keep::Scope;
use toolcrib::{Page, Side};
use toolcrib_gateway::Gateway;
use toolcrib_gateway::config::Auth;
use toolcrib_gateway::telemetry::Exporter;

const METADATA: &str = "/.well-known/oauth-protected-resource";

pub(super) struct Pages {
    engine: Arc<Engine>,
    gateway: OnceLock<Weak<Gateway>>,
    /// Issuer and audience for the metadata, if tokens of an issuer are accepted.
    issuer: ArcSwapOption<(String, String)>,
    spans: Option<Arc<Exporter>>,
}

impl Pages {
    pub(super) fn new(engine: Arc<Engine>, spans: Option<Arc<Exporter>>) -> Self {
        let issuer = ArcSwapOption::empty();
        Self { engine, gateway: OnceLock::new(), issuer, spans }
    }

    pub(super) fn set_gateway(&self, gateway: &Arc<Gateway>) {
        let _ = self.gateway.set(Arc::downgrade(gateway));
    }

    /// Sets the issuer and audience of the metadata.
    pub(super) fn set_issuer(&self, auth: &Auth) {
        let issuer = auth.jwt.as_ref().map(|jwt| Arc::new((jwt.issuer.clone(), jwt.audience.clone())));
        self.issuer.store(issuer);
    }

    /// Returns the URL of the metadata for challenges, built from the audience as RFC 9728 says.
    pub(super) fn metadata_url(&self, auth: &Auth) -> Option<String> {
        let resource = &auth.jwt.as_ref()?.audience;
        let (scheme, rest) = resource.split_once("://")?;
        let (host, path) = rest.split_once('/').map_or((rest, ""), |(host, path)| (host, path));
        let slash = if path.is_empty() { "" } else { "/" };
        Some(format!("{scheme}://{host}{METADATA}{slash}{path}"))
    }

    fn ready(&self) -> Page {
        let Some(gateway) = self.gateway.get().and_then(Weak::upgrade) else {
            return Page {
                status: 503,
                media_type: "application/json",
                body: "{\"servers\":[]}\n".to_owned(),
            };
        };
        let servers = gateway.status();
        // A failed server is reported, yet the gateway is ready: it serves the others.
        let is_ready = servers.iter().all(|server| server.state != "starting" || server.stale);
        let mut body = serde_json::json!({ "ready": is_ready, "servers": servers });
        if let (Some(safety), Some(members)) = (self.engine.safety(), body.as_object_mut()) {
            // This page has no caller, so only the stop of everybody is reported with its reason.
            let stops = safety.stops().shown(safety.now_ms(), |scope| *scope == Scope::Everybody);
            members.extend(stops.as_object().cloned().unwrap_or_default());
            let unwritable = safety.unwritable();
            let audit = match (safety.distrusted(), &unwritable) {
                (Some(_), _) => "broken",
                (None, Some(_)) => "unwritable",
                (None, None) => "unbroken",
            };
            members.insert("audit".to_owned(), audit.into());
            members.insert("audit_lost".to_owned(), safety.lost_records().into());
            if let Some(reason) = unwritable {
                members.insert("audit_unwritable".to_owned(), reason.into());
            }
        }
        let body = body.to_string();
        Page { status: if is_ready { 200 } else { 503 }, media_type: "application/json", body: body + "\n" }
    }

    fn metrics(&self) -> Page {
        let mut body = String::new();
        self.engine.meter().render(&mut body);
        if let Some(spans) = &self.spans {
            spans.render(&mut body);
        }
        if let Some(safety) = self.engine.safety() {
            let stops = safety.stops().all().iter().filter(|stop| !stop.is_over(safety.now_ms())).count();
            let _ = writeln!(
                body,
                "# HELP toolcrib_stops Emergency stops in force.\n# TYPE toolcrib_stops gauge\ntoolcrib_stops {stops}\n\
                 # HELP toolcrib_audit_broken Whether the audit was found broken.\n# TYPE toolcrib_audit_broken gauge\n\
                 toolcrib_audit_broken {}\n\
                 # HELP toolcrib_audit_unwritable Whether records of the audit cannot be written at the moment.\n\
                 # TYPE toolcrib_audit_unwritable gauge\ntoolcrib_audit_unwritable {}\n\
                 # HELP toolcrib_audit_lost_total Records of the audit that could never be written.\n\
                 # TYPE toolcrib_audit_lost_total counter\ntoolcrib_audit_lost_total {}",
                u8::from(safety.distrusted().is_some()),
                u8::from(safety.unwritable().is_some()),
                safety.lost_records()
            );
        }
        body.push_str("# HELP toolcrib_server_up Whether a server behind the gateway answers.\n# TYPE toolcrib_server_up gauge\n");
        let servers = self.gateway.get().and_then(Weak::upgrade).map(|gateway| gateway.status());
        for server in servers.iter().flatten() {
            let name = server.name.replace(['\\', '"', '\n'], "_");
            let _ = writeln!(
                body,
                "toolcrib_server_up{{server=\"{name}\"}} {}",
                u8::from(server.state == "ready")
            );
            let _ =
                writeln!(body, "toolcrib_server_calls_in_flight{{server=\"{name}\"}} {}", server.in_flight);
            let _ = writeln!(body, "toolcrib_server_tools{{server=\"{name}\"}} {}", server.tools);
            let _ = writeln!(
                body,
                "toolcrib_server_quarantined{{server=\"{name}\"}} {}",
                server.quarantined.len()
            );
        }
        Page { status: 200, media_type: "text/plain; version=0.0.4", body }
    }
}

impl Side for Pages {
    fn page(&self, path: &str) -> Option<Page> {
        match path {
            "/livez" => Some(Page { status: 200, media_type: "text/plain", body: "ok\n".to_owned() }),
            "/readyz" => Some(self.ready()),
            "/metrics" => Some(self.metrics()),
            _ if path.starts_with(METADATA) => {
                let named = self.issuer.load_full()?;
                let (issuer, resource) = &*named;
                let body = serde_json::json!({
                    "resource": resource, "authorization_servers": [issuer], "bearer_methods_supported": ["header"]
                });
                Some(Page { status: 200, media_type: "application/json", body: body.to_string() })
            }
            _ => None,
        }
    }
}
