// SPDX-License-Identifier: Apache-2.0
// The entry for Node (18.18 and later) and Deno: unix sockets, certificates, files.
import { webcrypto } from "node:crypto";
import { readFile } from "node:fs/promises";
import { nodeFiles } from "./node_files.js";
import { NodeTransport } from "./transport_node.js";
import { setPlatform } from "./platform.js";
import { FetchTransport } from "./transport_fetch.js";

setPlatform({
  variable: (name) => process.env[name],
  transport: (place, options) => (options.fetch && "url" in place ? new FetchTransport(place.url, options.fetch) : new NodeTransport(place, options.ca)),
  files: nodeFiles,
  readText: (path) => readFile(path, "utf8"),
  subtle: () => webcrypto.subtle as unknown as SubtleCrypto,
  randomBytes: (count) => webcrypto.getRandomValues(new Uint8Array(count)),
});

export * from "./main.js";
