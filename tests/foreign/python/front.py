"""An MCP server on the official Python SDK behind a front that is met in the field: `front.py FRONT PORT`.

Fronts: `mounted` (Starlette redirects /mcp to /mcp/ with 307), `moved` (308 to another path), `elsewhere` (a redirect to
another host), `circle` (308 from one path to the next and back), `user-agent` (403 and a page without the header), `filter`
(403 and a page, always), `gzip`, `deflate`, `br` (every answer is compressed), `tls` (with CERT and KEY behind the port), `identity` (the same, and a client certificate that CERT has signed is wanted), `unix`
(a socket file in place of the port).
"""

import ssl
import sys
import zlib

import brotli
import uvicorn
from mcp.server.mcpserver import MCPServer
from mcp.server.transport_security import TransportSecuritySettings
from pydantic import BaseModel
from starlette.applications import Starlette
from starlette.responses import HTMLResponse, RedirectResponse
from starlette.routing import Mount, Route

FRONT = sys.argv[1]

server = MCPServer("toolcrib-front")


class Sum(BaseModel):
    sum: int


@server.tool()
def add(a: int, b: int) -> Sum:
    """Adds two numbers."""
    return Sum(sum=a + b)


async def moved(request):
    return RedirectResponse("/else/mcp", status_code=308)


async def elsewhere(request):
    return RedirectResponse("http://192.0.2.1/mcp?token=secret", status_code=307)


async def circle(request):
    return RedirectResponse("/else" if request.url.path == "/mcp" else "/mcp", status_code=308)


def compressed(app):
    """Compresses every answer piece by piece, whatever the client accepts."""

    async def front(scope, receive, send):
        if scope["type"] != "http":
            return await app(scope, receive, send)
        if FRONT == "br":
            packer = brotli.Compressor()

            def pack(data, more):
                return packer.process(data) + (packer.flush() if more else packer.finish())
        else:
            packer = zlib.compressobj(wbits=31 if FRONT == "gzip" else 15)

            def pack(data, more):
                return packer.compress(data) + packer.flush(zlib.Z_SYNC_FLUSH if more else zlib.Z_FINISH)

        async def packed(message):
            if message["type"] == "http.response.start":
                fields = [(name, value) for name, value in message["headers"] if name.lower() != b"content-length"]
                message = {**message, "headers": [*fields, (b"content-encoding", FRONT.encode())]}
            elif message["type"] == "http.response.body":
                more = message.get("more_body", False)
                message = {**message, "body": pack(message.get("body", b""), more)}
            await send(message)

        await app(scope, receive, packed)

    return front


def guarded(app):
    """Refuses requests without a User-Agent, as Cloudflare does, or all of them."""

    async def front(scope, receive, send):
        names = [name.lower() for name, _ in scope.get("headers", [])]
        if scope["type"] == "http" and (FRONT == "filter" or b"user-agent" not in names):
            return await HTMLResponse("<html>error code: 1010</html>", status_code=403)(scope, receive, send)
        await app(scope, receive, send)

    return front


# The server is asked under several names: through a proxy, on a socket.
ANY_NAME = TransportSecuritySettings(enable_dns_rebinding_protection=False)

app = server.streamable_http_app(streamable_http_path="/", transport_security=ANY_NAME)
if FRONT == "mounted":
    app = Starlette(routes=[Mount("/mcp", app=app)], lifespan=lambda _: server.session_manager.run())
elif FRONT == "moved":
    routes = [Route("/mcp", moved, methods=["GET", "POST", "DELETE"]), Mount("/else/mcp", app=app)]
    app = Starlette(routes=routes, lifespan=lambda _: server.session_manager.run())
elif FRONT == "elsewhere":
    app = Starlette(routes=[Route("/mcp", elsewhere, methods=["GET", "POST", "DELETE"])])
elif FRONT == "circle":
    app = Starlette(routes=[Route("/{any:path}", circle, methods=["GET", "POST", "DELETE"])])
else:
    app = server.streamable_http_app(streamable_http_path="/mcp", transport_security=ANY_NAME)
    if FRONT in ("user-agent", "filter"):
        app = guarded(app)
    elif FRONT in ("gzip", "deflate", "br"):
        app = compressed(app)

options = {"log_level": "warning"}
if FRONT == "unix":
    options["uds"] = sys.argv[2]
else:
    options |= {"host": "127.0.0.1", "port": int(sys.argv[2])}
if FRONT in ("tls", "identity"):
    options |= {"ssl_certfile": sys.argv[3], "ssl_keyfile": sys.argv[4]}
if FRONT == "identity":
    options |= {"ssl_ca_certs": sys.argv[3], "ssl_cert_reqs": ssl.CERT_REQUIRED}
uvicorn.run(app, **options)
