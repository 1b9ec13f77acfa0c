// SPDX-License-Identifier: Apache-2.0
// Tools for the AI SDK (package `ai`, version 5 and later). It is given, not imported: this package has no dependencies.
//
//   import { jsonSchema, tool } from "ai";
//   const tools = sandboxTools({ jsonSchema, tool }, box);
import type { Sandbox } from "../sandbox.js";
import { TOOLS, callTool } from "./tools.js";

/** The two functions of `ai` that are used. */
export interface AiPackage {
  jsonSchema: (schema: any) => any;
  tool: (definition: any) => any;
}

/** For `generateText({ tools })` and `streamText({ tools })`. */
export function sandboxTools<P extends AiPackage>(ai: P, box: Sandbox): Record<string, ReturnType<P["tool"]>> {
  return Object.fromEntries(
    TOOLS.map((t) => [t.name, ai.tool({ description: t.description, inputSchema: ai.jsonSchema(t.schema), execute: (args: unknown) => callTool(box, t.name, args) })]),
  );
}
