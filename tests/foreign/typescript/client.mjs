// An MCP client on the official TypeScript SDK. What it does and prints: ../README.md.
import { execFileSync } from "node:child_process";
import { createRequire } from "node:module";
import { setTimeout as sleep } from "node:timers/promises";
import { isDeepStrictEqual, parseArgs } from "node:util";

// The SDK is installed under .deps, beside the repository's own tree, so it is resolved from there.
const require = createRequire(process.env.TOOLCRIB_CLIENT_PACKAGE ?? import.meta.url);
const { Client, SSEClientTransport, StreamableHTTPClientTransport } = require("@modelcontextprotocol/client");
const { StdioClientTransport } = require("@modelcontextprotocol/client/stdio");

const MODERN = "2026-07-28";
const INVALID_PARAMS = -32602;
const STEP_MS_MAX = 30_000;
const SETTLE_MS_MAX = 2_000;

const { values, positionals } = parseArgs({
  options: { era: { type: "string" }, plan: { type: "string" }, url: { type: "string" } },
  allowPositionals: true,
});
const plan = JSON.parse(values.plan);
const modern = values.era === "modern";
const asked = [];
// Noted as they come in: the SDK drops a notification that arrives in one read with the result of its call.
const progress = [];
let changes = 0;
const steps = {};

const client = new Client(
  { name: "toolcrib-foreign-typescript", version: "1.0.0" },
  {
    capabilities: plan.queue ? {} : { elicitation: { form: {} } },
    versionNegotiation: { mode: modern ? { pin: MODERN } : "legacy" },
  },
);
if (!plan.queue) {
  client.setRequestHandler("elicitation/create", async (request) => {
    asked.push(request.params);
    return { action: "accept", content: plan.ask?.answer ?? {} };
  });
}

function expect(truth, message) {
  if (!truth) throw new Error(message);
}

function text(result) {
  return (result.content ?? []).filter((block) => block.type === "text").map((block) => block.text);
}

function call({ tool, arguments: given }, options = {}) {
  return client.callTool({ name: tool, arguments: given }, { timeout: STEP_MS_MAX, ...options });
}

// Asked of the server, whatever is still fresh.
async function listAnew() {
  return (await client.listTools(undefined, { cacheMode: "bypass" })).tools;
}

const names = (tools) => tools.map((tool) => tool.name);

async function refusedWithCode(step) {
  try {
    const result = await call(step);
    throw new Error(`not refused: ${JSON.stringify(result)}`);
  } catch (error) {
    expect(error.code === INVALID_PARAMS, `code ${error.code}, ${error.message}`);
  }
}

const actions = {
  async list(step) {
    const { tools } = await client.listTools();
    for (const name of step.tools) {
      const tool = tools.find((one) => one.name === name);
      expect(tool, `${name} is not among ${tools.map((one) => one.name)}`);
      expect(tool.description, `${name} has no description`);
      expect(tool.inputSchema?.type === "object", `${name} has no input schema`);
    }
  },

  async call(step) {
    const result = await call(step);
    expect(!result.isError, `error result: ${JSON.stringify(result)}`);
    if (step.structured) {
      const structured = result.structuredContent;
      for (const [key, value] of Object.entries(step.structured)) {
        expect(isDeepStrictEqual(structured?.[key], value), `structured content: ${JSON.stringify(structured)}`);
      }
      for (const key of step.members ?? []) {
        expect(structured?.[key] !== undefined, `no ${key} in ${JSON.stringify(structured)}`);
      }
      const mirrors = text(result).some((block) => {
        try {
          return isDeepStrictEqual(JSON.parse(block), structured);
        } catch {
          return false;
        }
      });
      expect(mirrors, `no text block mirrors the structured content: ${JSON.stringify(result)}`);
    }
    if (step.text) {
      expect(text(result).some((block) => block.includes(step.text)), `text: ${JSON.stringify(result)}`);
    }
  },

  async progress(step) {
    progress.length = 0;
    const result = await call(step, { onprogress: () => {} });
    const seen = [...progress];
    expect(!result.isError, `error result: ${JSON.stringify(result)}`);
    expect(seen.length >= step.least, `${seen.length} notifications: ${seen}`);
    expect(seen.every((value, index) => index === 0 || value > seen[index - 1]), `not increasing: ${seen}`);
  },

  async badArguments(step) {
    if (step.as === "error") return refusedWithCode(step);
    const result = await call(step);
    expect(result.isError === true, `not refused: ${JSON.stringify(result)}`);
    expect(text(result).join("").length > 0, "a refusal without words");
  },

  async refused(step) {
    const result = await call(step);
    expect(result.isError === true, `not refused: ${JSON.stringify(result)}`);
    expect(text(result).some((block) => block.includes(step.says)), `text: ${JSON.stringify(result)}`);
  },

  async relist(step) {
    const before = names(await listAnew());
    for (const name of step.appear) expect(!before.includes(name), `${name} is listed already`);
    const told = changes;
    const result = await call(step);
    expect(!result.isError, `error result: ${JSON.stringify(result)}`);
    for (let waited = 0; changes === told && waited < SETTLE_MS_MAX; waited += 10) await sleep(10);
    expect(changes > told, "no list_changed came");
    const after = names(await listAnew());
    for (const name of step.appear) expect(after.includes(name), `${name} is not among ${after}`);
  },

  async same(step) {
    const before = await listAnew();
    for (const one of step.calls) {
      await call(one);
      expect(isDeepStrictEqual(await listAnew(), before), `another list after ${one.tool}`);
    }
  },

  async callers(step) {
    const carrying = (await listAnew()).filter((tool) => tool._meta?.["anthropic/allowed_callers"]);
    expect(isDeepStrictEqual(names(carrying).sort(), [...step.tools].sort()), `callers: ${names(carrying)}`);
  },

  unknownTool: (step) => refusedWithCode({ ...step, arguments: {} }),

  async ask(step) {
    const result = await call(step);
    expect(!result.isError, `error result: ${JSON.stringify(result)}`);
    expect(asked.length > 0, "nobody was asked");
    expect(asked[0].message, "asked without a message");
    expect(asked[0].requestedSchema?.type === "object", "asked without a schema");
    expect(text(result).some((block) => block.includes(step.says)), `text: ${JSON.stringify(result)}`);
  },

  async twoStep(step) {
    const wish = { action: step.tool, params_summary: step.summary, arguments: step.arguments };
    const given = await call({ tool: "get_confirmation_token", arguments: wish });
    expect(!given.isError, `error result: ${JSON.stringify(given)}`);
    await confirmed(step, given.structuredContent.token);
  },

  async queue(step) {
    const waits = await call(step);
    expect(waits.isError, `it did not wait: ${JSON.stringify(waits)}`);
    const handle = text(waits).join("").match(/apr_[0-9a-f]+/)?.[0];
    expect(handle, `no handle: ${JSON.stringify(waits)}`);
    const [program, ...words] = step.approve;
    execFileSync(program, [...words, handle]);
    await confirmed(step, handle);
  },
};

async function confirmed(step, token) {
  const result = await call({ tool: step.tool, arguments: { ...step.arguments, confirmation_token: token } });
  expect(!result.isError, `error result: ${JSON.stringify(result)}`);
  expect(text(result).some((block) => block.includes(step.says)), `text: ${JSON.stringify(result)}`);
}

async function take(step, action) {
  try {
    await action();
    steps[step] = "ok";
  } catch (error) {
    steps[step] = `${error?.message ?? error}`;
    console.error(step, error);
  }
}

await take("connect", async () => {
  const [command, ...args] = positionals;
  const Http = values.url?.endsWith("/sse") ? SSEClientTransport : StreamableHTTPClientTransport;
  const transport = values.url
    ? new Http(new URL(values.url))
    : new StdioClientTransport({ command, args, stderr: "inherit" });
  await client.connect(transport, { timeout: STEP_MS_MAX });
  const receive = transport.onmessage;
  transport.onmessage = (message, extra) => {
    if (message.method === "notifications/progress") progress.push(message.params.progress);
    if (message.method === "notifications/tools/list_changed") changes += 1;
    receive?.(message, extra);
  };
  const version = client.getNegotiatedProtocolVersion();
  expect(modern === (version === MODERN), `negotiated ${version}`);
});
if (steps.connect === "ok") {
  for (const [step, options] of Object.entries(plan)) {
    await take(step, () => actions[step](options));
  }
}
const protocolVersion = client.getNegotiatedProtocolVersion();
await client.close();
console.log(JSON.stringify({ client: "typescript", era: values.era, protocolVersion, steps }));
process.exitCode = Object.values(steps).every((result) => result === "ok") ? 0 : 1;
