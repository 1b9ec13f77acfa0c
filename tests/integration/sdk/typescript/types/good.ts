// SPDX-License-Identifier: Apache-2.0
// Must compile.
import { CommandError, Sandbox, runOnce, type CommandResult, type RunOnceResult, type types } from "@cay/sdk";
import { functionSchemas } from "@cay/sdk/adapters/openai-agents";

export async function use(): Promise<number | null> {
  await using box = await Sandbox.create({ template: "node", memory: "512m", allow: ["registry.example"] });
  const result: CommandResult = await box.run("npm test", { timeout: "5m", onStdout: (text: string) => console.log(text) });
  for await (const { stream, text } of box.stream(["ls", "-l"])) console.log(stream === "stderr", text.length);
  const info: types.Sandbox = await box.refresh();
  const made: types.CreatedSandbox = await box.client.api.sandboxCreate({ memory_limit: 1024 });
  const whole: Uint8Array = await box.files.read("a");
  console.log(info.limits.memory_bytes, made.sandbox_id, whole.length, functionSchemas().length);
  return result.exitCode;
}

export async function once(): Promise<RunOnceResult["errorCode"]> {
  try {
    return (await runOnce({ runId: "1", workspacePath: "/tmp", command: "true", maxRuntimeSec: 1, maxMemoryMb: 64 })).errorCode;
  } catch (e) {
    if (e instanceof CommandError) console.log(e.result.cause);
    throw e;
  }
}
