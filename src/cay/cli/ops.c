/* SPDX-License-Identifier: Apache-2.0 */
/* The daemon's operations: tables made from the generated rows on first use. */
#include "cay/cli/ops.h"

#include <string.h>

static void make_fields(const struct cay_cli_tables *t)
{
        for (unsigned i = 0; i < t->field_count; i++) {
                const struct cay_cli_field_row *row = &t->field_rows[i];

                if (row->kind == CAY_FIELD_NONE)
                        continue; /* the end of a table */
                t->fields[i] =
                        (struct cay_field){ .name = t->texts + row->name,
                                            .doc = t->texts + row->doc,
                                            .kind = (enum cay_field_kind)row->kind,
                                            .flags = row->flags,
                                            .min = row->min,
                                            .max = row->max,
                                            .item_max = row->item_max,
                                            .fields = row->fields > 0 ? &t->fields[row->fields] : NULL };
        }
}

const struct cay_cli_op *cay_cli_ops(unsigned *ret_count)
{
        const struct cay_cli_tables t = cay_cli_tables_get();

        *ret_count = t.op_count;
        if (t.ops[0].name != NULL)
                return t.ops;
        make_fields(&t);
        for (unsigned i = 0; i < t.op_count; i++) {
                const struct cay_cli_op_row *row = &t.op_rows[i];

                t.ops[i] = (struct cay_cli_op){ .name = t.texts + row->name,
                                                .method = t.texts + row->method,
                                                .path = t.texts + row->path,
                                                .doc = t.texts + row->doc,
                                                .scope = t.texts + row->scope,
                                                .takes_bytes = row->takes_bytes,
                                                .streams = row->streams,
                                                .destroys = row->destroys,
                                                .fields = &t.fields[row->fields] };
        }
        return t.ops;
}

const struct cay_cli_op *cay_cli_op_find(const char *name)
{
        unsigned count;
        const struct cay_cli_op *ops = cay_cli_ops(&count);

        for (unsigned i = 0; i < count; i++)
                if (strcmp(ops[i].name, name) == 0)
                        return &ops[i];
        return NULL;
}
