// SPDX-License-Identifier: Apache-2.0
// Tools for the OpenAI Agents SDK (package `@openai/agents`), and plain function schemas for any compatible API.
// The package is given, not imported: this one has no dependencies.
//
//   import { Agent, tool } from "@openai/agents";
//   const agent = new Agent({ name: "coder", tools: sandboxTools({ tool }, box) });
import type { Sandbox } from "../sandbox.js";
import { TOOLS, callTool, type ToolSchema } from "./tools.js";

/** The function of `@openai/agents` that is used. */
export interface AgentsPackage {
  tool: (definition: any) => any;
}

export function sandboxTools<P extends AgentsPackage>(agents: P, box: Sandbox): Array<ReturnType<P["tool"]>> {
  // Not strict: a strict schema has no optional arguments.
  return TOOLS.map((t) => agents.tool({ name: t.name, description: t.description, parameters: t.schema, strict: false, execute: (args: unknown) => callTool(box, t.name, args) }));
}

export interface FunctionSchema {
  type: "function";
  function: { name: string; description: string; parameters: ToolSchema };
}

/** The member `tools` of a request to a chat completions API. */
export function functionSchemas(): FunctionSchema[] {
  return TOOLS.map((t) => ({ type: "function", function: { name: t.name, description: t.description, parameters: t.schema } }));
}

/** The text of the message with role `tool` that answers a call; its arguments are the text that the model wrote. */
export async function answerCall(box: Sandbox, call: { function: { name: string; arguments: string } }): Promise<string> {
  let args: unknown;
  try {
    args = JSON.parse(call.function.arguments || "{}");
  } catch (e) {
    return `error: the arguments are not JSON: ${(e as Error).message}`;
  }
  return callTool(box, call.function.name, args);
}
