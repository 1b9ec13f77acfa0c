/* SPDX-License-Identifier: Apache-2.0 */
/* `cay config`: the settings as `cay serve` would use them, and their origins. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "cay/cli/cli.h"
#include "domain/settings/config.h"
#include "foundation/sys/fd.h"

#define OUTPUT_MAX (512u * 1024)

static void print_help(void)
{
        printf("usage: cay config [--docs] [--json] [--SETTING VALUE…]\n\n"
               "Prints every setting of `cay serve` and where its value comes from: a default, the file, a "
               "variable\n"
               "or a flag. Secrets are not shown.\n\n"
               "  --docs                       also print what each setting does\n"
               "  --json                       print one JSON object: each key with its value (text) and its "
               "source\n");
}

/* Removes one of our own words; the rest is for the settings. */
static bool take(const char *word, int *argc, char **argv)
{
        for (int i = 1; i < *argc; i++) {
                if (strcmp(argv[i], word) != 0)
                        continue;
                memmove(&argv[i], &argv[i + 1], (size_t)(*argc - i) * sizeof(*argv));
                (*argc)--;
                return true;
        }
        return false;
}

static int put_setting(const struct cay_config *c, enum cay_config_key key, struct cay_json *j)
{
        const struct cay_config_row *row = &cay_config_rows[key];
        cay_auto_buf struct cay_buf value = { 0 };
        int r;

        cay_buf_init(&value, CAY_CONFIG_VALUE_MAX * 2);
        r = cay_config_value_text(c, key, &value);
        cay_json_key(j, row->name);
        cay_json_begin_object(j);
        if (row->flags & CAY_CONFIG_SECRET) {
                cay_json_key(j, "is_set");
                cay_json_bool(j, value.len > 0);
                explicit_bzero(cay_buf_data(&value), value.len);
        } else {
                cay_json_key(j, "value");
                cay_json_string(j, cay_buf_data(&value), value.len);
        }
        cay_json_key(j, "from");
        cay_json_text(j, c->where[key] != NULL ? c->where[key] : "default");
        cay_json_end_object(j);
        return r;
}

static int print_json(const struct cay_config *c, struct cay_error *err)
{
        cay_auto_buf struct cay_buf out = { 0 };
        struct cay_json j;
        int r = 0;

        cay_buf_init(&out, OUTPUT_MAX);
        cay_json_init(&j, &out);
        cay_json_begin_object(&j);
        for (unsigned key = 0; key < CAY_CONFIG_KEY_COUNT && r == 0; key++)
                if (cay_config_rows[key].kind != CAY_CONFIG_LISTEN)
                        r = put_setting(c, (enum cay_config_key)key, &j);
        cay_json_end_object(&j);
        if (r < 0)
                return cay_fail_sys(err, CAY_INTERNAL, r, "print the settings");
        return cay_cli_print_json(&j, err);
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
        bool docs = take("--docs", &argc, argv), json = take("--json", &argc, argv);
        int rest = 0, r;

        r = cay_config_load_here(&config, argc, argv, environ, &rest, &err);
        if (r > 0) {
                print_help();
                return 0;
        }
        if (r == 0 && rest < argc)
                r = cay_fail(&err, CAY_INVALID, "unexpected argument '%.40s'", argv[rest]);
        if (r == 0)
                r = json ? print_json(&config, &err) : print(&config, docs, &err);
        if (r == 0 && fflush(stdout) != 0)
                r = cay_fail_sys(&err, CAY_INTERNAL, -errno, "write to standard output");
        return r < 0 ? cay_cli_complain("config", &err) : 0;
}
