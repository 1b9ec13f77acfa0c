/* SPDX-License-Identifier: Apache-2.0 */
/*
 * `cay mcp install [CLIENT…]`: writes `cay mcp` into the configuration of agents. It shows what will change
 * and asks; --yes agrees. A file that is not understood is never changed, and the rest of a file stays as it
 * is.
 */
#pragma once

/* argv[0] is "install"; the exit status. */
int cay_mcp_install(int argc, char **argv);
