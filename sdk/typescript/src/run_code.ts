// SPDX-License-Identifier: Apache-2.0
// Code in a sandbox of its own, in one request.
import { clientOf, type Client, type ClientOptions } from "./client.js";
import type * as t from "./generated/types.js";

const LONGEST_MS = 24 * 3600 * 1000;

/** Runs code (Python, unless a language or template is named) in a fresh sandbox, and removes it. The daemon's limits end it. */
export function runCode(args: t.CodeRunArgs, options: ClientOptions & { client?: Client; signal?: AbortSignal } = {}): Promise<t.RunResult> {
  return clientOf(options).api.codeRun(args, { signal: options.signal, timeoutMs: LONGEST_MS });
}
