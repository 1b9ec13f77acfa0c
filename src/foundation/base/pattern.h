/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Matches untrusted patterns in time linear in the text, whatever the pattern is: regular expressions as most
 * languages write them, and glob patterns. Pure; sizes and depths are bounded.
 *
 * Theory of operation. A pattern becomes a short program whose jumps are relative, so that a part of it can
 * be copied or moved. The program is run as a set of places (Thompson's simulation): each byte of the text is
 * looked at once, for at most as many places as the program has. Hence no references to groups and no looking
 * around, which nobody can match that way; they are refused with a text that says so.
 *
 * Text is bytes; `.` and negated classes take a whole UTF-8 character.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "foundation/base/error.h"

#define CAY_PATTERN_TEXT_MAX 1000u /* bytes of a pattern */
#define CAY_PATTERN_CODE_MAX 4000u /* steps of a program */
#define CAY_PATTERN_CLASSES_MAX 64u
#define CAY_PATTERN_DEPTH 40u /* groups inside each other */

enum {                          /* flags */
       CAY_PATTERN_LITERAL = 1, /* nothing in it is special */
       CAY_PATTERN_NO_CASE = 2, /* of ASCII letters */
};

struct cay_pattern_step {
        uint8_t op, c;   /* c: a byte, or the number of a class */
        int16_t to, or ; /* where to go on, relative */
};

struct cay_pattern {
        struct cay_pattern_step code[CAY_PATTERN_CODE_MAX];
        uint8_t classes[CAY_PATTERN_CLASSES_MAX][32];
        unsigned count, class_count;
        bool no_case;
        bool may_be_empty; /* matches where no byte is */
        uint8_t first[32]; /* bytes that a match can begin with */
};

struct cay_pattern_run { /* room for one search */
        uint16_t now[CAY_PATTERN_CODE_MAX], next[CAY_PATTERN_CODE_MAX], stack[2 * CAY_PATTERN_CODE_MAX];
        uint16_t where[CAY_PATTERN_CODE_MAX];
        unsigned now_count, next_count;
};

/* 0, or -1 with CAY_INVALID: what is wrong and where, without the name of a field. */
int cay_pattern_compile(struct cay_pattern *p, const char *text, size_t len, unsigned flags,
                        struct cay_error *err);
/*
 * A glob pattern, for whole paths: * and ? stay within one name, ** does not, [a-z] and {a,b} work. One
 * without a slash is about the last name alone, wherever that is.
 */
int cay_pattern_compile_glob(struct cay_pattern *p, const char *glob, size_t len, struct cay_error *err);
/*
 * Whether there is a match in these bytes, which hold no newline; ret_end: behind the first one that ends.
 * at_start, at_end: the bytes begin, end a line (else they are a piece of a long one).
 */
bool cay_pattern_find(const struct cay_pattern *p, struct cay_pattern_run *run, const char *bytes, size_t len,
                      bool at_start, bool at_end, size_t *ret_end);
