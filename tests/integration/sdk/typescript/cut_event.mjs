// SPDX-License-Identifier: Apache-2.0
// An event cut anywhere in its bytes counts as far as it came, and never wrongly.
import assert from "node:assert/strict";
import path from "node:path";

const { salvage } = await import(path.join(process.env.CAY_SDK_DIR, "dist/esm/stream.js"));
const text = 'a"\\\n\u0001ä€😀 end';
const line = `{"event":"stdout","cursor":7,"next":${7 + Buffer.byteLength(text)},"text":${JSON.stringify(text)}}`;
for (let n = 0; n < line.length; n++) {
  const found = salvage(line.slice(0, n));
  if (found === null) continue;
  assert.ok(text.startsWith(found.text) && found.text !== "", `${n}: ${JSON.stringify(found)}`);
  assert.equal(found.next, 7 + Buffer.byteLength(found.text));
  assert.ok(found.text.isWellFormed?.() ?? true);
}
assert.equal(salvage(line.slice(0, line.length - 2)).text, text);
const bytes = Buffer.from([0, 255, 1, 2, 3, 4, 5]);
const binary = `{"event":"stderr","cursor":0,"next":7,"base64":"${bytes.toString("base64")}"}`;
for (let n = 0; n < binary.indexOf("=") + 1; n++) {
  const found = salvage(binary.slice(0, n));
  if (found) assert.ok(bytes.subarray(0, found.next).equals(Buffer.from(found.base64, "base64")));
}
assert.equal(salvage('{"event":"exited","cursor":1'), null);
assert.equal(salvage(""), null);
