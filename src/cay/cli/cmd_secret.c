/* SPDX-License-Identifier: Apache-2.0 */
/*
 * `cay secret set`, `list` and `rm`. A value comes from standard input alone: arguments can be read by
 * everybody on the machine.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "cay/cli/cli.h"
#include "cay/cli/verb.h"

#define VALUE_MAX 2048

/* One line; its newline is not part of it. */
static int read_value(char ret[VALUE_MAX + 2], struct cay_error *err)
{
        size_t len = 0;
        ssize_t n;

        if (isatty(STDIN_FILENO))
                fprintf(stderr, "value: ");
        do {
                n = read(STDIN_FILENO, ret + len, VALUE_MAX + 1 - len);
                if (n > 0)
                        len += (size_t)n;
        } while ((n > 0 && len <= VALUE_MAX && !(isatty(STDIN_FILENO) && ret[len - 1] == '\n')) ||
                 (n < 0 && errno == EINTR));
        if (n < 0)
                return cay_fail_sys(err, CAY_INTERNAL, -errno, "read standard input");
        if (len > 0 && ret[len - 1] == '\n')
                len--;
        ret[len] = '\0';
        if (len == 0 || len > VALUE_MAX || strlen(ret) != len)
                return cay_fail(err, CAY_INVALID, "the value on standard input must have 1 to %d characters",
                                VALUE_MAX);
        return 0;
}

static int set(struct cay_reach *reach, struct cay_verb_args *a, struct cay_error *err)
{
        char value[VALUE_MAX + 2];
        int r = read_value(value, err);

        if (r == 0)
                r = cay_values_set(&a->values, "value", value, err); /* borrowed */
        if (r == 0)
                r = cay_verb_call(reach, a, err);
        explicit_bzero(value, sizeof(value));
        return r;
}

int cay_cmd_secret(int argc, char **argv)
{
        static char name[] = "secret set", list[] = "ls";

        if (argc >= 2 && strcmp(argv[1], "list") == 0)
                argv[1] = list;
        if (argc < 2 || strcmp(argv[1], "set") != 0)
                return cay_verb_run(argc, argv);
        argv[1] = name;
        return cay_verb_main(argc - 1, argv + 1, set);
}
