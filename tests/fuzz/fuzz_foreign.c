/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A stranger's body for a row of the other surfaces (the first byte says which), translated for the op, and
 * the same bytes taken for the op's answer, translated back. Beyond "does not crash": what is made is JSON
 * that can be read again, and a refusal has a code and a text.
 */

#include <stdint.h>

#include "domain/settings/config.h"
#include "dialects/containers/containers.h"
#include "dialects/shared/foreign.h"
#include "dialects/sandbox_service/service_api.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Holds in every build, unlike assert. */
#define HOLDS(condition)                                                                                     \
        do {                                                                                                 \
                if (!(condition))                                                                            \
                        __builtin_trap();                                                                    \
        } while (0)

static void read_clock(const struct cay_clock *clock, struct cay_clock_reading *ret)
{
        (void)clock;
        *ret = (struct cay_clock_reading){ .wall_ms = 1 };
}

static const struct cay_clock clock_of_ours = { .read = read_clock };

static void must_parse(const struct cay_buf *text)
{
        cay_auto(cay_json_in_freep) struct cay_json_in *doc = NULL;
        const struct cay_json_in_limits limits = { .bytes = 16u << 20, .values = 1000000 };
        struct cay_error err = { 0 };

        HOLDS(cay_json_in_parse(cay_buf_data(text), text->len, &limits, &doc, &err) == 0);
}

static void ask(const struct cay_foreign *f, struct cay_json_in *in)
{
        cay_auto_buf struct cay_buf text = { 0 };
        struct cay_error err = { 0 };
        const char *field = NULL;
        struct cay_json j;

        cay_buf_init(&text, 16u << 20);
        cay_json_init(&j, &text);
        cay_json_begin_object(&j);
        if (f->row->put_args && f->row->put_args(f, &j, &field, &err) < 0) {
                HOLDS(err.code != CAY_OK && err.msg[0]);
                return;
        }
        cay_json_end_object(&j);
        HOLDS(cay_json_end(&j) == 0);
        must_parse(&text);
        HOLDS(cay_op_find(f->row->choose ? f->row->choose(f) : f->row->op));
        if (!f->row->put_answer)
                return;
        cay_buf_clear(&text);
        cay_json_init(&j, &text);
        cay_json_begin_object(&j);
        f->row->put_answer(f, cay_json_in_root(in), &j);
        cay_json_end_object(&j);
        HOLDS(cay_json_end(&j) == 0);
        must_parse(&text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
        static const struct cay_field none[] = { { .name = NULL } };
        static const struct cay_config config = { .max_memory = 512u << 20, .max_cpu = 500, .max_pids = 50 };
        static const struct cay_op_world world = { .config = &config, .clock = &clock_of_ours };
        unsigned nr = size > 0 ? data[0] % (cay_containers_count + cay_service_count) : 0;
        const struct cay_rest_more *more = nr < cay_containers_count
                                                   ? &cay_containers_rows[nr]
                                                   : &cay_service_rows[nr - cay_containers_count];
        const struct cay_foreign_row *row = more->owner;
        cay_auto(cay_json_in_freep) struct cay_json_in *in = NULL;
        _Alignas(max_align_t) char args[1024] = { 0 };
        const struct cay_foreign f = { .row = row, .world = &world, .args = args, .request_id = "r" };
        struct cay_error err = { 0 };

        HOLDS(row->args_size <= sizeof(args));
        if (size < 1 || cay_json_in_parse((const char *)data + 1, size - 1, NULL, &in, &err) < 0)
                return 0;
        if (cay_json_in_read(in, cay_json_in_root(in), row->fields ? row->fields : none, args, NULL, &err) <
            0) {
                HOLDS(err.code != CAY_OK && err.msg[0]);
                return 0;
        }
        ask(&f, in);
        return 0;
}
