// SPDX-License-Identifier: Apache-2.0
// What only this SDK has, or has in its own way. CAY_SUITE: the file of the suite's clients.
import assert from "node:assert/strict";
import fs from "node:fs";
import path from "node:path";
import { sdk } from "./load.mjs";

const { Client, Sandbox, SandboxRunner, CommandError, ExistsError, ConnectionLostError, ConflictError } = sdk;
const world = JSON.parse(fs.readFileSync(process.argv[2], "utf8"));
const local = () => new Client({ socket: world.clients.unix.socket });

const TESTS = {
  async "a block that throws leaves no sandbox"() {
    const client = local();
    let id;
    await assert.rejects(Sandbox.use({ client }, async (box) => { id = box.id; throw new Error("mine"); }), /mine/);
    await assert.rejects(Sandbox.get(id, { client }), sdk.NotFoundError);
    const box = await Sandbox.create({ client });
    await box[Symbol.asyncDispose]();
    await assert.rejects(box.refresh(), sdk.NotFoundError);
    await box.destroy(); // fine twice
  },

  async "output is read as it comes, and breaking off leaves the command"() {
    await Sandbox.use({ client: local() }, async (box) => {
      const seen = [];
      for await (const { text } of box.stream("echo first; while [ ! -e go ]; do sleep 0.05; done; echo second")) {
        seen.push(text);
        if (seen.length === 1) await box.files.write("go", "");
      }
      assert.equal(seen.join(""), "first\nsecond\n");
      const command = await box.start("echo begun; sleep 600");
      for await (const _ of command) break;
      assert.equal((await command.info()).status, "running");
      await command.kill();
      assert.equal((await command.wait()).cause, "killed");
    });
  },

  async "a command that nobody reads goes on"() {
    await Sandbox.use({ client: local() }, async (box) => {
      const command = await box.start("head -c 6000000 /dev/zero | tr '\\0' x; echo done >end", {});
      for (let i = 0; i < 1200 && !(await box.files.exists("end")); i++) await new Promise((r) => { setTimeout(r, 50); });
      assert.ok(await box.files.exists("end"), "it wrote more than waits for a reader");
      assert.equal((await command.wait({ maxOutput: 10 })).truncated, true);
    });
  },

  async "an aborted run is ended"() {
    await Sandbox.use({ client: local() }, async (box) => {
      const stop = new AbortController();
      const running = box.run("echo begun; sleep 600", { signal: stop.signal, onStdout: () => stop.abort(new Error("enough")) });
      await assert.rejects(running, /enough/);
      const [exec] = await box.commands();
      for (let i = 0; i < 1200 && (await box.command(exec.exec_id).info()).status === "running"; i++) await new Promise((r) => { setTimeout(r, 50); });
      assert.equal((await box.command(exec.exec_id).info()).cause, "killed");
    });
  },

  async "a terminal"() {
    await Sandbox.use({ client: local() }, async (box) => {
      const shell = await box.pty(["/bin/sh"], { rows: 30, cols: 90 });
      await shell.resize(31, 91);
      await shell.write("stty size; exit 5\n");
      const r = await shell.wait();
      assert.match(r.stdout, /31 91/);
      assert.equal(r.exitCode, 5);
    });
  },

  async "a key that is used again gives what the first made"() {
    const client = local();
    const key = `own-${process.pid}-${Date.now()}`;
    await Sandbox.use({ client, idempotencyKey: key, name: "keyed" }, async (box) => {
      assert.equal((await Sandbox.create({ client, idempotencyKey: key, name: "keyed" })).id, box.id);
      await assert.rejects(Sandbox.create({ client, name: "keyed" }), ExistsError);
      const one = await box.run("echo once >>log; cat log", { idempotencyKey: `${key}-run` });
      const two = await box.run("echo once >>log; cat log", { idempotencyKey: `${key}-run` });
      assert.deepEqual([two.id, two.stdout], [one.id, "once\n"]);
    });
  },

  async "a sandbox with a name is made once, although its answer was lost"() {
    const client = new Client({ url: world.clients.lost.url, token: world.clients.lost.token });
    for (const name of ["lost-a", "lost-b"]) await Sandbox.use({ client, name }, async (box) => assert.equal(box.info.name, name));
  },

  async "errors say what to do"() {
    await Sandbox.use({ client: local() }, async (box) => {
      const error = await box.run("echo why >&2; exit 3", { check: true }).then(() => null, (e) => e);
      assert.ok(error instanceof CommandError && error.result.exitCode === 3 && /why/.test(error.message));
      await assert.rejects(box.files.write("a", "x", { ifTag: "no" }), sdk.CayError);
    });
    const nobody = new Client({ url: "http://127.0.0.1:9", token: "x", retryMs: 0 });
    const error = await Sandbox.create({ client: nobody }).then(() => null, (e) => e);
    assert.ok(error instanceof ConnectionLostError && error.cause && /CAY_URL/.test(error.advice), error);
    await assert.rejects(Sandbox.create({ client: new Client({ url: world.clients.tls.url, token: "x", retryMs: 0 }) }), /certificate|self-signed|unable to verify/i);
  },

  async "tokens of a function are asked for again when they are refused"() {
    let asked = 0;
    const client = new Client({ url: world.clients.tcp.url, token: () => (asked++ === 0 ? "cay1.e30.AAAA" : world.clients.tcp.token) });
    assert.equal((await client.api.whoami()).credential, "token");
    assert.equal(asked, 2);
  },

  async "a request that may not be repeated is sent once"() {
    const client = new Client({ url: world.clients.lost.url, token: world.clients.lost.token });
    await Sandbox.use({ client: new Client({ url: world.clients.tcp.url, token: world.clients.tcp.token }) }, async (box) => {
      const ends = [];
      for (let i = 0; i < 2; i++) ends.push(await client.api.sandboxPause({ id: box.id }).then(() => "ok", (e) => e.name));
      assert.ok(ends.includes("ConnectionLostError"), ends);
    });
  },

  async "links and paths of a sandbox do not lead out of the folder"() {
    await Sandbox.use({ client: local() }, async (box) => {
      const folder = fs.mkdtempSync(path.join(world.folder, "down-"));
      const outside = fs.mkdtempSync(path.join(world.folder, "outside-"));
      await box.run(`mkdir -p t/d; ln -s ${outside} t/l; echo x >t/d/f; ln -s /etc/passwd t/p; n=$(printf 'long%.0s' $(seq 40)); mkdir t/$n; echo y >t/$n/${"n".repeat(90)}`, { check: true });
      assert.deepEqual((await box.files.download("t", folder)).sort(), ["l", "p"]);
      assert.equal(fs.readFileSync(path.join(folder, "d/f"), "utf8"), "x\n");
      assert.equal(fs.readFileSync(path.join(folder, "long".repeat(40), "n".repeat(90)), "utf8"), "y\n");
      fs.rmSync(path.join(folder, "d"), { recursive: true });
      fs.symlinkSync(outside, path.join(folder, "d"));
      await assert.rejects(box.files.download("t", folder), /not a folder/);
      assert.deepEqual(fs.readdirSync(outside), []);
      await box.files.upload(folder, "again");
      assert.equal(await box.files.readText(`again/${"long".repeat(40)}/${"n".repeat(90)}`), "y\n");
    });
  },

  async "runOnce, with the names of a one-shot runner"() {
    const runner = new SandboxRunner({ client: local() });
    const id = `run-${process.pid}-${Date.now()}`;
    const workspacePath = fs.mkdtempSync(path.join(world.folder, "work-"));
    fs.writeFileSync(path.join(workspacePath, "in"), "given\n");
    const done = await runner.runOnce({ runId: `${id}-1`, workspacePath, command: "cat in; echo err >&2; echo made >out", maxRuntimeSec: 30, maxMemoryMb: 256 });
    assert.deepEqual({ ...done, advice: "" }, { ok: true, stdout: "given\n", stderr: "err\n", exitCode: 0, timedOut: false, oomKilled: false, workspace: "copied", cause: "exited", advice: "" });
    assert.equal(fs.readFileSync(path.join(workspacePath, "out"), "utf8"), "made\n");
    const late = await runner.runOnce({ runId: `${id}-2`, workspacePath, command: "sleep 60", limits: { maxRuntimeSec: 1, maxMemoryMb: 64 } });
    assert.deepEqual([late.ok, late.timedOut, late.errorCode, late.exitCode], [false, true, "timeout", late.exitCode]);
    const large = await runner.runOnce({ runId: `${id}-3`, workspacePath, command: "python3 -c 'x = bytearray(200 << 20)'", maxRuntimeSec: 60, maxMemoryMb: 64 });
    assert.deepEqual([large.oomKilled, large.errorCode], [true, "oom_killed"]);
    const net = await runner.runOnce({ runId: `${id}-4`, workspacePath, command: "getent hosts example.org || echo none", maxRuntimeSec: 30, maxMemoryMb: 64 });
    assert.equal(net.stdout, "none\n");
    await assert.rejects(runner.runOnce({ runId: "", workspacePath, command: "true" }), TypeError);
  },
};

for (const [name, test] of Object.entries(TESTS)) {
  await test();
  console.log(`ok ${name}`);
}
process.exit(0);
