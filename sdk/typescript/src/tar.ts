// SPDX-License-Identifier: Apache-2.0
// Tar archives, as little of them as moving folders needs: files and folders, long names by pax records.
import { concat, toBytes } from "./wire.js";

const BLOCK = 512;
const SIZE_MAX = 8 ** 11 - 1;

export interface TarEntry {
  path: string;
  kind: "file" | "folder" | "other";
  size: number;
  mode: number;
  /** Of a file: to be read before the next entry is asked for; what is left is skipped. */
  data: AsyncIterable<Uint8Array>;
}

function octal(into: Uint8Array, at: number, width: number, value: number): void {
  into.set(toBytes(value.toString(8).padStart(width - 1, "0") + "\0"), at);
}

function header(name: Uint8Array, type: string, size: number, mode: number): Uint8Array {
  const block = new Uint8Array(BLOCK);
  block.set(name.slice(0, 100), 0);
  octal(block, 100, 8, mode & 0o777);
  octal(block, 108, 8, 0);
  octal(block, 116, 8, 0);
  octal(block, 124, 12, size);
  octal(block, 136, 12, 0);
  block.set(toBytes("        "), 148);
  block.set(toBytes(type), 156);
  block.set(toBytes("ustar\0" + "00"), 257);
  block.set(toBytes(block.reduce((n, b) => n + b, 0).toString(8).padStart(6, "0") + "\0 "), 148);
  return block;
}

function pad(size: number): Uint8Array {
  return new Uint8Array((BLOCK - (size % BLOCK)) % BLOCK);
}

/** A pax record says its own length, with the digits of the length. */
function pax(key: string, value: string): Uint8Array {
  const rest = toBytes(` ${key}=${value}\n`);
  let length = rest.length + 1;
  while (String(length).length + rest.length !== length) length = String(length).length + rest.length;
  return concat([toBytes(String(length)), rest]);
}

function head(path: string, type: string, size: number, mode: number): Uint8Array {
  const name = toBytes(path);
  if (size > SIZE_MAX) throw new RangeError(`'${path}' is too large for an archive`);
  if (name.length <= 100) return header(name, type, size, mode);
  const record = pax("path", path);
  return concat([header(toBytes("pax"), "x", record.length, 0o644), record, pad(record.length), header(name, type, size, mode)]);
}

/** An archive. A file that changes its size meanwhile is an error: its head was sent already. */
export async function* packTar(entries: AsyncIterable<Omit<TarEntry, "kind"> & { kind: "file" | "folder" }>): AsyncGenerator<Uint8Array> {
  for await (const entry of entries) {
    if (entry.kind === "folder") {
      yield head(entry.path.replace(/\/*$/, "/"), "5", 0, entry.mode);
      continue;
    }
    yield head(entry.path, "0", entry.size, entry.mode);
    let sent = 0;
    for await (const part of entry.data) {
      sent += part.length;
      if (sent > entry.size) break;
      yield part;
    }
    if (sent !== entry.size) throw new Error(`'${entry.path}' changed while it was read`);
    yield pad(entry.size);
  }
  yield new Uint8Array(2 * BLOCK);
}

/** Bytes of a stream, in the amounts that are asked for. */
class Reader {
  private readonly source: AsyncIterator<Uint8Array>;
  private rest: Uint8Array = new Uint8Array(0);

  constructor(source: AsyncIterable<Uint8Array>) {
    this.source = source[Symbol.asyncIterator]();
  }

  /** At most this many; empty: the end. */
  async some(max: number): Promise<Uint8Array> {
    while (this.rest.length === 0) {
      const next = await this.source.next();
      if (next.done) return this.rest;
      this.rest = next.value;
    }
    const found = this.rest.subarray(0, max);
    this.rest = this.rest.subarray(found.length);
    return found;
  }

  async exactly(count: number): Promise<Uint8Array> {
    const found: Uint8Array[] = [];
    for (let left = count; left > 0; ) {
      const part = await this.some(left);
      if (part.length === 0) throw new Error("the archive is cut off");
      found.push(part);
      left -= part.length;
    }
    return concat(found);
  }

  async close(): Promise<void> {
    await this.source.return?.();
  }
}

const decoder = new TextDecoder();

function textAt(block: Uint8Array, at: number, width: number): string {
  const field = block.subarray(at, at + width);
  const end = field.indexOf(0);
  return decoder.decode(end < 0 ? field : field.subarray(0, end));
}

function numberAt(block: Uint8Array, at: number, width: number): number {
  if ((block[at] ?? 0) & 0x80) {
    let value = 0;
    for (let i = at + width - 8; i < at + width; i++) value = value * 256 + (block[i] ?? 0);
    return value;
  }
  const value = parseInt(textAt(block, at, width).trim() || "0", 8);
  if (!Number.isSafeInteger(value)) throw new Error("the archive has a number that is none");
  return value;
}

function readPax(record: Uint8Array, into: Map<string, string>): void {
  for (let at = 0; at < record.length; ) {
    const space = record.indexOf(0x20, at);
    const length = parseInt(decoder.decode(record.subarray(at, space)), 10);
    if (space < 0 || !(length > 0) || at + length > record.length) throw new Error("the archive has a record that is none");
    const [key, ...value] = decoder.decode(record.subarray(space + 1, at + length - 1)).split("=");
    into.set(key ?? "", value.join("="));
    at += length;
  }
}

const RECORD_MAX = 1024 * 1024;

export async function* unpackTar(source: AsyncIterable<Uint8Array>): AsyncGenerator<TarEntry> {
  const reader = new Reader(source);
  const said = new Map<string, string>();
  let longName: string | undefined;
  try {
    for (;;) {
      const block = await reader.exactly(BLOCK);
      if (block.every((b) => b === 0)) return;
      const type = String.fromCharCode(block[156] ?? 0);
      const size = said.has("size") ? Number(said.get("size")) : numberAt(block, 124, 12);
      const padding = (BLOCK - (size % BLOCK)) % BLOCK;
      if (type === "x" || type === "g" || type === "L" || type === "K") {
        if (size > RECORD_MAX) throw new Error("the archive has a record that is too long");
        const record = await reader.exactly(size);
        await reader.exactly(padding);
        if (type === "x") readPax(record, said);
        if (type === "L") longName = textAt(record, 0, record.length);
        continue;
      }
      const prefix = textAt(block, 345, 155);
      const name = textAt(block, 0, 100);
      const path = said.get("path") ?? longName ?? (prefix ? `${prefix}/${name}` : name);
      said.clear();
      longName = undefined;
      let left = size;
      const data = async function* (): AsyncGenerator<Uint8Array> {
        while (left > 0) {
          const part = await reader.some(left);
          if (part.length === 0) throw new Error("the archive is cut off");
          left -= part.length;
          yield part;
        }
      };
      const kind = type === "5" ? "folder" : type === "0" || type === "\0" ? "file" : "other";
      yield { path, kind, size, mode: numberAt(block, 100, 8), data: data() };
      while (left > 0) {
        const skipped = (await reader.some(left)).length;
        if (skipped === 0) throw new Error("the archive is cut off");
        left -= skipped;
      }
      await reader.exactly(padding);
    }
  } finally {
    await reader.close();
  }
}
