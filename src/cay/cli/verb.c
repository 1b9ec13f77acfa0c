/* SPDX-License-Identifier: Apache-2.0 */
/* From a verb's row to its options, words and call. */
#include "cay/cli/verb.h"

#include <assert.h>
#include <errno.h>
#include <string.h>

#include "cay/cli/cli.h"

#define PAGES_MAX 1000u
#define LONGER_COLUMN 24u
#define REST "..."

const struct cay_verb *cay_verb_find(const char *name)
{
        for (const struct cay_verb *v = cay_verbs; v->name[0] != '\0'; v++)
                if (strcmp(v->name, name) == 0)
                        return v;
        for (const struct cay_verb *v = cay_op_verbs; v->name[0] != '\0'; v++)
                if (strcmp(v->name, name) == 0)
                        return v;
        return NULL;
}

/*
 * Finds a word in a list separated by blanks; returns what follows it ('?', '+', ':', a blank). NULL:
 * missing.
 */
static const char *find_word(const char *list, const char *word)
{
        size_t len = strlen(word);

        for (const char *at = list; *at != '\0'; at += strspn(at, " ")) {
                size_t n = strcspn(at, " ?+*:");

                if (n == len && memcmp(at, word, len) == 0)
                        return at + n;
                at += strcspn(at, " ");
        }
        return NULL;
}

static const char *value_name(const struct cay_field *f)
{
        static const char *const names[CAY_FIELD_KIND_COUNT] = {
                [CAY_FIELD_TEXT] = "TEXT",   [CAY_FIELD_U64] = "N",          [CAY_FIELD_SIZE] = "SIZE",
                [CAY_FIELD_MILLI] = "N",     [CAY_FIELD_DURATION] = "TIME",  [CAY_FIELD_TEXTS] = "TEXT",
                [CAY_FIELD_WORDS] = "WORD",  [CAY_FIELD_MAP] = "NAME=VALUE", [CAY_FIELD_PARSED] = "VALUE",
                [CAY_FIELD_OBJECT] = "JSON", [CAY_FIELD_ANY] = "JSON",
        };

        return names[f->kind]; /* a BOOL takes none */
}

static int set_field(void *args, const struct cay_flag *flag, const char *value, struct cay_error *err)
{
        struct cay_verb_args *a = args;
        char where[CAY_VERB_NAME_MAX + 2];

        snprintf(where, sizeof(where), "--%s", flag->name);
        return cay_values_add(&a->values, a->fields[flag->nr], where, value != NULL ? value : "true", err);
}

static void add_flag(struct cay_verb_args *a, const struct cay_flag *flag)
{
        assert(a->flag_count < CAY_VERB_FLAGS_MAX); /* else an option would be missing without a word */
        a->flags[a->flag_count++] = *flag;
}

static void add_field(struct cay_verb_args *a, const char *prefix, const char *object,
                      const struct cay_field *f)
{
        unsigned nr = a->flag_count;
        struct cay_flag flag = { .value = value_name(f), .doc = f->doc, .set = set_field, .nr = nr };
        const char *letter = find_word(a->verb->letters, f->name);
        const char *other = find_word(a->verb->renames, f->name);

        assert(nr < CAY_VERB_FLAGS_MAX);
        if (other != NULL && *other == ':')
                snprintf(a->names[nr], CAY_VERB_NAME_MAX, "%.*s", (int)strcspn(other + 1, " "), other + 1);
        else
                snprintf(a->names[nr], CAY_VERB_NAME_MAX, "%s%s%s", prefix, prefix[0] != '\0' ? "." : "",
                         f->name);
        for (char *c = a->names[nr]; *c != '\0'; c++)
                *c = *c == '_' ? '-' : *c;
        snprintf(a->fields[nr], CAY_VERB_NAME_MAX, "%s%s%s", object, object[0] != '\0' ? "." : "", f->name);
        flag.name = a->names[nr];
        flag.letter = letter != NULL && *letter == ':' ? letter[1] : 0;
        add_flag(a, &flag);
}

static void add_fields(struct cay_verb_args *a, const struct cay_cli_op *op)
{
        const struct cay_verb *verb = a->verb;

        for (const struct cay_field *f = op->fields; f->name != NULL; f++) {
                const char *word = find_word(verb->words, f->name);

                if ((word != NULL && !(verb->both_ways && *word == '?')) ||
                    find_word(verb->hide, f->name) != NULL)
                        continue;
                if (f->kind != CAY_FIELD_OBJECT) {
                        add_field(a, "", "", f);
                        continue;
                }
                for (const struct cay_field *member = f->fields; member->name != NULL; member++)
                        add_field(a, find_word(verb->flat, f->name) != NULL ? "" : f->name, f->name, member);
        }
}

static void fill_flags(struct cay_verb_args *a, const struct cay_cli_op *op)
{
        static const struct cay_flag json = { "json", NULL, "print the daemon's answer as JSON",
                                              cay_flag_set_true, offsetof(struct cay_verb_args, json) };
        static const struct cay_flag reach[] = { CAY_REACH_FLAGS(offsetof(struct cay_verb_args, reach)) };

        if (op != NULL)
                add_fields(a, op);
        for (const struct cay_flag *f = cay_verb_more(a->verb); f->name != NULL; f++)
                add_flag(a, f);
        if (!a->verb->no_json)
                add_flag(a, &json);
        for (unsigned i = 0; i < CAY_COUNT(reach); i++)
                add_flag(a, &reach[i]);
}

/* Help */

static void print_word(const char *word, size_t len, FILE *out)
{
        char mark = word[len - 1];
        bool may_lack = mark == '?' || mark == '*', is_many = mark == '+' || mark == '*';
        size_t n = may_lack || is_many ? len - 1 : len;

        fputs(may_lack ? " [" : " ", out);
        if (n == 2 && memcmp(word, "id", 2) == 0)
                fputs("SANDBOX", out);
        else
                for (size_t i = 0; i < n; i++)
                        putc(word[i] >= 'a' && word[i] <= 'z' ? word[i] - 32 : word[i], out);
        fprintf(out, "%s%s", is_many ? "…" : "", may_lack ? "]" : "");
}

/*
 * Verbs that begin with this one's name: "browser click", and what it does, up to the first comma or stop.
 * True: none was printed.
 */
static bool print_longer(const struct cay_verb *verb, const struct cay_verb *rows, bool is_first, FILE *out)
{
        size_t len = strlen(verb->name), end;
        char about[sizeof(rows->about)];

        for (; rows->name[0] != '\0'; rows++) {
                if (strncmp(rows->name, verb->name, len) != 0 || rows->name[len] != ' ')
                        continue;
                end = strcspn(rows->about, ".,;:(");
                while (end > 0 && rows->about[end - 1] == ' ')
                        end--;
                snprintf(about, sizeof(about), "%.*s", (int)end, rows->about);
                for (char *at = about; *at != '\0'; at++)
                        *at = *at == '\n' ? ' ' : *at;
                fprintf(out, "%s  %-*s", is_first ? "\n" : "", (int)LONGER_COLUMN - 2, rows->name);
                cay_text_print(about, LONGER_COLUMN, out);
                is_first = false;
        }
        return is_first;
}

static void print_help(const struct cay_verb_args *a, FILE *out)
{
        bool is_first;

        fprintf(out, "usage: cay %s [OPTION…]", a->verb->name);
        for (const char *at = a->verb->words; *at != '\0'; at += strspn(at, " ")) {
                size_t len = strcspn(at, " ");

                if (memcmp(at, REST, strlen(REST)) == 0)
                        fputs(at[len - 1] == '?' ? " [COMMAND [ARGUMENT…]]" : " COMMAND [ARGUMENT…]", out);
                else
                        print_word(at, len, out);
                at += len;
        }
        fputs("\n\n", out);
        cay_text_print(a->verb->about, 0, out);
        putc('\n', out);
        cay_flags_print(a->flags, out);
        is_first = print_longer(a->verb, cay_verbs, true, out);
        if (!print_longer(a->verb, cay_op_verbs, is_first, out))
                fprintf(out, "\n`cay help %s VERB` prints more about each of these.\n", a->verb->name);
}

/* Words */

static int keep_word(struct cay_verb_args *a, const char *word, struct cay_error *err)
{
        const char **words = reallocarray(a->words, a->word_count + 2, sizeof(*words));

        if (words == NULL)
                return cay_fail(err, CAY_INTERNAL, "no memory");
        words[a->word_count++] = word;
        words[a->word_count] = NULL;
        a->words = words;
        return 0;
}

static int take_word(struct cay_verb_args *a, const char *name, char mark, const char *word,
                     struct cay_error *err)
{
        const struct cay_field *object;

        if (word[0] == '\0')
                return cay_fail(err, CAY_INVALID, "an argument is empty");
        if (mark == '+' || mark == '*' || cay_values_find(a->values.op, name, &object) == NULL)
                return keep_word(a, word, err);
        return cay_values_add(&a->values, name, name, word, err);
}

struct words { /* a walk over options and words */
        struct cay_verb_args *a;
        int argc, i; /* the next word */
        char **argv;
};

/* Options up to the next word; 0, 1 (help), -1. */
static int skip_flags(struct words *w, struct cay_error *err)
{
        int rest = 1,
            r = cay_flags_parse(w->a->flags, w->argc - w->i + 1, w->argv + w->i - 1, w->a, &rest, err);

        if (r == 0)
                w->i += rest - 1;
        return r;
}

/* A word as help names it: "id" is SANDBOX, others are in capitals. */
static const char *put_shown(const char *name, char ret[CAY_VERB_NAME_MAX + 2])
{
        snprintf(ret, CAY_VERB_NAME_MAX + 2, "%.40s", strcmp(name, "id") == 0 ? "SANDBOX" : name);
        for (char *c = ret; *c != '\0'; c++)
                *c = *c >= 'a' && *c <= 'z' ? (char)(*c - 32) : *c;
        return ret;
}

static int missing(const struct cay_verb_args *a, const char *name, struct cay_error *err)
{
        char shown[CAY_VERB_NAME_MAX + 2];

        return cay_fail(err, CAY_INVALID, "%s is missing; see `cay help %s`", put_shown(name, shown),
                        a->verb->name);
}

static int read_words(struct words *w, struct cay_error *err)
{
        const char *at = w->a->verb->words;
        int r = skip_flags(w, err);

        for (; r == 0 && *at != '\0'; at += strspn(at, " ")) {
                size_t len = strcspn(at, " ");
                char name[CAY_VERB_NAME_MAX], mark;

                if (memcmp(at, REST, strlen(REST)) == 0) {
                        w->a->rest = w->argv + w->i;
                        w->a->rest_count = w->argc - w->i;
                        return w->a->rest_count == 0 && at[len - 1] != '?' ? missing(w->a, "COMMAND", err)
                                                                           : 0;
                }
                snprintf(name, sizeof(name), "%.*s", (int)len, at);
                at += len;
                mark = name[len - 1];
                if (mark == '?' || mark == '+' || mark == '*')
                        name[len - 1] = '\0';
                if (w->i >= w->argc && mark != '?' && mark != '*')
                        return missing(w->a, name, err);
                do {
                        if (w->i < w->argc)
                                r = take_word(w->a, name, mark, w->argv[w->i++], err);
                        if (r == 0)
                                r = skip_flags(w, err);
                } while (r == 0 && (mark == '+' || mark == '*') && w->i < w->argc);
        }
        if (r == 0 && w->i < w->argc)
                return cay_fail(err, CAY_INVALID, "unexpected argument '%.60s'; see `cay help %s`",
                                w->argv[w->i], w->a->verb->name);
        return r;
}

/* The first word was omitted: another op is meant, whose fields have the same names. */
static int use_other_op(struct cay_verb_args *a, struct cay_error *err)
{
        const struct cay_cli_op *other = cay_cli_op_find(a->verb->other_op);
        const struct cay_field *object;

        if (other == NULL)
                return cay_fail(err, CAY_UNSUPPORTED, "this cay was built without it (%s)",
                                a->verb->other_op);
        for (unsigned i = 0; i < a->values.count; i++) {
                struct cay_value *v = &a->values.items[i];

                if (cay_values_find(other, v->field->name, &object) == NULL)
                        return cay_fail(err, CAY_INVALID, "--%s: applies to one sandbox; name it",
                                        v->field->name);
                v->field = cay_values_find(other, v->field->name, &object);
        }
        a->values.op = other;
        return 0;
}

static bool lacks_first_word(const struct cay_verb_args *a)
{
        char name[CAY_VERB_NAME_MAX];

        snprintf(name, sizeof(name), "%.*s", (int)strcspn(a->verb->words, "? "), a->verb->words);
        return a->verb->other_op[0] != '\0' && cay_values_get(&a->values, name) == NULL;
}

int cay_verb_read(struct cay_verb_args *a, const struct cay_verb *verb, int argc, char **argv,
                  struct cay_error *err)
{
        const struct cay_cli_op *op = cay_cli_op_find(verb->op);
        int r;

        *a = (struct cay_verb_args){ .verb = verb };
        if (op == NULL)
                return cay_fail(err, CAY_UNSUPPORTED, "this cay was built without it (%s)", verb->op);
        cay_values_init(&a->values, op);
        fill_flags(a, op);
        r = read_words(&(struct words){ a, argc, 1, argv }, err);
        if (r > 0)
                print_help(a, stdout);
        return r == 0 && lacks_first_word(a) ? use_other_op(a, err) : r;
}

void cay_verb_args_done(struct cay_verb_args *a)
{
        cay_values_done(&a->values);
        free(a->words);
        a->words = NULL;
}

/* Translates the daemon's refusals to the terms of the command line */

/* A field's option, or its word; NULL: neither. */
static const char *find_name(const struct cay_verb_args *a, const char *field,
                             char ret[CAY_VERB_NAME_MAX + 2])
{
        for (unsigned nr = 0; nr < a->flag_count; nr++) {
                if (strcmp(a->fields[nr], field) != 0)
                        continue;
                snprintf(ret, CAY_VERB_NAME_MAX + 2, "--%s", a->names[nr]);
                return ret;
        }
        if (find_word(a->verb->words, field) == NULL)
                return NULL;
        return put_shown(field, ret);
}

/* Daemons speak of requests; the command line has verbs. */
static void put_words(char *text, size_t size)
{
        static const char lists[] = "GET /api/templates lists them";
        char rest[sizeof(((struct cay_error *)NULL)->msg)];
        char *at = strstr(text, lists);

        if (at != NULL) {
                snprintf(rest, sizeof(rest), "%s", at + strlen(lists));
                snprintf(at, size - (size_t)(at - text), "`cay template` lists them%s", rest);
        }
}

int cay_verb_complain(const struct cay_verb_args *a, const struct cay_reach *r, const struct cay_error *err)
{
        char name[CAY_VERB_NAME_MAX + 2];
        struct cay_error told = *err;
        size_t len = strlen(r->field);

        if (len > 0 && r->status != 0 && strncmp(err->msg, r->field, len) == 0 && err->msg[len] == ':' &&
            find_name(a, r->field, name) != NULL)
                snprintf(told.msg, sizeof(told.msg), "%s%.200s", name, err->msg + len);
        put_words(told.msg, sizeof(told.msg));
        return cay_reach_complain(r, a->verb->name, &told);
}

/* Verbs that are only their row */

int cay_verb_flush(struct cay_error *err)
{
        return fflush(stdout) != 0 || ferror(stdout)
                       ? cay_fail_sys(err, CAY_INTERNAL, -errno, "write to standard output")
                       : 0;
}

int cay_verb_print(const struct cay_verb_args *a, struct cay_json_view json, struct cay_error *err)
{
        if (!a->json && a->verb->show == CAY_SHOW_COLUMNS)
                return cay_show_columns(a->verb->list, &cay_op_columns[a->verb->columns], json, stdout, err);
        return cay_show(a->json ? CAY_SHOW_JSON : a->verb->show, json, stdout, err);
}

static int print_picture(const struct cay_buf *picture, struct cay_error *err)
{
        if (isatty(STDOUT_FILENO))
                return cay_fail(err, CAY_INVALID,
                                "the picture is not for a terminal; write it to a file: > FILE");
        return fwrite(cay_buf_data(picture), 1, picture->len, stdout) == picture->len
                       ? 0
                       : cay_fail_sys(err, CAY_INTERNAL, -errno, "write to standard output");
}

static int call_once(struct cay_reach *r, const struct cay_verb_args *a, struct cay_error *err)
{
        cay_auto_answer struct cay_reach_answer answer;

        if (cay_reach_call(r, &a->values, -1, CAY_REACH_WAIT_MS, &answer, err) < 0)
                return -1;
        return answer.is_picture ? print_picture(&answer.body, err) : cay_verb_print(a, answer.json, err);
}

/* All pages as one answer: {"sandboxes":[…],"next":null}. */
static int call_pages(struct cay_reach *r, struct cay_verb_args *a, struct cay_error *err)
{
        cay_auto_buf struct cay_buf all = { 0 };
        struct cay_json_view json;
        char cursor[1024] = "";
        const char *comma = "";

        cay_buf_init(&all, CAY_REACH_ANSWER_MAX);
        cay_buf_printf(&all, "{\"%s\":[", a->verb->pages);
        for (unsigned page = 0; page < PAGES_MAX; page++) {
                cay_auto_answer struct cay_reach_answer answer;
                struct cay_json_view items;

                if (cay_reach_call(r, &a->values, -1, CAY_REACH_WAIT_MS, &answer, err) < 0)
                        return -1;
                items = cay_json_view_find(answer.json, a->verb->pages);
                if (cay_json_view_is_array(items) && items.len > 2) {
                        if (cay_buf_puts(&all, comma) < 0 ||
                            cay_buf_put(&all, items.at + 1, items.len - 2) < 0)
                                return cay_fail(err, CAY_LIMIT, "the list is too long; use --limit");
                        comma = ",";
                }
                cay_json_view_copy(cay_json_view_find(answer.json, "next"), cursor, sizeof(cursor));
                if (cursor[0] == '\0')
                        break;
                if (cay_values_set(&a->values, "cursor", cursor, err) < 0)
                        return -1;
        }
        cay_buf_puts(&all, "],\"next\":null}");
        if (cay_json_view_open(cay_buf_data(&all), all.len, &json) < 0)
                return cay_fail(err, CAY_UNAVAILABLE, "the daemon sent pages that do not fit together");
        return cay_verb_print(a, json, err);
}

/* The word of a verb that may be given several times: "name" of "name+". */
static void name_of_many(const char *words, char ret[CAY_VERB_NAME_MAX])
{
        size_t end = strcspn(words, "+*"), len = 0;

        while (len < end && words[end - len - 1] != ' ')
                len++;
        snprintf(ret, CAY_VERB_NAME_MAX, "%.*s", (int)len, words + end - len);
}

/* A call for each word; the first failure decides the status, the others are made anyway. */
static int call_each(struct cay_reach *r, struct cay_verb_args *a, const char *field)
{
        int status = 0;

        for (unsigned i = 0; i < a->word_count; i++) {
                struct cay_error err = { 0 };

                if (cay_values_add(&a->values, field, field, a->words[i], &err) < 0 ||
                    call_once(r, a, &err) < 0) {
                        int failed = cay_verb_complain(a, r, &err);

                        status = status == 0 ? failed : status;
                }
        }
        return status;
}

static bool is_paged(const struct cay_verb_args *a)
{
        return a->verb->pages[0] != '\0' && cay_values_get(&a->values, "limit") == NULL &&
               cay_values_get(&a->values, "cursor") == NULL;
}

int cay_verb_call(struct cay_reach *reach, struct cay_verb_args *a, struct cay_error *err)
{
        char field[CAY_VERB_NAME_MAX];
        int status = 0, r = 0;

        if (a->word_count > 0) {
                name_of_many(a->verb->words, field);
                status = call_each(reach, a, field);
        } else {
                r = is_paged(a) ? call_pages(reach, a, err) : call_once(reach, a, err);
        }
        if (r == 0)
                r = cay_verb_flush(err);
        return r < 0 ? -1 : status;
}

int cay_verb_main(int argc, char **argv,
                  int (*run)(struct cay_reach *reach, struct cay_verb_args *a, struct cay_error *err))
{
        cay_auto_verb struct cay_verb_args a = { 0 };
        struct cay_reach reach = { 0 };
        struct cay_error err = { 0 };
        int r = cay_verb_read(&a, cay_verb_find(argv[0]), argc, argv, &err);

        if (r > 0)
                return 0;
        if (r == 0)
                r = cay_reach_open(&reach, &a.reach, &err);
        if (r == 0)
                r = run(&reach, &a, &err);
        return r < 0 ? cay_verb_complain(&a, &reach, &err) : r;
}

int cay_verb_run(int argc, char **argv)
{
        const struct cay_verb *verb = cay_verb_find(argv[0]);
        char name[CAY_VERB_NAME_MAX];

        if (argc >= 2 && strcmp(argv[1], "ls") == 0 && verb != NULL && verb->words[0] == '\0') {
                argv[1] = argv[0]; /* it lists anyway */
                return cay_verb_main(argc - 1, argv + 1, cay_verb_call);
        }
        if (argc >= 2 && (size_t)snprintf(name, sizeof(name), "%s %s", argv[0], argv[1]) < sizeof(name) &&
            cay_verb_find(name) != NULL) {
                argv[1] = name;
                return cay_verb_main(argc - 1, argv + 1, cay_verb_follow);
        }
        return cay_verb_main(argc, argv, cay_verb_call);
}
