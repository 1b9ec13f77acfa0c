/* SPDX-License-Identifier: Apache-2.0 */
/*
 * `cay completion`: words for the shells' completion, one per line, from the tables that define the verbs.
 * The scripts (packaging/completions) call it, so a new verb or option is completed without changes there.
 */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "cay/cli/cli.h"
#include "cay/cli/verb.h"

#define WAIT_MS 5000 /* for a busy daemon; a missing one is noticed at once */

static void print_help(FILE *out)
{
        fprintf(out, "usage: cay completion verbs|sandboxes|templates|operations|words VERB\n\n"
                     "Prints words for shell completion, one per line. The completions for bash and zsh, "
                     "which are\n"
                     "installed with cay, call it.\n");
}

static void print_text(struct cay_json_view value)
{
        char text[CAY_CELL_MAX];

        cay_cell_format(value, CAY_CELL_TEXT, text);
        if (strcmp(text, "-") != 0)
                printf("%s\n", text);
}

/*
 * Ids and names from a list of the daemon; nothing if there is no daemon. id: NULL if there are only names.
 */
static void print_names(const char *op, const char *list, const char *id)
{
        cay_auto_answer struct cay_reach_answer answer = { 0 };
        cay_auto_values struct cay_values v;
        struct cay_reach_args none = { 0 };
        struct cay_error ignored = { 0 };
        struct cay_json_view item;
        struct cay_json_walk w;
        struct cay_reach reach;

        cay_values_init(&v, cay_cli_op_find(op));
        if (cay_reach_open(&reach, &none, &ignored) < 0 ||
            cay_reach_call(&reach, &v, -1, WAIT_MS, &answer, &ignored) < 0)
                return;
        w = cay_json_view_walk(cay_json_view_find(answer.json, list));
        while (cay_json_view_next(&w, NULL, &item)) {
                if (id != NULL)
                        print_text(cay_json_view_find(item, id));
                print_text(cay_json_view_find(item, "name"));
        }
}

int cay_cmd_completion(int argc, char **argv)
{
        if (argc == 2 && strcmp(argv[1], "--help") == 0) {
                print_help(stdout);
        } else if (argc == 2 && strcmp(argv[1], "verbs") == 0) {
                cay_cli_print_verbs(stdout);
        } else if (argc == 2 && strcmp(argv[1], "sandboxes") == 0) {
                print_names("sandbox_list", "sandboxes", "sandbox_id");
        } else if (argc == 2 && strcmp(argv[1], "templates") == 0) {
                print_names("template_list", "templates", NULL);
        } else if (argc == 2 && strcmp(argv[1], "operations") == 0) {
                unsigned count;
                const struct cay_cli_op *ops = cay_cli_ops(&count);

                for (unsigned i = 0; i < count; i++)
                        printf("%s\n", ops[i].name);
        } else if (argc == 3 && strcmp(argv[1], "words") == 0) {
                const struct cay_verb *verb = cay_verb_find(argv[2]);

                printf("%s\n", verb != NULL ? verb->words : "");
        } else {
                print_help(stderr);
                return CAY_EXIT_USAGE;
        }
        return 0;
}
