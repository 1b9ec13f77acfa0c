// SPDX-License-Identifier: Apache-2.0
// Files of this machine, for upload and download. What comes from a sandbox is written below the chosen folder only: no step of
// its path may be a link, and an existing file is replaced, never written through.
import { createReadStream } from "node:fs";
import { lstat, mkdir, open, opendir, rename, rm, stat } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import type { LocalEntry, LocalFiles } from "./platform.js";

async function* list(folder: string, below: string): AsyncGenerator<LocalEntry> {
  for await (const entry of await opendir(join(folder, below))) {
    const path = below ? `${below}/${entry.name}` : entry.name;
    const kind = entry.isDirectory() ? "folder" : entry.isFile() ? "file" : null;
    if (kind === null) continue;
    const { size, mode } = await lstat(join(folder, path));
    yield { path, kind, size: kind === "file" ? size : 0, mode: mode & 0o777 };
    if (kind === "folder") yield* list(folder, path);
  }
}

async function makeFolder(folder: string, path: string): Promise<void> {
  await mkdir(folder, { recursive: true });
  let at = folder;
  for (const step of path.split("/").filter((s) => s !== "")) {
    at = join(at, step);
    try {
      await mkdir(at);
    } catch (e) {
      if ((e as NodeJS.ErrnoException).code !== "EEXIST") throw e;
    }
    if (!(await lstat(at)).isDirectory()) throw new Error(`'${at}' is not a folder: it is not written through`);
  }
}

let written = 0;

export const nodeFiles: LocalFiles = {
  isFolder: async (path) => (await stat(path)).isDirectory(),
  list: (folder) => list(folder, ""),
  read: (path) => createReadStream(path) as AsyncIterable<Uint8Array>,
  makeFolder,
  async write(folder, path, mode, data) {
    const to = join(folder, path);
    const half = join(dirname(to), `.${basename(to).slice(0, 100)}.${process.pid}.${written++}.part`);
    await makeFolder(folder, dirname(path) === "." ? "" : dirname(path));
    const file = await open(half, "wx", mode & 0o777);
    try {
      for await (const part of data) await file.writeFile(part);
      await file.close();
      await rename(half, to);
    } catch (e) {
      await file.close().catch(() => undefined);
      await rm(half, { force: true });
      throw e;
    }
  },
  join,
  baseName: (path) => basename(path),
  folderName: (path) => dirname(path),
};
