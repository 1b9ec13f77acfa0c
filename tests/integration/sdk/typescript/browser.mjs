// SPDX-License-Identifier: Apache-2.0
// The SDK in Debian's chromium, loaded as it is built, on a page of another origin than the daemon's.
import assert from "node:assert/strict";
import fs from "node:fs";
import http from "node:http";
import path from "node:path";

const { CAY_SDK_DIR, CAY_PAGE_NPM, CAY_URL, CAY_TOKEN } = process.env;
const { chromium } = await import(path.join(CAY_PAGE_NPM, "node_modules/playwright-core/index.mjs"));
const root = path.join(CAY_SDK_DIR, "dist/esm");

const server = http.createServer((request, response) => {
  const file = path.join(root, path.normalize(new URL(request.url, "http://x").pathname));
  if (request.url === "/") response.setHeader("Content-Type", "text/html").end("<!doctype html><title>sdk</title>");
  else if (file.startsWith(root) && fs.existsSync(file)) response.setHeader("Content-Type", "text/javascript").end(fs.readFileSync(file));
  else response.writeHead(404).end();
});
await new Promise((go) => { server.listen(Number(process.env.CAY_PAGE_PORT), "127.0.0.1", go); });

const browser = await chromium.launch({ executablePath: process.env.CAY_PAGE_BROWSER || "/usr/bin/chromium", args: ["--no-sandbox", "--disable-dev-shm-usage", "--disable-gpu"], timeout: 60000 });
try {
  const page = await browser.newPage();
  page.setDefaultTimeout(60000);
  await page.goto(`http://127.0.0.1:${server.address().port}/`);
  const found = await page.evaluate(async ({ url, token }) => {
    const { Client, Sandbox, NotFoundError } = await import("/browser.js");
    const client = new Client({ url, token });
    return Sandbox.use({ client }, async (box) => {
      await box.files.write("d/a.txt", "from a browser\n");
      const run = await box.run("cat d/a.txt; exit 4");
      const seen = [];
      for await (const { text } of box.stream("echo 1; sleep 0.2; echo 2")) seen.push(text);
      const cat = await box.start("cat", { openStdin: true });
      await cat.write("typed", { end: true });
      const missing = await box.files.read("missing").catch((e) => [e instanceof NotFoundError, e.code, e.requestId !== ""]);
      const local = await box.files.upload("/etc", "x").catch((e) => e.name);
      return { stdout: run.stdout, exitCode: run.exitCode, seen: seen.join(""), typed: (await cat.wait()).stdout, missing, local };
    });
  }, { url: CAY_URL, token: CAY_TOKEN });
  assert.deepEqual(found, { stdout: "from a browser\n", exitCode: 4, seen: "1\n2\n", typed: "typed", missing: [true, "not_found", true], local: "TypeError" });
} finally {
  await browser.close();
  server.close();
}
