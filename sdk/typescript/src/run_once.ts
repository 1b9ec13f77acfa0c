// SPDX-License-Identifier: Apache-2.0
// One command in a sandbox of its own: the port of a one-shot runner, with its names.
import type { Client, ClientOptions } from "./client.js";
import { clientOf } from "./client.js";
import { CayError, ConnectionLostError } from "./errors.js";
import { platform } from "./platform.js";
import { Sandbox, type SandboxOptions } from "./sandbox.js";

export interface RunOnceLimits {
  maxRuntimeSec?: number | undefined;
  maxMemoryMb?: number | undefined;
}

export interface RunOnceSpec extends RunOnceLimits {
  /** Single-use: a second run with this id runs nothing. It is also a label of the sandbox. */
  runId: string;
  /** A folder of this machine. The command sees it as its workspace and may change it, unless workspaceMode is "ro". */
  workspacePath: string;
  workspaceMode?: "ro" | "rw" | undefined;
  command: string;
  /** The same as the two fields beside it. */
  limits?: RunOnceLimits | undefined;
}

export interface RunOnceResult {
  ok: boolean;
  stdout: string;
  stderr: string;
  /** -1 if the command did not exit by itself. */
  exitCode: number;
  timedOut: boolean;
  oomKilled: boolean;
  errorCode?: "timeout" | "oom_killed" | "container_failed" | "internal";
  /** mapped: the command worked in the folder itself. copied: on a copy, whose files were copied back; what it removed stays. */
  workspace: "mapped" | "copied";
  /** Why it ended, and what to do (docs/operations.md). */
  cause: string;
  advice: string;
}

const FAILED = ["sandbox_gone", "engine_lost", "daemon_lost"];

/** A runner with options of its own: `new SandboxRunner({template: "node"}).runOnce(…)`. */
export class SandboxRunner {
  private readonly client: Client;

  constructor(private readonly options: SandboxOptions & ClientOptions = {}) {
    this.client = clientOf(options);
  }

  /**
   * Runs one command without network and without credentials, and leaves nothing behind. Rejects only for a wrong spec.
   *
   * A daemon maps folders below its workspace_roots. Another folder, or one of another machine, is copied in and out.
   */
  async runOnce(spec: RunOnceSpec): Promise<RunOnceResult> {
    if (!spec.runId || !spec.workspacePath || !spec.command) throw new TypeError("runOnce: runId, workspacePath and command are needed");
    try {
      return await this.mapped(spec);
    } catch (e) {
      if (!(e instanceof CayError) || (e.status >= 400 && e.status < 500 && e.status !== 429)) throw e;
      const errorCode = e instanceof ConnectionLostError ? "internal" : "container_failed";
      return { ok: false, stdout: "", stderr: e.message, exitCode: -1, timedOut: false, oomKilled: false, workspace: "mapped", errorCode, cause: e.code, advice: e.advice };
    }
  }

  private async mapped(spec: RunOnceSpec): Promise<RunOnceResult> {
    const options = this.optionsOf(spec);
    const mode = spec.workspaceMode ?? "rw";
    let box: Sandbox;
    try {
      box = await Sandbox.create({ ...options, workspace: { path: spec.workspacePath, mode } });
    } catch (e) {
      if (!(e instanceof CayError) || !e.field?.startsWith("workspace") || !platform().files) throw e;
      return Sandbox.use(options, async (copy) => {
        await copy.files.upload(spec.workspacePath, ".");
        const result = await this.run(copy, spec, "copied");
        if (mode === "rw") await copy.files.download(".", spec.workspacePath);
        return result;
      });
    }
    try {
      return await this.run(box, spec, "mapped");
    } finally {
      await box.destroy();
    }
  }

  private optionsOf(spec: RunOnceSpec): SandboxOptions {
    const megabytes = spec.maxMemoryMb ?? spec.limits?.maxMemoryMb;
    const options: SandboxOptions = { ...this.options, client: this.client, labels: { ...this.options.labels, run_id: spec.runId }, idempotencyKey: `run ${spec.runId}` };
    if (megabytes !== undefined) options.memory = `${megabytes}m`;
    // A client that dies cannot destroy it: its own end does.
    options.timeout ??= (this.seconds(spec) ?? 3600) + 60;
    return options;
  }

  private seconds(spec: RunOnceSpec): number | undefined {
    return spec.maxRuntimeSec ?? spec.limits?.maxRuntimeSec;
  }

  private async run(box: Sandbox, spec: RunOnceSpec, workspace: "mapped" | "copied"): Promise<RunOnceResult> {
    const r = await box.run(spec.command, { timeout: this.seconds(spec) });
    const timedOut = r.cause === "wall_time" || r.cause === "cpu_time";
    const oomKilled = r.cause === "memory";
    const result: RunOnceResult = { ok: r.ok, stdout: r.stdout, stderr: r.stderr, exitCode: r.exitCode ?? -1, timedOut, oomKilled, workspace, cause: r.cause, advice: r.advice };
    if (timedOut) result.errorCode = "timeout";
    else if (oomKilled) result.errorCode = "oom_killed";
    else if (FAILED.includes(r.cause)) result.errorCode = "container_failed";
    return result;
  }
}

/** One run by the daemon of the environment. */
export function runOnce(spec: RunOnceSpec): Promise<RunOnceResult> {
  return new SandboxRunner().runOnce(spec);
}
