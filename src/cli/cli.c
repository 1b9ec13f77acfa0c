/* SPDX-License-Identifier: Apache-2.0 */
/* Dispatch over commands.def, and what all verbs say alike. */
#include "cli/cli.h"

#include <unistd.h>

#include "cli/verb.h"

/* A row without a function is the head of a group. */
static const struct command {
        const char *verb, *doc;
        int (*run)(int argc, char **argv);
} commands[] = {
#define CAY_GROUP(doc) { NULL, doc, NULL },
#define CAY_VERB(verb, doc) { #verb, doc, cay_verb_run },
#define CAY_COMMAND(verb, doc) { #verb, doc, cay_cmd_##verb },
#include "cli/commands.def"
#undef CAY_COMMAND
#undef CAY_VERB
#undef CAY_GROUP
};

static const char *const verbs[] = {
#define CAY_GROUP(doc)
#define CAY_VERB(verb, doc) #verb,
#define CAY_COMMAND(verb, doc) #verb,
#include "cli/commands.def"
#undef CAY_COMMAND
#undef CAY_VERB
#undef CAY_GROUP
        NULL
};

void cay_cli_print_verbs(FILE *out)
{
        for (unsigned i = 0; verbs[i] != NULL; i++)
                fprintf(out, "%s\n", verbs[i]);
}

int cay_cli_complain(const char *verb, const struct cay_error *err)
{
        fprintf(stderr, "cay %s: %s\n", verb, err->msg);
        return err->code == CAY_INVALID ? CAY_EXIT_USAGE : CAY_EXIT_FAILURE;
}

/* Edits (insert, drop, replace, swap neighbours) between two short words; more than `most` is all the same. */
static unsigned distance(const char *a, const char *b, unsigned most)
{
        enum { WORD = 24 };
        unsigned d[WORD + 1][WORD + 1];
        size_t n = strlen(a), m = strlen(b);

        if (n > WORD || m > WORD)
                return most + 1;
        for (size_t i = 0; i <= n; i++)
                d[i][0] = (unsigned)i;
        for (size_t j = 0; j <= m; j++)
                d[0][j] = (unsigned)j;
        for (size_t i = 1; i <= n; i++) {
                for (size_t j = 1; j <= m; j++) {
                        unsigned best = d[i - 1][j - 1] + (a[i - 1] != b[j - 1]);

                        if (d[i - 1][j] + 1 < best)
                                best = d[i - 1][j] + 1;
                        if (d[i][j - 1] + 1 < best)
                                best = d[i][j - 1] + 1;
                        if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] &&
                            d[i - 2][j - 2] + 1 < best)
                                best = d[i - 2][j - 2] + 1;
                        d[i][j] = best;
                }
        }
        return d[n][m];
}

const char *cay_cli_suggest(const char *word, const char *const *words)
{
        unsigned most = strlen(word) > 4 ? 2 : 1, best = most + 1;
        const char *found = NULL;

        for (; *words != NULL; words++) {
                unsigned edits = distance(word, *words, most);

                if (edits < best) {
                        best = edits;
                        found = *words;
                }
        }
        return found;
}

static const struct command *find(const char *verb)
{
        for (unsigned i = 0; i < CAY_COUNT(commands); i++)
                if (commands[i].verb != NULL && strcmp(commands[i].verb, verb) == 0)
                        return &commands[i];
        return NULL;
}

static void print_usage(FILE *out)
{
        fprintf(out, "usage: cay VERB …\n");
        for (unsigned i = 0; i < CAY_COUNT(commands); i++) {
                if (commands[i].verb == NULL)
                        fprintf(out, "\n%s\n", commands[i].doc);
                else
                        fprintf(out, "  %-10s %s\n", commands[i].verb, commands[i].doc);
        }
        fprintf(out, "\n`cay help VERB` says more.\n");
}

static int unknown(const char *verb)
{
        const char *meant = cay_cli_suggest(verb, verbs);

        if (meant != NULL)
                fprintf(stderr, "cay: unknown verb '%s' (did you mean %s?)\n", verb, meant);
        else
                fprintf(stderr, "cay: unknown verb '%s'; `cay help` lists them\n", verb);
        return CAY_EXIT_USAGE;
}

/* Help on a verb is the verb's own --help. */
int cay_cmd_help(int argc, char **argv)
{
        char *ask[] = { argc > 1 ? argv[1] : NULL, (char *)"--help", NULL };
        const struct command *c;

        if (argc < 2 || argv[1][0] == '-') {
                print_usage(stdout);
                return 0;
        }
        c = find(argv[1]);
        if (c == NULL)
                return unknown(argv[1]);
        return c->run == cay_cmd_help ? (print_usage(stdout), 0) : c->run(2, ask);
}

int cay_cmd_version(int argc, char **argv)
{
        if (argc > 1 && strcmp(argv[1], "--help") == 0) {
                printf("usage: cay version\n");
                return 0;
        }
        if (argc > 1) {
                fprintf(stderr, "cay version: takes no arguments\n");
                return CAY_EXIT_USAGE;
        }
        printf("cay %s\n", CAY_VERSION);
        return 0;
}

int cay_cli_main(int argc, char **argv)
{
        const struct command *c;

        if (argc < 2) {
                print_usage(stderr);
                return CAY_EXIT_USAGE;
        }
        if (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0) {
                print_usage(stdout);
                return 0;
        }
        if (strcmp(argv[1], "--version") == 0)
                return cay_cmd_version(1, argv);
        c = find(argv[1]);
        return c != NULL ? c->run(argc - 1, argv + 1) : unknown(argv[1]);
}
