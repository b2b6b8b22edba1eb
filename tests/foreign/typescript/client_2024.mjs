// An MCP client on the TypeScript SDK of 2024, over HTTP+SSE. What it does and prints: ../README.md.
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { pathToFileURL } from "node:url";
import { parseArgs } from "node:util";

// The SDK is installed under .deps, beside the repository's own tree, so it is resolved from there.
const project = process.env.TOOLCRIB_CLIENT_PACKAGE ?? import.meta.url;
const sdk = (file) => import(pathToFileURL(join(dirname(project), "dist", file)).href);
const { Client } = await sdk("client/index.js");
const { SSEClientTransport } = await sdk("client/sse.js");
// This SDK takes EventSource from the browser; its own command line takes it from this package.
globalThis.EventSource = createRequire(project)("eventsource");

const STEP_MS_MAX = 30_000;

const { values } = parseArgs({
  options: { era: { type: "string" }, plan: { type: "string" }, url: { type: "string" } },
});
const steps = {};
let protocolVersion = null;

class Transport extends SSEClientTransport {
  async start() {
    await super.start();
    const { onmessage } = this._eventSource;
    // The SDK does not show the revision that was negotiated.
    this._eventSource.onmessage = (event) => {
      protocolVersion ??= JSON.parse(event.data).result?.protocolVersion ?? null;
      onmessage(event);
    };
  }
}

const client = new Client({ name: "toolcrib-foreign-typescript-2024", version: "1.0.0" }, { capabilities: {} });

function expect(truth, message) {
  if (!truth) throw new Error(message);
}

const actions = {
  async connect() {
    await client.connect(new Transport(new URL(values.url)));
    expect(protocolVersion === "2024-11-05", `negotiated ${protocolVersion}`);
  },
  async list({ tools }) {
    const listed = new Map((await client.listTools()).tools.map((tool) => [tool.name, tool]));
    for (const name of tools) {
      expect(listed.get(name)?.description, `${name} is not listed with a description`);
      expect(listed.get(name).inputSchema.type === "object", `${name} has no input schema`);
    }
  },
  async call({ tool, arguments: given, text }) {
    const result = await client.callTool({ name: tool, arguments: given });
    expect(!result.isError, `error result: ${JSON.stringify(result)}`);
    expect(result.content.some((block) => block.text?.includes(text)), `text: ${JSON.stringify(result)}`);
  },
};

for (const [step, options] of Object.entries({ connect: {}, ...JSON.parse(values.plan) })) {
  let alarm;
  const late = new Promise((_, reject) => {
    alarm = setTimeout(() => reject(new Error(`nothing after ${STEP_MS_MAX} ms`)), STEP_MS_MAX);
  });
  try {
    await Promise.race([actions[step](options), late]);
    steps[step] = "ok";
  } catch (error) {
    console.error(error);
    steps[step] = String(error);
  }
  clearTimeout(alarm);
}
console.log(JSON.stringify({ client: "typescript-2024", era: values.era, protocolVersion, steps }));
process.exit(Object.values(steps).every((result) => result === "ok") ? 0 : 1);
