/* SPDX-License-Identifier: Apache-2.0 */
/* Parses argv by a table of options. */
#include "cay/cli/args_flags.h"

#include <unistd.h>

#include "cay/cli/cli.h"
#include "cay/cli/safe.h"
#include "cay/cli/tty.h"

#define FLAGS_MAX 64
#define TEXT_LEAST 20u /* columns, below which nothing is broken */
#define TEXT_WORD_MAX 128u
#define DOC_COLUMN 31 /* where options' texts begin */

static void *at(void *args, const struct cay_flag *flag)
{
        return (char *)args + flag->nr;
}

int cay_flag_set_true(void *args, const struct cay_flag *flag, const char *value, struct cay_error *err)
{
        *(bool *)at(args, flag) = true;
        return 0;
}

int cay_flag_set_text(void *args, const struct cay_flag *flag, const char *value, struct cay_error *err)
{
        if (value[0] == '\0')
                return cay_fail(err, CAY_INVALID, "--%s: the value is empty", flag->name);
        *(const char **)at(args, flag) = value;
        return 0;
}

int cay_flag_add_text(void *args, const struct cay_flag *flag, const char *value, struct cay_error *err)
{
        struct cay_flag_list *list = at(args, flag);
        const char **items = reallocarray(list->items, list->count + 2, sizeof(*items));

        if (items == NULL)
                return cay_fail(err, CAY_INTERNAL, "no memory");
        items[list->count++] = value;
        items[list->count] = NULL;
        list->items = items;
        return 0;
}

void cay_flag_list_done(struct cay_flag_list *list)
{
        free(list->items);
        *list = (struct cay_flag_list){ 0 };
}

static const struct cay_flag *find(const struct cay_flag *table, const char *name, size_t len)
{
        for (; table->name != NULL; table++)
                if (strlen(table->name) == len && memcmp(table->name, name, len) == 0)
                        return table;
        return NULL;
}

static int unknown(const struct cay_flag *table, const char *word, struct cay_error *err)
{
        const char *names[FLAGS_MAX + 1], *meant;
        char name[32];
        unsigned count = 0;

        snprintf(name, sizeof(name), "%.*s", (int)strcspn(word + strspn(word, "-"), "="),
                 word + strspn(word, "-"));
        for (; table->name != NULL && count < FLAGS_MAX; table++)
                names[count++] = table->name;
        names[count] = NULL;
        meant = cay_cli_suggest(name, names);
        if (meant != NULL)
                return cay_fail(err, CAY_INVALID, "unknown option '%.60s' (did you mean --%s?)", word, meant);
        return cay_fail(err, CAY_INVALID, "unknown option '%.60s'", word);
}

static const struct cay_flag *find_letter(const struct cay_flag *table, char letter)
{
        for (; table->name != NULL; table++)
                if (table->letter == letter)
                        return table;
        return NULL;
}

/* The position of a walk over argv. */
struct walk {
        const struct cay_flag *table;
        int argc, i;
        char **argv;
        void *args;
};

/* An option that was found, with the text after it in the same word (NULL: none). */
static int set(struct walk *w, const struct cay_flag *flag, const char *value, struct cay_error *err)
{
        if (flag->value == NULL && value != NULL)
                return cay_fail(err, CAY_INVALID, "--%s takes no value", flag->name);
        if (flag->value != NULL && value == NULL && w->i + 1 < w->argc)
                value = w->argv[++w->i];
        if (flag->value != NULL && value == NULL)
                return cay_fail(err, CAY_INVALID, "--%s needs a value (%s)", flag->name, flag->value);
        return flag->set(w->args, flag, value, err);
}

static int set_long(struct walk *w, const char *word, struct cay_error *err)
{
        const char *name = word + 2, *equals = strchr(name, '=');
        const struct cay_flag *flag =
                find(w->table, name, equals != NULL ? (size_t)(equals - name) : strlen(name));

        return flag == NULL ? unknown(w->table, word, err)
                            : set(w, flag, equals != NULL ? equals + 1 : NULL, err);
}

static int set_letters(struct walk *w, const char *word, struct cay_error *err)
{
        for (const char *at = word + 1; *at != '\0'; at++) {
                const struct cay_flag *flag = find_letter(w->table, *at);

                if (flag == NULL)
                        return unknown(w->table, word, err);
                if (flag->value != NULL)
                        return set(w, flag, at[1] != '\0' ? at + 1 : NULL, err);
                if (set(w, flag, NULL, err) < 0)
                        return -1;
        }
        return 0;
}

int cay_flags_parse(const struct cay_flag *table, int argc, char **argv, void *args, int *ret_rest,
                    struct cay_error *err)
{
        struct walk w = { .table = table, .argc = argc, .i = 1, .argv = argv, .args = args };

        for (; w.i < argc; w.i++) {
                const char *word = argv[w.i];

                if (word[0] != '-' || word[1] == '\0')
                        break;
                if (strcmp(word, "--") == 0) {
                        w.i++;
                        break;
                }
                if (strcmp(word, "--help") == 0 || strcmp(word, "-h") == 0)
                        return 1;
                if ((word[1] == '-' ? set_long(&w, word, err) : set_letters(&w, word, err)) < 0)
                        return -1;
        }
        *ret_rest = w.i;
        return 0;
}

void cay_text_print(const char *text, unsigned indent, FILE *out)
{
        unsigned lines, cols, at = indent;

        if (!cay_tty_size(fileno(out), &lines, &cols) || cols < indent + TEXT_LEAST) {
                fprintf(out, "%s\n", text);
                return;
        }
        while (*text != '\0') {
                size_t len = strcspn(text, " \n");
                char word[TEXT_WORD_MAX];
                unsigned width;

                snprintf(word, sizeof(word), "%.*s", (int)len, text);
                width = (unsigned)cay_safe_width(word);
                if (at > indent && at + 1 + width > cols) {
                        fprintf(out, "\n%*s", (int)indent, "");
                        at = indent;
                }
                fprintf(out, "%s%s", at > indent ? " " : "", word);
                at += width + (at > indent ? 1 : 0);
                text += len + (text[len] != '\0' ? 1 : 0);
        }
        putc('\n', out);
}

/* "--env, -e NAME=VALUE" */
static void print_left(const struct cay_flag *flag, char *ret, size_t size)
{
        char letter[8] = "";

        if (flag->letter != 0)
                snprintf(letter, sizeof(letter), ", -%c", flag->letter);
        snprintf(ret, size, "--%s%s%s%s", flag->name, letter, flag->value != NULL ? " " : "",
                 flag->value != NULL ? flag->value : "");
}

void cay_flags_print(const struct cay_flag *table, FILE *out)
{
        for (; table->name != NULL; table++) {
                char left[64];

                print_left(table, left, sizeof(left));
                fprintf(out, "  %-*s ", DOC_COLUMN - 3, left);
                if (strlen(left) > DOC_COLUMN - 3 && isatty(fileno(out)))
                        fprintf(out, "\n%*s", DOC_COLUMN, "");
                cay_text_print(table->doc, DOC_COLUMN, out);
        }
}
