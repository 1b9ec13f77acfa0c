// SPDX-License-Identifier: Apache-2.0
// The files of a sandbox. Paths are below the workspace unless they begin with a slash.
import { errorOfEvent, type Client } from "./client.js";
import { NotFoundError } from "./errors.js";
import type { ResultOf } from "./generated/calls.js";
import type * as t from "./generated/types.js";
import { platform, type LocalFiles } from "./platform.js";
import { parts, readAll } from "./stream.js";
import { packTar, unpackTar } from "./tar.js";
import { toBytes, type Body, type StreamEvent } from "./wire.js";

const READ_MAX = 1024 * 1024 * 1024;

export interface WriteOptions {
  /** Permission bits of a new file, as 0o644 or "0644". */
  mode?: number | string | undefined;
  append?: boolean | undefined;
  /** Fails if the file exists. */
  exclusive?: boolean | undefined;
  /** Makes missing folders (default: true). */
  parents?: boolean | undefined;
  /** Writes only if the file has still this tag. */
  ifTag?: string | undefined;
  asRoot?: boolean | undefined;
}

export interface FileEntry {
  name: string;
  /** file, directory, symlink … */
  kind: string;
  size: number;
  mode: string;
  modifiedAt: Date | null;
  tag: string;
  target: string | undefined;
}

function entryOf(f: t.File): FileEntry {
  return {
    name: f.name ?? atob(f.name_base64 ?? ""), kind: f.type, size: f.size, mode: f.mode,
    modifiedAt: f.modified_at === null ? null : new Date(f.modified_at), tag: f.tag, target: f.target,
  };
}

/** Below the folder, with no way out of it; null: not. */
function inside(path: string): string | null {
  const steps = path.split("/").filter((s) => s !== "" && s !== ".");
  return path.startsWith("/") || steps.includes("..") || path.includes("\0") ? null : steps.join("/");
}

function local(): LocalFiles {
  const files = platform().files;
  if (!files) throw new TypeError("upload and download need files of this machine, which browsers do not give: use write, read, pack and unpack");
  return files;
}

export class Files {
  constructor(private readonly client: Client, private readonly id: string) {}

  /** A whole file, at most 1 GiB; `stream` reads larger ones. */
  async read(path: string, options: { offset?: number; length?: number; tail?: number; asRoot?: boolean } = {}): Promise<Uint8Array> {
    return readAll(await this.client.api.fileRead({ id: this.id, path, offset: options.offset, length: options.length, tail: options.tail, as_root: options.asRoot }), READ_MAX);
  }

  async readText(path: string, options: { asRoot?: boolean } = {}): Promise<string> {
    return new TextDecoder().decode(await this.read(path, options));
  }

  /** The bytes of a file as they come. */
  async *stream(path: string, options: { offset?: number; asRoot?: boolean } = {}): AsyncGenerator<Uint8Array> {
    yield* parts(await this.client.api.fileRead({ id: this.id, path, offset: options.offset, as_root: options.asRoot }));
  }

  /** Writes a file. It is replaced when everything has arrived. */
  write(path: string, data: string | Uint8Array | ArrayBuffer | AsyncIterable<Uint8Array>, options: WriteOptions = {}): Promise<ResultOf<"file_write">> {
    const mode = typeof options.mode === "number" ? options.mode.toString(8).padStart(4, "0") : options.mode;
    const body: Body = typeof data === "object" && Symbol.asyncIterator in data ? data : toBytes(data);
    const args = { id: this.id, path, mode, append: options.append, exclusive: options.exclusive, parents: options.parents ?? true, if_tag: options.ifTag, as_root: options.asRoot };
    return this.client.api.fileWrite(args, body, { repeatable: !options.append && !options.exclusive && options.ifTag === undefined });
  }

  /** Everything in a folder, page by page. */
  async list(path = ".", options: { recursive?: boolean; asRoot?: boolean } = {}): Promise<FileEntry[]> {
    const found: FileEntry[] = [];
    for (;;) {
      const page = await this.client.api.fileList({ id: this.id, path, recursive: options.recursive, sorted: true, offset: found.length, as_root: options.asRoot });
      found.push(...page.entries.map(entryOf));
      if (!page.more || page.entries.length === 0) return found;
    }
  }

  async stat(path: string, options: { asRoot?: boolean } = {}): Promise<FileEntry> {
    return entryOf(await this.client.api.fileStat({ id: this.id, path, as_root: options.asRoot }));
  }

  async exists(path: string, options: { asRoot?: boolean } = {}): Promise<boolean> {
    try {
      await this.stat(path, options);
      return true;
    } catch (e) {
      if (e instanceof NotFoundError) return false;
      throw e;
    }
  }

  async mkdir(path: string, options: { parents?: boolean; asRoot?: boolean } = {}): Promise<void> {
    await this.client.api.fileMkdir({ id: this.id, path, parents: options.parents ?? true, as_root: options.asRoot });
  }

  async move(from: string, to: string, options: { noReplace?: boolean; asRoot?: boolean } = {}): Promise<void> {
    await this.client.api.fileMove({ id: this.id, path: from, to, no_replace: options.noReplace, as_root: options.asRoot });
  }

  async remove(path: string, options: { recursive?: boolean; asRoot?: boolean } = {}): Promise<void> {
    await this.client.api.fileRemove({ id: this.id, path, recursive: options.recursive, as_root: options.asRoot });
  }

  /** Paths that match a glob. */
  find(pattern: string, options: Omit<t.FileFindArgs, "id" | "pattern"> = {}): Promise<ResultOf<"file_find">> {
    return this.client.api.fileFind({ ...options, id: this.id, pattern });
  }

  /** Lines that match a regular expression. */
  search(pattern: string, options: Omit<t.FileSearchArgs, "id" | "pattern"> = {}): Promise<ResultOf<"file_search">> {
    return this.client.api.fileSearch({ ...options, id: this.id, pattern });
  }

  /** What happens in a folder. */
  async *watch(path: string, options: { recursive?: boolean; signal?: AbortSignal } = {}): AsyncGenerator<StreamEvent> {
    for await (const event of await this.client.stream("file_watch", { id: this.id, path, recursive: options.recursive }, { signal: options.signal })) {
      if (event.event === "error") throw errorOfEvent(event);
      yield event;
    }
  }

  /** A file or folder as a tar archive. */
  async *pack(path: string, options: { format?: "tar" | "tar.gz" | "tar.zst"; asRoot?: boolean } = {}): AsyncGenerator<Uint8Array> {
    yield* parts(await this.client.api.archiveGet({ id: this.id, path, format: options.format, as_root: options.asRoot }));
  }

  /** Unpacks a tar archive (plain, gzip or zstd) into a folder. */
  unpack(path: string, archive: Uint8Array | AsyncIterable<Uint8Array>, options: { asRoot?: boolean } = {}): Promise<ResultOf<"archive_put">> {
    return this.client.api.archivePut({ id: this.id, path, parents: true, as_root: options.asRoot }, archive, { repeatable: true });
  }

  /** Copies a file, or a folder's content, from this machine (Node). Links and special files are left out. */
  async upload(from: string, to: string): Promise<void> {
    const files = local();
    if (!(await files.isFolder(from))) {
      await this.write(to, files.read(from));
      return;
    }
    const entries = async function* (): AsyncGenerator<{ path: string; kind: "file" | "folder"; size: number; mode: number; data: AsyncIterable<Uint8Array> }> {
      for await (const e of files.list(from)) yield { ...e, data: files.read(files.join(from, e.path)) };
    };
    await this.unpack(to, packTar(entries()));
  }

  /** Copies a file, or a folder's content, to this machine (Node). What is not a file or a folder is left out, and returned. */
  async download(from: string, to: string): Promise<string[]> {
    const files = local();
    const left: string[] = [];
    const { kind, mode } = await this.stat(from);

    if (kind !== "directory") {
      await files.write(files.folderName(to), files.baseName(to), parseInt(mode, 8) & 0o777, this.stream(from));
      return left;
    }
    await files.makeFolder(to, "");
    for await (const entry of unpackTar(this.pack(from))) {
      const path = inside(entry.path);
      if (path === null || entry.kind === "other") left.push(entry.path);
      else if (entry.kind === "folder") await files.makeFolder(to, path);
      else await files.write(to, path, entry.mode & 0o777, entry.data);
    }
    return left;
  }
}
