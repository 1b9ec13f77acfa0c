/* SPDX-License-Identifier: Apache-2.0 */
/* Dispatch over commands.def, and texts shared by all verbs. */
#include "cay/cli/cli.h"

#include <unistd.h>

#include "cay/cli/verb.h"

enum verb {             /* which function */
            VERB_GROUP, /* none: the head of a group */
            VERB_ROW,   /* cay_verb_run */
#define CAY_GROUP(doc)
#define CAY_VERB(verb, doc)
#define CAY_COMMAND(verb, doc) VERB_##verb,
#include "cay/cli/commands.def"
#undef CAY_COMMAND
#undef CAY_VERB
#undef CAY_GROUP
};

/*
 * Texts are arrays in the rows, and functions are found by a switch: pointers would need relocation at every
 * start.
 */
static const struct command {
        char verb[12], doc[80];
        enum verb which;
} commands[] = {
#define CAY_GROUP(doc) { "", doc, VERB_GROUP },
#define CAY_VERB(verb, doc) { #verb, doc, VERB_ROW },
#define CAY_COMMAND(verb, doc) { #verb, doc, VERB_##verb },
#include "cay/cli/commands.def"
#undef CAY_COMMAND
#undef CAY_VERB
#undef CAY_GROUP
};

static int run_command(const struct command *c, int argc, char **argv)
{
        switch (c->which) {
#define CAY_GROUP(doc)
#define CAY_VERB(verb, doc)
#define CAY_COMMAND(verb, doc)                                                                               \
        case VERB_##verb:                                                                                    \
                return cay_cmd_##verb(argc, argv);
#include "cay/cli/commands.def"
#undef CAY_COMMAND
#undef CAY_VERB
#undef CAY_GROUP
        case VERB_GROUP:
        case VERB_ROW:
                break;
        }
        return cay_verb_run(argc, argv);
}

void cay_cli_print_verbs(FILE *out)
{
        for (unsigned i = 0; i < CAY_COUNT(commands); i++)
                if (commands[i].verb[0] != '\0')
                        fprintf(out, "%s\n", commands[i].verb);
}

int cay_cli_complain(const char *verb, const struct cay_error *err)
{
        fprintf(stderr, "cay %s: %s\n", verb, err->msg);
        if (strncmp(err->msg, "unknown option", 14) == 0 && strstr(err->msg, "did you mean") == NULL)
                fprintf(stderr, "cay: `cay %s --help` lists its options\n", verb);
        return err->code == CAY_INVALID ? CAY_EXIT_USAGE : CAY_EXIT_FAILURE;
}

int cay_cli_print_json(struct cay_json *j, struct cay_error *err)
{
        int r = cay_json_end(j);

        if (r < 0)
                return cay_fail_sys(err, CAY_INTERNAL, r, "make the answer");
        fwrite(cay_buf_data(j->out), 1, j->out->len, stdout);
        putchar('\n');
        return 0;
}

/*
 * The edit distance (insert, drop, replace, swap neighbours) of two short words; not computed beyond `most`.
 */
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
                if (verb[0] != '\0' && strcmp(commands[i].verb, verb) == 0)
                        return &commands[i];
        return NULL;
}

static void print_usage(FILE *out)
{
        fprintf(out, "usage: cay VERB …\n");
        for (unsigned i = 0; i < CAY_COUNT(commands); i++) {
                if (commands[i].verb[0] == '\0')
                        fprintf(out, "\n%s\n", commands[i].doc);
                else
                        fprintf(out, "  %-10s %s\n", commands[i].verb, commands[i].doc);
        }
        fprintf(out, "\n`cay help VERB` prints more.\n");
}

static int unknown(const char *verb)
{
        const char *words[CAY_COUNT(commands) + 1], *meant;
        unsigned count = 0;

        for (unsigned i = 0; i < CAY_COUNT(commands); i++)
                if (commands[i].verb[0] != '\0')
                        words[count++] = commands[i].verb;
        words[count] = NULL;
        meant = cay_cli_suggest(verb, words);
        if (meant != NULL)
                fprintf(stderr, "cay: unknown verb '%s' (did you mean %s?)\n", verb, meant);
        else
                fprintf(stderr, "cay: unknown verb '%s'; `cay help` lists them\n", verb);
        return CAY_EXIT_USAGE;
}

/* Help on a verb, of one word or two, is the verb's own --help. */
int cay_cmd_help(int argc, char **argv)
{
        char *ask[] = { argc > 1 ? argv[1] : NULL, argc > 2 ? argv[2] : (char *)"--help", (char *)"--help",
                        NULL };
        const struct command *c;

        if (argc < 2 || argv[1][0] == '-') {
                print_usage(stdout);
                return 0;
        }
        c = find(argv[1]);
        if (c == NULL)
                return unknown(argv[1]);
        return c->which == VERB_help ? (print_usage(stdout), 0) : run_command(c, argc > 2 ? 3 : 2, ask);
}

int cay_cmd_version(int argc, char **argv)
{
        bool json = argc == 2 && strcmp(argv[1], "--json") == 0;

        if (argc > 1 && strcmp(argv[1], "--help") == 0) {
                printf("usage: cay version [--json]\n\nPrints the version of this program. `cay api "
                       "version_get` prints "
                       "the daemon's.\n");
                return 0;
        }
        if (argc > 1 && !json) {
                fprintf(stderr, "cay version: unexpected argument '%.60s'\n", argv[1]);
                return CAY_EXIT_USAGE;
        }
        printf(json ? "{\"version\":\"%s\"}\n" : "cay %s\n", CAY_VERSION);
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
        return c != NULL ? run_command(c, argc - 1, argv + 1) : unknown(argv[1]);
}
