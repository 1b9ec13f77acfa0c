// SPDX-License-Identifier: Apache-2.0
// The stock client against a daemon: client.mjs stdio|http|ws, told by variables where that is. Ends with 0 when all holds.
import assert from "node:assert/strict";
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StdioClientTransport } from "@modelcontextprotocol/sdk/client/stdio.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import { WebSocketClientTransport } from "@modelcontextprotocol/sdk/client/websocket.js";
import { ElicitRequestSchema, LoggingMessageNotificationSchema } from "@modelcontextprotocol/sdk/types.js";
import WebSocket from "ws";

const { CAY, CAY_URL, CAY_DATA, CAY_TOKEN } = process.env;
const authorization = `Bearer ${CAY_TOKEN}`;

// The engine that the transport uses cannot set fields; this one can.
class AuthorizedWebSocket extends WebSocket {
  constructor(url, protocols) {
    super(url, protocols, { headers: { authorization } });
  }
}

const transports = {
  stdio: () => new StdioClientTransport({ command: CAY, args: ["mcp", "--data", CAY_DATA] }),
  http: () => new StreamableHTTPClientTransport(new URL(`${CAY_URL}/mcp`), { requestInit: { headers: { authorization } } }),
  ws: () => {
    globalThis.WebSocket = AuthorizedWebSocket;
    return new WebSocketClientTransport(new URL(`${CAY_URL.replace("http", "ws")}/mcp`));
  },
};

const errors = [];
const client = new Client({ name: "cay-test", version: "1" }, { capabilities: { elicitation: {} } });
client.onerror = (e) => errors.push(String(e));
let questions = 0;
client.setRequestHandler(ElicitRequestSchema, async () => {
  questions++;
  return { action: "accept", content: { approve: true } };
});
const logs = [];
client.setNotificationHandler(LoggingMessageNotificationSchema, (n) => logs.push(n.params));

const transport = transports[process.argv[2]]();
await client.connect(transport);
assert.equal(client.getServerVersion().name, "cay");
assert.ok(client.getInstructions().includes("sandbox"));
await client.ping();

const { tools } = await client.listTools();
assert.ok(tools.some((t) => t.name === "run_code"));

const call = async (name, args, options) => await client.callTool({ name, arguments: args }, undefined, options);
let r = await call("run_code", { code: "print(6 * 7)" });
assert.equal(r.structuredContent.stdout, "42\n");

const box = (await call("sandbox_create", {})).structuredContent.sandbox_id;
// Each line comes when the one before was heard: progress comes while it runs, and never with the answer.
const heard = [];
const hear = () => heard.push(call("write_file", { sandbox_id: box, path: `/tmp/heard${heard.length + 1}`, content: "" }));
const lines = "for i in 1 2 3; do echo $i; until [ -e /tmp/heard$i ]; do sleep 0.05; done; done";
r = await call("run_command", { sandbox_id: box, command: lines }, { onprogress: hear });
assert.equal(r.structuredContent.stdout, "1\n2\n3\n");
assert.equal((await Promise.all(heard)).length, 3);

await client.setLoggingLevel("info");
await call("run_command", { sandbox_id: box, command: "echo logged" });
assert.equal(logs.find((l) => l.logger === "stdout").data.text, "logged\n");

// Cancelled: the command goes too.
const abort = new AbortController();
const cancelled = call("run_command", { sandbox_id: box, command: "exec sleep 7551" }, { signal: abort.signal });
const awaitRuns = async (wanted) => {
  for (let i = 0; i < 1200; i++) {
    const ps = await call("run_command", { sandbox_id: box, command: "cat /proc/[0-9]*/cmdline | tr '\\0' ' '" });
    if (ps.structuredContent.stdout.includes("sleep 7551") === wanted) return;
    await new Promise((done) => setTimeout(done, 50));
  }
  assert.fail(`waited in vain for the command to ${wanted ? "start" : "end"}`);
};
await awaitRuns(true);
abort.abort("enough");
await assert.rejects(cancelled);
await awaitRuns(false);

await call("write_file", { sandbox_id: box, path: "/tmp/a b.txt", content: "text" });
const { contents } = await client.readResource({ uri: `sandbox://${box}/files/tmp/a%20b.txt` });
assert.equal(contents[0].text, "text");
assert.ok((await client.listResourceTemplates()).resourceTemplates.length > 0);
assert.ok((await client.listResources()).resources.some((x) => x.uri === `sandbox://${box}/info`));
assert.equal((await client.listPrompts()).prompts[0].name, "sandbox_guide");
assert.equal((await client.getPrompt({ name: "sandbox_guide", arguments: { task: "T" } })).messages.length, 1);
const completed = await client.complete({ ref: { type: "ref/resource", uri: "sandbox://{id}/info" }, argument: { name: "id", value: box } });
assert.deepEqual(completed.completion.values, [box]);

r = await call("sandbox_create", { template: "careful" });
assert.ok(!r.isError && questions === 1, "the person was asked");

// More at once than may be alive: each has its turn.
const many = await Promise.all(Array.from({ length: 30 }, (_, i) => call("run_command", { command: `echo ${i}` })));
assert.deepEqual(many.map((m) => m.structuredContent.stdout), many.map((_, i) => `${i}\n`));

// This client writes the id behind the parameters: also of a message that is too long.
if (process.argv[2] === "stdio") {
  await assert.rejects(call("write_file", { sandbox_id: box, path: "/tmp/long", content: "x".repeat(20 << 20) }), /too long/);
}

await assert.rejects(call("nope", {}));
r = await call("read_file", { sandbox_id: box, path: "nosuch" });
assert.ok(r.isError);

if (process.argv[2] === "http") await transport.terminateSession();
assert.deepEqual(errors, []); // before it leaves: what the client then breaks off itself, it also calls an error
await client.close();
console.log(`ok ${process.argv[2]}`);
