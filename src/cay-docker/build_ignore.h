/* SPDX-License-Identifier: Apache-2.0 */
/*
 * .dockerignore: which files of a template's folder a build does not get. One pattern a line, the last one
 * that fits decides, '!' takes a file back in. '*', '?' and '[a-z]' stand for parts of one name, "**" for any
 * number of folders; a backslash makes the next character plain. What fits a folder fits everything below it.
 * Pure; time grows with pattern times name and no faster.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "foundation/base/error.h"

#define DOCKER_IGNORE_MAX (64u * 1024) /* bytes of the file */
#define DOCKER_IGNORE_PATTERNS 512u

struct docker_ignore {
        char *text; /* owned: the patterns, NUL-terminated each */
        struct {
                const char *pattern;
                bool takes_in;
        } rows[DOCKER_IGNORE_PATTERNS];
        unsigned count;
        bool has_exceptions; /* a folder that is left out may still hold files that are not */
};

/* Copies what it needs. CAY_INVALID: too long or too many, with what to do. */
int docker_ignore_parse(struct docker_ignore *ig, const char *text, size_t len, struct cay_error *err);
void docker_ignore_done(struct docker_ignore *ig); /* safe on a zeroed struct */
/* A plain path below the folder ("a/b"). */
bool docker_ignore_has(const struct docker_ignore *ig, const char *path);
/* Does one pattern fit one path, whole? For tests. */
bool docker_ignore_fits(const char *pattern, const char *path, size_t path_len);
