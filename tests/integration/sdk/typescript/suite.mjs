// SPDX-License-Identifier: Apache-2.0
// suite.mjs FILE: carries out the cases of sdk/suite with the TypeScript SDK (sdk/suite/README.md).
import fs from "node:fs";
import path from "node:path";
import { isLike } from "./like.mjs";
import { sdk } from "./load.mjs";

const { Client, Command, Sandbox, runCode } = sdk;
const CASES = path.join(process.env.CAY_SOURCE_DIR, "sdk/suite/cases");
const world = JSON.parse(fs.readFileSync(process.argv[2], "utf8"));

const camel = (args) => Object.fromEntries(Object.entries(args).map(([k, v]) => [k.replace(/_([a-z])/g, (_, c) => c.toUpperCase()), v]));
const text = (bytes) => {
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(bytes);
  } catch {
    return null;
  }
};

function makeClient({ socket, url, token, api_key, owner, token_lifetime, ca }) {
  return new Client({ socket, url, token, apiKey: api_key, owner, tokenLifetime: token_lifetime, ca: ca && fs.readFileSync(ca, "utf8") });
}

/** The SDK's own names of arguments, where it has others than the API. */
const createArgs = ({ memory_limit, cpu_limit, execution_id, ...rest }) => camel({ memory: memory_limit, cpus: cpu_limit, idempotency_key: execution_id, ...rest });
const runArgs = ({ command, workdir, execution_id, ...rest }) => [command, camel({ cwd: workdir, idempotency_key: execution_id, ...rest })];
const asRun = (r) => ({ exec_id: r.id, stdout: r.stdout, stderr: r.stderr, exit_code: r.exitCode, signal: r.signal, cause: r.cause, cause_text: r.causeText, advice: r.advice, ok: r.ok });

async function collect(command, from) {
  const events = [], out = { stdout: [], stderr: [] };
  for await (const e of command.events({ from })) {
    events.push(e);
    out[e.event]?.push(e.bytes);
  }
  const { exit_code, signal, cause, cause_text, advice } = events.at(-1);
  const whole = (parts) => Buffer.concat(parts).toString();
  return { events, exec_id: command.id, stdout: whole(out.stdout), stderr: whole(out.stderr), exit_code, signal, cause, cause_text, advice, ok: cause === "exited" && exit_code === 0 };
}

async function readTree(folder) {
  const files = {};
  for (const e of await fs.promises.readdir(folder, { recursive: true, withFileTypes: true }))
    if (e.isFile()) {
      const full = path.join(e.parentPath ?? e.path, e.name);
      files[path.relative(folder, full)] = await fs.promises.readFile(full, "utf8");
    }
  return files;
}

/** Of a client. */
const CLIENT = {
  create: async (c, a, made) => {
    const box = await Sandbox.create({ ...createArgs(a), client: c });
    made.push(box);
    return box;
  },
  get: (c, a) => Sandbox.get(a.id, { client: c }),
  list: async (c, a) => {
    const found = [];
    for await (const box of Sandbox.list({ ...a, client: c })) found.push(box.info);
    return found;
  },
  run_code: (c, a) => runCode(a, { client: c }),
  op: (c, a) => c.call(a.name, a.args ?? {}),
  local: async (_, a) => {
    const folder = await fs.promises.mkdtemp(path.join(world.folder, "tree-"));
    for (const [name, content] of Object.entries(a.files)) {
      await fs.promises.mkdir(path.dirname(path.join(folder, name)), { recursive: true });
      await fs.promises.writeFile(path.join(folder, name), content);
    }
    return { path: folder };
  },
  local_read: async (_, a) => ({ files: await readTree(a.path) }),
};

const infoAfter = (act) => async (box, a) => {
  await act(box, a);
  return box.info;
};

/** Of a sandbox. */
const SANDBOX = {
  info: (box) => box.refresh(),
  stop: infoAfter((box) => box.stop()),
  start: infoAfter((box) => box.startAgain()),
  pause: infoAfter((box) => box.pause()),
  resume: infoAfter((box) => box.resume()),
  extend: infoAfter((box, a) => box.extend(camel(a))),
  destroy: (box) => box.destroy(),
  run: async (box, a) => asRun(await box.run(...runArgs(a))),
  stream: async (box, a) => {
    const [command, options] = runArgs(a);
    return collect(await Command.open(box.client, box.id, command, options));
  },
  spawn: (box, a) => box.start(...runArgs(a)),
  write: (box, { path: to, text: content, base64, ...rest }) => box.files.write(to, base64 === undefined ? content : Buffer.from(base64, "base64"), camel(rest)),
  read: async (box, { path: from, ...rest }) => {
    const bytes = await box.files.read(from, camel(rest));
    return { text: text(bytes), base64: Buffer.from(bytes).toString("base64") };
  },
  files: async (box, { path: from, recursive }) => (await box.files.list(from, { recursive })).map((e) => ({ ...e, type: e.kind })),
  stat: async (box, a) => {
    const found = await box.files.stat(a.path);
    return { ...found, type: found.kind };
  },
  mkdir: (box, a) => box.files.mkdir(a.path, { parents: a.parents }),
  move: (box, a) => box.files.move(a.path, a.to),
  remove: (box, a) => box.files.remove(a.path, { recursive: a.recursive }),
  find: async (box, { pattern, ...rest }) => (await box.files.find(pattern, rest)).entries,
  search: async (box, { pattern, ...rest }) => (await box.files.search(pattern, rest)).matches,
  upload: (box, a) => box.files.upload(a.local, a.path),
  download: (box, a) => box.files.download(a.path, a.local),
  ports: (box) => box.ports.list(),
  port_wait: (box, a) => box.ports.wait(a.port),
  port_url: (box, a) => ({ url: box.ports.url(a.port) }),
  port_link: async (box, a) => ({ url: await box.ports.link(a.port) }),
  http_get: async (box, a) => {
    const answer = await box.ports.fetch(a.port, a.path);
    const parts = [];
    for await (const part of answer.body) parts.push(part);
    return { status: answer.status, text: Buffer.concat(parts).toString() };
  },
  network: (box) => box.network.policy(),
  network_log: (box) => box.network.log(),
};

/** Of a command. */
const COMMAND = {
  info: (cmd) => cmd.info(),
  follow: (cmd, a) => collect(cmd, a.from),
  wait: async (cmd) => asRun(await cmd.wait()),
  input: (cmd, a) => cmd.write(a.text ?? "", { end: a.eof }),
  resize: (cmd, a) => cmd.resize(a.rows, a.cols),
  signal: (cmd, a) => cmd.signal(a.signal),
  kill: (cmd) => cmd.kill(),
};

const vocabularyOf = (target) => (target instanceof Sandbox ? SANDBOX : target instanceof Command ? COMMAND : CLIENT);

/** What a case may look at: the API's members of handles. */
function members(value) {
  if (value instanceof Sandbox) return { ...value.info };
  if (value instanceof Command) return { exec_id: value.id, sandbox_id: value.sandboxId };
  return value;
}

const errorMembers = (e) => ({
  class: e.name, code: e.code, status: e.status, message: e.message, field: e.field, request_id: e.requestId, first: e.first,
  cause: e.cause, cause_text: e.causeText, advice: e.advice, exit_code: e.exitCode, stdout: e.stdout, stderr: e.stderr,
});

/** A text that begins with $ is a saved value; `whole` keeps the handle itself. */
function fill(value, saved, whole = false) {
  if (typeof value === "string" && value.startsWith("$")) {
    const [name, ...rest] = value.slice(1).split(".");
    if (!(name in saved)) return value;
    return whole && rest.length === 0 ? saved[name] : rest.reduce((v, step) => members(v)[step], saved[name]);
  }
  if (Array.isArray(value)) return value.map((v) => fill(v, saved));
  if (value === null || typeof value !== "object") return value;
  return Object.fromEntries(Object.entries(value).map(([k, v]) => [k, fill(v, saved)]));
}

async function carryOut(step, client, saved, made) {
  const target = step.on === undefined ? client : fill(step.on, saved, true);
  const act = vocabularyOf(target)[step.do];
  if (!act) throw new Error(`the runner does not know '${step.do}' here`);
  let result, error;
  try {
    result = await act(target, fill(step.args ?? {}, saved), made);
  } catch (e) {
    error = e;
  }
  if (step.error !== undefined) {
    if (!error) throw new Error(`no error, but the result ${JSON.stringify(members(result))?.slice(0, 500)}`);
    if (!(error instanceof sdk.CayError)) throw error;
    isLike(errorMembers(error), fill(step.error, saved));
    return;
  }
  if (error) throw error;
  if (step.save !== undefined) saved[step.save] = result;
  if (step.expect !== undefined) isLike(members(result), fill(step.expect, saved));
}

async function runCase(one, name) {
  const made = [], saved = {};
  const client = makeClient(world.clients[name]);
  try {
    for (const [i, step] of one.steps.entries())
      try {
        await carryOut(step, client, saved, made);
      } catch (e) {
        throw new Error(`step ${i + 1} (${step.do}): ${e.stack ?? e}`);
      }
  } finally {
    for (const box of made) await box.destroy();
    client.close();
  }
}

let failed = 0, count = 0;
for (const file of fs.readdirSync(CASES).sort()) {
  if (!file.endsWith(".json")) continue;
  for (const one of [JSON.parse(fs.readFileSync(path.join(CASES, file), "utf8"))].flat())
    for (const name of one.clients) {
      if (!world.clients[name]) throw new Error(`no client '${name}'`);
      try {
        count++;
        await runCase(one, name);
        console.log(`ok ${one.name} [${name}]`);
      } catch (e) {
        failed++;
        console.log(`FAILED ${one.name} [${name}]: ${e.message}`);
      }
    }
}
if (count < 20) throw new Error(`only ${count} cases`);
process.exit(failed > 0 ? 1 : 0);
