"""An MCP server on the official Python SDK, both eras: `server.py stdio` or `server.py http PORT`.

What the foreign clients are tried on, and an upstream that shares no code with ours.
"""

import sys
from typing import Annotated

import anyio
from mcp.server.mcpserver import Context, MCPServer
from mcp.server.mcpserver.resolve import Elicit, Resolve
from pydantic import BaseModel

server = MCPServer("toolcrib-foreign-server")


class Sum(BaseModel):
    sum: int


class Person(BaseModel):
    username: str
    email: str


def person() -> Elicit[Person]:
    return Elicit("Who are you?", Person)


@server.tool()
def add(a: int, b: int) -> Sum:
    """Adds two numbers."""
    return Sum(sum=a + b)


@server.tool()
async def count(context: Context) -> str:
    """Counts to a hundred in three steps."""
    for done in (0, 50, 100):
        await context.report_progress(done, 100)
        await anyio.sleep(0.02)
    return "counted"


@server.tool()
async def greet(who: Annotated[Person, Resolve(person)]) -> str:
    """Asks who is there and says hello."""
    return f"Hello, {who.username}!"


if sys.argv[1] == "stdio":
    server.run("stdio")
else:
    server.run("streamable-http", port=int(sys.argv[2]))
