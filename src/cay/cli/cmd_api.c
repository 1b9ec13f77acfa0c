/* SPDX-License-Identifier: Apache-2.0 */
/*
 * `cay api`: every operation of the daemon by its own name, its fields as options; prints the answer
 * unchanged.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "cay/cli/cli.h"
#include "cay/cli/safe.h"
#include "cay/cli/verb.h"
#include "foundation/sys/fd.h"

static void print_ops(FILE *out)
{
        unsigned count;
        const struct cay_cli_op *ops = cay_cli_ops(&count);

        fprintf(out,
                "usage: cay api OPERATION [--FIELD VALUE…] [OPTION…]\n\n"
                "Calls an operation of the daemon and prints its answer: JSON, lines of JSON, or bytes.\n"
                "`cay api OPERATION --help` lists its fields. Set members of objects with\n"
                "--OBJECT.MEMBER; repeat the option for lists and maps (NAME=VALUE).\n\n");
        for (unsigned i = 0; i < count; i++)
                fprintf(out, "  %-18s %s\n", ops[i].name, ops[i].doc);
}

static int send_body(struct cay_client_conn *c, const char *path, struct cay_error *err)
{
        cay_auto_close int opened = -1;
        int fd = STDIN_FILENO, r = 0;
        char bytes[CAY_CONN_PIECE];

        if (path != NULL && strcmp(path, "-") != 0) {
                fd = opened = sys_open_at(AT_FDCWD, path, O_RDONLY, 0);
                if (fd < 0)
                        return cay_fail_sys(err, CAY_INVALID, fd, "--body: open '%.120s'", path);
        }
        while (r == 0) {
                ssize_t n = read(fd, bytes, sizeof(bytes));

                if (n < 0 && errno == EINTR)
                        continue;
                if (n < 0)
                        return cay_fail_sys(err, CAY_INTERNAL, -errno, "read the body");
                if (n == 0)
                        break;
                r = cay_client_conn_write(c, bytes, (size_t)n, err);
        }
        return r < 0 ? -1 : cay_client_conn_write_end(c, err);
}

static int call(struct cay_reach *reach, const struct cay_verb_args *a, struct cay_error *err)
{
        cay_auto_conn struct cay_client_conn c;
        bool is_shown = isatty(STDOUT_FILENO) && !a->raw, is_json;
        struct cay_safe_tail tail = { 0 };
        const char *bytes;
        ssize_t n;
        int r = 0;

        cay_client_conn_init(&c);
        if (cay_reach_send(reach, &c, &a->values, -1, err) < 0 ||
            (a->values.op->takes_bytes && send_body(&c, a->body, err) < 0) ||
            cay_reach_await(reach, &c, -1, err) < 0)
                return -1;
        is_json = strncmp(c.answer.type, "application/json", 16) == 0;
        while (r == 0 && (n = cay_client_conn_read(&c, &bytes, -1, err)) > 0)
                r = is_shown ? cay_safe_write(STDOUT_FILENO, &tail, bytes, (size_t)n)
                             : sys_write_all(STDOUT_FILENO, bytes, (size_t)n);
        if (r == 0 && n == 0 && is_json)
                r = sys_write_all(STDOUT_FILENO, "\n", 1);
        if (r < 0)
                return cay_fail_sys(err, CAY_INTERNAL, r, "write to standard output");
        return n < 0 ? -1 : 0;
}

/* A verb's row, made for one op. */
static void fill_row(struct cay_verb *row, const struct cay_cli_op *op)
{
        *row = (struct cay_verb){ .more = op->takes_bytes ? CAY_MORE_BODY : CAY_MORE_NONE, .no_json = true };
        snprintf(row->name, sizeof(row->name), "api %s", op->name);
        snprintf(row->op, sizeof(row->op), "%s", op->name);
        snprintf(row->about, sizeof(row->about), "%s", op->doc);
}

static const struct cay_cli_op *find_op(const char *name, struct cay_error *err)
{
        unsigned all, count = 0;
        const struct cay_cli_op *op = cay_cli_op_find(name), *ops = cay_cli_ops(&all);
        const char *names[128 + 1], *meant;

        if (op != NULL)
                return op;
        for (; count < all && count < 128; count++)
                names[count] = ops[count].name;
        names[count] = NULL;
        meant = cay_cli_suggest(name, names);
        if (meant != NULL)
                cay_fail(err, CAY_INVALID, "unknown operation '%.40s' (did you mean %s?)", name, meant);
        else
                cay_fail(err, CAY_INVALID, "unknown operation '%.40s'; `cay help api` lists them", name);
        return NULL;
}

/* Options for the daemon's address may come before the operation, as before other verbs' words. */
static int find_name(int argc, char **argv)
{
        static const char *const with_value[] = { "--data", "--url", "--token-file", "--ca-file", NULL };
        int i = 1;

        while (i < argc && argv[i][0] == '-') {
                bool takes = false;

                for (unsigned k = 0; with_value[k] != NULL && !takes; k++)
                        takes = strcmp(argv[i], with_value[k]) == 0;
                i += takes ? 2 : 1;
        }
        return i;
}

/* The operation first, whatever came before it. */
static void move_first(char **argv, int at)
{
        char *name = argv[at];

        memmove(argv + 2, argv + 1, (size_t)(at - 1) * sizeof(*argv));
        argv[1] = name;
}

int cay_cmd_api(int argc, char **argv)
{
        cay_auto_verb struct cay_verb_args a = { 0 };
        const struct cay_cli_op *op;
        struct cay_reach reach = { 0 };
        struct cay_error err = { 0 };
        struct cay_verb row;
        int at, r;

        if (argc > 1 && (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0)) {
                print_ops(stdout);
                return 0;
        }
        at = find_name(argc, argv);
        if (at >= argc) {
                print_ops(stderr);
                return CAY_EXIT_USAGE;
        }
        move_first(argv, at);
        op = find_op(argv[1], &err);
        if (op == NULL)
                return cay_cli_complain("api", &err);
        fill_row(&row, op);
        r = cay_verb_read(&a, &row, argc - 1, argv + 1, &err);
        if (r > 0)
                return 0;
        if (r == 0)
                r = cay_reach_open(&reach, &a.reach, &err);
        if (r == 0)
                r = call(&reach, &a, &err);
        return r < 0 ? cay_verb_complain(&a, &reach, &err) : 0;
}
