/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What ops answer, as tables: one row per member, for whoever writes schemas. A table is a promise: an answer has every member that is not
 * optional and none that is not here, and tests hold real answers against it.
 */
#pragma once

#include "domain/ops/op.h"

enum cay_answer_kind {
        CAY_ANSWER_TEXT,
        CAY_ANSWER_TIME,   /* text, RFC 3339 */
        CAY_ANSWER_NUMBER, /* whole */
        CAY_ANSWER_BOOL,
        CAY_ANSWER_TEXTS,    /* a list of them */
        CAY_ANSWER_NUMBERS,  /* the same */
        CAY_ANSWER_WORDS,    /* a text or a list of them */
        CAY_ANSWER_EITHER,   /* a number or a text */
        CAY_ANSWER_OBJECT,   /* of `shape` */
        CAY_ANSWER_LIST,     /* of such objects */
        CAY_ANSWER_MAP,      /* names to such objects */
        CAY_ANSWER_PAIRS,    /* names to texts */
        CAY_ANSWER_COUNTS,   /* names to numbers */
        CAY_ANSWER_ANY,      /* an object, or null */
        CAY_ANSWER_WHATEVER, /* any JSON */
        CAY_ANSWER_ALSO,     /* all members of `shape`, in place */
        CAY_ANSWER_KIND_COUNT
};

enum {
        CAY_ANSWER_NULLABLE = 1,
        CAY_ANSWER_OPTIONAL = 2, /* may be left out */
};

struct cay_answer_field {
        const char *name; /* NULL ends the table; "" with ALSO */
        enum cay_answer_kind kind;
        unsigned flags;
        const struct cay_answer_shape *shape;
};

struct cay_answer_shape {
        const char *name; /* "Sandbox"; NULL: is used once */
        const struct cay_answer_field *fields;
};

struct cay_answer {
        const char *op;
        enum cay_op_status status;            /* the most usual */
        enum cay_op_status other;             /* another that it may have, or the same */
        const struct cay_answer_shape *shape; /* NULL: no JSON */
        const char *bytes; /* content types of an answer of bytes, with blanks between; NULL: none */
        const struct cay_answer_shape *other_shape; /* of the other status; NULL: the same */
};

/* By the name of an op, or of a row of another dialect (rest.h, listed). NULL: nobody wrote it down. */
const struct cay_answer *cay_answer_find(const char *op);
