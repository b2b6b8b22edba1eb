"""An MCP client on the Python SDK of 2024, over HTTP+SSE. What it does and prints: ../README.md."""

import argparse
import json
import sys
import traceback
from typing import Any

import anyio
from mcp import ClientSession
from mcp.client.sse import sse_client

STEP_SECONDS_MAX = 30.0


def expect(truth: Any, message: str) -> None:
    if not truth:
        raise AssertionError(message)


async def take(session: ClientSession, step: str, options: dict[str, Any]) -> None:
    if step == "list":
        tools = {tool.name: tool for tool in (await session.list_tools()).tools}
        for name in options["tools"]:
            expect(name in tools and tools[name].description, f"{name} is not listed with a description")
            expect(tools[name].inputSchema.get("type") == "object", f"{name} has no input schema")
    elif step == "call":
        result = await session.call_tool(options["tool"], options["arguments"])
        expect(not result.isError, f"error result: {result}")
        expect(any(options["text"] in block.text for block in result.content), f"text: {result}")
    else:
        raise AssertionError("this client has no such step")


async def main() -> int:
    arguments = argparse.ArgumentParser()
    arguments.add_argument("--era", choices=["legacy"], required=True)
    arguments.add_argument("--plan", required=True)
    arguments.add_argument("--url", required=True)
    given = arguments.parse_args()
    steps: dict[str, str] = {}
    version = None
    step = "connect"
    try:
        async with sse_client(given.url) as streams, ClientSession(*streams) as session:
            with anyio.fail_after(STEP_SECONDS_MAX):
                version = (await session.initialize()).protocolVersion
            expect(version == "2024-11-05", f"negotiated {version}")
            steps[step] = "ok"
            for step, options in json.loads(given.plan).items():
                with anyio.fail_after(STEP_SECONDS_MAX):
                    await take(session, step, options)
                steps[step] = "ok"
            step = "close"
    except Exception as error:  # whatever went wrong is the report
        traceback.print_exc()
        steps[step] = f"{type(error).__name__}: {error}"
    print(json.dumps({"client": "python-2024", "era": given.era, "protocolVersion": version, "steps": steps}), flush=True)
    return 0 if all(result == "ok" for result in steps.values()) else 1


if __name__ == "__main__":
    sys.exit(anyio.run(main))
