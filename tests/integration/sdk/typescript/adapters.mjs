// SPDX-License-Identifier: Apache-2.0
// The adapters with the real packages: a scripted model calls the tools, in the packages' own loops.
import assert from "node:assert/strict";
import { createRequire } from "node:module";
import path from "node:path";
import { pathToFileURL } from "node:url";

// The packages are where bootstrap put them; the SDK is what was built.
const require = createRequire(pathToFileURL(path.join(process.env.CAY_SDK_NPM, "package.json")));
const load = async (name) => import(pathToFileURL(require.resolve(name)));
const adapter = (name) => import(path.join(process.env.CAY_SDK_DIR, "dist/esm/adapters", `${name}.js`));
const { Sandbox } = await import(path.join(process.env.CAY_SDK_DIR, "dist/esm/node.js"));

async function vercel(box) {
  const ai = await load("ai");
  const { MockLanguageModelV2 } = await load("ai/test");
  const { sandboxTools } = await adapter("vercel-ai");
  const usage = { inputTokens: 1, outputTokens: 1, totalTokens: 2 };
  let turn = 0;
  const model = new MockLanguageModelV2({
    doGenerate: async ({ tools, prompt }) => {
      if (turn++ === 0) {
        assert.deepEqual(tools.map((t) => t.name), ["run_command", "read_file", "write_file", "list_files"]);
        assert.equal(tools[0].inputSchema.properties.command.type, "string");
        return { content: [{ type: "tool-call", toolCallId: "1", toolName: "run_command", input: '{"command":"echo $((6 * 7)); exit 3"}' }], finishReason: "tool-calls", usage, warnings: [] };
      }
      return { content: [{ type: "text", text: JSON.stringify(prompt.at(-1).content[0].output) }], finishReason: "stop", usage, warnings: [] };
    },
  });
  const { text } = await ai.generateText({ model, prompt: "compute", tools: sandboxTools(ai, box), stopWhen: ai.stepCountIs(3) });
  assert.match(text, /42/);
  assert.match(text, /exited with status 3/);
}

async function langchain(box) {
  const core = await load("@langchain/core/tools");
  const { sandboxTools } = await adapter("langchain");
  const tools = Object.fromEntries(sandboxTools(core, box).map((t) => [t.name, t]));
  assert.equal(await tools.write_file.invoke({ path: "l/a.txt", content: "from a chain\n" }), "13 bytes written");
  const message = await tools.read_file.invoke({ type: "tool_call", id: "7", name: "read_file", args: { path: "l/a.txt" } });
  assert.deepEqual([message.tool_call_id, message.content], ["7", "from a chain\n"]);
  assert.match(await tools.read_file.invoke({ path: "missing" }), /^error: .*No such file/);
  await assert.rejects(tools.write_file.invoke({ path: 5 }), /schema|match/i);
}

async function openaiAgents(box) {
  const agents = await load("@openai/agents-core");
  const { answerCall, functionSchemas, sandboxTools } = await adapter("openai-agents");
  agents.setTracingDisabled(true);
  const usage = new agents.Usage({});
  let turn = 0, heard;
  const model = {
    async getResponse(request) {
      if (turn++ === 0) return { usage, output: [{ type: "function_call", callId: "c1", name: "run_command", status: "completed", arguments: '{"command":"echo from an agent"}' }] };
      heard = JSON.stringify(request.input);
      return { usage, output: [{ type: "message", role: "assistant", status: "completed", content: [{ type: "output_text", text: "done" }] }] };
    },
    async *getStreamedResponse() { throw new Error("not streamed here"); },
  };
  const agent = new agents.Agent({ name: "coder", model, tools: sandboxTools(agents, box) });
  const result = await new agents.Runner({ tracingDisabled: true, modelProvider: { getModel: async () => model } }).run(agent, "say it");
  assert.equal(result.finalOutput, "done");
  assert.match(heard, /from an agent/);
  assert.deepEqual(functionSchemas().map((s) => s.function.name), ["run_command", "read_file", "write_file", "list_files"]);
  assert.match(await answerCall(box, { function: { name: "run_command", arguments: '{"command":"echo plain"}' } }), /^plain\n/);
  assert.match(await answerCall(box, { function: { name: "run_command", arguments: "{" } }), /not JSON/);
  assert.match(await answerCall(box, { function: { name: "other", arguments: "{}" } }), /no tool 'other'/);
}

await Sandbox.use({}, async (box) => {
  for (const test of [vercel, langchain, openaiAgents]) {
    await test(box);
    console.log(`ok ${test.name}`);
  }
});
process.exit(0);
