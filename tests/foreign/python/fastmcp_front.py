"""An MCP server on FastMCP's own HTTP server: `fastmcp_front.py PORT`."""

import sys

from fastmcp import FastMCP
from pydantic import BaseModel

server = FastMCP("toolcrib-fastmcp")


class Sum(BaseModel):
    sum: int


@server.tool
def add(a: int, b: int) -> Sum:
    """Adds two numbers."""
    return Sum(sum=a + b)


server.run(transport="http", host="127.0.0.1", port=int(sys.argv[1]), show_banner=False, log_level="warning")
