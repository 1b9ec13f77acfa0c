// SPDX-License-Identifier: Apache-2.0
// A command in a sandbox: its output as events that continue by themselves after a cut, its input, its end.
import { errorOfEvent, type Client } from "./client.js";
import { CayError, ConflictError, ConnectionLostError, ExistsError, NotFoundError } from "./errors.js";
import type { ResultOf } from "./generated/calls.js";
import type * as t from "./generated/types.js";
import { uniqueId } from "./platform.js";
import { concat, fromBase64, pause, toBytes, type StreamEvent } from "./wire.js";

export interface CommandOptions {
  /** Working directory; default: the workspace. */
  cwd?: string | undefined;
  env?: Record<string, string> | undefined;
  /** A name, a uid, or uid:gid. */
  user?: string | undefined;
  /** Ends it after this time: seconds, or "90s", "5m". */
  timeout?: number | string | undefined;
  /** Ends it after this much processor time. */
  cpuTime?: number | string | undefined;
  /** Its whole input. Without it there is none, unless openStdin. */
  stdin?: string | undefined;
  /** Input follows: see Command.write. */
  openStdin?: boolean | undefined;
  /** Most bytes of output ("10m"); then the command is ended, or the rest dropped with outputCut. */
  outputLimit?: number | string | undefined;
  outputCut?: boolean | undefined;
  /** A terminal: output is one stream, and input is open. */
  tty?: boolean | undefined;
  rows?: number | undefined;
  cols?: number | undefined;
  term?: string | undefined;
  /** A name of your own for this request: a second one with it runs nothing, and gives the first one's command. */
  idempotencyKey?: string | undefined;
  /** Ends the command, and what waits for it. */
  signal?: AbortSignal | undefined;
}

export interface OutputEvent {
  stream: "stdout" | "stderr";
  /** As text; a character that is split between two events comes with the second. */
  text: string;
  bytes: Uint8Array;
  /** Where the next event begins. */
  next: number;
}

/** How a command ended. That it failed is a result, not an error. */
export interface CommandResult {
  id: string;
  ok: boolean;
  /** null: it did not exit by itself (see cause). */
  exitCode: number | null;
  signal: string | null;
  stdout: string;
  stderr: string;
  stdoutBytes: Uint8Array;
  stderrBytes: Uint8Array;
  /** True if there was more output than maxOutput. */
  truncated: boolean;
  /** Why it ended: exited, signalled, memory, wall_time … (docs/operations.md). */
  cause: string;
  causeText: string;
  /** What to do about it; empty if nothing. */
  advice: string;
  hints: string[];
  durationMs: number;
  memoryPeakBytes: number | null;
  /** Everything that the daemon says about it. */
  exec: t.Exec;
}

/** A command that failed, where success was demanded. */
export class CommandError extends CayError {
  override name = "CommandError";
  readonly result: CommandResult;

  /** The same as in the result. */
  readonly causeText: string;
  readonly exitCode: number | null;
  readonly stdout: string;
  readonly stderr: string;

  constructor(result: CommandResult) {
    const why = result.cause === "exited" ? `exited with status ${result.exitCode}` : `${result.cause}: ${result.causeText}`;
    const last = result.stderr.trimEnd().split("\n").slice(-1)[0] ?? "";
    super("command", last ? `the command ${why}: ${last}` : `the command ${why}`, { advice: result.advice, cause: result.cause });
    this.result = result;
    this.causeText = result.causeText;
    this.exitCode = result.exitCode;
    this.stdout = result.stdout;
    this.stderr = result.stderr;
  }
}

type Ended = { ended: t.Exec };
const MAX_OUTPUT = 16 * 1024 * 1024;

async function* withFirst(first: StreamEvent, rest: AsyncGenerator<StreamEvent>): AsyncGenerator<StreamEvent> {
  try {
    yield first;
    yield* rest;
  } finally {
    await rest.return(undefined);
  }
}

export function bodyOf(command: string | readonly string[], o: CommandOptions): t.ExecRunArgs {
  const body: Record<string, unknown> = {
    command, workdir: o.cwd, env: o.env, user: o.user, timeout: o.timeout, cpu_time: o.cpuTime, stdin: o.stdin, open_stdin: o.openStdin ?? (o.tty ? true : undefined),
    output_limit: o.outputLimit, output_cut: o.outputCut, tty: o.tty, rows: o.rows, cols: o.cols, term: o.term, execution_id: o.idempotencyKey ?? uniqueId(),
  };
  return Object.fromEntries(Object.entries(body).filter(([, v]) => v !== undefined)) as unknown as t.ExecRunArgs;
}

/** An event as the API has it; of stdout and stderr with the bytes that it stands for. */
export type CommandEvent =
  | (t.Exec & { event: "started" })
  | (t.Exec & { event: "exited" })
  | { event: "stdout" | "stderr"; cursor: number; next: number; text?: string; base64?: string; bytes: Uint8Array };

export class Command implements AsyncIterable<OutputEvent> {
  private inputAt = 0;
  private sending: Promise<unknown> = Promise.resolve();
  private first: AsyncGenerator<StreamEvent> | undefined;

  private constructor(private readonly client: Client, readonly sandboxId: string, readonly id: string, first?: AsyncGenerator<StreamEvent>) {
    this.first = first;
  }

  /** One that was started before. */
  static attach(client: Client, sandboxId: string, id: string): Command {
    return new Command(client, sandboxId, id);
  }

  /** Starts one in the background: it runs, whether somebody reads its output or not. */
  static async start(client: Client, sandboxId: string, command: string | readonly string[], options: CommandOptions = {}): Promise<Command> {
    try {
      const exec = await client.api.execRun({ ...bodyOf(command, options), id: sandboxId, background: true }, { signal: options.signal });
      return new Command(client, sandboxId, exec.exec_id);
    } catch (e) {
      if (e instanceof ExistsError && e.first !== undefined) return new Command(client, sandboxId, e.first);
      throw e;
    }
  }

  /** Starts one with its output on the same connection. The single-use id makes sure that it runs once, whatever happens to that. */
  static async open(client: Client, sandboxId: string, command: string | readonly string[], options: CommandOptions = {}): Promise<Command> {
    const body = { ...bodyOf(command, options), id: sandboxId };
    const begunMs = Date.now();
    for (;;) {
      let stream: AsyncGenerator<StreamEvent> | undefined;
      try {
        stream = await client.stream("exec_run", { ...body, stream: true }, { signal: options.signal });
        const { value, done } = await stream.next();
        if (done) throw new ConnectionLostError("connection", "the stream ended before the command started");
        if (value.event === "error") throw errorOfEvent(value);
        return new Command(client, sandboxId, String(value.exec_id), withFirst(value, stream));
      } catch (e) {
        await stream?.return(undefined);
        if (e instanceof ExistsError && e.first !== undefined) return new Command(client, sandboxId, e.first);
        if (!(e instanceof ConnectionLostError) || stream === undefined || Date.now() - begunMs > client.resumeMs) throw e;
      }
      await pause(100, options.signal);
    }
  }

  /** Its events from a cursor to its end. After a cut they continue at the cursor: none is missing, and none comes twice. */
  async *events(options: { from?: number | undefined; signal?: AbortSignal | undefined } = {}): AsyncGenerator<CommandEvent> {
    const { from = 0, signal } = options;
    let cursor = from;
    let brokenMs = 0;
    let isStarted = false;
    let source = from === 0 ? this.first : undefined;
    if (source) this.first = undefined;
    for (;;) {
      try {
        source ??= await this.client.stream("exec_attach", { id: this.sandboxId, exec: this.id, from: cursor }, { signal });
        for await (const event of source) {
          if (event.event === "error") throw errorOfEvent(event);
          if (event.event === "stdout" || event.event === "stderr") {
            const bytes = typeof event.base64 === "string" ? fromBase64(event.base64) : toBytes(String(event.text ?? ""));
            cursor = Number(event.next);
            brokenMs = 0;
            yield { ...event, bytes } as unknown as CommandEvent;
          } else if (event.event === "exited" || (event.event === "started" && !isStarted)) {
            isStarted = true;
            yield event as unknown as CommandEvent;
            if (event.event === "exited") return;
          }
        }
        throw new ConnectionLostError("connection", "the stream ended before the command did");
      } catch (e) {
        signal?.throwIfAborted();
        if (!(await this.client.mayResume(e))) throw e;
        brokenMs ||= Date.now();
        if (Date.now() - brokenMs > this.client.resumeMs) throw e;
      }
      source = undefined;
      await pause(100, signal);
    }
  }

  private async *follow(from: number, signal?: AbortSignal): AsyncGenerator<OutputEvent | Ended> {
    const decoders = { stdout: new TextDecoder(), stderr: new TextDecoder() };
    for await (const e of this.events({ from, signal })) {
      if (e.event === "exited") yield { ended: e };
      else if (e.event === "stdout" || e.event === "stderr") yield { stream: e.event, text: decoders[e.event].decode(e.bytes, { stream: true }), bytes: e.bytes, next: e.next };
    }
  }

  /** The output from a cursor to the end; continues by itself after a cut. Breaking off leaves the command running. */
  async *output(options: { from?: number | undefined; signal?: AbortSignal | undefined } = {}): AsyncGenerator<OutputEvent> {
    for await (const event of this.follow(options.from ?? 0, options.signal)) {
      if ("ended" in event) return;
      yield event;
    }
  }

  [Symbol.asyncIterator](): AsyncIterator<OutputEvent> {
    return this.output();
  }

  /** From the first byte that is still kept. */
  private async *followKept(signal: AbortSignal | undefined, onGone: () => void): AsyncGenerator<OutputEvent | Ended> {
    try {
      yield* this.follow(0, signal);
    } catch (e) {
      if (!(e instanceof ConflictError)) throw e;
      onGone();
      yield* this.follow((await this.info()).output_first, signal);
    }
  }

  /** Waits for the end and collects the output. */
  async wait(options: WaitOptions = {}): Promise<CommandResult> {
    const kept = { stdout: [] as Uint8Array[], stderr: [] as Uint8Array[] };
    const sizes = { stdout: 0, stderr: 0 };
    const max = options.maxOutput ?? MAX_OUTPUT;
    let truncated = false;
    let exec: t.Exec | undefined;

    for await (const event of this.followKept(options.signal, () => (truncated = true))) {
      if ("ended" in event) {
        exec = event.ended;
        break;
      }
      const room = max - sizes[event.stream];
      if (event.bytes.length > room) truncated = true;
      kept[event.stream].push(event.bytes.length > room ? event.bytes.slice(0, Math.max(room, 0)) : event.bytes);
      sizes[event.stream] += event.bytes.length;
      (event.stream === "stdout" ? options.onStdout : options.onStderr)?.(event.text, event);
    }
    const result = resultOf(exec as t.Exec, concat(kept.stdout), concat(kept.stderr), truncated);
    if (options.check && !result.ok) throw new CommandError(result);
    return result;
  }

  /** Writes to the input of a command with openStdin or tty. What was sent is not sent twice, whatever happens to the connection. */
  write(data: string | Uint8Array, options: { end?: boolean } = {}): Promise<void> {
    return this.send(toBytes(data), options.end ?? false);
  }

  closeInput(): Promise<void> {
    return this.send(new Uint8Array(0), true);
  }

  private send(bytes: Uint8Array, eof: boolean): Promise<void> {
    const turn = this.sending.then(async () => {
      const args = { id: this.sandboxId, exec: this.id, offset: this.inputAt, eof: eof || undefined };
      try {
        this.inputAt = (await this.client.api.execInput(args, bytes, { repeatable: true })).offset ?? this.inputAt + bytes.length;
      } catch (e) {
        // The end of the input arrived, and with it the command's; only the answer was lost.
        if (!(eof && e instanceof ConflictError && e.repeated)) throw e;
      }
    });
    this.sending = turn.catch(() => undefined);
    return turn;
  }

  async resize(rows: number, cols: number): Promise<void> {
    await this.client.api.execResize({ id: this.sandboxId, exec: this.id, rows, cols }, { repeatable: true });
  }

  async signal(name: string): Promise<void> {
    await this.client.api.execSignal({ id: this.sandboxId, exec: this.id, signal: name });
  }

  /** Ends it with everything that it started. Fine if it has ended. */
  async kill(): Promise<void> {
    try {
      await this.client.api.execKill({ id: this.sandboxId, exec: this.id }, { repeatable: true });
    } catch (e) {
      if (!(e instanceof NotFoundError) && (e as CayError).code !== "conflict") throw e;
    }
  }

  info(): Promise<t.Exec> {
    return this.client.api.execGet({ id: this.sandboxId, exec: this.id });
  }

  /** What a terminal shows now. */
  screen(): Promise<ResultOf<"exec_screen">> {
    return this.client.api.execScreen({ id: this.sandboxId, exec: this.id });
  }
}

export interface WaitOptions {
  /** Called with each piece of output as it comes. */
  onStdout?: ((text: string, event: OutputEvent) => void) | undefined;
  onStderr?: ((text: string, event: OutputEvent) => void) | undefined;
  /** Most bytes of each stream in the result (16 MiB); the command goes on. */
  maxOutput?: number | undefined;
  /** Rejects with CommandError unless the command exits with 0. */
  check?: boolean | undefined;
  signal?: AbortSignal | undefined;
}

function resultOf(exec: t.Exec, stdout: Uint8Array, stderr: Uint8Array, truncated: boolean): CommandResult {
  const decoder = new TextDecoder();
  return {
    id: exec.exec_id, ok: exec.cause === "exited" && exec.exit_code === 0, exitCode: exec.exit_code, signal: exec.signal, stdout: decoder.decode(stdout),
    stderr: decoder.decode(stderr), stdoutBytes: stdout, stderrBytes: stderr, truncated, cause: exec.cause ?? "", causeText: exec.cause_text, advice: exec.advice,
    hints: exec.hints, durationMs: exec.duration_ms, memoryPeakBytes: exec.memory_peak_bytes, exec,
  };
}
