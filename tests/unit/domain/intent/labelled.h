/* SPDX-License-Identifier: Apache-2.0 */
/* The labelled messages of tests/data/intent: "=== label" before each. Read whole; walked one by one. */
#pragma once

#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "domain/intent/intent.h"

#define LABELLED_MAX (256u * 1024)
#define LABEL_MARK "=== "

struct labelled {
        char *text, *at; /* text: owned */
};

static inline bool labelled_open(struct labelled *l, const char *speech, const char *half)
{
        const char *root = getenv("CAY_SOURCE_DIR");
        char path[PATH_MAX];
        ssize_t n;
        int fd;

        snprintf(path, sizeof(path), "%s/tests/data/intent/%s.%s.txt", root ? root : ".", speech, half);
        fd = open(path, O_RDONLY | O_CLOEXEC);
        *l = (struct labelled){ .text = calloc(1, LABELLED_MAX) };
        n = fd >= 0 && l->text ? read(fd, l->text, LABELLED_MAX - 1) : -1;
        if (fd >= 0)
                close(fd);
        l->at = l->text;
        return n > 0 && (size_t)n < LABELLED_MAX - 1;
}

static inline void labelled_close(struct labelled *l)
{
        free(l->text);
}

static inline enum cay_intent labelled_find(const char *word, size_t len)
{
        for (unsigned i = 0; i < CAY_INTENT_COUNT; i++)
                if (strlen(cay_intent_word((enum cay_intent)i)) == len &&
                    memcmp(cay_intent_word((enum cay_intent)i), word, len) == 0)
                        return (enum cay_intent)i;
        return CAY_INTENT_COUNT;
}

/* false: there are no more. A label that is none gives CAY_INTENT_COUNT. */
static inline bool labelled_next(struct labelled *l, enum cay_intent *ret_label, const char **ret,
                                 size_t *ret_len)
{
        char *label = l->at, *end, *next;

        if (strncmp(label, LABEL_MARK, strlen(LABEL_MARK)) != 0)
                return false;
        label += strlen(LABEL_MARK);
        end = strchr(label, '\n');
        if (!end)
                return false;
        *ret_label = labelled_find(label, (size_t)(end - label));
        next = strstr(end, "\n" LABEL_MARK);
        l->at = next ? next + 1 : end + strlen(end);
        *ret = end + 1;
        *ret_len = (size_t)(l->at - end - 1);
        return true;
}
