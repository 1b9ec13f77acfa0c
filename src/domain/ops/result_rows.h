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
/*
 * Members of a struct, which cay_op_put_members writes: AS by another name, MEMBER by its own. MAYBE_AS is
 * null and IF_AS is left out where the value is 0 or ""; MAYBE_GIVEN and IF_GIVEN where the bool `given` is
 * false. WORD: an enum by its word. MASK: a bit set by the words of its bits.
 */
#define FLAGS_TEXT 0
#define FLAGS_NUMBER 0
#define FLAGS_BOOL 0
#define FLAGS_PAIRS 0
#define FLAGS_TIME CAY_RESULT_NULLABLE
#define FLAGS_ANY CAY_RESULT_NULLABLE
#define MEMBER_OF_(type, member_) (((type *)0)->member_)
#define IS_TYPE_(type, member_, other)                                                                       \
        __builtin_types_compatible_p(__typeof__(MEMBER_OF_(type, member_)), __typeof__(other))
#define CHARS_(type, member_)                                                                                \
        (IS_TYPE_(type, member_, char[sizeof(MEMBER_OF_(type, member_))]) ? CAY_RESULT_CHARS : 0)
#define ROW_AS_(name_, kind_, flags_, type, member_, ...)                                                    \
        {                                                                                                    \
                .name = name_, .kind = CAY_RESULT_##kind_,                                                   \
                .flags = CAY_RESULT_MEMBER | FLAGS_##kind_ | CHARS_(type, member_) | (flags_),               \
                .offset = offsetof(type, member_), .size = sizeof(MEMBER_OF_(type, member_)), __VA_ARGS__    \
        }
#define AS(name, kind, type, member) ROW_AS_(name, kind, 0, type, member)
#define MEMBER(kind, type, member) ROW_AS_(#member, kind, 0, type, member)
#define MAYBE_AS(name, kind, type, member) ROW_AS_(name, kind, CAY_RESULT_NULLABLE, type, member)
#define IF_AS(name, kind, type, member) ROW_AS_(name, kind, CAY_RESULT_OPTIONAL, type, member)
#define MAYBE_GIVEN(name, kind, type, member, is_given)                                                      \
        ROW_AS_(name, kind, CAY_RESULT_NULLABLE, type, member, .given = offsetof(type, is_given) + 1)
#define IF_GIVEN(name, kind, type, member, is_given)                                                         \
        ROW_AS_(name, kind, CAY_RESULT_OPTIONAL, type, member, .given = offsetof(type, is_given) + 1)
#define SECONDS(name, type, member) ROW_AS_(name, TIME, CAY_RESULT_SECONDS, type, member)
#define WORD(name, type, member, function) ROW_AS_(name, TEXT, 0, type, member, .word = function)
#define MAYBE_WORD(name, type, member, function)                                                             \
        ROW_AS_(name, TEXT, CAY_RESULT_NULLABLE, type, member, .word = function)
#define IF_WORD(name, type, member, function, is_given)                                                      \
        ROW_AS_(name, TEXT, CAY_RESULT_OPTIONAL, type, member, .word = function,                             \
                .given = offsetof(type, is_given) + 1)
#define FLAGS_TEXTS 0
#define MASK(name, type, member, function) ROW_AS_(name, TEXTS, 0, type, member, .word = function)
/* For WORD and MASK: the word function of an enum as one of numbers. */
#define WORD_FUNCTION(var, function)                                                                         \
        static const char *var(unsigned value)                                                               \
        {                                                                                                    \
                return function(value);                                                                      \
        }
/*
 * What has rows of its own: a struct inside, its members among these, a struct pointed to, these members as
 * an object.
 */
#define FLAGS_OBJECT 0
#define FLAGS_ALSO 0
#define FLAGS_LIST 0
#define OBJECT_AS(name, rows, type, member) ROW_AS_(name, OBJECT, 0, type, member, .table = &rows)
#define OBJECT_AT(name, rows, type, member)                                                                  \
        ROW_AS_(name, OBJECT, CAY_RESULT_POINTER, type, member, .table = &rows)
#define OBJECT_HERE(name_, rows)                                                                             \
        {                                                                                                    \
                .name = name_, .kind = CAY_RESULT_OBJECT, .flags = CAY_RESULT_MEMBER, .table = &rows         \
        }
#define IF_OBJECT_HERE(name_, rows, type, is_given)                                                          \
        {                                                                                                    \
                .name = name_, .kind = CAY_RESULT_OBJECT, .table = &rows,                                    \
                .flags = CAY_RESULT_MEMBER | CAY_RESULT_OPTIONAL, .given = offsetof(type, is_given) + 1      \
        }
#define ALSO_AS(rows, type, member) ROW_AS_("", ALSO, 0, type, member, .table = &rows)
/* An array inside or pointed to. */
#define POINTER_(type, member_)                                                                              \
        (IS_TYPE_(type, member_, &MEMBER_OF_(type, member_)[0]) ? CAY_RESULT_POINTER : 0)
#define LIST_AS(name_, rows, type, member_, count_)                                                          \
        {                                                                                                    \
                .name = name_, .kind = CAY_RESULT_LIST, .table = &rows,                                      \
                .flags = CAY_RESULT_MEMBER | POINTER_(type, member_), .offset = offsetof(type, member_),     \
                .size = sizeof(MEMBER_OF_(type, member_)[0]), .count = offsetof(type, count_)                \
        }
/* Values that a function computes from the struct. */
#define COMPUTED(name_, kind_, flags_, function)                                                             \
        {                                                                                                    \
                .name = name_, .kind = CAY_RESULT_##kind_, .flags = CAY_RESULT_MEMBER | (flags_),            \
                .put = function                                                                              \
        }
#define COMPUTED_IF(name_, kind_, function, type, is_given)                                                  \
        {                                                                                                    \
                .name = name_, .kind = CAY_RESULT_##kind_, .flags = CAY_RESULT_MEMBER | CAY_RESULT_OPTIONAL, \
                .given = offsetof(type, is_given) + 1, .put = function                                       \
        }
#define COMPUTED_OF(name_, kind_, rows, function)                                                            \
        {                                                                                                    \
                .name = name_, .kind = CAY_RESULT_##kind_, .flags = CAY_RESULT_MEMBER, .table = &rows,       \
                .put = function                                                                              \
        }
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
