// SPDX-License-Identifier: Apache-2.0
// The built package, as an ES module or as CommonJS (CAY_SDK_FORM).
import { createRequire } from "node:module";
import path from "node:path";

const { CAY_SDK_DIR, CAY_SDK_FORM = "esm" } = process.env;

export const sdk = CAY_SDK_FORM === "cjs"
  ? createRequire(import.meta.url)(path.join(CAY_SDK_DIR, "dist/cjs/node.js"))
  : await import(path.join(CAY_SDK_DIR, "dist/esm/node.js"));
