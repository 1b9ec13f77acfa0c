/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tables of named fields: how a plain struct is filled from a request. One table serves every source that
 * names values: a JSON body (foundation/json/json_in.h reads it), a query string, flags; and every text made
 * from it (schemas, help). A table ends with a row without a name. What a field points to belongs to the
 * source (a document, argv).
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "foundation/base/error.h"

enum cay_field_kind { /* the member that a row of this kind fills */
                      CAY_FIELD_NONE,
                      CAY_FIELD_TEXT, /* const char *: at most `max` bytes (0: 4,096), at least `min` */
                      CAY_FIELD_U64,  /* uint64_t from `min` to `max` (0: no upper bound) */
                      CAY_FIELD_BOOL, /* bool */
                      CAY_FIELD_SIZE, /* uint64_t, bytes: a number or "256m" */
                      /* uint64_t, milliseconds: a number of seconds or "90s", "0.5", "2h", "1d" */
                      CAY_FIELD_DURATION,
                      CAY_FIELD_MILLI, /* uint64_t, thousandths: a number or "0.5" */
                      /* struct cay_field_texts: at most `max` texts (0: 1,024) of at most `item_max` bytes */
                      CAY_FIELD_TEXTS,
                      CAY_FIELD_WORDS, /* the same, or one text, which is then `line` */
                      /*
                       * struct cay_field_map: at most `max` pairs (0: 1,024), values of at most `item_max`
                       * bytes
                       */
                      CAY_FIELD_MAP,
                      CAY_FIELD_OBJECT, /* an embedded struct, filled by the table `fields` */
                      CAY_FIELD_PARSED, /* whatever `parse` makes of a text or number */
                      CAY_FIELD_ANY,    /* const struct cay_json_value *: kept as it came (JSON only) */
                      CAY_FIELD_KIND_COUNT
};

enum {
        CAY_FIELD_REQUIRED = 1,
        CAY_FIELD_NUMBERS = 2, /* TEXTS: whole numbers are taken too, as their texts */
        CAY_FIELD_BYTES = 4,   /* TEXT: need not be UTF-8 where the source can say so (a query's %FF) */
};

struct cay_field_texts {
        const char **items; /* owned by the source; NULL-terminated */
        unsigned count;
        const char *line; /* WORDS given as one text: then there are no items */
};

struct cay_field_pair {
        const char *name, *value;
};

struct cay_field_map {
        struct cay_field_pair *pairs; /* owned by the source, in the order given */
        unsigned count;
};

struct cay_field {
        const char *name; /* NULL ends the table */
        enum cay_field_kind kind;
        size_t offset; /* of the member */
        uint64_t flags;
        const char *doc;
        uint64_t min, max;
        size_t item_max;                /* 0: 4,096 */
        const struct cay_field *fields; /* OBJECT */
        /*
         * PARSED: fills the member at `at`; the error starts with `where`, which is how the caller named the
         * field.
         */
        int (*parse)(const struct cay_field *field, const char *where, const char *text, void *at,
                     struct cay_error *err);
        size_t nr; /* for `parse`: a limit's number… */
        /* 1 + offset of a bool that says that the field was there; 0: nobody asks (CAY_FIELD_GIVEN) */
        size_t given;
};

#define CAY_FIELD_GIVEN(type, member) (offsetof(type, member) + 1)
#define CAY_FIELD_TEXT_MAX 4096
#define CAY_FIELD_ITEMS_MAX 1024

const struct cay_field *cay_field_find(const struct cay_field *table, const char *name,
                                       size_t len); /* NULL: none */
/*
 * Fills a field of one value (TEXT, U64, BOOL, SIZE, DURATION, MILLI, PARSED) from a text, which is borrowed
 * for as long as the struct is used. `where` names it in errors ("limits.memory", "--memory").
 */
int cay_field_set_text(const struct cay_field *field, const char *where, const char *text, void *args,
                       struct cay_error *err);
/* Whether a number is in the range of its row. */
int cay_field_check_range(const struct cay_field *field, const char *where, uint64_t v,
                          struct cay_error *err);
void cay_field_note_given(const struct cay_field *field, void *args);
const char *cay_field_kind_text(enum cay_field_kind kind); /* "a size (like 256m or 1048576)"; never NULL */
