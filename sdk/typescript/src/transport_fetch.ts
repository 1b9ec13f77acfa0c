// SPDX-License-Identifier: Apache-2.0
// Requests by fetch: browsers, Deno, workers.
import { concat, toBytes, type Answer, type Body, type Request, type Transport } from "./wire.js";

async function* read(stream: ReadableStream<Uint8Array> | null): AsyncGenerator<Uint8Array> {
  if (!stream) return;
  const reader = stream.getReader();
  let over = false;
  try {
    for (;;) {
      const { done, value } = await reader.read();
      if (done) {
        over = true;
        return;
      }
      yield value;
    }
  } finally {
    if (!over) reader.cancel().catch(() => undefined);
  }
}

/** Browsers send streams only over HTTP/2, so that a body is collected first. */
async function collect(body: Body): Promise<Uint8Array> {
  if (typeof body === "string" || body instanceof Uint8Array) return toBytes(body);
  const parts: Uint8Array[] = [];
  for await (const part of body) parts.push(part);
  return concat(parts);
}

/** A body that nobody began to read is cancelled; one that is being read, by its reader. */
async function end(body: AsyncGenerator<Uint8Array>, response: Response): Promise<void> {
  await body.return(undefined);
  if (!response.body?.locked) await response.body?.cancel();
}

export class FetchTransport implements Transport {
  private readonly base: string;
  private readonly fetch: typeof fetch;

  constructor(url: string, own?: typeof fetch) {
    this.base = url.replace(/\/+$/, "");
    this.fetch = own ?? fetch.bind(globalThis);
  }

  async send(request: Request): Promise<Answer> {
    const init: RequestInit = { method: request.method, headers: request.headers, signal: request.signal, redirect: "error", credentials: "omit", cache: "no-store" };
    if (request.body !== undefined) init.body = (await collect(request.body)) as BodyInit;
    const response = await this.fetch(this.base + request.target, init);
    const body = read(response.body);
    return {
      status: response.status,
      header: (name) => response.headers.get(name),
      body,
      close: () => void end(body, response).catch(() => undefined),
    };
  }

  close(): void {
    /* fetch has no connections of ours */
  }
}
