/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Labelled messages as JSON lines: {"lang", "label", "danger", "text"}. Read whole; walked one by one; and
 * what is counted about them.
 */
#pragma once

#include "foundation/json/json_in.h"
#include "unit/domain/intent/labelled.h"

#define JSONL_MAX (1024u * 1024)
#define JSONL_LANGS_MAX 32u

struct jsonl {
        char *text, *at; /* text: owned */
        struct cay_json_in *doc;
        unsigned line;
};

struct jsonl_message {
        const char *lang, *text;
        enum cay_intent label;
        bool danger;
};

static inline bool jsonl_open(struct jsonl *l, const char *path)
{
        int fd = open(path, O_RDONLY | O_CLOEXEC);
        size_t len = 0;
        ssize_t n = -1;

        *l = (struct jsonl){ .text = calloc(1, JSONL_MAX) };
        while (fd >= 0 && l->text && len < JSONL_MAX - 1 &&
               (n = read(fd, l->text + len, JSONL_MAX - 1 - len)) > 0)
                len += (size_t)n;
        if (fd >= 0)
                close(fd);
        l->at = l->text;
        return n == 0 && len > 0;
}

static inline void jsonl_close(struct jsonl *l)
{
        cay_json_in_free(l->doc);
        free(l->text);
}

/* 1: there is one; 0: there are no more; -1: the line is none. What it fills holds until the next call. */
static inline int jsonl_next(struct jsonl *l, struct jsonl_message *ret)
{
        const struct cay_json_value *root;
        const char *label;
        struct cay_error err = { 0 };
        char *line, *end;

        cay_json_in_free(l->doc);
        l->doc = NULL;
        while (*l->at == '\n')
                l->at++;
        line = l->at;
        if (!*line)
                return 0;
        end = strchrnul(line, '\n');
        l->at = end;
        l->line++;
        if (cay_json_in_parse(line, (size_t)(end - line), NULL, &l->doc, &err) < 0)
                return -1;
        root = cay_json_in_root(l->doc);
        label = cay_json_value_text(cay_json_value_find(root, "label"));
        ret->lang = cay_json_value_text(cay_json_value_find(root, "lang"));
        ret->text = cay_json_value_text(cay_json_value_find(root, "text"));
        ret->danger = cay_json_value_is_true(cay_json_value_find(root, "danger"));
        ret->label = label ? labelled_find(label, strlen(label)) : CAY_INTENT_COUNT;
        return ret->lang && ret->text && ret->label < CAY_INTENT_COUNT ? 1 : -1;
}

/* Figures */

struct figures {
        unsigned table[CAY_INTENT_COUNT][CAY_INTENT_COUNT]; /* label, decision */
        unsigned runs, found, others, mistakes, right, all;
        unsigned dangers, unasked; /* destructive; of these: would run without a confirmation */
        unsigned harmless,
                asked; /* wanted runs of the others that are found; of these: a confirmation is asked for */
};

static inline void figures_count(struct figures *f, enum cay_intent label, bool danger,
                                 const struct cay_intent_result *r)
{
        bool must_run = label == CAY_INTENT_RUN, runs = r->decision == CAY_INTENT_RUN;

        f->table[label][r->decision]++;
        f->all++;
        f->right += label == r->decision;
        f->runs += must_run;
        f->found += must_run && runs;
        f->others += !must_run;
        f->mistakes += !must_run && runs;
        f->dangers += danger;
        f->unasked += danger && runs && !r->danger.what;
        f->harmless += !danger && must_run && runs;
        f->asked += !danger && must_run && runs && r->danger.what;
}
