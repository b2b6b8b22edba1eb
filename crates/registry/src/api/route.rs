//! Routing by path. A name is one percent-encoded segment: `com.example%2Fserver`.

use super::{Request, Response};

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Route {
    OpenApi,
    Health,
    Servers,
    Versions { name: String },
    Version { name: String, version: String },
    SearchTools,
    Tools { name: String, version: String },
    Tool { name: String, version: String, tool: String },
    Publish,
    Status { name: String, version: Option<String> },
}

impl Route {
    pub(super) fn find(request: &Request) -> Result<Self, Response> {
        let (route, allow) = Self::at(&request.path)?;
        let method = if request.method == "HEAD" { "GET" } else { &request.method };
        if method == allow {
            return Ok(route);
        }
        let allow = if allow == "GET" { "GET, HEAD" } else { allow };
        Err(Response::error(405, "this method is not allowed here").with("allow", allow))
    }

    /// Returns the route at a path and its method.
    fn at(path: &str) -> Result<(Self, &'static str), Response> {
        let nothing = || Response::error(404, "there is nothing at this path");
        if path == "/openapi.json" {
            return Ok((Self::OpenApi, "GET"));
        }
        let rest = path.strip_prefix("/v0.1/").or_else(|| path.strip_prefix("/v0/")).ok_or_else(nothing)?;
        let segments: Option<Vec<String>> = rest.split('/').map(decoded).collect();
        let segments =
            segments.ok_or_else(|| Response::error(400, "the path is not percent-encoded UTF-8"))?;
        let segments: Vec<&str> = segments.iter().map(String::as_str).collect();
        let own = str::to_owned;
        Ok(match *segments.as_slice() {
            ["health"] => (Self::Health, "GET"),
            ["servers"] => (Self::Servers, "GET"),
            ["publish"] => (Self::Publish, "POST"),
            ["servers", name, "status"] => (Self::Status { name: own(name), version: None }, "PATCH"),
            ["servers", name, "versions"] => (Self::Versions { name: own(name) }, "GET"),
            ["servers", name, "versions", version] => {
                (Self::Version { name: own(name), version: own(version) }, "GET")
            }
            ["servers", name, "versions", version, "status"] => {
                (Self::Status { name: own(name), version: Some(own(version)) }, "PATCH")
            }
            ["x", "toolcrib", "tools"] => (Self::SearchTools, "GET"),
            ["x", "toolcrib", "servers", name, "versions", version, "tools"] => {
                (Self::Tools { name: own(name), version: own(version) }, "GET")
            }
            ["x", "toolcrib", "servers", name, "versions", version, "tools", tool] => {
                (Self::Tool { name: own(name), version: own(version), tool: own(tool) }, "GET")
            }
            _ => return Err(nothing()),
        })
    }
}

/// Decodes a percent-encoded segment; `None` if it is not UTF-8 or contains a NUL.
pub(super) fn decoded(text: &str) -> Option<String> {
    let mut out = Vec::with_capacity(text.len());
    let mut bytes = text.bytes();
    while let Some(byte) = bytes.next() {
        if byte != b'%' {
            out.push(byte);
            continue;
        }
        let digit = |byte: Option<u8>| char::from(byte?).to_digit(16);
        let (high, low) = (digit(bytes.next())?, digit(bytes.next())?);
        out.push(u8::try_from(high * 16 + low).ok()?);
    }
    String::from_utf8(out).ok().filter(|text| !text.contains('\0'))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(method: &str, path: &str) -> Result<Route, u16> {
        let request = Request { method: method.into(), path: path.into(), ..Request::default() };
        Route::find(&request).map_err(|refused| refused.status)
    }

    #[test]
    fn names_are_one_encoded_segment() {
        let version = Route::Version { name: "com.example/my-server".into(), version: "1.0.0+2013".into() };
        assert_eq!(
            at("GET", "/v0.1/servers/com.example%2Fmy-server/versions/1.0.0%2B2013"),
            Ok(version.clone())
        );
        assert_eq!(at("HEAD", "/v0/servers/com.example%2fmy-server/versions/1.0.0+2013"), Ok(version));
        assert_eq!(at("GET", "/v0.1/servers/com.example/my-server/versions/1"), Err(404));
        assert_eq!(at("GET", "/v0.1/servers/%FF/versions"), Err(400));
        assert_eq!(at("GET", "/v0.1/servers/%2/versions"), Err(400));
        assert_eq!(at("DELETE", "/v0.1/servers"), Err(405));
        assert_eq!(at("GET", "/v0.1/publish"), Err(405));
        assert_eq!(at("GET", "/v0.1/"), Err(404));
    }
}
