// SPDX-License-Identifier: Apache-2.0
// Tools for LangChain.js (package `@langchain/core`). It is given, not imported: this package has no dependencies.
//
//   import { tool } from "@langchain/core/tools";
//   const tools = sandboxTools({ tool }, box);
import type { Sandbox } from "../sandbox.js";
import { TOOLS, callTool } from "./tools.js";

/** The function of `@langchain/core/tools` that is used. */
export interface LangChainTools {
  tool: (func: any, fields: any) => any;
}

/** For `model.bindTools(tools)` and agents. */
export function sandboxTools<P extends LangChainTools>(core: P, box: Sandbox): Array<ReturnType<P["tool"]>> {
  return TOOLS.map((t) => core.tool((args: unknown) => callTool(box, t.name, args), { name: t.name, description: t.description, schema: t.schema }));
}
