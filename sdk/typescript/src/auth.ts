// SPDX-License-Identifier: Apache-2.0
// Credentials: a token, something that gives tokens, an API key, or the secret that tokens are made from.
import { platform } from "./platform.js";
import { toBytes } from "./wire.js";

export interface Credentials {
  /** For the field Authorization; null: none (a unix socket). */
  bearer(): Promise<string | null>;
  /** The daemon refused what bearer gave. True: the next one may be better. */
  refused(): boolean;
}

/** A token is made anew before its end: after nine tenths of its time, or a minute before. */
const AHEAD_MS = 60_000;

class Fixed implements Credentials {
  constructor(private readonly token: string | null) {}
  bearer(): Promise<string | null> {
    return Promise.resolve(this.token);
  }
  refused(): boolean {
    return false;
  }
}

/** A token with an end, made anew a minute before it, or when it was refused. Requests at the same time share one. */
class Renewed implements Credentials {
  private now: Promise<{ token: string; endsMs: number }> | undefined;
  private endsMs = 0;

  constructor(private readonly make: () => Promise<{ token: string; endsMs: number }>) {}

  async bearer(): Promise<string> {
    if (!this.now || Date.now() > this.endsMs) {
      this.endsMs = Infinity;
      this.now = this.make();
      const begunMs = Date.now();
      this.now.then((made) => (this.endsMs = made.endsMs - Math.min(AHEAD_MS, (made.endsMs - begunMs) / 10)), () => (this.now = undefined));
    }
    return (await this.now).token;
  }

  refused(): boolean {
    this.now = undefined;
    return true;
  }
}

function check(token: string, where: string): string {
  const trimmed = token.trim();
  if (!/^[\x21-\x7e]{1,4096}$/.test(trimmed)) throw new TypeError(`${where}: contains no token`);
  return trimmed;
}

export function none(): Credentials {
  return new Fixed(null);
}

export function fixed(token: string, where: string): Credentials {
  return new Fixed(check(token, where));
}

export function given(give: () => string | Promise<string>): Credentials {
  return new Renewed(async () => ({ token: check(await give(), "token"), endsMs: Infinity }));
}

export function renewed(make: () => Promise<{ token: string; expires_at: string | null }>): Credentials {
  return new Renewed(async () => {
    const made = await make();
    return { token: made.token, endsMs: made.expires_at === null ? Infinity : Date.parse(made.expires_at) };
  });
}

function base64url(bytes: Uint8Array): string {
  return btoa(String.fromCharCode(...bytes)).replace(/\+/g, "-").replace(/\//g, "_").replace(/=+$/, "");
}

/** Tokens of half an hour, made from the daemon's secret (docs/tokens.md). */
export function fromSecret(secret: string, owner: string, scope: string): Credentials {
  return new Renewed(async () => {
    const ends = Math.floor(Date.now() / 1000) + 1800;
    const payload = "cay1." + base64url(toBytes(JSON.stringify({ o: owner, s: scope, e: ends, i: "sdk-typescript" })));
    const subtle = platform().subtle();
    const key = await subtle.importKey("raw", toBytes(secret) as BufferSource, { name: "HMAC", hash: "SHA-256" }, false, ["sign"]);
    const mac = new Uint8Array(await subtle.sign("HMAC", key, toBytes(payload) as BufferSource));
    return { token: `${payload}.${base64url(mac)}`, endsMs: ends * 1000 };
  });
}
