/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The single values of sandbox_fields.def as one struct. Requests, templates, sandboxes, their records, specs
 * and views hold it whole and copy it whole, so that a new row needs no code between the request and the
 * engine.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "foundation/base/arena.h"
#include "foundation/base/field.h"

#define CAY_WARM_MODULES_MAX 256 /* bytes of warm_modules, with its end */

#define CAY_OPTION_TYPE_BOOL bool
#define CAY_OPTION_TYPE_NUMBER uint64_t
#define CAY_OPTION_TYPE_TEXT const char *

struct cay_sandbox_options {
#define CAY_SANDBOX_FIELD(kind, name, uses, head, doc) CAY_OPTION_TYPE_##kind name;
#include "domain/model/sandbox_fields.def"
#undef CAY_SANDBOX_FIELD
};

/*
 * For tables made from the rows: keeps what stands in brackets for rows that may be asked for, or that are
 * shown.
 */
#define CAY_OPTION_IF_ASKED_PUBLIC(...) __VA_ARGS__
#define CAY_OPTION_IF_ASKED_SHOWN(...)
#define CAY_OPTION_IF_ASKED_KEPT(...)
#define CAY_OPTION_IF_SHOWN_PUBLIC(...) __VA_ARGS__
#define CAY_OPTION_IF_SHOWN_SHOWN(...) __VA_ARGS__
#define CAY_OPTION_IF_SHOWN_KEPT(...)
/* The row of struct cay_field that fills one; `at` is its offset. */
#define CAY_OPTION_FIELD_BOOL CAY_FIELD_BOOL
#define CAY_OPTION_FIELD_NUMBER CAY_FIELD_U64
#define CAY_OPTION_FIELD_TEXT CAY_FIELD_TEXT
#define CAY_OPTION_ROW(kind_, name_, at, text)                                                               \
        {                                                                                                    \
                .name = #name_, .kind = CAY_OPTION_FIELD_##kind_, .offset = at, .doc = text                  \
        }

/* What was not asked for is as in `other`. */
void cay_sandbox_options_fill(struct cay_sandbox_options *o, const struct cay_sandbox_options *other);
/* Texts are copied to mem. 0, or -ENOMEM. */
int cay_sandbox_options_copy(struct cay_arena *mem, const struct cay_sandbox_options *from,
                             struct cay_sandbox_options *to);
