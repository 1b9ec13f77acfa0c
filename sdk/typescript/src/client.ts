// SPDX-License-Identifier: Apache-2.0
// A daemon: where it is, who we are, and one request with its retries.
//
// What may be repeated. A request that only reads, one with a single-use id, and one that its caller says may be, is sent again
// when no answer came. Any other is sent once, on a connection of its own. A daemon that says "later" (429, or 503 with "try
// again") did nothing, so that every request may follow, unless its body was a stream.
import * as auth from "./auth.js";
import { CayError, ConnectionLostError, LimitError, UnauthenticatedError, UnavailableError, connectionError, errorOfAnswer } from "./errors.js";
import { Calls, OPERATIONS, type Caller, type OperationName, type Operations } from "./generated/calls.js";
import { platform, uniqueId, type Place } from "./platform.js";
import { events, readText } from "./stream.js";
import { pause, type Answer, type Body, type CallOptions, type StreamEvent, type Transport } from "./wire.js";

export interface ClientOptions {
  /** Address of the daemon: http://HOST:PORT, https://HOST, or unix:/PATH (Node). Else CAY_URL, SANDBOX_SERVICE_URL. */
  url?: string | undefined;
  /** The unix socket of a local daemon (Node). Else CAY_SOCKET. */
  socket?: string | undefined;
  /** The data folder of a local daemon, which has its socket (Node). Else CAY_DATA, /var/lib/cay. */
  data?: string | undefined;
  /** A bearer token, or what gives one; that is asked again when the daemon refuses the last. Else CAY_TOKEN, CAY_TOKEN_FILE. */
  token?: string | (() => string | Promise<string>) | undefined;
  /** An API key (cayk_…). With an owner, tokens for that owner are made with it and renewed. Else CAY_API_KEY. */
  apiKey?: string | undefined;
  /** Whom to speak for: with an API key of scope admin, or a secret. */
  owner?: string | undefined;
  /** Scope of the tokens that are made: read, exec (default) or admin. */
  scope?: "read" | "exec" | "admin" | undefined;
  /** How long the tokens that are made last, in seconds (1,800). */
  tokenLifetime?: number | undefined;
  /** The secret that the daemon's tokens are signed with. Else SANDBOX_TOKEN_SECRET, if SANDBOX_SERVICE_URL is the address. */
  tokenSecret?: string | undefined;
  /** Trusted certificates in PEM form, instead of the system's (Node). Else the file CAY_CA_FILE. */
  ca?: string | undefined;
  /** More fields for every request. */
  headers?: Record<string, string> | undefined;
  /** Longest wait for the head of an answer, in milliseconds (120,000). */
  timeoutMs?: number | undefined;
  /** How long to try again where that is safe, in milliseconds (15,000); 0: never. */
  retryMs?: number | undefined;
  /** How long a cut stream tries to continue without progress, in milliseconds (60,000). */
  resumeMs?: number | undefined;
  /** Instead of the global fetch; Node then uses it too. */
  fetch?: typeof fetch | undefined;
}

const HEAD_MS = 120_000;
const RETRY_MS = 15_000;
const RESUME_MS = 60_000;

type Row = (typeof OPERATIONS)[OperationName];

function variable(name: string): string | undefined {
  return platform().variable(name) || undefined;
}

function parseUrl(url: string): Place {
  if (url.startsWith("unix:")) return { socket: url.slice("unix:".length) };
  if (!/^https?:\/\//.test(url)) throw new TypeError(`url: '${url}' does not begin with http://, https:// or unix:`);
  return { url: url.replace(/\/+$/, "") };
}

function findPlace(o: ClientOptions): { place: Place; isService: boolean } {
  const service = variable("SANDBOX_SERVICE_URL");
  const page = (globalThis as { location?: { origin?: string } }).location?.origin;

  if ([o.url, o.socket, o.data].filter((v) => v !== undefined).length > 1) throw new TypeError("url, socket and data exclude each other");
  if (o.url !== undefined) return { place: parseUrl(o.url), isService: o.url === service };
  if (o.socket !== undefined) return { place: { socket: o.socket }, isService: false };
  if (o.data !== undefined) return { place: { socket: `${o.data}/cay.sock` }, isService: false };
  const url = variable("CAY_URL");
  if (url !== undefined) return { place: parseUrl(url), isService: false };
  if (service !== undefined) return { place: parseUrl(service), isService: true };
  if (page !== undefined && /^https?:/.test(page)) return { place: { url: page }, isService: false };
  return { place: { socket: variable("CAY_SOCKET") ?? `${variable("CAY_DATA") ?? "/var/lib/cay"}/cay.sock` }, isService: false };
}

export class Client implements Caller {
  /** Every operation of the API, by its own name. */
  readonly api: Calls;
  readonly place: Place;
  readonly resumeMs: number;
  private readonly options: ClientOptions;
  private readonly isService: boolean;
  private transport: Promise<Transport> | undefined;
  private credentials: Promise<auth.Credentials> | undefined;

  constructor(options: ClientOptions = {}) {
    const { place, isService } = findPlace(options);
    this.options = options;
    this.place = place;
    this.isService = isService;
    this.resumeMs = options.resumeMs ?? RESUME_MS;
    this.api = new Calls(this);
  }

  /** The daemon's address for people. */
  get address(): string {
    return "url" in this.place ? this.place.url : `unix:${this.place.socket}`;
  }

  close(): void {
    this.transport?.then((t) => t.close(), () => undefined);
    this.transport = undefined;
  }

  [Symbol.dispose](): void {
    this.close();
  }

  private async openTransport(): Promise<Transport> {
    const file = variable("CAY_CA_FILE");
    const isTls = "url" in this.place && this.place.url.startsWith("https:");
    const ca = this.options.ca ?? (isTls && file !== undefined ? await platform().readText(file) : undefined);
    return platform().transport(this.place, { ca, fetch: this.options.fetch });
  }

  private async findCredentials(): Promise<auth.Credentials> {
    const o = this.options;
    const isLocal = "socket" in this.place;
    const key = o.apiKey ?? (o.token === undefined && !isLocal ? variable("CAY_API_KEY") : undefined);

    if (typeof o.token === "function") return auth.given(o.token);
    if (o.token !== undefined) return auth.fixed(o.token, "token");
    if (key !== undefined) {
      if (o.owner === undefined) return auth.fixed(key, "apiKey");
      const owner = o.owner;
      const maker = new Client({ ...o, owner: undefined, apiKey: key });
      return auth.renewed(() => maker.api.tokenMake({ owner, scope: o.scope ?? "exec", lifetime: o.tokenLifetime ?? 1800 }));
    }
    if (o.tokenSecret !== undefined) return auth.fromSecret(o.tokenSecret, o.owner ?? "default", o.scope ?? "exec");
    if (isLocal) return auth.none();
    const file = variable("CAY_TOKEN_FILE");
    if (file !== undefined) return auth.given(() => platform().readText(file));
    const token = variable("CAY_TOKEN");
    if (token !== undefined) return auth.fixed(token, "CAY_TOKEN");
    const secret = variable("SANDBOX_TOKEN_SECRET");
    if (this.isService && secret !== undefined) return auth.fromSecret(secret, o.owner ?? "default", o.scope ?? "exec");
    return auth.none();
  }

  /** One request, one answer; rejects with ConnectionLostError if there is none. Refusals are answers. */
  async request(method: string, target: string, body: Body | undefined, type: string | undefined, options: CallOptions & { fresh?: boolean; headers?: Record<string, string> } = {}): Promise<Answer> {
    const transport = await (this.transport ??= this.openTransport());
    const headers: Record<string, string> = { ...this.options.headers, ...options.headers };
    const bearer = await (await (this.credentials ??= this.findCredentials())).bearer();
    const ended = new AbortController();
    const waitMs = options.timeoutMs ?? this.options.timeoutMs ?? HEAD_MS;
    const onAbort = (): void => ended.abort(options.signal?.reason);

    options.signal?.throwIfAborted();
    if (bearer !== null) headers.Authorization = `Bearer ${bearer}`;
    if (type !== undefined && body !== undefined) headers["Content-Type"] = type;
    options.signal?.addEventListener("abort", onAbort, { once: true });
    const late = connectionError(`no answer from ${this.address} within ${waitMs / 1000} s`, undefined);
    const timer = waitMs > 0 ? setTimeout(() => ended.abort(late), waitMs) : undefined;
    const release = (): void => options.signal?.removeEventListener("abort", onAbort);
    try {
      const answer = await transport.send({ method, target, headers, body, signal: ended.signal, fresh: options.fresh ?? false });
      return { ...answer, close: () => { release(); answer.close(); } };
    } catch (e) {
      release();
      if (ended.signal.reason === late) throw late;
      options.signal?.throwIfAborted();
      throw connectionError(`no answer from ${this.address}`, e);
    } finally {
      clearTimeout(timer);
    }
  }

  /** True if the credentials may be better now. */
  async renew(): Promise<boolean> {
    return (await this.credentials)?.refused() ?? false;
  }

  private async attempt<T>(row: Row, target: string, body: Body | undefined, options: CallOptions, repeatable: boolean, read: (answer: Answer) => Promise<T>): Promise<T> {
    const type = row.body === "bytes" ? "application/octet-stream" : "application/json";
    const answer = await this.request(row.method, target, body, type, { ...options, fresh: !repeatable, headers: { Accept: "application/json" } });
    if (answer.status >= 200 && answer.status < 300) return read(answer);
    const retryAfter = Number(answer.header("Retry-After") ?? "");
    const error = errorOfAnswer(answer.status, await readText(answer));
    throw Object.assign(error, { retryAfterMs: retryAfter > 0 ? retryAfter * 1000 : 0 });
  }

  private async ask<T>(name: OperationName, args: Record<string, unknown>, given: Body | undefined, options: CallOptions, read: (answer: Answer) => Promise<T>): Promise<T> {
    const row: Row = OPERATIONS[name];
    const { target, body: json } = format(row, row.once && args.execution_id == null ? { ...args, execution_id: uniqueId() } : args);
    const body = row.body === "bytes" ? given : json;
    const isStream = body !== undefined && typeof body !== "string" && !(body instanceof Uint8Array);
    const repeatable = !isStream && (row.method === "GET" || row.once || options.repeatable === true);
    const endMs = Date.now() + (this.options.retryMs ?? RETRY_MS);
    let renewed = false;
    let repeated = false;

    for (let tries = 0; ; tries++) {
      try {
        return await this.attempt(row, target, body, options, repeatable, read);
      } catch (e) {
        if (e instanceof UnauthenticatedError && !renewed && !isStream && (await this.renew())) {
          renewed = true;
          continue;
        }
        if (e instanceof CayError) e.repeated = repeated;
        repeated ||= e instanceof ConnectionLostError;
        const waitMs = isStream ? -1 : wait(e, repeatable, tries);
        if (waitMs < 0 || Date.now() + waitMs > endMs) throw e;
        await pause(waitMs, options.signal);
      }
    }
  }

  /** Calls an operation; `client.api` has the same as methods. */
  async call<N extends OperationName>(name: N, args: Operations[N]["args"], body?: Body, options: CallOptions = {}): Promise<Operations[N]["result"]> {
    const row: Row = OPERATIONS[name];
    return this.ask(name, args as Record<string, unknown>, body, options, async (answer) => {
      if (row.answer === "events") return events(answer) as unknown as Operations[N]["result"];
      if (row.answer === "bytes") return answer as unknown as Operations[N]["result"];
      const text = await readText(answer);
      try {
        return JSON.parse(text) as Operations[N]["result"];
      } catch (e) {
        throw connectionError(`the answer of ${this.address} is not JSON`, e);
      }
    });
  }

  /** The events of an operation that can answer with a stream. It is not resumed: see Command, and Client.events. */
  async stream(name: OperationName, args: Record<string, unknown>, options: CallOptions = {}): Promise<AsyncGenerator<StreamEvent>> {
    return this.ask(name, args, undefined, options, (answer) => Promise.resolve(events(answer)));
  }

  /** What happens to sandboxes: those stored after a number, then each as it happens. Continues by itself after a cut. */
  async *events(options: { after?: number; kind?: string; newOnly?: boolean; signal?: AbortSignal } = {}): AsyncGenerator<StreamEvent> {
    let after = options.after;
    let brokenMs = 0;
    for (;;) {
      try {
        const args = { follow: true, kind: options.kind, after, new_only: after === undefined ? options.newOnly : undefined };
        for await (const event of await this.stream("event_list", args, { signal: options.signal })) {
          if (event.event === "error") throw errorOfEvent(event);
          if (typeof event.seq === "number") after = event.seq;
          brokenMs = 0;
          yield event;
        }
      } catch (e) {
        options.signal?.throwIfAborted();
        if (!(await this.mayResume(e))) throw e;
        brokenMs ||= Date.now();
        if (Date.now() - brokenMs > this.resumeMs) throw e;
      }
      await pause(100, options.signal);
    }
  }

  /** Whether a stream that ended with this error may be asked for again. */
  async mayResume(e: unknown): Promise<boolean> {
    if (e instanceof UnauthenticatedError) return this.renew();
    return e instanceof ConnectionLostError || e instanceof UnavailableError || e instanceof LimitError;
  }
}

export function errorOfEvent(event: StreamEvent): CayError {
  return errorOfAnswer(0, JSON.stringify({ error: event }));
}

/** Milliseconds until the next try; -1: none. */
function wait(e: unknown, repeatable: boolean, tries: number): number {
  const backoff = Math.min(100 * 2 ** tries, 2000) * (0.5 + Math.random() / 2);
  const asked = (e as { retryAfterMs?: number }).retryAfterMs ?? 0;

  if (e instanceof LimitError) return asked > 0 ? Math.max(asked, backoff) : -1;
  if (e instanceof UnavailableError && (repeatable || e.reason === "retry")) return backoff;
  return e instanceof ConnectionLostError && repeatable ? backoff : -1;
}

function format(row: Row, args: Record<string, unknown>): { target: string; body: string | undefined } {
  const left = { ...args };
  const path = row.path.replace(/\{(\w+)\}/g, (_, name: string) => {
    const value = left[name];
    delete left[name];
    if (typeof value !== "string" || value === "") throw new TypeError(`${name}: a text that is not empty is needed`);
    return encodeURIComponent(value);
  });
  const query = new URLSearchParams();
  for (const name of row.query as readonly string[]) {
    if (left[name] !== undefined && left[name] !== null) query.set(name, String(left[name]));
    delete left[name];
  }
  const target = query.size > 0 ? `${path}?${query}` : path;
  return { target, body: row.body === "json" ? JSON.stringify(left) : undefined };
}

let shared: Client | undefined;

/** The client that is used where none is given: made once, from the environment. */
export function defaultClient(): Client {
  return (shared ??= new Client());
}

/** A client that was made already, or one with these options. */
export function clientOf(options: (ClientOptions & { client?: Client | undefined }) | undefined): Client {
  if (options?.client) return options.client;
  const names = ["url", "socket", "data", "token", "apiKey", "owner", "scope", "tokenLifetime", "tokenSecret", "ca", "headers", "timeoutMs", "retryMs", "resumeMs", "fetch"] as const;
  const own = Object.fromEntries(names.filter((n) => options?.[n] !== undefined).map((n) => [n, options?.[n]])) as ClientOptions;
  return Object.keys(own).length > 0 ? new Client(own) : defaultClient();
}
