// SPDX-License-Identifier: Apache-2.0
// Must not compile: each line that is marked has an error, and no other line has one.
import { Sandbox, runOnce } from "@cay/sdk";

export async function use(): Promise<void> {
  await Sandbox.create({ memroy: "512m" }); // error
  const box = await Sandbox.create();
  const code: number = (await box.run("true")).exitCode; // error
  await box.run(42); // error
  await box.client.api.sandboxCreate({ network: 5 }); // error
  await box.client.api.execGet({ id: "a" }); // error
  await box.client.call("no_such_op", {}); // error
  await runOnce({ runId: "1", workspacePath: "/tmp" }); // error
  console.log(code);
}
