// SPDX-License-Identifier: Apache-2.0
// node --import ./old_node.mjs: the conformance tool imports fs.globSync, which node has from 22 on; it needs it for nothing that we use.
import * as fs from "node:fs";
import { register } from "node:module";

const shim = `export * from "node:fs"; export { default } from "node:fs"; export const globSync = () => { throw new Error("not there"); };`;
const hooks = `
export async function resolve(name, context, next) {
  if (name === "fs" && context.parentURL?.includes("/conformance/"))
    return { url: "data:text/javascript," + ${JSON.stringify(encodeURIComponent(shim))}, shortCircuit: true };
  return next(name, context);
}`;
if (!fs.globSync) register("data:text/javascript," + encodeURIComponent(hooks));
