/* SPDX-License-Identifier: Apache-2.0 */
/* Short names for the rows of result.h. For files that define such tables; never included by a header. */
#pragma once

#include <stddef.h>

#include "domain/ops/result.h"

#define RESULT_ROW_(name, kind, flags, table)                                                                \
        {                                                                                                    \
                name, CAY_RESULT_##kind, flags, table                                                        \
        }

#define TEXT(name) RESULT_ROW_(name, TEXT, 0, NULL)
#define TIME(name) RESULT_ROW_(name, TIME, CAY_RESULT_NULLABLE, NULL)
#define NUMBER(name) RESULT_ROW_(name, NUMBER, 0, NULL)
#define BOOL(name) RESULT_ROW_(name, BOOL, 0, NULL)
#define TEXTS(name) RESULT_ROW_(name, TEXTS, 0, NULL)
#define NUMBERS(name) RESULT_ROW_(name, NUMBERS, 0, NULL)
#define WORDS(name) RESULT_ROW_(name, WORDS, 0, NULL)
#define PAIRS(name) RESULT_ROW_(name, PAIRS, 0, NULL)
#define COUNTS(name) RESULT_ROW_(name, COUNTS, 0, NULL)
#define WHATEVER(name) RESULT_ROW_(name, WHATEVER, 0, NULL)
#define OBJECT(name, table) RESULT_ROW_(name, OBJECT, 0, &table)
#define LIST(name, table) RESULT_ROW_(name, LIST, 0, &table)
#define MAP(name, table) RESULT_ROW_(name, MAP, 0, &table)
#define ALSO(table) RESULT_ROW_("", ALSO, 0, &table)
/* A member of a struct, by its own name or another: cay_op_put_members writes it. */
#define MEMBER_AS(name, kind, flags, type, member)                                                           \
        {                                                                                                    \
                name, CAY_RESULT_##kind, CAY_RESULT_MEMBER | (flags), NULL, offsetof(type, member),          \
                        sizeof(((type *)0)->member)                                                          \
        }
#define MEMBER(kind, type, member) MEMBER_AS(#member, kind, 0, type, member)
/* May be null; may be left out; both. */
#define MAYBE(name, kind) RESULT_ROW_(name, kind, CAY_RESULT_NULLABLE, NULL)
#define IF(name, kind) RESULT_ROW_(name, kind, CAY_RESULT_OPTIONAL, NULL)
#define SOME(name, kind) RESULT_ROW_(name, kind, CAY_RESULT_OPTIONAL | CAY_RESULT_NULLABLE, NULL)
#define IF_OBJECT(name, table) RESULT_ROW_(name, OBJECT, CAY_RESULT_OPTIONAL, &table)
#define IF_LIST(name, table) RESULT_ROW_(name, LIST, CAY_RESULT_OPTIONAL, &table)

/* A table: its variable, its name in schemas (NULL: none), its rows. */
#define SHARED_RESULT(var, text, ...)                                                                        \
        const struct cay_result_table var = { text, (const struct cay_result_field[]){                       \
                                                            __VA_ARGS__ __VA_OPT__(, ){ NULL } } }
#define RESULT(...) static SHARED_RESULT(__VA_ARGS__)
