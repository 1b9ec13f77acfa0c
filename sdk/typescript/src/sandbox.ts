// SPDX-License-Identifier: Apache-2.0
// A sandbox: made, used, destroyed.
import { clientOf, type Client, type ClientOptions } from "./client.js";
import { Command, type CommandOptions, type CommandResult, type OutputEvent, type WaitOptions } from "./command.js";
import { ExistsError, NotFoundError } from "./errors.js";
import { Files } from "./files.js";
import type { ResultOf } from "./generated/calls.js";
import type * as t from "./generated/types.js";
import { uniqueId } from "./platform.js";
import { Network, Ports } from "./ports.js";
import type { CallOptions } from "./wire.js";

export interface SandboxOptions extends ClientOptions {
  client?: Client | undefined;
  /** What it is made from; default: host. */
  template?: string | undefined;
  name?: string | undefined;
  /** Memory of everything in it ("512m"). */
  memory?: number | string | undefined;
  /** Processors: 0.5 is half of one. */
  cpus?: number | string | undefined;
  /** More limits: pids, disk, wall_time … */
  limits?: t.SandboxCreateArgs["limits"];
  /** Names of limits to skip if this machine cannot enforce them. */
  maySkip?: string[] | undefined;
  env?: Record<string, string> | undefined;
  labels?: Record<string, string> | undefined;
  metadata?: Record<string, string> | undefined;
  /** Time to live: seconds, or "10m"; 0: until destroyed. */
  timeout?: number | string | undefined;
  idleTimeout?: number | string | undefined;
  /** none, list or bridge. */
  network?: string | undefined;
  /** Hosts that it may reach: "pypi.org", "*.example.org:443", "preset:python". */
  allow?: string[] | undefined;
  deny?: string[] | undefined;
  /** A folder of the daemon's machine as its workspace: "/path", or with a mode. */
  workspace?: string | { path: string; mode?: "ro" | "rw" | "cow" } | undefined;
  engine?: string | undefined;
  readOnly?: boolean | undefined;
  ports?: Array<number | string> | undefined;
  volumes?: string[] | undefined;
  /** The token of ConfirmError, when a person agreed. */
  confirm?: string | undefined;
  /** A name of your own for this request: a second one with it makes nothing, and gives the first one's sandbox. */
  idempotencyKey?: string | undefined;
  signal?: AbortSignal | undefined;
}

export type RunOptions = CommandOptions & WaitOptions;

/** Where a created sandbox keeps its request's id: one that has a name is found by it when the answer was lost. */
const KEY = "cay.sdk.request";

function argsOf(o: SandboxOptions, key: string): t.SandboxCreateArgs {
  const args: t.SandboxCreateArgs = {
    template: o.template, name: o.name, memory_limit: o.memory, cpu_limit: o.cpus, limits: o.limits, may_skip: o.maySkip, env: o.env, labels: o.labels,
    metadata: o.name === undefined ? o.metadata : { ...o.metadata, [KEY]: key }, timeout: o.timeout, idle_timeout: o.idleTimeout, network: o.network, allow: o.allow, deny: o.deny,
    workspace: typeof o.workspace === "string" ? { path: o.workspace } : o.workspace, engine: o.engine, read_only: o.readOnly, ports: o.ports, volumes: o.volumes,
    confirm: o.confirm, execution_id: key,
  };
  return Object.fromEntries(Object.entries(args).filter(([, v]) => v !== undefined)) as t.SandboxCreateArgs;
}

/** What the first request with this id made; throws the error again if it was another's. */
async function find(client: Client, error: ExistsError, name: string | undefined, key: string): Promise<t.Sandbox> {
  if (error.first !== undefined) return client.api.sandboxGet({ id: error.first });
  if (error.field !== "name" || name === undefined) throw error;
  const there = await client.api.sandboxGet({ id: name });
  if (there.metadata[KEY] !== key) throw error;
  return there;
}

export class Sandbox {
  readonly id: string;
  readonly files: Files;
  readonly ports: Ports;
  readonly network: Network;
  /** What the daemon said of it last. */
  info: t.Sandbox;

  private constructor(readonly client: Client, info: t.Sandbox) {
    this.id = info.sandbox_id;
    this.info = info;
    this.files = new Files(client, this.id);
    this.ports = new Ports(client, this.id);
    this.network = new Network(client, this.id);
  }

  /** Makes one; it is ready when this resolves. `await using box = await Sandbox.create()` destroys it at the end of the block. */
  static async create(options: SandboxOptions = {}): Promise<Sandbox> {
    const client = clientOf(options);
    const key = options.idempotencyKey ?? uniqueId();
    try {
      return new Sandbox(client, await client.api.sandboxCreate(argsOf(options, key), { signal: options.signal }));
    } catch (e) {
      if (!(e instanceof ExistsError)) throw e;
      return new Sandbox(client, await find(client, e, options.name, key));
    }
  }

  /** Makes one for a function, and destroys it afterwards, whatever happens. */
  static async use<T>(options: SandboxOptions, work: (box: Sandbox) => Promise<T>): Promise<T> {
    const box = await Sandbox.create(options);
    try {
      return await work(box);
    } finally {
      await box.destroy();
    }
  }

  /** One that exists, by its id or its name. */
  static async get(idOrName: string, options: ClientOptions & { client?: Client } = {}): Promise<Sandbox> {
    const client = clientOf(options);
    return new Sandbox(client, await client.api.sandboxGet({ id: idOrName }));
  }

  /** All that one may see, page by page. */
  static async *list(options: ClientOptions & { client?: Client } & t.SandboxListArgs = {}): AsyncGenerator<Sandbox> {
    const client = clientOf(options);
    const { name, template, label, state, older_than, idle_for, limit } = options;
    let cursor = options.cursor;
    for (;;) {
      const page = await client.api.sandboxList({ name, template, label, state, older_than, idle_for, limit, cursor });
      for (const info of page.sandboxes) yield new Sandbox(client, info);
      if (page.next === null) return;
      cursor = page.next;
    }
  }

  /** Runs a command, a line for /bin/sh or a list of words, and waits for its end. */
  async run(command: string | readonly string[], options: RunOptions = {}): Promise<CommandResult> {
    const running = await Command.open(this.client, this.id, command, options);
    try {
      return await running.wait(options);
    } catch (e) {
      if (options.signal?.aborted) await running.kill().catch(() => undefined);
      throw e;
    }
  }

  /** Starts a command in the background: iterate over it for its output, `wait` for its end. */
  start(command: string | readonly string[], options: CommandOptions = {}): Promise<Command> {
    return Command.start(this.client, this.id, command, options);
  }

  /** Starts a command and gives its output as it comes. */
  async *stream(command: string | readonly string[], options: CommandOptions = {}): AsyncGenerator<OutputEvent> {
    yield* (await Command.open(this.client, this.id, command, options)).output({ signal: options.signal });
  }

  /** A terminal with a program in it (default: a shell). */
  pty(command: string | readonly string[] = ["/bin/sh", "-i"], options: CommandOptions = {}): Promise<Command> {
    return this.start(command, { rows: 24, cols: 80, ...options, tty: true });
  }

  /** A command that was started before. */
  command(id: string): Command {
    return Command.attach(this.client, this.id, id);
  }

  async commands(): Promise<t.Exec[]> {
    return (await this.client.api.execList({ id: this.id })).execs;
  }

  async refresh(): Promise<t.Sandbox> {
    return (this.info = await this.client.api.sandboxGet({ id: this.id }));
  }

  /** Ends its processes and keeps its files. */
  async stop(): Promise<void> {
    this.info = await this.client.api.sandboxStop({ id: this.id });
  }

  /** Starts it again after `stop`. */
  async startAgain(): Promise<void> {
    this.info = await this.client.api.sandboxStart({ id: this.id });
  }

  async pause(): Promise<void> {
    this.info = await this.client.api.sandboxPause({ id: this.id });
  }

  async resume(): Promise<void> {
    this.info = await this.client.api.sandboxResume({ id: this.id });
  }

  /** Sets how long it lives from now on. */
  async extend(options: { timeout: number | string; idleTimeout?: number | string }): Promise<void> {
    this.info = await this.client.api.sandboxExtend({ id: this.id, timeout: options.timeout, idle_timeout: options.idleTimeout });
  }

  stats(options: CallOptions = {}): Promise<ResultOf<"sandbox_stats">> {
    return this.client.api.sandboxStats({ id: this.id }, options);
  }

  async processes(): Promise<t.Process[]> {
    return (await this.client.api.processList({ id: this.id })).processes;
  }

  /** Destroys it and everything in it. Fine if it is gone. */
  async destroy(): Promise<void> {
    try {
      await this.client.api.sandboxDestroy({ id: this.id }, { repeatable: true });
    } catch (e) {
      if (!(e instanceof NotFoundError)) throw e;
    }
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.destroy();
  }
}
