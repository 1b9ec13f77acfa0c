/* SPDX-License-Identifier: Apache-2.0 */
/*
 * intent_eval FILE…: what is decided about labelled messages (JSON lines), all files together: figures, the
 * confusion table, each mistake.
 */
#include "unit/domain/intent/jsonl.h"

#define SHOWN 400 /* bytes of a message */

struct by_lang {
        char name[8];
        struct figures f;
};

struct all {
        struct figures f;
        struct by_lang langs[JSONL_LANGS_MAX];
        unsigned lang_count;
};

static struct figures *find_lang(struct all *a, const char *name)
{
        unsigned i = 0;

        while (i < a->lang_count && strcmp(a->langs[i].name, name) != 0)
                i++;
        if (i == JSONL_LANGS_MAX)
                return &a->langs[i - 1].f;
        if (i == a->lang_count) {
                snprintf(a->langs[i].name, sizeof(a->langs[i].name), "%s", name);
                a->lang_count++;
        }
        return &a->langs[i].f;
}

/* One line: ends of lines are shown as they are written in strings. */
static void show_text(const char *text)
{
        for (int i = 0; text[i] && i < SHOWN; i++)
                if (text[i] == '\n')
                        fputs("\\n", stdout);
                else
                        putchar(text[i]);
        putchar('\n');
}

static void show(const struct jsonl *l, const char *path, const struct jsonl_message *m,
                 const struct cay_intent_result *r)
{
        bool runs = r->decision == CAY_INTENT_RUN, must = m->label == CAY_INTENT_RUN;
        const char *what = runs && !must                          ? "RUN BY MISTAKE"
                           : !runs && must                        ? "not found"
                           : runs && m->danger && !r->danger.what ? "NO CONFIRMATION"
                           : runs && !m->danger && r->danger.what ? "asks needlessly"
                           : m->label != r->decision              ? "other label"
                                                                  : NULL;

        if (!what)
                return;
        printf("%s: %s:%u %s%s, decided %s: %s", what, path, l->line, cay_intent_word(m->label),
               m->danger ? " (danger)" : "", cay_intent_word(r->decision), r->reason);
        if (r->danger.what)
                printf(" [%s: %.*s]", r->danger.what, (int)r->danger.len, r->danger.text);
        printf("\n    %s: ", m->lang);
        show_text(m->text);
}

static bool read_file(struct all *a, const char *path)
{
        struct jsonl_message m;
        struct jsonl l;
        int got = -1;

        if (jsonl_open(&l, path))
                while ((got = jsonl_next(&l, &m)) > 0) {
                        struct cay_intent_result r;
                        struct cay_error err = { 0 };

                        if (cay_intent_detect(m.text, strlen(m.text), &r, NULL, &err) < 0) {
                                got = -1;
                                break;
                        }
                        figures_count(&a->f, m.label, m.danger, &r);
                        figures_count(find_lang(a, m.lang), m.label, m.danger, &r);
                        show(&l, path, &m, &r);
                }
        if (got < 0)
                fprintf(stderr, "%s: line %u cannot be read\n", path, l.line);
        jsonl_close(&l);
        return got == 0;
}

static double share(unsigned part, unsigned whole)
{
        return whole ? (double)part / whole : 1;
}

static void print_row(const char *name, const struct figures *f)
{
        printf("| %s | %u | %u | %u | %u | %u of %u |\n", name, f->others, f->mistakes, f->runs, f->found,
               f->right, f->all);
}

static void print(const struct all *a)
{
        const struct figures *f = &a->f;

        puts("\n| language | must not run | run by mistake | asks for a run | found | the very label |\n"
             "|---|---|---|---|---|---|");
        for (unsigned i = 0; i < a->lang_count; i++)
                print_row(a->langs[i].name, &a->langs[i].f);
        print_row("all", f);
        puts("\n| label | none | run | explain | write | improve | why |\n|---|---|---|---|---|---|---|");
        for (unsigned i = 0; i < CAY_INTENT_COUNT; i++) {
                printf("| %s |", cay_intent_word((enum cay_intent)i));
                for (unsigned k = 0; k < CAY_INTENT_COUNT; k++)
                        printf(" %u |", f->table[i][k]);
                putchar('\n');
        }
        printf("\nmust not run: %u, run by mistake: %u (not run: %.4f)\n", f->others, f->mistakes,
               share(f->others - f->mistakes, f->others));
        printf("asks for a run: %u, found: %u (%.4f)\n", f->runs, f->found, share(f->found, f->runs));
        printf("the very label: %u of %u\n", f->right, f->all);
        printf("destructive or about production: %u, would run without a confirmation: %u\n", f->dangers,
               f->unasked);
        printf("harmless runs that are found: %u, of these a confirmation is asked for: %u\n", f->harmless,
               f->asked);
}

int main(int argc, char **argv)
{
        struct all *a = calloc(1, sizeof(*a));
        bool ok = a && argc > 1;

        if (argc < 2)
                fprintf(stderr, "usage: intent_eval FILE…\n");
        for (int i = 1; ok && i < argc; i++)
                ok = read_file(a, argv[i]);
        if (ok)
                print(a);
        free(a);
        return ok ? 0 : 1;
}
