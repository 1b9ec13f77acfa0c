/* SPDX-License-Identifier: Apache-2.0 */
/* Verbs: dispatch, suggestions, and a table that is in order. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "cay/cli/cli.h"
#include "cay/cli/verb.h"

static const char *const words[] = { "run", "version", "help", NULL };

static void suggests_what_is_near(void **state)
{
        assert_string_equal(cay_cli_suggest("rnu", words), "run");
        assert_string_equal(cay_cli_suggest("runn", words), "run");
        assert_string_equal(cay_cli_suggest("verison", words), "version");
        assert_string_equal(cay_cli_suggest("versoin", words), "version");
        assert_string_equal(cay_cli_suggest("hepl", words), "help");
        assert_null(cay_cli_suggest("destroy", words));
        assert_null(cay_cli_suggest("", words));
        assert_null(cay_cli_suggest("a-word-that-is-much-longer-than-any-verb-could-be", words));
}

static void verbs_are_unique_and_documented(void **state)
{
#define CAY_GROUP(doc)
        static const char *const verbs[] = {
#define CAY_VERB(verb, doc) #verb,
#define CAY_COMMAND(verb, doc) #verb,
#include "cay/cli/commands.def"
#undef CAY_COMMAND
#undef CAY_VERB
        };
        static const char *const docs[] = {
#define CAY_VERB(verb, doc) doc,
#define CAY_COMMAND(verb, doc) doc,
#include "cay/cli/commands.def"
#undef CAY_COMMAND
#undef CAY_VERB
        };
#undef CAY_GROUP

        for (unsigned i = 0; i < CAY_COUNT(verbs); i++) {
                assert_true(strlen(docs[i]) > 5);
                for (unsigned j = 0; j < i; j++)
                        assert_string_not_equal(verbs[i], verbs[j]);
        }
}

static void check_rows(const struct cay_verb *rows)
{
        for (const struct cay_verb *v = rows; v->name[0] != '\0'; v++) {
                assert_ptr_equal(cay_verb_find(v->name), v);
                if (cay_cli_op_find(v->op) == NULL)
                        fail_msg("%s: there is no op %s", v->name, v->op);
                if (v->other_op[0] != '\0')
                        assert_non_null(cay_cli_op_find(v->other_op));
                if (v->show == CAY_SHOW_COLUMNS &&
                    !cay_cli_op_find(v->op)->streams) /* bytes have no columns */
                        assert_true(cay_op_columns[v->columns].head[0] != '\0');
        }
}

/* Columns of an op's row: their kinds come from its result, unless the row says one. */
static void verbs_of_ops_have_columns(void **state)
{
        const struct cay_verb *log = cay_verb_find("network log"), *network = cay_verb_find("network");
        const struct cay_column *c;

        assert_non_null(log);
        assert_string_equal(log->list, "entries");
        c = &cay_op_columns[log->columns];
        assert_string_equal(c[0].head, "NR");
        assert_string_equal(c[0].path, "number");
        assert_int_equal(c[0].kind, CAY_CELL_NUMBER);
        assert_int_equal(c[1].kind, CAY_CELL_WHEN);
        assert_int_equal(c[7].kind, CAY_CELL_SIZE);
        c = &cay_op_columns[network->columns];
        assert_string_equal(network->list, "");
        assert_int_equal(c[1].kind, CAY_CELL_LIST);
        assert_int_equal(c[5].kind, CAY_CELL_BYTES);
        assert_string_equal(c[7].head, "open now");
}

/* A verb that is a row alone has one, and its words name fields of its op or are the verb's own. */
static void verbs_of_the_daemon_have_rows(void **state)
{
        static const char *const rows[] = {
#define CAY_GROUP(doc)
#define CAY_VERB(verb, doc) #verb,
#define CAY_COMMAND(verb, doc)
#include "cay/cli/commands.def"
#undef CAY_COMMAND
#undef CAY_VERB
#undef CAY_GROUP
        };

        for (unsigned i = 0; i < CAY_COUNT(rows); i++) {
                const struct cay_verb *v = cay_verb_find(rows[i]);

                assert_non_null(v);
                assert_true(v->show != CAY_SHOW_JSON);
        }
        check_rows(cay_verbs);
        check_rows(cay_op_verbs);
}

static int call(const char *a, const char *b)
{
        char *argv[] = { (char *)"cay", (char *)a, (char *)b, NULL };

        return cay_cli_main(b != NULL ? 3 : a != NULL ? 2 : 1, argv);
}

static void statuses(void **state)
{
        assert_int_equal(call(NULL, NULL), CAY_EXIT_USAGE);
        assert_int_equal(call("--help", NULL), 0);
        assert_int_equal(call("-h", NULL), 0);
        assert_int_equal(call("--version", NULL), 0);
        assert_int_equal(call("version", NULL), 0);
        assert_int_equal(call("version", "now"), CAY_EXIT_USAGE);
        assert_int_equal(call("help", NULL), 0);
        assert_int_equal(call("help", "run"), 0);
        assert_int_equal(call("help", "help"), 0);
        assert_int_equal(call("help", "version"), 0);
        assert_int_equal(call("help", "create"), 0);
        assert_int_equal(call("help", "network"), 0);
        assert_int_equal(call("network", "log"), CAY_EXIT_USAGE); /* of which sandbox? */
        assert_int_equal(call("api", "--help"), 0);
        assert_int_equal(call("api", "fly"), CAY_EXIT_USAGE);
        assert_int_equal(call("get", NULL), CAY_EXIT_USAGE);
        assert_int_equal(call("rm", "--bogus"), CAY_EXIT_USAGE);
        assert_int_equal(call("completion", "verbs"), 0);
        assert_int_equal(call("help", "nothing"), CAY_EXIT_USAGE);
        assert_int_equal(call("fly", NULL), CAY_EXIT_USAGE);
        assert_int_equal(call("run", NULL), CAY_EXIT_USAGE);
        assert_int_equal(call("run", "--bogus"), CAY_EXIT_USAGE);
}

static void complaints_choose_the_status(void **state)
{
        struct cay_error err = { .code = CAY_INVALID, .msg = "x" };

        assert_int_equal(cay_cli_complain("run", &err), 2);
        err.code = CAY_UNAVAILABLE;
        assert_int_equal(cay_cli_complain("run", &err), 125);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(suggests_what_is_near),
                cmocka_unit_test(verbs_are_unique_and_documented),
                cmocka_unit_test(verbs_of_the_daemon_have_rows),
                cmocka_unit_test(verbs_of_ops_have_columns),
                cmocka_unit_test(statuses),
                cmocka_unit_test(complaints_choose_the_status),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
