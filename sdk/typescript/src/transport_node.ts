// SPDX-License-Identifier: Apache-2.0
// Requests by node:http, which reaches unix sockets, takes certificates, and sends bodies as they come.
import * as http from "node:http";
import * as https from "node:https";
import type { Place } from "./platform.js";
import { toBytes, type Answer, type Request, type Transport } from "./wire.js";

const CONNECT_MS = 15_000;

export class NodeTransport implements Transport {
  private readonly agent: http.Agent;
  private readonly where: http.RequestOptions;
  private readonly request: typeof http.request;
  private readonly prefix: string;

  constructor(place: Place, ca: string | undefined) {
    if ("socket" in place) {
      this.where = { socketPath: place.socket, host: "localhost" };
      this.prefix = "";
    } else {
      const url = new URL(place.url);
      this.where = { protocol: url.protocol, hostname: url.hostname.replace(/^\[|\]$/g, ""), port: url.port, ...(ca === undefined ? {} : { ca }) } as http.RequestOptions;
      this.prefix = url.pathname.replace(/\/+$/, "");
    }
    const isTls = "url" in place && place.url.startsWith("https:");
    this.request = isTls ? https.request : http.request;
    this.agent = isTls ? new https.Agent({ keepAlive: true, ca }) : new http.Agent({ keepAlive: true });
  }

  send(r: Request): Promise<Answer> {
    return new Promise((resolve, reject) => {
      const headers: http.OutgoingHttpHeaders = { ...r.headers };
      const whole = r.body === undefined ? undefined : typeof r.body === "string" || r.body instanceof Uint8Array ? toBytes(r.body) : null;
      if (whole) headers["Content-Length"] = whole.length;
      else if (whole === undefined && r.method !== "GET") headers["Content-Length"] = 0;
      const request = this.request({ ...this.where, method: r.method, path: this.prefix + r.target, headers, agent: r.fresh ? false : this.agent, signal: r.signal });
      const late = setTimeout(() => request.destroy(new Error(`not connected within ${CONNECT_MS / 1000} s`)), CONNECT_MS);

      request.once("socket", (socket) => {
        if (socket.connecting) socket.once("connect", () => clearTimeout(late));
        else clearTimeout(late);
      });
      request.once("close", () => clearTimeout(late));
      request.on("error", reject);
      request.once("response", (response) => {
        resolve({
          status: response.statusCode ?? 0,
          header: (name) => [response.headers[name.toLowerCase()] ?? null].flat()[0] ?? null,
          body: response as AsyncIterable<Uint8Array>,
          // What was read to its end gives its connection back; the rest is broken off.
          close: () => void (response.readableEnded || response.destroy()),
        });
      });
      if (whole === null) void this.pour(r.body as AsyncIterable<Uint8Array>, request);
      else request.end(whole);
    });
  }

  /** An answer that comes before the body is over ends the pouring. */
  private async pour(body: AsyncIterable<Uint8Array>, request: http.ClientRequest): Promise<void> {
    try {
      for await (const part of body) {
        if (request.destroyed) return;
        if (!request.write(part)) await new Promise<void>((go) => {
          const on = (): void => {
            request.off("drain", on).off("close", on).off("error", on);
            go();
          };
          request.on("drain", on).on("close", on).on("error", on);
        });
      }
      request.end();
    } catch (e) {
      request.destroy(e instanceof Error ? e : new Error(String(e)));
    }
  }

  close(): void {
    this.agent.destroy();
  }
}
