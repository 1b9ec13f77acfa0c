// SPDX-License-Identifier: Apache-2.0
// What travels between the layers: a request, its answer, and what carries both.

/** Bytes of a request. An iterable is sent as it comes, and such a request is never repeated. */
export type Body = Uint8Array | string | AsyncIterable<Uint8Array>;

export interface Request {
  method: string;
  /** Path and query, below the daemon's address. */
  target: string;
  headers: Record<string, string>;
  body?: Body | undefined;
  signal: AbortSignal;
  /** Use a connection of its own: a kept one may be closed just now, and then nobody knows whether the request arrived. */
  fresh: boolean;
}

/** The head of an answer is there; the body is read once, or closed. */
export interface Answer {
  readonly status: number;
  header(name: string): string | null;
  readonly body: AsyncIterable<Uint8Array>;
  close(): void;
}

export interface Transport {
  /** Rejects if there is no answer. */
  send(request: Request): Promise<Answer>;
  close(): void;
}

/** One event of a stream (docs/streams.md). */
export interface StreamEvent {
  event: string;
  [member: string]: unknown;
}

export interface CallOptions {
  /** Ends the call. */
  signal?: AbortSignal | undefined;
  /** Longest wait for the head of the answer, in milliseconds; 0: no limit. */
  timeoutMs?: number | undefined;
  /** Says that the request may be repeated if no answer came. Those that only read, or have a single-use id, always may. */
  repeatable?: boolean | undefined;
}

const encoder = new TextEncoder();

export function toBytes(data: string | Uint8Array | ArrayBuffer): Uint8Array {
  return typeof data === "string" ? encoder.encode(data) : data instanceof Uint8Array ? data : new Uint8Array(data);
}

export function concat(parts: readonly Uint8Array[]): Uint8Array {
  const all = new Uint8Array(parts.reduce((n, p) => n + p.length, 0));
  let at = 0;
  for (const p of parts) {
    all.set(p, at);
    at += p.length;
  }
  return all;
}

export function fromBase64(text: string): Uint8Array {
  const binary = atob(text);
  const bytes = new Uint8Array(binary.length);
  for (let i = 0; i < binary.length; i++) bytes[i] = binary.charCodeAt(i);
  return bytes;
}

/** Resolves after a time, or rejects with the signal's reason. */
export function pause(ms: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    if (signal?.aborted) {
      reject(signal.reason);
      return;
    }
    const end = (): void => {
      clearTimeout(timer);
      reject(signal?.reason);
    };
    const timer = setTimeout(() => {
      signal?.removeEventListener("abort", end);
      resolve();
    }, ms);
    signal?.addEventListener("abort", end, { once: true });
  });
}
