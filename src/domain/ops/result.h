/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The answers of ops, as tables: one row per member, named in the op's row like its arguments. Schemas are
 * made from them, and test builds check every answer against them (result_check.h): an answer has every
 * member that is not optional, of its kind, and no other.
 */
#pragma once

#include <stdint.h>

enum cay_result_kind {
        CAY_RESULT_TEXT,
        CAY_RESULT_TIME,   /* text, RFC 3339 */
        CAY_RESULT_NUMBER, /* whole */
        CAY_RESULT_BOOL,
        CAY_RESULT_TEXTS,    /* a list of them */
        CAY_RESULT_NUMBERS,  /* the same */
        CAY_RESULT_WORDS,    /* a text or a list of texts */
        CAY_RESULT_EITHER,   /* a number or a text */
        CAY_RESULT_OBJECT,   /* of `table` */
        CAY_RESULT_LIST,     /* of such objects */
        CAY_RESULT_MAP,      /* names to such objects; as the only row, named "*": the whole result is one */
        CAY_RESULT_PAIRS,    /* names to texts */
        CAY_RESULT_COUNTS,   /* names to numbers */
        CAY_RESULT_ANY,      /* an object, or null */
        CAY_RESULT_WHATEVER, /* any JSON */
        CAY_RESULT_ALSO,     /* all members of `table`, inserted here; OPTIONAL: each may be left out */
        CAY_RESULT_KIND_COUNT
};

enum {
        CAY_RESULT_NULLABLE = 1,
        CAY_RESULT_OPTIONAL = 2, /* may be left out */
        CAY_RESULT_MEMBER =
                4,            /* its value is a member of a struct, from which cay_op_put_members writes it */
        CAY_RESULT_CHARS = 8, /* with that, TEXT: the member is an array of char and no pointer */
};

struct cay_result_field {
        const char *name; /* NULL ends the table; "" with ALSO */
        enum cay_result_kind kind;
        unsigned flags;
        const struct cay_result_table *table;
        /* CAY_RESULT_MEMBER: where. TEXT: const char *; NUMBER: unsigned, of any size; BOOL: bool; TIME: uint64_t, milliseconds */
        uint16_t offset, size;
};

struct cay_result_table {
        const char *name; /* "Sandbox", in schemas; NULL: is used once */
        const struct cay_result_field *fields;
};
