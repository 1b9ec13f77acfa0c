// SPDX-License-Identifier: Apache-2.0
// cay-run: one command in a sandbox, by a daemon or by the program `cay` of this machine.
import { spawn } from "node:child_process";
import { accessSync, constants, existsSync } from "node:fs";
import { delimiter, join } from "node:path";
import { Client, CayError, Sandbox, VERSION, type SandboxOptions } from "./node.js";

const USAGE = `usage: cay-run [OPTION…] [--] COMMAND [ARGUMENT…]

Runs a command in a sandbox of its own and removes the sandbox. One argument is a line for /bin/sh.

  --url URL            the daemon: http://HOST:PORT, https://HOST or unix:/PATH (CAY_URL)
  --local              use the program 'cay' of this machine, without a daemon
  --template NAME      what the sandbox is made from
  --memory SIZE        memory of everything in it, like 512m
  --cpus N             processors, like 0.5
  --timeout TIME       end the command after this time, like 90s
  --workspace DIR[:rw] copy this folder in; with :rw copy its files back afterwards
  --env NAME=VALUE     a variable of the command
  --allow HOST         let it reach this host
  --version, --help

Credentials come from the environment: CAY_API_KEY, CAY_TOKEN or CAY_TOKEN_FILE. Without a URL, a local daemon
is used (CAY_SOCKET, CAY_DATA), else the program 'cay'.
`;

interface Args {
  url?: string;
  local: boolean;
  template?: string;
  memory?: string;
  cpus?: string;
  timeout?: string;
  workspace?: string;
  writeBack: boolean;
  env: Record<string, string>;
  allow: string[];
  command: string[];
}

class UsageError extends Error {}

function parse(argv: string[]): Args | "help" | "version" {
  const a: Args = { local: false, writeBack: false, env: {}, allow: [], command: [] };
  for (let i = 0; i < argv.length; i++) {
    const word = argv[i] as string;
    if (word === "--" || !word.startsWith("-")) {
      a.command = argv.slice(word === "--" ? i + 1 : i);
      break;
    }
    const [, name = "", given] = /^--([a-z-]+)(?:=(.*))?$/s.exec(word) ?? [];
    if (name === "help") return "help";
    if (name === "version") return "version";
    if (name === "local") {
      a.local = true;
      continue;
    }
    const value = given ?? argv[++i];
    if (value === undefined) throw new UsageError(`${word} needs a value`);
    if (name === "url" || name === "template" || name === "memory" || name === "cpus" || name === "timeout") a[name] = value;
    else if (name === "allow") a.allow.push(value);
    else if (name === "workspace") {
      a.writeBack = value.endsWith(":rw");
      a.workspace = value.replace(/:(rw|ro)$/, "");
    } else if (name === "env") {
      const at = value.indexOf("=");
      if (at < 1) throw new UsageError(`--env: '${value}' is not NAME=VALUE`);
      a.env[value.slice(0, at)] = value.slice(at + 1);
    } else throw new UsageError(`there is no option '${word}'`);
  }
  if (a.command.length === 0) throw new UsageError("no command was given");
  return a;
}

function findCay(): string | null {
  for (const folder of (process.env.PATH ?? "").split(delimiter)) {
    if (folder === "") continue;
    try {
      accessSync(join(folder, "cay"), constants.X_OK);
      return join(folder, "cay");
    } catch {
      continue;
    }
  }
  return null;
}

/** `cay run` has the same options; it makes a sandbox without a daemon. */
function runLocally(program: string, a: Args): Promise<number> {
  const words = ["run"];
  for (const name of ["memory", "cpus", "timeout"] as const) if (a[name] !== undefined) words.push(`--${name}`, a[name]);
  if (a.template !== undefined) throw new UsageError("--template needs a daemon");
  if (a.workspace !== undefined) words.push("--workspace", a.workspace + (a.writeBack ? ":rw" : ""));
  for (const [k, v] of Object.entries(a.env)) words.push("--env", `${k}=${v}`);
  for (const host of a.allow) words.push("--allow", host);
  words.push("--", ...(a.command.length === 1 ? ["/bin/sh", "-c", a.command[0] as string] : a.command));
  return new Promise((resolve, reject) => {
    const child = spawn(program, words, { stdio: "inherit" });
    child.once("error", reject);
    child.once("exit", (code, signal) => resolve(signal ? 137 : (code ?? 1)));
  });
}

async function runByDaemon(client: Client, a: Args): Promise<number> {
  const options: SandboxOptions = { client, template: a.template, memory: a.memory, cpus: a.cpus, env: a.env, labels: { made_by: "cay-run" }, idleTimeout: "10m" };
  const stop = new AbortController();
  const onSignal = (): void => stop.abort(new Error("interrupted"));
  if (a.allow.length > 0) options.allow = a.allow;
  process.once("SIGINT", onSignal).once("SIGTERM", onSignal);
  return Sandbox.use(options, async (box) => {
    if (a.workspace !== undefined) await box.files.upload(a.workspace, ".");
    const r = await box.run(a.command.length === 1 ? (a.command[0] as string) : a.command, {
      timeout: a.timeout, signal: stop.signal,
      onStdout: (_, e) => process.stdout.write(e.bytes), onStderr: (_, e) => process.stderr.write(e.bytes),
    });
    if (a.workspace !== undefined && a.writeBack) await box.files.download(".", a.workspace);
    if (r.cause !== "exited") process.stderr.write(`cay: ${r.cause}: ${r.causeText}${r.advice ? `; ${r.advice}` : ""}\n`);
    return r.exitCode ?? (r.cause === "wall_time" ? 124 : 137);
  });
}

export async function main(argv: string[]): Promise<number> {
  try {
    const a = parse(argv);
    if (a === "help" || a === "version") {
      process.stdout.write(a === "help" ? USAGE : `cay-run ${VERSION}\n`);
      return 0;
    }
    const client = new Client(a.url === undefined ? {} : { url: a.url });
    const program = findCay();
    const nobody = "socket" in client.place && !existsSync(client.place.socket);
    if (a.local || (nobody && a.url === undefined && program !== null)) {
      if (program === null) throw new UsageError("there is no program 'cay' in PATH");
      return await runLocally(program, a);
    }
    return await runByDaemon(client, a);
  } catch (e) {
    const advice = e instanceof CayError && e.advice ? `\ncay-run: ${e.advice}` : "";
    process.stderr.write(`cay-run: ${e instanceof Error ? e.message : String(e)}${advice}\n`);
    return e instanceof UsageError ? 2 : 125;
  }
}
