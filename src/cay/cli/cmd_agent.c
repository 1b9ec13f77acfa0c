/* SPDX-License-Identifier: Apache-2.0 */
/* `cay agent`: checks its options here and becomes cay-agent, which has the libraries for TLS and keys. */
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <unistd.h>

#include "cay/cli/args_flags.h"
#include "cay/cli/cli.h"
#include "cay/cli/programs.h"

struct agent_args {
        const char *connect, *listen, *name, *state, *ca, *rules;
        bool install, uninstall;
};

static const struct cay_flag table[] = {
        { "connect", "URL", "the daemon: wss://HOST/agent, or ws://HOST:PORT/agent within one machine",
          cay_flag_set_text, offsetof(struct agent_args, connect) },
        { "listen", "HOST:PORT", "wait here for the daemon instead, behind a tunnel of yours: 127.0.0.1:8765",
          cay_flag_set_text, offsetof(struct agent_args, listen) },
        { "name", "NAME", "this machine's name, as `cay remote add` was told", cay_flag_set_text,
          offsetof(struct agent_args, name) },
        { "ca", "FILE", "certificates to trust instead of the system's", cay_flag_set_text,
          offsetof(struct agent_args, ca) },
        { "rules", "FILE", "what the daemon may use here (the file `rules` in the folder of --state)",
          cay_flag_set_text, offsetof(struct agent_args, rules) },
        { "state", "DIR", "the folder of its key (~/.local/state/cay/agent)", cay_flag_set_text,
          offsetof(struct agent_args, state) },
        { "install", NULL, "run it as a systemd service of yours from now on, also after a reboot",
          cay_flag_set_true, offsetof(struct agent_args, install) },
        { "uninstall", NULL, "end and remove that service", cay_flag_set_true,
          offsetof(struct agent_args, uninstall) },
        {},
};

static void print_help(void)
{
        printf("usage: cay agent --connect URL [--name NAME]\n       cay agent --listen HOST:PORT [--name "
               "NAME]\n\n"
               "Lets a daemon make sandboxes on this machine: it dials the daemon, so nothing listens here, "
               "and dials\n"
               "again when the connection is lost. With --listen it waits for the daemon to dial (`cay "
               "remote add NAME --url "
               "wss://…`).\n"
               "The first time it reads the pairing code of `cay remote "
               "add` from\n"
               "standard input; after that both sides know each other by their keys. Sandboxes are isolated "
               "as those of\n"
               "`cay run` are. The file of rules says which folders they may use, and what needs a yes in "
               "this "
               "terminal. The\n"
               "key q, or Ctrl-C, ends the agent and all its sandboxes.\n\n");
        cay_flags_print(table, stdout);
        printf("\nExit status: 0 stopped by a signal, 1 refused by the daemon or failed, 2 wrong usage.\n");
}

/* The same options, checked; returns only on failure. */
static int become_agent(const struct agent_args *a, struct cay_error *err)
{
        const struct {
                const char *flag, *value;
        } given[] = { { "--connect", a->connect }, { "--listen", a->listen }, { "--name", a->name },
                      { "--ca", a->ca },           { "--state", a->state },   { "--rules", a->rules } };
        const char *words[2 * CAY_COUNT(given) + 4] = { "cay-agent" };
        char dir[PATH_MAX], path[PATH_MAX + 16];
        unsigned n = 1;

        for (unsigned i = 0; i < CAY_COUNT(given); i++)
                if (given[i].value) {
                        words[n++] = given[i].flag;
                        words[n++] = given[i].value;
                }
        if (a->install)
                words[n++] = "--install";
        if (a->uninstall)
                words[n++] = "--uninstall";
        if (cay_cli_find_programs(dir, sizeof(dir), err) < 0)
                return -1;
        snprintf(path, sizeof(path), "%s/cay-agent", dir);
        execv(path, (char *const *)words);
        return cay_fail_sys(err, CAY_UNAVAILABLE, -errno, "start %.200s", path);
}

int cay_cmd_agent(int argc, char **argv)
{
        struct agent_args a = { 0 };
        struct cay_error err = { 0 };
        int rest = 0, r = cay_flags_parse(table, argc, argv, &a, &rest, &err);

        if (r > 0) {
                print_help();
                return 0;
        }
        if (r == 0 && rest < argc)
                r = cay_fail(&err, CAY_INVALID, "takes no arguments ('%.40s')", argv[rest]);
        if (r == 0 && !a.connect && !a.listen)
                r = cay_fail(&err, CAY_INVALID,
                             "--connect is missing: the daemon's address, like wss://HOST/agent");
        if (r == 0)
                become_agent(&a, &err);
        return cay_cli_complain("agent", &err);
}
