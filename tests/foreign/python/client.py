"""An MCP client on the official Python SDK. What it does and prints: ../README.md."""

import argparse
import json
import re
import sys
import traceback
from collections.abc import Awaitable, Callable, Sequence
from typing import Any

import anyio
from mcp import Client, MCPError, StdioServerParameters
from mcp.client.sse import sse_client
from mcp_types import ElicitResult, Implementation

MODERN = "2026-07-28"
INVALID_PARAMS = -32602
STEP_SECONDS_MAX = 30.0
SETTLE_SECONDS_MAX = 2.0


class Missed(Exception):
    """A step did not end as the plan says."""


def expect(truth: Any, message: str) -> None:
    if not truth:
        raise Missed(message)


def text(result: Any) -> list[str]:
    return [block.text for block in result.content if block.type == "text"]


def mirrors(block: str, structured: Any) -> bool:
    try:
        return json.loads(block) == structured
    except ValueError:
        return False


class Run:
    """The steps of one plan over one connection."""

    def __init__(self, plan: dict[str, Any], modern: bool) -> None:
        self.plan = plan
        self.modern = modern
        self.asked: list[Any] = []
        self.steps: dict[str, str] = {}
        self.changes = 0
        self.protocol_version: str | None = None
        self.client: Client

    async def answer(self, _context: Any, params: Any) -> ElicitResult:
        self.asked.append(params)
        return ElicitResult(action="accept", content=self.plan.get("ask", {}).get("answer", {}))

    async def note(self, message: Any) -> None:
        if getattr(message, "method", None) == "notifications/tools/list_changed":
            self.changes += 1

    async def call(self, step: dict[str, Any], **options: Any) -> Any:
        return await self.client.call_tool(step["tool"], step.get("arguments"), **options)

    async def refused_with_code(self, step: dict[str, Any]) -> None:
        try:
            result = await self.call(step)
        except MCPError as error:
            expect(error.code == INVALID_PARAMS, f"code {error.code}, {error}")
        else:
            raise Missed(f"not refused: {result}")

    async def list(self, step: dict[str, Any]) -> None:
        tools = {tool.name: tool for tool in (await self.client.list_tools()).tools}
        for name in step["tools"]:
            expect(name in tools, f"{name} is not among {list(tools)}")
            expect(tools[name].description, f"{name} has no description")
            expect(tools[name].input_schema.get("type") == "object", f"{name} has no input schema")

    async def call_once(self, step: dict[str, Any]) -> None:
        result = await self.call(step)
        expect(not result.is_error, f"error result: {result}")
        if "structured" in step:
            structured = result.structured_content or {}
            for key, value in step["structured"].items():
                expect(structured.get(key) == value, f"structured content: {structured}")
            for key in step.get("members", []):
                expect(key in structured, f"no {key} in {structured}")
            same = any(mirrors(block, structured) for block in text(result))
            expect(same, f"no text block mirrors the structured content: {result}")
        if "text" in step:
            expect(any(step["text"] in block for block in text(result)), f"text: {result}")

    async def progress(self, step: dict[str, Any]) -> None:
        seen: list[float] = []

        async def note(progress: float, _total: float | None, _message: str | None) -> None:
            seen.append(progress)

        result = await self.call(step, progress_callback=note)
        expect(not result.is_error, f"error result: {result}")
        # The SDK hands notifications to tasks of their own, which may run after the result is here.
        with anyio.move_on_after(SETTLE_SECONDS_MAX):
            while len(seen) < step["least"]:
                await anyio.sleep(0.01)
        expect(len(seen) >= step["least"], f"{len(seen)} notifications: {seen}")
        expect(all(a < b for a, b in zip(seen, seen[1:])), f"not increasing: {seen}")

    async def bad_arguments(self, step: dict[str, Any]) -> None:
        if step["as"] == "error":
            await self.refused_with_code(step)
            return
        result = await self.call(step)
        expect(result.is_error, f"not refused: {result}")
        expect("".join(text(result)), "a refusal without words")

    async def list_anew(self) -> Sequence[Any]:
        return (await self.client.list_tools(cache_mode="bypass")).tools

    async def refused(self, step: dict[str, Any]) -> None:
        result = await self.call(step)
        expect(result.is_error, f"not refused: {result}")
        expect(any(step["says"] in block for block in text(result)), f"text: {result}")

    async def relist(self, step: dict[str, Any]) -> None:
        before = {tool.name for tool in await self.list_anew()}
        expect(before.isdisjoint(step["appear"]), f"listed already: {before}")
        told = self.changes
        result = await self.call(step)
        expect(not result.is_error, f"error result: {result}")
        with anyio.move_on_after(SETTLE_SECONDS_MAX):
            while self.changes == told:
                await anyio.sleep(0.01)
        expect(self.changes > told, "no list_changed came")
        after = {tool.name for tool in await self.list_anew()}
        expect(after.issuperset(step["appear"]), f"not all are among {after}")

    async def same(self, step: dict[str, Any]) -> None:
        before = await self.list_anew()
        for one in step["calls"]:
            await self.call(one)
            expect(await self.list_anew() == before, f"another list after {one['tool']}")

    async def callers(self, step: dict[str, Any]) -> None:
        tools = await self.list_anew()
        carrying = [tool.name for tool in tools if "anthropic/allowed_callers" in (tool.meta or {})]
        expect(sorted(carrying) == sorted(step["tools"]), f"callers: {carrying}")

    async def unknown_tool(self, step: dict[str, Any]) -> None:
        await self.refused_with_code({"tool": step["tool"], "arguments": {}})

    async def ask(self, step: dict[str, Any]) -> None:
        result = await self.call(step)
        expect(not result.is_error, f"error result: {result}")
        expect(self.asked, "nobody was asked")
        expect(self.asked[0].message, "asked without a message")
        expect(self.asked[0].requested_schema.get("type") == "object", "asked without a schema")
        expect(any(step["says"] in block for block in text(result)), f"text: {result}")

    async def two_step(self, step: dict[str, Any]) -> None:
        wish = {"action": step["tool"], "params_summary": step["summary"], "arguments": step["arguments"]}
        given = await self.call({"tool": "get_confirmation_token", "arguments": wish})
        expect(not given.is_error, f"error result: {given}")
        await self.confirmed(step, given.structured_content["token"])

    async def queue(self, step: dict[str, Any]) -> None:
        waits = await self.call(step)
        expect(waits.is_error, f"it did not wait: {waits}")
        handle = re.search("apr_[0-9a-f]+", "".join(text(waits)))
        expect(handle, f"no handle: {waits}")
        await anyio.run_process([*step["approve"], handle[0]])
        await self.confirmed(step, handle[0])

    async def confirmed(self, step: dict[str, Any], token: str) -> None:
        arguments = {**step["arguments"], "confirmation_token": token}
        result = await self.call({"tool": step["tool"], "arguments": arguments})
        expect(not result.is_error, f"error result: {result}")
        expect(any(step["says"] in block for block in text(result)), f"text: {result}")

    async def take(self, step: str, action: Callable[[], Awaitable[None]]) -> None:
        try:
            with anyio.fail_after(STEP_SECONDS_MAX):
                await action()
            self.steps[step] = "ok"
        except Exception as error:  # whatever went wrong is the report
            traceback.print_exc()
            self.steps[step] = f"{type(error).__name__}: {error}"

    async def everything(self, server: Any) -> None:
        actions = {
            "list": self.list,
            "call": self.call_once,
            "progress": self.progress,
            "badArguments": self.bad_arguments,
            "unknownTool": self.unknown_tool,
            "refused": self.refused,
            "relist": self.relist,
            "same": self.same,
            "callers": self.callers,
            "ask": self.ask,
            "twoStep": self.two_step,
            "queue": self.queue,
        }
        client = Client(
            server,
            mode="auto" if self.modern else "legacy",
            elicitation_callback=None if "queue" in self.plan else self.answer,
            message_handler=self.note,
            read_timeout_seconds=STEP_SECONDS_MAX,
            client_info=Implementation(name="toolcrib-foreign-python", version="1.0.0"),
        )
        async with client as self.client:
            self.protocol_version = client.protocol_version

            async def connected() -> None:
                right = self.modern == (self.protocol_version == MODERN)
                expect(right, f"negotiated {self.protocol_version}")

            await self.take("connect", connected)
            if self.steps["connect"] == "ok":
                for step, options in self.plan.items():
                    await self.take(step, lambda step=step, options=options: actions[step](options))


async def main() -> int:
    arguments = argparse.ArgumentParser()
    arguments.add_argument("--era", choices=["legacy", "modern"], required=True)
    arguments.add_argument("--plan", required=True)
    arguments.add_argument("--url")
    arguments.add_argument("command", nargs="*")
    given = arguments.parse_args()
    run = Run(json.loads(given.plan), given.era == "modern")
    if given.url:
        server: Any = sse_client(given.url) if given.url.endswith("/sse") else given.url
    else:
        server = StdioServerParameters(command=given.command[0], args=given.command[1:])
    try:
        await run.everything(server)
    except Exception as error:  # a connection that never stood, or did not end in peace
        traceback.print_exc()
        run.steps["connection"] = f"{type(error).__name__}: {error}"
    report = {"client": "python", "era": given.era, "protocolVersion": run.protocol_version, "steps": run.steps}
    print(json.dumps(report), flush=True)
    return 0 if run.steps and all(result == "ok" for result in run.steps.values()) else 1


if __name__ == "__main__":
    sys.exit(anyio.run(main))
