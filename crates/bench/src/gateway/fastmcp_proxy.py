"""FastMCP's own proxy in front of a URL, in its fastest form: no sessions, plain JSON answers, no log."""

import sys

from fastmcp.server import create_proxy

url, port = sys.argv[1], int(sys.argv[2])
create_proxy(url).run(
    transport="http",
    host="127.0.0.1",
    port=port,
    path="/mcp",
    stateless_http=True,
    json_response=True,
    show_banner=False,
    log_level="critical",
    uvicorn_config={"access_log": False, "log_level": "critical", "timeout_keep_alive": 3600},
)
