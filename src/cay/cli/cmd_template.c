/* SPDX-License-Identifier: Apache-2.0 */
/*
 * `cay template`: lists templates (the verb's row; `ls` is the same), `build` and `rm` their images, and `cay
 * template check FILE…` and `cay template schema` for editors and CI. This program parses no YAML: it
 * executes cay-front for that, with the caller's rights.
 */
#include <string.h>

#include "cay/cli/cli.h"
#include "cay/cli/programs.h"
#include "cay/cli/template_build.h"
#include "cay/cli/template_task.h"
#include "cay/cli/verb.h"

static int run_template(struct cay_reach *reach, struct cay_verb_args *a, struct cay_error *err)
{
        return a->task != NULL ? cay_template_task(reach, a, err) : cay_verb_call(reach, a, err);
}

static const struct {
        const char *word, *verb; /* the verb's row */
        int (*run)(struct cay_reach *reach, struct cay_verb_args *a, struct cay_error *err);
} under[] = {
        { "ls", "template", run_template },
        { "build", "template build", cay_template_build },
        { "rm", "template rm", cay_template_rm },
};

int cay_cmd_template(int argc, char **argv)
{
        struct cay_error err = { 0 };

        for (unsigned i = 0; argc >= 2 && i < CAY_COUNT(under); i++) {
                if (strcmp(argv[1], under[i].word) == 0) {
                        argv[1] = (char *)(uintptr_t)under[i].verb;
                        return cay_verb_main(argc - 1, argv + 1, under[i].run);
                }
        }
        if (argc < 2 || (strcmp(argv[1], "check") != 0 && strcmp(argv[1], "schema") != 0))
                return cay_verb_main(argc, argv, run_template);
        cay_cli_become_front(argc, argv, &err);
        return cay_cli_complain("template", &err);
}
