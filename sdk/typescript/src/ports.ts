// SPDX-License-Identifier: Apache-2.0
// Servers in a sandbox, reached through the daemon; and what the sandbox itself may reach.
import type { Client } from "./client.js";
import type { ResultOf } from "./generated/calls.js";
import type * as t from "./generated/types.js";
import { pause, type Answer, type Body } from "./wire.js";

export class Ports {
  constructor(private readonly client: Client, private readonly id: string) {}

  /** The ports on which something listens. */
  async list(): Promise<number[]> {
    return (await this.client.api.portList({ id: this.id })).ports;
  }

  /** Waits until something listens on a port. */
  async wait(port: number, options: { timeoutMs?: number; signal?: AbortSignal } = {}): Promise<void> {
    const endMs = Date.now() + (options.timeoutMs ?? 30_000);
    while (!(await this.list()).includes(port)) {
      if (Date.now() > endMs) throw new Error(`nothing listens on port ${port} of sandbox '${this.id}'`);
      await pause(100, options.signal);
    }
  }

  /** The address of a server in the sandbox; requests need this client's token, or its unix socket. See `link` for browsers. */
  url(port: number, path = "/"): string {
    return ("url" in this.client.place ? this.client.place.url : "http://localhost") + this.target(port, path);
  }

  /** An address that a browser can open for ten minutes, without a token. */
  async link(port: number): Promise<string> {
    return (await this.client.api.portLink({ id: this.id, port })).url;
  }

  /** A request to a server in the sandbox; works over a unix socket too. The answer is the server's. */
  fetch(port: number, path = "/", init: { method?: string; headers?: Record<string, string>; body?: Body; signal?: AbortSignal } = {}): Promise<Answer> {
    return this.client.request(init.method ?? "GET", this.target(port, path), init.body, undefined, { signal: init.signal, headers: init.headers ?? {}, fresh: true });
  }

  private target(port: number, path: string): string {
    if (!Number.isInteger(port) || port < 1 || port > 65535) throw new RangeError(`${port} is not a port`);
    return `/api/sandboxes/${encodeURIComponent(this.id)}/ports/${port}/${path.replace(/^\//, "")}`;
  }
}

export class Network {
  constructor(private readonly client: Client, private readonly id: string) {}

  /** The rules of the sandbox, and counters of what went over its network. */
  policy(): Promise<ResultOf<"network_get">> {
    return this.client.api.networkGet({ id: this.id });
  }

  /** Changes what it may reach; this counts at once. */
  update(change: Omit<t.NetworkUpdateArgs, "id">): Promise<ResultOf<"network_update">> {
    return this.client.api.networkUpdate({ ...change, id: this.id });
  }

  /** What it looked up and connected to, and what was refused; the newest is last. */
  async log(options: { from?: number; limit?: number } = {}): Promise<t.NetworkEntry[]> {
    return (await this.client.api.networkLog({ id: this.id, ...options })).entries;
  }
}
