// SPDX-License-Identifier: Apache-2.0
// What the package gives, wherever it runs.
export { Client, defaultClient, type ClientOptions } from "./client.js";
export { Command, CommandError, type CommandEvent, type CommandOptions, type CommandResult, type OutputEvent, type WaitOptions } from "./command.js";
export * from "./errors.js";
export { Files, type FileEntry, type WriteOptions } from "./files.js";
export { Calls, OPERATIONS, VERSION, type OperationName, type Operations } from "./generated/calls.js";
export type * as types from "./generated/types.js";
export { Network, Ports } from "./ports.js";
export { runCode } from "./run_code.js";
export { SandboxRunner, runOnce, type RunOnceLimits, type RunOnceResult, type RunOnceSpec } from "./run_once.js";
export { Sandbox, type RunOptions, type SandboxOptions } from "./sandbox.js";
export type { Answer, Body, CallOptions, StreamEvent } from "./wire.js";
