/* SPDX-License-Identifier: Apache-2.0 */
/* Asks the user for a confirmation. */
#include "cay/cli/confirm.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "domain/model/template.h"

static const char *template_of(const struct cay_verb_args *a)
{
        const char *name = cay_values_get(&a->values, "template");

        return name != NULL ? name : CAY_TEMPLATE_DEFAULT;
}

/*
 * Shows what is about to happen: the template as `cay template NAME` shows it, and the folder that is passed.
 */
static int show(struct cay_reach *reach, const struct cay_verb_args *a, struct cay_error *err)
{
        cay_auto_answer struct cay_reach_answer answer = { 0 };
        cay_auto_values struct cay_values v = { 0 };
        char token[sizeof(reach->confirm)];
        int r;

        memcpy(token, reach->confirm, sizeof(token)); /* from the refusal; the next call overwrites it */
        cay_values_init(&v, cay_cli_op_find("template_get"));
        r = cay_values_set(&v, "name", template_of(a), err);
        if (r == 0)
                r = cay_reach_call(reach, &v, -1, CAY_REACH_WAIT_MS, &answer, err);
        memcpy(reach->confirm, token, sizeof(token));
        if (r < 0)
                return -1;
        fprintf(stderr, "This template needs a confirmation:\n\n");
        if (cay_show(CAY_SHOW_TEMPLATES, answer.json, stderr, err) < 0)
                return -1;
        if (a->workspace != NULL)
                fprintf(stderr, "\nThe sandbox gets the folder %s\n", a->workspace);
        return 0;
}

static bool says_yes(void)
{
        char line[16];

        fprintf(stderr, "\nCreate a sandbox from it? [y/N] ");
        fflush(stderr);
        if (fgets(line, sizeof(line), stdin) == NULL) {
                fputc('\n', stderr);
                return false;
        }
        return strcmp(line, "y\n") == 0 || strcmp(line, "Y\n") == 0 || strcmp(line, "yes\n") == 0;
}

static int ask(struct cay_reach *reach, const struct cay_verb_args *a, struct cay_error *err)
{
        if (a->confirm)
                return 0;
        if (!isatty(STDIN_FILENO) || !isatty(STDERR_FILENO))
                return cay_fail(err, CAY_CONFLICT,
                                "template '%.63s' needs a confirmation, but there is no terminal to ask on; "
                                "`cay template %.63s` shows it, --confirm agrees",
                                template_of(a), template_of(a));
        if (show(reach, a, err) < 0)
                return -1;
        return says_yes() ? 0 : cay_fail(err, CAY_CONFLICT, "not confirmed; nothing was created");
}

int cay_confirm_call(struct cay_reach *reach, struct cay_verb_args *a, int fd, struct cay_reach_answer *ret,
                     struct cay_error *err)
{
        struct cay_error first = { 0 };

        if (cay_reach_call(reach, &a->values, fd, CAY_REACH_WAIT_MS, ret, &first) == 0)
                return 0;
        if (reach->confirm[0] == '\0') {
                *err = first;
                return -1;
        }
        if (ask(reach, a, err) < 0)
                return -1;
        cay_reach_answer_done(ret);
        snprintf(a->confirm_token, sizeof(a->confirm_token), "%s", reach->confirm);
        if (cay_values_set(&a->values, "confirm", a->confirm_token, err) < 0)
                return -1;
        return cay_reach_call(reach, &a->values, fd, CAY_REACH_WAIT_MS, ret, err);
}
