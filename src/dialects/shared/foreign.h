/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Shared by the dialects of other HTTP APIs: rows, each with an op and two translations (their fields to the
 * op's arguments, the op's answer to theirs). Errors have REST's form, streams its two encodings. The op
 * checks everything that a row's own table does not.
 *
 * A request is routed and admitted by REST (dialects/rest/rest.h), its query and body are read by the row's
 * table, and then the op is called (dialects/call/call.h). If the client goes away, the op is told. A stream
 * of events is passed on unchanged.
 */
#pragma once

#include "foundation/base/field.h"
#include "foundation/base/json_out.h"
#include "dialects/rest/rest.h"
#include "foundation/json/json_in.h"
#include "domain/ops/op.h"

struct cay_foreign { /* one request, for the translations */
        const struct cay_foreign_row *row;
        const struct cay_op_world *world;
        const void *args; /* by the row's table */
        bool is_known;
        const char *request_id;
};

struct cay_foreign_row {
        const char *op; /* the op's name */
        enum cay_op_dialect dialect;
        const struct cay_field *fields;
        size_t args_size;
        /* May choose another op for this request. NULL: op. */
        const char *(*choose)(const struct cay_foreign *f);
        /*
         * Writes the op's arguments, as members of an open object. NULL: none. -1: refused; ret_field as in a
         * fail.
         */
        int (*put_args)(const struct cay_foreign *f, struct cay_json *j, const char **ret_field,
                        struct cay_error *err);
        /* The client's name for a faulty argument of the op; NULL, or a row without this: the same name. */
        const char *(*their_field)(const struct cay_foreign *f, const char *field);
        /* Writes the client's answer from the op's, in the same way. */
        void (*put_answer)(const struct cay_foreign *f, const struct cay_json_value *answer,
                           struct cay_json *j);
};

extern const struct cay_result_table cay_foreign_result_run; /* what cay_foreign_copy_run writes */

/* struct cay_rest_more.handle; owner is a struct cay_foreign_row. */
void cay_foreign_handle(const void *owner, const struct cay_rest_place *place, struct cay_http_request *req,
                        const struct cay_visitor *v);

/* For translations. */
/* Writes `key` with a value of the op's answer; null if it has none. */
void cay_foreign_copy(struct cay_json *j, const char *key, const struct cay_json_value *answer,
                      const char *name);
void cay_foreign_put(struct cay_json *j, const char *key, const struct cay_json_value *value);
/* Those of `names` (NULL-terminated) under their own names. */
void cay_foreign_copy_all(struct cay_json *j, const struct cay_json_value *answer, const char *const *names);
/* A run's result: its end, the reason, its output. */
void cay_foreign_copy_run(struct cay_json *j, const struct cay_json_value *answer);
/* Arguments of the op, left out if the client gave none. */
void cay_foreign_text(struct cay_json *j, const char *key, const char *value); /* NULL: nothing */
void cay_foreign_ms(struct cay_json *j, const char *key, uint64_t ms);         /* "1500ms"; 0: nothing */
void cay_foreign_words(struct cay_json *j, const char *key, const struct cay_field_texts *words);
void cay_foreign_map(struct cay_json *j, const char *key, const struct cay_field_map *map);
