#!/usr/bin/env node
// SPDX-License-Identifier: Apache-2.0
import { main } from "../dist/esm/cli.js";

process.exitCode = await main(process.argv.slice(2));
