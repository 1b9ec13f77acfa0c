/* SPDX-License-Identifier: Apache-2.0 */
/* `cay serve`: settings, then the keeper. */
#include <limits.h>
#include <stdio.h>
#include <unistd.h>

#include "foundation/base/log.h"
#include "cay/cli/cli.h"
#include "cay/cli/programs.h"
#include "domain/settings/config.h"
#include "cay/keeper/resume.h"
#include "cay/keeper/serve.h"

static void print_help(void)
{
        printf("usage: cay serve [--data DIR] [--listen HOST:PORT] [--socket PATH] [--SETTING VALUE…]\n\n"
               "Starts the daemon: sandboxes over REST, on a TCP address (with tokens) and on a unix socket. "
               "It stops\n"
               "on SIGTERM or SIGINT, and its sandboxes end with it. Several daemons can run side by side if "
               "each\n"
               "has its own data folder. Settings come from /etc/cay/cay.conf, then variables, then "
               "flags:\n\n");
        for (unsigned i = 0; i < CAY_CONFIG_KEY_COUNT; i++) {
                const struct cay_config_row *row = &cay_config_rows[i];
                char flag[64];

                snprintf(flag, sizeof(flag), "%s%.23s", row->flags & CAY_CONFIG_SECRET ? "  " : "--",
                         row->name);
                for (char *at = flag; *at; at++)
                        *at = *at == '_' ? '-' : *at;
                printf("  %-26s %s\n", flag, row->doc);
        }
}

static void set_up_log(const struct cay_config *c)
{
        const struct cay_log_config log = {
                .program = "cay",
                .least = (enum cay_log_level)c->log_level,
                .json = c->log_json,
                .fd = STDERR_FILENO,
        };

        cay_log_setup(&log);
}

int cay_cmd_serve(int argc, char **argv)
{
        extern char **environ;
        cay_auto_config struct cay_config config = { 0 };
        char program_dir[PATH_MAX] = "";
        struct cay_serve_options options = { .config = &config, .program_dir = program_dir, .argv = argv };
        struct cay_error err = { 0 };
        bool is_check = false;
        int resume = cay_resume_asked(&is_check), rest = 0, r;

        if (resume >= 0 && is_check)
                return cay_resume_main_check(resume);
        options.resume_fd = resume >= 0 ? resume : 0;
        rest = resume >= 0 ? argc : 0;
        r = resume >= 0 ? cay_resume_config(resume, &config, &err)
                        : cay_config_load_here(&config, argc, argv, environ, &rest, &err);
        if (r > 0) {
                print_help();
                return 0;
        }
        if (r == 0 && rest < argc)
                r = cay_fail(&err, CAY_INVALID, "unexpected argument '%.40s'", argv[rest]);
        if (r == 0)
                r = cay_cli_find_programs(program_dir, sizeof(program_dir), &err);
        if (r < 0)
                return cay_cli_complain("serve", &err);
        set_up_log(&config);
        r = cay_serve(&options, &err);
        return r < 0 ? cay_cli_complain("serve", &err) : r;
}
