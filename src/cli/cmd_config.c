/* SPDX-License-Identifier: Apache-2.0 */
/* `cay config`: the settings as `cay serve` would have them, and where each comes from. */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "cli/cli.h"
#include "config/config.h"
#include "sys/fd.h"

#define OUTPUT_MAX (512u * 1024)

static void print_help(void)
{
        printf("usage: cay config [--docs] [--SETTING VALUE…]\n\n"
               "Prints every setting of `cay serve` and where its value comes from: default, the file, a "
               "variable or a flag.\n"
               "Secrets are not shown.\n\n"
               "  --docs   also say what each is for\n");
}

/* Our one word is taken out; the rest is for the settings. */
static bool take_docs(int *argc, char **argv)
{
        for (int i = 1; i < *argc; i++) {
                if (strcmp(argv[i], "--docs") != 0)
                        continue;
                memmove(&argv[i], &argv[i + 1], (size_t)(*argc - i) * sizeof(*argv));
                (*argc)--;
                return true;
        }
        return false;
}

static int print(const struct cay_config *c, bool docs, struct cay_error *err)
{
        cay_auto_buf struct cay_buf out = { 0 };
        int r;

        cay_buf_init(&out, OUTPUT_MAX);
        r = cay_config_print(c, docs, &out);
        if (r == 0)
                r = sys_write_all(STDOUT_FILENO, cay_buf_data(&out), out.len);
        return r < 0 ? cay_fail_sys(err, CAY_INTERNAL, r, "print the settings") : 0;
}

int cay_cmd_config(int argc, char **argv)
{
        extern char **environ;
        cay_auto_config struct cay_config config = { 0 };
        struct cay_error err = { 0 };
        bool docs = take_docs(&argc, argv);
        int rest = 0, r;

        r = cay_config_load(&config, argc, argv, environ, &rest, &err);
        if (r > 0) {
                print_help();
                return 0;
        }
        if (r == 0 && rest < argc)
                r = cay_fail(&err, CAY_INVALID, "takes no '%.40s'", argv[rest]);
        if (r == 0)
                r = print(&config, docs, &err);
        return r < 0 ? cay_cli_complain("config", &err) : 0;
}
