/* SPDX-License-Identifier: Apache-2.0 */
/* Pieces of what passes, and their rules. */
#include "cay-docker/seccomp_args.h"

#include <asm/ioctls.h>
#include <asm/termbits.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/fiemap.h>
#include <linux/fs.h>
#include <linux/fsverity.h>
#include <linux/memfd.h>
#include <linux/netlink.h>
#include <linux/ptrace.h>
#include <linux/seccomp.h>
#include <linux/sockios.h>
#include <netinet/in.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/personality.h>
#include <sys/prctl.h>
#include <sys/shm.h>
#include <sys/socket.h>
#include <sys/stat.h>

/* clang-format off */
#define ALLOW true
#define NOTIFY false /* nobody is told here: answered EPERM, like all that no rule lets pass */
#define FAIL(error) false
#define IS(a, m, v) { DOCKER_SECCOMP_IS, (a), (uint32_t)(m), (uint32_t)(v) }
#define NOT(a, m, v) { DOCKER_SECCOMP_NOT, (a), (uint32_t)(m), (uint32_t)(v) }
#define HAS(a, m) { DOCKER_SECCOMP_NOT, (a), (uint32_t)(m), 0 }
#define IN(a, from, bits) { DOCKER_SECCOMP_IN, (a), (uint32_t)(bits), (uint32_t)(from) }
#define AT(v) (1u << ((v) & 31))
#define WHEN(verdict, ...) { (verdict), { __VA_ARGS__ } }
#define CAY_SC_ALLOW(call)
#define CAY_SC_ARGS(call, otherwise, why, ...) \
        { #call, (otherwise), (const struct docker_seccomp_case[]){ __VA_ARGS__, { 0 } } },
#define CAY_SC_ERRNO(call, error, why)
#define CAY_SC_DENY(call)
#define CAY_SC_NUMBER(call, nr)
#define CAY_SC_BEYOND(error)
/* clang-format on */

const struct docker_seccomp_row docker_seccomp_rows[] = {
#include "cay-init/seccomp_policy.def"
        { 0 },
};

struct pieces {
        struct docker_seccomp_piece *at;
        unsigned count;
        bool full;
};

static void add(struct pieces *to, const struct docker_seccomp_piece *piece)
{
        if (to->count == DOCKER_SECCOMP_PIECES_MAX)
                to->full = true;
        else
                to->at[to->count++] = *piece;
}

static void sort_out(struct docker_seccomp_piece piece, const struct docker_seccomp_test *test,
                     struct pieces *holds, struct pieces *rest);

static void go_on(const struct docker_seccomp_piece *piece, const struct docker_seccomp_test *test,
                  bool passed, struct pieces *holds, struct pieces *rest)
{
        if (passed)
                sort_out(*piece, test + 1, holds, rest);
        else
                add(rest, piece);
}

/* First those of the window, then one by one. */
static void sort_out_window(const struct docker_seccomp_piece *piece, const struct docker_seccomp_test *test,
                            struct pieces *holds, struct pieces *rest)
{
        const struct docker_seccomp_test window[] = {
                { DOCKER_SECCOMP_IS, test->arg, ~31u, test->value },
                { .kind = DOCKER_SECCOMP_NO_TEST },
        };
        struct docker_seccomp_piece inside;
        struct pieces in = { .at = &inside };
        uint32_t looked, bits;

        sort_out(*piece, window, &in, rest);
        if (in.count == 0)
                return;
        looked = inside.mask[test->arg] & 31;
        bits = inside.value[test->arg] & 31;
        inside.mask[test->arg] |= 31;
        for (uint32_t n = 0; n < 32; n++) {
                if ((n & looked) != bits)
                        continue;
                inside.value[test->arg] = test->value | n;
                go_on(&inside, test, test->mask & AT(n), holds, rest);
        }
}

/*
 * Bit by bit: those that differ from the test's value here first are one piece, the others go on to the next
 * bit.
 */
static void sort_out(struct docker_seccomp_piece piece, const struct docker_seccomp_test *test,
                     struct pieces *holds, struct pieces *rest)
{
        uint32_t *mask = &piece.mask[test->arg], *value = &piece.value[test->arg];
        bool same = test->kind == DOCKER_SECCOMP_IS;

        if (test->kind == DOCKER_SECCOMP_NO_TEST) {
                add(holds, &piece);
                return;
        }
        if (test->kind == DOCKER_SECCOMP_IN) {
                sort_out_window(&piece, test, holds, rest);
                return;
        }
        for (uint32_t bit = 1u << 31; bit > 0; bit >>= 1) {
                uint32_t wanted = test->value & bit;

                if (!(test->mask & bit))
                        continue;
                if (*mask & bit && (*value & bit) != wanted) {
                        go_on(&piece, test, !same, holds, rest);
                        return;
                }
                if (*mask & bit)
                        continue;
                *mask |= bit;
                *value |= wanted ^ bit;
                go_on(&piece, test, !same, holds, rest);
                *value = (*value & ~bit) | wanted;
        }
        go_on(&piece, test, same, holds, rest);
}

int docker_seccomp_cut(const struct docker_seccomp_row *row,
                       struct docker_seccomp_piece ret[DOCKER_SECCOMP_PIECES_MAX])
{
        static struct docker_seccomp_piece room[3][DOCKER_SECCOMP_PIECES_MAX]; /* one thread */
        struct pieces passed = { .at = ret }, left = { .at = room[0], .count = 1 };

        room[0][0] = (struct docker_seccomp_piece){ 0 };
        for (const struct docker_seccomp_case *c = row->cases; c->tests[0].kind != DOCKER_SECCOMP_NO_TEST;
             c++) {
                struct pieces refused = { .at = room[1] },
                              rest = { .at = left.at == room[0] ? room[2] : room[0] };

                for (unsigned i = 0; i < left.count; i++)
                        sort_out(left.at[i], c->tests, c->passes ? &passed : &refused, &rest);
                passed.full |= rest.full;
                left = rest;
        }
        for (unsigned i = 0; row->passes && i < left.count; i++)
                add(&passed, &left.at[i]);
        return passed.full ? -E2BIG : (int)passed.count;
}

static void put_u64(struct cay_json *j, const char *key, uint64_t value)
{
        cay_json_key(j, key);
        cay_json_u64(j, value);
}

static void put_rule(struct cay_json *j, const char *name, const struct docker_seccomp_piece *piece)
{
        cay_json_begin_object(j);
        cay_json_key(j, "names");
        cay_json_begin_array(j);
        cay_json_text(j, name);
        cay_json_end_array(j);
        cay_json_key(j, "action");
        cay_json_text(j, "SCMP_ACT_ALLOW");
        cay_json_key(j, "args");
        cay_json_begin_array(j);
        for (unsigned i = 0; i < DOCKER_SECCOMP_ARGS; i++) {
                if (piece->mask[i] == 0)
                        continue;
                cay_json_begin_object(j);
                put_u64(j, "index", i);
                put_u64(j, "value", piece->mask[i]);
                put_u64(j, "valueTwo", piece->value[i]);
                cay_json_key(j, "op");
                cay_json_text(j, "SCMP_CMP_MASKED_EQ");
                cay_json_end_object(j);
        }
        cay_json_end_array(j);
        cay_json_end_object(j);
}

int docker_seccomp_put_args(struct cay_json *j)
{
        static struct docker_seccomp_piece pieces[DOCKER_SECCOMP_PIECES_MAX];

        for (const struct docker_seccomp_row *row = docker_seccomp_rows; row->name; row++) {
                int count = docker_seccomp_cut(row, pieces);

                if (count < 0)
                        return count;
                for (int i = 0; i < count; i++)
                        put_rule(j, row->name, &pieces[i]);
        }
        return 0;
}
