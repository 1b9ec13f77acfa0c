// SPDX-License-Identifier: Apache-2.0
// What differs between Node and browsers. node.ts sets Node's; without it, only what every browser has is used.
import { FetchTransport } from "./transport_fetch.js";
import type { Transport } from "./wire.js";

/** Where a daemon is. */
export type Place = { url: string } | { socket: string };

export interface TransportOptions {
  /** Trusted certificates in PEM form, instead of the system's. */
  ca?: string | undefined;
  fetch?: typeof fetch | undefined;
}

export interface LocalEntry {
  /** Below the folder that was listed, with slashes. */
  path: string;
  kind: "file" | "folder";
  size: number;
  mode: number;
}

/** Files of the machine that the program runs on. */
export interface LocalFiles {
  isFolder(path: string): Promise<boolean>;
  /** Everything below a folder, folders before what is in them; links and special files are left out. */
  list(folder: string): AsyncIterable<LocalEntry>;
  read(path: string): AsyncIterable<Uint8Array>;
  /** Writes below a folder; refuses to follow links out of it. */
  write(folder: string, path: string, mode: number, data: AsyncIterable<Uint8Array>): Promise<void>;
  makeFolder(folder: string, path: string): Promise<void>;
  join(folder: string, path: string): string;
  baseName(path: string): string;
  folderName(path: string): string;
}

export interface Platform {
  variable(name: string): string | undefined;
  transport(place: Place, options: TransportOptions): Transport;
  /** Absent in browsers. */
  files?: LocalFiles;
  readText(path: string): Promise<string>;
  subtle(): SubtleCrypto;
  randomBytes(count: number): Uint8Array;
}

const plain: Platform = {
  variable: () => undefined,
  transport(place, options) {
    if ("socket" in place) throw new TypeError("a unix socket cannot be used here: give a url");
    if (options.ca !== undefined) throw new TypeError("the option ca works in Node only: browsers trust what their system trusts");
    return new FetchTransport(place.url, options.fetch);
  },
  readText: () => Promise.reject(new TypeError("there are no files here: give the value itself")),
  subtle: () => crypto.subtle,
  randomBytes: (count) => crypto.getRandomValues(new Uint8Array(count)),
};

let current = plain;

export function setPlatform(platform: Platform): void {
  current = platform;
}

export function platform(): Platform {
  return current;
}

/** A name that nobody else uses: for single-use ids. */
export function uniqueId(): string {
  return Array.from(current.randomBytes(16), (b) => b.toString(16).padStart(2, "0")).join("");
}
