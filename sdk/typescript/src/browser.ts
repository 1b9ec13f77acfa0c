// SPDX-License-Identifier: Apache-2.0
// The entry for browsers and workers: nothing of Node.
export * from "./main.js";
