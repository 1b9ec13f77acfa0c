/* SPDX-License-Identifier: Apache-2.0 */
/*
 * `cay code`: runs code in a context of a sandbox. Prints what the code printed, then its results as text;
 * errors go to standard error. The exit status is 1 when the code failed.
 */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "cay/cli/cli.h"
#include "cay/cli/safe.h"
#include "cay/cli/verb.h"
#include "foundation/sys/fd.h"

#define TEXT_MAX (16u << 20)

enum { FAILED_STATUS = 1 };

/* A text of the answer, as it is or, on a terminal, with control characters shown. */
static int put_text(int fd, struct cay_json_view v, bool ends_line, struct cay_error *err)
{
        cay_auto_buf struct cay_buf text = { 0 };
        struct cay_safe_tail tail = { 0 };
        const char *at;
        int r;

        cay_buf_init(&text, TEXT_MAX);
        if (!cay_json_view_is_text(v))
                return 0;
        if (cay_json_view_text(v, &text) < 0)
                return cay_fail(err, CAY_INTERNAL, "no memory for the answer");
        if (ends_line && text.len > 0 && cay_buf_data(&text)[text.len - 1] != '\n' &&
            cay_buf_putc(&text, '\n') < 0)
                return cay_fail(err, CAY_INTERNAL, "no memory for the answer");
        at = cay_buf_data(&text);
        r = isatty(fd) ? cay_safe_write(fd, &tail, at, text.len) : sys_write_all(fd, at, text.len);
        return r < 0 ? cay_fail_sys(err, CAY_INTERNAL, r, "write the output") : 0;
}

static int put_results(struct cay_json_view results, struct cay_error *err)
{
        struct cay_json_walk w = cay_json_view_walk(results);
        struct cay_json_view result;

        while (cay_json_view_next(&w, NULL, &result))
                if (put_text(STDOUT_FILENO, cay_json_view_find(result, "text"), true, err) < 0)
                        return -1;
        return 0;
}

static int put_answer(struct cay_json_view answer, struct cay_error *err)
{
        struct cay_json_view error = cay_json_view_find(answer, "error"),
                             cause = cay_json_view_find(answer, "cause_text");
        char text[512], safe[1024];

        if (put_text(STDOUT_FILENO, cay_json_view_find(answer, "stdout"), false, err) < 0 ||
            put_text(STDERR_FILENO, cay_json_view_find(answer, "stderr"), false, err) < 0 ||
            put_results(cay_json_view_find(answer, "results"), err) < 0 ||
            put_text(STDERR_FILENO, cay_json_view_find(error, "traceback"), true, err) < 0)
                return -1;
        if (!cay_json_view_is_null(cause))
                fprintf(stderr, "cay code: %s\n",
                        cay_safe_copy(cay_json_view_copy(cause, text, sizeof(text)), safe, sizeof(safe)));
        return cay_json_view_is_null(error) && cay_json_view_is_null(cause) ? 0 : FAILED_STATUS;
}

static int run_code(struct cay_reach *reach, struct cay_verb_args *a, struct cay_error *err)
{
        cay_auto_answer struct cay_reach_answer answer = { 0 };

        if ((cay_values_get(&a->values, "context") == NULL &&
             cay_values_set(&a->values, "context", "python", err) < 0) ||
            cay_reach_call(reach, &a->values, -1, -1, &answer, err) < 0)
                return -1;
        return a->json ? cay_verb_print(a, answer.json, err) : put_answer(answer.json, err);
}

int cay_cmd_code(int argc, char **argv)
{
        return cay_verb_main(argc, argv, run_code);
}
