/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Writes the tables of src/cay/cli/ops.h as C, from the op table itself: run at build time. Pointers in a static program cost at every
 * start, for a table that `cay run` never looks at: so what is written holds none. Texts lie in one array, rows have places in it,
 * and a function makes the tables when they are first asked for.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "domain/ops/op.h"

static size_t text_len; /* of what put_text has written */
static unsigned field_count;

/* Appends to the array of texts; where it begins. */
static size_t put_text(const char *s)
{
        size_t at = text_len;

        printf("        \"");
        for (; s != NULL && *s != '\0'; s++, text_len++) {
                if (*s == '"' || *s == '\\')
                        printf("\\%c", *s);
                else if (*s == '\n')
                        printf("\\n");
                else
                        putchar(*s);
        }
        printf("\\0\"\n");
        text_len++;
        return at;
}

/* Both passes walk in the same order: first the texts, then the rows that point into them. */
static void put_field_texts(const struct cay_field *fields)
{
        for (const struct cay_field *f = fields; f != NULL && f->name != NULL; f++) {
                put_text(f->name);
                put_text(f->doc);
        }
        for (const struct cay_field *f = fields; f != NULL && f->name != NULL; f++)
                if (f->fields != NULL)
                        put_field_texts(f->fields);
}

static size_t take_text(size_t *at, const char *s)
{
        size_t from = *at;

        *at += (s != NULL ? strlen(s) : 0) + 1;
        return from;
}

static unsigned count_fields(const struct cay_field *fields)
{
        unsigned n = 0;

        while (fields != NULL && fields[n].name != NULL)
                n++;
        return n;
}

/* A table and its end, then those of its objects; `inner` is where the first of those will stand. */
static void put_fields(const struct cay_field *fields, size_t *at)
{
        unsigned inner = field_count + count_fields(fields) + 1;

        for (const struct cay_field *f = fields; f != NULL && f->name != NULL; f++) {
                size_t name = take_text(at, f->name), doc = take_text(at, f->doc);

                printf("        { %zu, %zu, %d, %" PRIu64 "u, %" PRIu64 "u, %" PRIu64 "u, %zu, %u },\n", name,
                       doc, (int)f->kind, f->flags, f->min, f->max, f->item_max,
                       f->fields != NULL ? inner : 0);
                if (f->fields != NULL)
                        inner += count_fields(f->fields) + 1;
        }
        printf("        { 0 },\n");
        field_count += count_fields(fields) + 1;
        for (const struct cay_field *f = fields; f != NULL && f->name != NULL; f++)
                if (f->fields != NULL)
                        put_fields(f->fields, at);
}

static const char *scope_of(const struct cay_op *op)
{
        return op->flags & CAY_OP_OPEN       ? ""
               : op->scope & CAY_SCOPE_ADMIN ? "admin"
               : op->scope & CAY_SCOPE_EXEC  ? "exec"
                                             : "read";
}

static void method_of(const struct cay_op *op, char ret[16])
{
        snprintf(ret, 16, "%.*s", (int)strcspn(op->route, " "), op->route);
}

static void put_texts(void)
{
        printf("static const char texts[] =\n");
        for (unsigned i = 0; i < cay_op_count; i++) {
                const struct cay_op *op = cay_ops[i];
                char method[16];

                method_of(op, method);
                put_text(op->name);
                put_text(method);
                put_text(strchr(op->route, ' ') + 1);
                put_text(op->doc);
                put_text(scope_of(op));
        }
        for (unsigned i = 0; i < cay_op_count; i++)
                put_field_texts(cay_ops[i]->fields);
        printf("        \"\";\n\n");
}

/* Where the fields' texts begin: behind those of the ops. */
static size_t skip_ops(void)
{
        size_t at = 0;

        for (unsigned i = 0; i < cay_op_count; i++)
                at += strlen(cay_ops[i]->name) + strlen(cay_ops[i]->route) + 1 + strlen(cay_ops[i]->doc) + 1 +
                      strlen(scope_of(cay_ops[i])) + 2;
        return at;
}

static void put_ops(const unsigned *first)
{
        size_t at = 0;

        printf("static const struct cay_cli_op_row ops[] = {\n");
        for (unsigned i = 0; i < cay_op_count; i++) {
                const struct cay_op *op = cay_ops[i];
                size_t name = take_text(&at, op->name), method, path, doc, scope;
                char text[16];

                method_of(op, text);
                method = take_text(&at, text);
                path = take_text(&at, strchr(op->route, ' ') + 1);
                doc = take_text(&at, op->doc);
                scope = take_text(&at, scope_of(op));
                printf("        { %zu, %zu, %zu, %zu, %zu, %d, %d, %d, %u },\n", name, method, path, doc,
                       scope, !!(op->flags & CAY_OP_RAW_IN), !!(op->flags & CAY_OP_STREAM),
                       !!(op->flags & CAY_OP_DESTRUCTIVE), first[i]);
        }
        printf("};\n\n");
}

int main(void)
{
        unsigned first[256];
        size_t at = skip_ops();

        if (cay_op_count > 256)
                return 1;
        printf("/* Written by tools/gen_cli out of src/domain/ops. */\n#include \"cay/cli/ops.h\"\n\n");
        put_texts();
        printf("static const struct cay_cli_field_row fields[] = {\n");
        for (unsigned i = 0; i < cay_op_count; i++) {
                first[i] = field_count;
                put_fields(cay_ops[i]->fields, &at);
        }
        printf("};\n\n");
        put_ops(first);
        printf("static struct cay_field made_fields[%u];\nstatic struct cay_cli_op made_ops[%u];\n\n",
               field_count, cay_op_count);
        printf("struct cay_cli_tables cay_cli_tables_get(void)\n{\n"
               "        return (struct cay_cli_tables){ texts, fields, %u, ops, %u, made_fields, made_ops "
               "};\n}\n",
               field_count, cay_op_count);
        return at != text_len || fflush(stdout) != 0 || ferror(stdout);
}
