/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The answers of ops, as tables: one row per member, named in the op's row like its arguments. Schemas are
 * made from them, and test builds check every answer against them (result_check.h): an answer has every
 * member that is not optional, of its kind, and no other.
 *
 * A row may also say where its value is in a struct (CAY_RESULT_MEMBER), or which function computes it. Such
 * rows write the answer: cay_op_put_members takes a struct and its table. The op writes the other rows
 * itself.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct cay_json;

enum cay_op_dialect { /* whose terms advice uses (domain/ops/advice.h) */
                      CAY_OP_REST,
                      CAY_OP_CONTAINERS,
                      CAY_OP_SERVICE,
                      CAY_OP_MCP,
                      CAY_OP_E2B,
                      CAY_OP_BROWSERBASE,
                      CAY_OP_DIALECT_COUNT
};

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
        CAY_RESULT_POINTER = 16, /* OBJECT and LIST: the member is a pointer to it */
        CAY_RESULT_SECONDS = 32, /* TIME: the member is in seconds, not milliseconds */
};

/*
 * Members of structs, by kind. TEXT: const char *, or with `word` an enum. NUMBER: unsigned, of any size.
 * BOOL: bool. TIME: of any size, 0: null. ANY: const char *, a JSON object. TEXTS: a bit mask; `word` names
 * each bit. PAIRS: struct cay_field_map. OBJECT, ALSO: a struct with rows of its own. LIST: an array of them.
 *
 * A member that is NULLABLE is null, and one that is OPTIONAL is left out, where `given` says so; without
 * `given`, where the value is 0 or "".
 */
struct cay_result_field {
        const char *name; /* NULL ends the table; "" with ALSO */
        enum cay_result_kind kind;
        unsigned flags;
        const struct cay_result_table *table;
        uint16_t offset, size; /* CAY_RESULT_MEMBER: where; size: of the value, of LIST one item's */
        uint16_t given;        /* offset of a bool, plus 1; 0: none */
        uint16_t count;        /* LIST: offset of the number of items (unsigned) */
        const char *(*word)(unsigned value);
        /* Writes the value, from the struct; NULL: the member is copied. */
        void (*put)(struct cay_json *j, const void *object, enum cay_op_dialect dialect);
};

struct cay_result_table {
        const char *name; /* "Sandbox", in schemas; NULL: is used once */
        const struct cay_result_field *fields;
};
