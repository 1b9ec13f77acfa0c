// SPDX-License-Identifier: Apache-2.0
// The tools that adapters give to models: a name, a description, a JSON schema and what it does in a sandbox.
import { CayError } from "../errors.js";
import type { Sandbox } from "../sandbox.js";

export interface ToolSchema {
  type: "object";
  properties: Record<string, { type: string; description: string }>;
  required: string[];
  additionalProperties: false;
}

export interface SandboxTool {
  name: string;
  description: string;
  schema: ToolSchema;
  run(box: Sandbox, args: Record<string, unknown>): Promise<string>;
}

/** Most characters of output that a model is given; the rest stays in the sandbox. */
const TEXT_MAX = 30_000;

function clip(text: string): string {
  if (text.length <= TEXT_MAX) return text;
  const half = TEXT_MAX / 2;
  return `${text.slice(0, half)}\n… ${text.length - TEXT_MAX} characters left out …\n${text.slice(-half)}`;
}

function text(args: Record<string, unknown>, name: string): string {
  const value = args[name];
  if (typeof value !== "string") throw new TypeError(`${name}: a text is needed`);
  return value;
}

function schema(properties: ToolSchema["properties"], required = Object.keys(properties)): ToolSchema {
  return { type: "object", properties, required, additionalProperties: false };
}

export const TOOLS: readonly SandboxTool[] = [
  {
    name: "run_command",
    description: "Runs a shell command in an isolated sandbox and returns its output, its exit code, and why it ended. Files and installed packages stay between calls.",
    schema: schema({ command: { type: "string", description: "a line for /bin/sh" }, timeout_seconds: { type: "number", description: "ends the command after this time (default 120)" } }, ["command"]),
    async run(box, args) {
      const r = await box.run(text(args, "command"), { timeout: typeof args.timeout_seconds === "number" ? args.timeout_seconds : 120 });
      const lines = [r.stdout, r.stderr && `[stderr]\n${r.stderr}`, `[${r.causeText}]`, r.advice && `[${r.advice}]`, ...r.hints.map((h) => `[${h}]`)];
      return clip(lines.filter((l) => l).join("\n"));
    },
  },
  {
    name: "read_file",
    description: "Returns the text of a file in the sandbox.",
    schema: schema({ path: { type: "string", description: "below /workspace unless it begins with a slash" } }),
    run: async (box, args) => clip(await box.files.readText(text(args, "path"))),
  },
  {
    name: "write_file",
    description: "Writes a text file in the sandbox; missing folders are made.",
    schema: schema({ path: { type: "string", description: "below /workspace unless it begins with a slash" }, content: { type: "string", description: "the whole text" } }),
    run: async (box, args) => `${(await box.files.write(text(args, "path"), text(args, "content"))).bytes} bytes written`,
  },
  {
    name: "list_files",
    description: "Lists a folder of the sandbox.",
    schema: schema({ path: { type: "string", description: "the folder; . is /workspace" } }),
    run: async (box, args) => clip((await box.files.list(text(args, "path"))).map((e) => (e.kind === "directory" ? `${e.name}/` : `${e.name}\t${e.size}`)).join("\n") || "(empty)"),
  },
];

/** Carries out a call of a model. What went wrong is told to the model, so that it can do something about it. */
export async function callTool(box: Sandbox, name: string, args: unknown): Promise<string> {
  const tool = TOOLS.find((t) => t.name === name);
  if (!tool) return `there is no tool '${name}'`;
  try {
    return await tool.run(box, (args ?? {}) as Record<string, unknown>);
  } catch (e) {
    if (e instanceof CayError) return `error: ${e.message}${e.advice ? `; ${e.advice}` : ""}`;
    if (e instanceof TypeError) return `error: ${e.message}`;
    throw e;
  }
}
