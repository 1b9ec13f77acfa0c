/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Makes seccomp_filters.h from src/cay-init/seccomp_policy.def at build time: the BPF program and the names
 * of calls. `gen_seccomp` writes the header to stdout; `gen_seccomp --self-test` checks the program against
 * the policy. Built with CAY_GEN_FRONT it does the same for the front: seccomp_front.h from
 * src/cay-front/seccomp_front.def, where what is denied traps. Built with CAY_GEN_INIT it makes
 * seccomp_init.h, the filter of cay-init itself: src/cay-init/seccomp_init.def added to the commands' policy.
 *
 * Theory of operation
 *
 * The program is one balanced search over system call numbers. Every piece of it (a leaf, the tests of one
 * call, a whole subtree) is a block that ends in a return on every path and jumps only forward within itself,
 * so blocks can be put one behind the other without fixing any offset. Conditional jumps reach 255
 * instructions; where a left subtree is longer, an unconditional jump (32 bits) carries the rest.
 *
 * A call's number is had by turning the macro __NR_call into a string: where the headers lack it the string
 * is no number, and the row vanishes. So the policy needs no #ifdef. Numbers are those of the machine that
 * builds.
 *
 * The self-test evaluates the rows directly, in plain C that shares nothing with the code generator, and runs
 * the program in a small interpreter over every number and every argument value that a test can tell apart. A
 * second table in it, written by hand, says what must be refused and allowed whatever the policy file says.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <asm/ioctls.h>
#include <asm/termbits.h>
#include <asm/unistd.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/audit.h>
#include <linux/fiemap.h>
#include <linux/filter.h>
#include <linux/fs.h>
#include <linux/fsverity.h>
#include <linux/memfd.h>
#include <linux/netlink.h>
#include <linux/ptrace.h>
#include <linux/seccomp.h>
#include <linux/sockios.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/personality.h>
#include <sys/prctl.h>
#include <sys/shm.h>
#include <sys/socket.h>
#include <sys/stat.h>

#if defined(__aarch64__) || defined(CAY_GEN_AARCH64)
#define OUR_ARCH AUDIT_ARCH_AARCH64
#define X32_BIT 0u
#elif defined(__x86_64__)
#define OUR_ARCH AUDIT_ARCH_X86_64
#define X32_BIT 0x40000000u
#else
#error "the policy has been thought through for x86_64 and aarch64 only"
#endif

#ifndef PR_SCHED_CORE
#define PR_SCHED_CORE 62
#endif
#ifndef PR_SET_IO_FLUSHER
#define PR_SET_IO_FLUSHER 57
#endif
#ifndef SCHED_RESET_ON_FORK
#define SCHED_RESET_ON_FORK 0x40000000
#endif

/* Policy, the list written by hand, names in the header, and what happens to a call that has no row. */
#ifdef CAY_GEN_FRONT
#define POLICY "../src/cay-front/seccomp_front.def"
#define MUSTS "seccomp_front_musts.def"
#define GUARD "CAY_SECCOMP_FRONT_H"
#define UPPER "CAY_SECCOMP_FRONT"
#define LOWER "cay_seccomp_front"
#define DENIED SECCOMP_RET_TRAP
#elif defined(CAY_GEN_INIT)
#define POLICY "../src/cay-init/seccomp_policy.def"
#define ADDED "../src/cay-init/seccomp_init.def"
#define MUSTS "seccomp_init_musts.def"
#define GUARD "CAY_SECCOMP_INIT_H"
#define UPPER "CAY_SECCOMP_INIT"
#define LOWER "cay_seccomp_init"
#define DENIED SECCOMP_RET_USER_NOTIF
#elif defined(CAY_GEN_WORKER)
#define POLICY "../src/cay-init/seccomp_policy.def"
#define ADDED "../src/cay-init/seccomp_worker.def"
#define MUSTS "seccomp_worker_musts.def"
#define GUARD "CAY_SECCOMP_WORKER_H"
#define UPPER "CAY_SECCOMP_WORKER"
#define LOWER "cay_seccomp_worker"
#define DENIED SECCOMP_RET_USER_NOTIF
#else
#define POLICY "../src/cay-init/seccomp_policy.def"
#define MUSTS "seccomp_musts.def"
#define GUARD "CAY_SECCOMP_FILTERS_H"
#define UPPER "CAY_SECCOMP"
#define LOWER "cay_seccomp"
#define DENIED SECCOMP_RET_USER_NOTIF
#endif

#define TESTS_MAX 3
#define RULES_MAX 96
#define BLOCK_MAX BPF_MAXINSNS
#define ROWS_MAX 700
#define VALUES_MAX 512
#define SKIPPED_NR 0xffffffffu /* what a tracer writes to skip a call: the kernel does nothing for it */
#define HIGHEST_NR 600u        /* the self-test walks this far */

enum op { OP_NONE, OP_IS, OP_NOT, OP_HAS, OP_IN };

struct test {
        enum op op;
        unsigned arg;
        uint32_t mask; /* OP_IN: bit n stands for value + n */
        uint32_t value;
};

struct rule {
        uint32_t then; /* a SECCOMP_RET_ value; UNSET: the row has no further rule */
        struct test tests[TESTS_MAX];
};

struct row {
        const char *name;
        const char *macro; /* the number as text, or the macro's own name where the headers lack it */
        uint32_t otherwise;
        struct rule rules[RULES_MAX];
        uint32_t nr;
};

#define UNSET SECCOMP_RET_KILL_THREAD /* 0, and nothing that a row can say */
#define ALLOW SECCOMP_RET_ALLOW
#define NOTIFY SECCOMP_RET_USER_NOTIF
#define TRAP SECCOMP_RET_TRAP
#define FAIL(e) (SECCOMP_RET_ERRNO | (e))
#define IS(a, m, v)                                                                                          \
        {                                                                                                    \
                OP_IS, (a), (uint32_t)(m), (uint32_t)(v)                                                     \
        }
#define NOT(a, m, v)                                                                                         \
        {                                                                                                    \
                OP_NOT, (a), (uint32_t)(m), (uint32_t)(v)                                                    \
        }
#define HAS(a, m)                                                                                            \
        {                                                                                                    \
                OP_HAS, (a), (uint32_t)(m), 0                                                                \
        }
#define IN(a, from, bits)                                                                                    \
        {                                                                                                    \
                OP_IN, (a), (uint32_t)(bits), (uint32_t)(from)                                               \
        }
#define AT(v) (1u << ((v)&31))
#define WHEN(verdict, ...)                                                                                   \
        {                                                                                                    \
                .then = verdict, .tests = { __VA_ARGS__ }                                                    \
        }
#define TEXT(x) TEXT_OF(x)
#define TEXT_OF(x) #x

#define ROW(call, verdict, ...)                                                                              \
        { .name = #call, .macro = TEXT(__NR_##call), .otherwise = verdict, .rules = { __VA_ARGS__ } },
#define CAY_SC_NUMBER(call, number)
#define CAY_SC_BEYOND(err)
#define CAY_SC_ALLOW(call) ROW(call, ALLOW, { .then = UNSET })
#define CAY_SC_DENY(call) ROW(call, DENIED, { .then = UNSET })
#define CAY_SC_ERRNO(call, err, why) ROW(call, FAIL(err), { .then = UNSET })
#define CAY_SC_ARGS(call, verdict, why, ...) ROW(call, verdict, __VA_ARGS__)
static struct row rows[ROWS_MAX] = {
#include POLICY
};
#undef ROW
#undef CAY_SC_NUMBER
#undef CAY_SC_BEYOND
#undef CAY_SC_ALLOW
#undef CAY_SC_DENY
#undef CAY_SC_ERRNO
#undef CAY_SC_ARGS

struct number {
        const char *name;
        uint32_t nr;
};

#define CAY_SC_NUMBER(call, number) { #call, number },
#define CAY_SC_BEYOND(err)
#define CAY_SC_ALLOW(call)
#define CAY_SC_DENY(call)
#define CAY_SC_ERRNO(call, err, why)
#define CAY_SC_ARGS(call, verdict, why, ...)
static const struct number numbers[] = {
#include POLICY
        { NULL, 0 },
};
#undef CAY_SC_NUMBER
#undef CAY_SC_BEYOND

#define CAY_SC_NUMBER(call, number)
#define CAY_SC_BEYOND(err) FAIL(err)
static const uint32_t beyond =
#include POLICY
        ;

/* Rules that come before those of the policy's row of the same call. */
struct added {
        const char *name;
        struct rule rules[RULES_MAX];
};

#define CAY_SC_ALSO(call, why, ...) { #call, { __VA_ARGS__ } },
static const struct added added[] = {
#ifdef ADDED
#include ADDED
#endif
        { NULL, { { .then = UNSET } } },
};
#undef CAY_SC_ALSO

static struct row plain_rows[ROWS_MAX]; /* sorted, before anything was added */
static size_t row_count;

static _Noreturn void give_up(const char *what, const char *detail)
{
        fprintf(stderr, "gen_seccomp: %s: %s\n", what, detail);
        exit(1);
}

/* --- Rows: numbers, order --- */

static bool number_of(const struct row *row, uint32_t *ret_nr)
{
        char *end;
        unsigned long nr = strtoul(row->macro, &end, 10);

        if (end != row->macro && *end == '\0') {
                *ret_nr = (uint32_t)nr;
                return true;
        }
        for (const struct number *n = numbers; n->name; n++) {
                if (strcmp(n->name, row->name) == 0) {
                        *ret_nr = n->nr;
                        return true;
                }
        }
        return false;
}

static int by_number(const void *a, const void *b)
{
        const struct row *x = a, *y = b;

        return x->nr < y->nr ? -1 : x->nr > y->nr;
}

static void rows_prepare(void)
{
        size_t n = 0;

        for (size_t i = 0; i < ROWS_MAX && rows[i].name; i++) {
                if (!number_of(&rows[i], &rows[i].nr))
                        continue;
                if (n != i)
                        rows[n] = rows[i];
                n++;
        }
        row_count = n;
        qsort(rows, n, sizeof(rows[0]), by_number);
        for (size_t i = 1; i < n; i++)
                if (rows[i].nr == rows[i - 1].nr)
                        give_up("two rows for one number", rows[i].name);
}

static size_t rules_count(const struct rule *rules)
{
        size_t n = 0;

        while (n < RULES_MAX && rules[n].then != UNSET)
                n++;
        return n;
}

/* Where `without` is NULL every addition is made, else all but that one. */
static void rows_extend(const struct added *without)
{
        for (const struct added *more = added; more->name; more++) {
                size_t count = rules_count(more->rules), i = 0;
                struct row *row;

                while (i < row_count && strcmp(rows[i].name, more->name) != 0)
                        i++;
                if (i == row_count)
                        give_up("an addition to a call that has no row", more->name);
                row = &rows[i];
                if (more == without)
                        continue;
                if (count + rules_count(row->rules) >= RULES_MAX)
                        give_up("too many rules", more->name);
                memmove(row->rules + count, row->rules, (RULES_MAX - count) * sizeof(row->rules[0]));
                memcpy(row->rules, more->rules, count * sizeof(row->rules[0]));
        }
}

static bool has_rules(const struct row *row)
{
        return row->rules[0].then != UNSET;
}

/* --- Code --- */

struct block {
        struct sock_filter code[BLOCK_MAX];
        size_t len;
};

static void put(struct block *b, uint16_t code, uint32_t k, size_t jt, size_t jf)
{
        if (b->len == BLOCK_MAX)
                give_up("program too long", "more than the kernel takes");
        if (jt > 255 || jf > 255)
                give_up("jump too far", "a rule is longer than 255 instructions");
        b->code[b->len++] = (struct sock_filter){ code, (uint8_t)jt, (uint8_t)jf, k };
}

static void append(struct block *b, const struct block *tail)
{
        for (size_t i = 0; i < tail->len; i++)
                put(b, tail->code[i].code, tail->code[i].k, tail->code[i].jt, tail->code[i].jf);
}

static void put_return(struct block *b, uint32_t action)
{
        put(b, BPF_RET | BPF_K, action, 0, 0);
}

/* The low half of an argument; both architectures are little-endian. */
static void put_load(struct block *b, unsigned arg)
{
        put(b, BPF_LD | BPF_W | BPF_ABS, (uint32_t)(offsetof(struct seccomp_data, args) + 8 * arg), 0, 0);
}

/* How many instructions a test takes; `loaded` is the argument that register A holds unchanged, or -1. */
static size_t test_length(const struct test *t, int loaded)
{
        if (t->op == OP_IN)
                return (loaded != (int)t->arg) + (t->value != 0) + 5;
        return (loaded != (int)t->arg) + (t->op != OP_HAS && t->mask != UINT32_MAX) + 1;
}

static int loaded_after(const struct test *t)
{
        return t->op == OP_HAS || (t->op != OP_IN && t->mask == UINT32_MAX) ? (int)t->arg : -1;
}

/*
 * Is A among the 32 numbers from `value` on, and has its bit? Else behind the rule, `left` instructions from
 * here.
 */
static void put_in(struct block *b, const struct test *t, size_t left)
{
        if (t->value != 0)
                put(b, BPF_ALU | BPF_SUB | BPF_K, t->value, 0, 0);
        put(b, BPF_JMP | BPF_JGE | BPF_K, 32, left + 4, 0);
        put(b, BPF_MISC | BPF_TAX, 0, 0, 0);
        put(b, BPF_LD | BPF_IMM, 1, 0, 0);
        put(b, BPF_ALU | BPF_LSH | BPF_X, 0, 0, 0);
        put(b, BPF_JMP | BPF_JSET | BPF_K, t->mask, 0, left);
}

/*
 * One rule: its tests, each jumping behind the rule when it fails, then the return. Writes to *loaded what A
 * holds where the next rule starts: known only if every failing test leaves the same argument there.
 */
static void put_rule(struct block *b, const struct rule *rule, int *loaded)
{
        size_t left = 1; /* instructions up to the end of the rule, the return included */
        int holds = *loaded, at_end = -2;

        for (size_t i = 0; i < TESTS_MAX && rule->tests[i].op != OP_NONE; i++) {
                left += test_length(&rule->tests[i], holds);
                holds = loaded_after(&rule->tests[i]);
        }
        holds = *loaded;
        for (size_t i = 0; i < TESTS_MAX && rule->tests[i].op != OP_NONE; i++) {
                const struct test *t = &rule->tests[i];

                left -= test_length(t, holds);
                if (holds != (int)t->arg)
                        put_load(b, t->arg);
                if ((t->op == OP_IS || t->op == OP_NOT) && t->mask != UINT32_MAX)
                        put(b, BPF_ALU | BPF_AND | BPF_K, t->mask, 0, 0);
                if (t->op == OP_IN)
                        put_in(b, t, left);
                else if (t->op == OP_HAS)
                        put(b, BPF_JMP | BPF_JSET | BPF_K, t->mask, 0, left);
                else if (t->op == OP_IS)
                        put(b, BPF_JMP | BPF_JEQ | BPF_K, t->value, 0, left);
                else
                        put(b, BPF_JMP | BPF_JEQ | BPF_K, t->value, left, 0);
                holds = loaded_after(t);
                at_end = at_end == -2 || at_end == holds ? holds : -1;
        }
        put_return(b, rule->then);
        *loaded = at_end;
}

static void put_row(struct block *b, const struct row *row)
{
        int loaded = -1;

        for (size_t i = 0; i < RULES_MAX && row->rules[i].then != UNSET; i++)
                put_rule(b, &row->rules[i], &loaded);
        put_return(b, row->otherwise);
}

/* Numbers [from, next span's from) with one answer: a row with tests, or a plain action. */
struct span {
        uint32_t from;
        uint32_t action;
        const struct row *row; /* NULL: action */
};

static struct span spans[2 * ROWS_MAX + 2];
static size_t span_count;

static void span_add(uint32_t from, uint32_t action, const struct row *row)
{
        struct span *last = span_count ? &spans[span_count - 1] : NULL;

        if (last && !last->row && !row && last->action == action)
                return;
        spans[span_count++] = (struct span){ from, action, row };
}

static void spans_make(void)
{
        uint32_t next = 0;

        for (size_t i = 0; i < row_count; i++) {
                const struct row *row = &rows[i];

                if (row->nr > next)
                        span_add(next, DENIED, NULL);
                span_add(row->nr, row->otherwise, has_rules(row) ? row : NULL);
                next = row->nr + 1;
        }
        span_add(next, beyond, NULL);
}

static void put_search(struct block *b, size_t lo, size_t hi)
{
        size_t mid = lo + (hi - lo) / 2;
        struct block *left;

        if (hi - lo == 1) {
                if (spans[lo].row)
                        put_row(b, spans[lo].row);
                else
                        put_return(b, spans[lo].action);
                return;
        }
        left = calloc(1, sizeof(*left));
        if (!left)
                give_up("out of memory", "search tree");
        put_search(left, lo, mid);
        if (left->len <= 255) {
                put(b, BPF_JMP | BPF_JGE | BPF_K, spans[mid].from, left->len, 0);
        } else {
                put(b, BPF_JMP | BPF_JGE | BPF_K, spans[mid].from, 0, 1);
                put(b, BPF_JMP | BPF_JA, (uint32_t)left->len, 0, 0);
        }
        append(b, left);
        free(left);
        put_search(b, mid, hi);
}

static void program_make(struct block *b)
{
        put(b, BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, arch), 0, 0);
        put(b, BPF_JMP | BPF_JEQ | BPF_K, OUR_ARCH, 1, 0);
        put_return(b, SECCOMP_RET_KILL_PROCESS);
        put(b, BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr), 0, 0);
        put(b, BPF_JMP | BPF_JEQ | BPF_K, SKIPPED_NR, 0, 1);
        put_return(b, SECCOMP_RET_ALLOW);
        if (X32_BIT) {
                put(b, BPF_JMP | BPF_JGE | BPF_K, X32_BIT, 0, 1);
                put_return(b, SECCOMP_RET_KILL_PROCESS);
        }
        put_search(b, 0, span_count);
}

static bool is_branch(const struct sock_filter *f)
{
        return BPF_CLASS(f->code) == BPF_JMP && BPF_OP(f->code) != BPF_JA;
}

static bool is_return(const struct sock_filter *f)
{
        return BPF_CLASS(f->code) == BPF_RET;
}

/* Where a branch to `target` may go instead: the farthest return of the same action within reach. */
static size_t shared_return(const struct block *b, size_t from, size_t target)
{
        size_t best = target;

        if (!is_return(&b->code[target]))
                return target;
        for (size_t i = target; i < b->len && i - (from + 1) <= 255; i++)
                if (is_return(&b->code[i]) && b->code[i].k == b->code[target].k)
                        best = i;
        return best;
}

/*
 * Four of ten instructions are returns, and the kernel's checks and its compiler pay for each when a command
 * starts: branches share returns, and those that nobody reaches any more go. Positions only shrink, so every
 * jump stays in reach.
 */
static void share_returns(struct block *b)
{
        static bool reached[BLOCK_MAX];
        static size_t place[BLOCK_MAX];
        static struct block out;

        reached[0] = true;
        for (size_t i = 0; i < b->len; i++) {
                struct sock_filter *f = &b->code[i];

                if (!reached[i])
                        continue;
                if (is_branch(f)) {
                        f->jt = (uint8_t)(shared_return(b, i, i + 1 + f->jt) - (i + 1));
                        f->jf = (uint8_t)(shared_return(b, i, i + 1 + f->jf) - (i + 1));
                        reached[i + 1 + f->jt] = reached[i + 1 + f->jf] = true;
                } else if (!is_return(f)) {
                        reached[i + 1 + (BPF_CLASS(f->code) == BPF_JMP ? f->k : 0)] = true;
                }
        }
        for (size_t i = 0, next = 0; i < b->len; i++) {
                place[i] = next;
                next += reached[i];
        }
        for (size_t i = 0; i < b->len; i++) {
                const struct sock_filter *f = &b->code[i];
                size_t after = place[i] + 1;

                if (!reached[i])
                        continue;
                if (is_branch(f))
                        put(&out, f->code, f->k, place[i + 1 + f->jt] - after, place[i + 1 + f->jf] - after);
                else if (BPF_CLASS(f->code) == BPF_JMP)
                        put(&out, f->code, (uint32_t)(place[i + 1 + f->k] - after), 0, 0);
                else
                        put(&out, f->code, f->k, 0, 0);
        }
        *b = out;
}

#if !defined(CAY_GEN_FRONT) && !defined(CAY_GEN_INIT) && !defined(CAY_GEN_WORKER)
#define WRITES_NAMES 1
static void names_write(void)
{
        printf("struct cay_syscall_name {\n        unsigned nr;\n        const char *name;\n};\n\n"
               "enum { CAY_SYSCALL_NAMES_LEN = %zu };\n\n/* Sorted by number. */\n"
               "__attribute__((unused)) static const struct cay_syscall_name cay_syscall_names[] = {\n",
               row_count);
        for (size_t i = 0; i < row_count; i++)
                printf("        { %u, \"%s\" },\n", rows[i].nr, rows[i].name);
        printf("};\n\n");
}
#endif

static void header_write(const struct block *b)
{
        size_t reachable = 0;

        for (size_t i = 0; i < row_count; i++) {
                bool open = rows[i].otherwise == ALLOW;

                for (size_t j = 0; j < RULES_MAX; j++)
                        open |= rows[i].rules[j].then == ALLOW;
                reachable += open;
        }
        printf("/* Made by tools/gen_seccomp.c from " POLICY "; not to be edited. */\n"
               "#ifndef " GUARD "\n#define " GUARD "\n\n#include <linux/filter.h>\n\n"
               "enum { " UPPER "_REACHABLE = %zu, " UPPER "_CODE_LEN = %zu };\n\n"
               "__attribute__((unused)) static const struct sock_filter " LOWER "_code[] = {\n",
               reachable, b->len);
        for (size_t i = 0; i < b->len; i++)
                printf("        { 0x%02x, %u, %u, 0x%08x },\n", b->code[i].code, b->code[i].jt, b->code[i].jf,
                       b->code[i].k);
        printf("};\n\n");
#ifdef WRITES_NAMES
        names_write();
#endif
        printf("#endif\n");
}

/* --- Self-test --- */

static unsigned failures;

static void complain(const char *what, const struct seccomp_data *d, uint32_t got, uint32_t want)
{
        failures++;
        if (failures > 20)
                return;
        fprintf(stderr, "%s: nr %u args %llx %llx %llx %llx %llx: program says %08x, should be %08x\n", what,
                (unsigned)d->nr, (unsigned long long)d->args[0], (unsigned long long)d->args[1],
                (unsigned long long)d->args[2], (unsigned long long)d->args[3],
                (unsigned long long)d->args[4], got, want);
}

static uint32_t interpret(const struct block *b, const struct seccomp_data *d)
{
        uint32_t a = 0, x = 0;

        for (size_t pc = 0; pc < b->len; pc++) {
                const struct sock_filter *f = &b->code[pc];
                bool yes;

                switch (f->code) {
                case BPF_LD | BPF_W | BPF_ABS:
                        if (f->k % 4 || f->k + 4 > sizeof(*d))
                                give_up("self-test", "load outside the data");
                        memcpy(&a, (const char *)d + f->k, 4);
                        continue;
                case BPF_LD | BPF_IMM:
                        a = f->k;
                        continue;
                case BPF_MISC | BPF_TAX:
                        x = a;
                        continue;
                case BPF_ALU | BPF_AND | BPF_K:
                        a &= f->k;
                        continue;
                case BPF_ALU | BPF_SUB | BPF_K:
                        a -= f->k;
                        continue;
                case BPF_ALU | BPF_LSH | BPF_X:
                        if (x > 31)
                                give_up("self-test", "shift by more than a word");
                        a <<= x;
                        continue;
                case BPF_JMP | BPF_JA:
                        pc += f->k;
                        continue;
                case BPF_RET | BPF_K:
                        return f->k;
                case BPF_JMP | BPF_JEQ | BPF_K:
                        yes = a == f->k;
                        break;
                case BPF_JMP | BPF_JGE | BPF_K:
                        yes = a >= f->k;
                        break;
                case BPF_JMP | BPF_JSET | BPF_K:
                        yes = (a & f->k) != 0;
                        break;
                default:
                        give_up("self-test", "unknown instruction");
                }
                pc += yes ? f->jt : f->jf;
        }
        give_up("self-test", "program runs off its end");
}

static bool test_holds(const struct test *t, const struct seccomp_data *d)
{
        uint32_t v = (uint32_t)d->args[t->arg];

        if (t->op == OP_HAS)
                return (v & t->mask) != 0;
        if (t->op == OP_IN)
                return v >= t->value && v <= t->value + 31 && (t->mask & AT(v - t->value));
        return ((v & t->mask) == t->value) == (t->op == OP_IS);
}

static uint32_t verdict_of(const struct row *row, const struct seccomp_data *d)
{
        uint32_t highest = rows[row_count - 1].nr;

        if (!row)
                return (uint32_t)d->nr > highest ? beyond : DENIED;
        for (size_t j = 0; j < RULES_MAX && row->rules[j].then != UNSET; j++) {
                bool all = true;

                for (size_t k = 0; k < TESTS_MAX && row->rules[j].tests[k].op != OP_NONE; k++)
                        all = all && test_holds(&row->rules[j].tests[k], d);
                if (all)
                        return row->rules[j].then;
        }
        return row->otherwise;
}

/* What the rows say, found by walking them: no order, no search, no code. */
static uint32_t expected(const struct seccomp_data *d)
{
        if (d->arch != OUR_ARCH)
                return SECCOMP_RET_KILL_PROCESS;
        if ((uint32_t)d->nr == SKIPPED_NR)
                return SECCOMP_RET_ALLOW;
        if (X32_BIT && ((uint32_t)d->nr & X32_BIT))
                return SECCOMP_RET_KILL_PROCESS;
        for (size_t i = 0; i < row_count; i++)
                if (rows[i].nr == (uint32_t)d->nr)
                        return verdict_of(&rows[i], d);
        return verdict_of(NULL, d);
}

struct values {
        uint64_t v[VALUES_MAX];
        size_t n;
};

static void value_add(struct values *values, uint64_t v)
{
        for (size_t i = 0; i < values->n; i++)
                if (values->v[i] == v)
                        return;
        if (values->n == VALUES_MAX)
                give_up("self-test", "too many values for one argument");
        values->v[values->n++] = v;
}

/* Values of one argument that the row's tests can tell apart, each also with rubbish in the upper half. */
static void values_of(const struct row *row, unsigned arg, struct values *ret)
{
        ret->n = 0;
        value_add(ret, 0);
        value_add(ret, UINT64_MAX);
        if (!row)
                return;
        for (size_t j = 0; j < RULES_MAX && row->rules[j].then != UNSET; j++) {
                for (size_t k = 0; k < TESTS_MAX && row->rules[j].tests[k].op != OP_NONE; k++) {
                        const struct test *t = &row->rules[j].tests[k];

                        if (t->arg != arg)
                                continue;
                        if (t->op == OP_IN) {
                                for (uint32_t i = 0; i < 34; i++)
                                        value_add(ret, (uint32_t)(t->value - 1 + i));
                                value_add(ret, 0xdead00000000ull | t->value);
                        } else if (t->op == OP_HAS) {
                                value_add(ret, t->mask & -t->mask);
                                value_add(ret, 0xdead00000000ull | t->mask);
                                value_add(ret, (uint32_t)~t->mask);
                        } else {
                                value_add(ret, t->value);
                                value_add(ret, 0xdead00000000ull | t->value);
                                value_add(ret, t->value | (uint32_t)~t->mask);
                                value_add(ret, t->value ^ 1);
                        }
                }
        }
}

/*
 * Commands inherit a filter that has additions and put their own on top of it. The stricter answer counts (an
 * errno before a notification), so it must let pass what theirs lets pass, and must not answer by itself what
 * theirs reports.
 */
static void check_inherited(const struct row *row, const struct seccomp_data *d, uint32_t got)
{
        uint32_t own = verdict_of(row ? &plain_rows[row - rows] : NULL, d);

        if (got != SECCOMP_RET_ALLOW && got != own)
                complain(row ? row->name : "no row", d, got, own);
}

static void compare_all(const struct block *b)
{
        size_t checks = 0;

        for (uint32_t nr = 0; nr <= HIGHEST_NR; nr++) {
                const struct row *row = NULL;
                struct values values[6];
                size_t at[6] = { 0 };
                unsigned arg;

                for (size_t i = 0; i < row_count; i++)
                        if (rows[i].nr == nr)
                                row = &rows[i];
                for (arg = 0; arg < 6; arg++)
                        values_of(row, arg, &values[arg]);
                do {
                        struct seccomp_data d = { .nr = (int)nr, .arch = OUR_ARCH };
                        uint32_t got, want;

                        for (arg = 0; arg < 6; arg++)
                                d.args[arg] = values[arg].v[at[arg]];
                        got = interpret(b, &d);
                        want = expected(&d);
                        if (got != want)
                                complain(row ? row->name : "no row", &d, got, want);
                        if (added[0].name)
                                check_inherited(row, &d, got);
                        checks++;
                        for (arg = 0; arg < 6; arg++) {
                                if (++at[arg] < values[arg].n)
                                        break;
                                at[arg] = 0;
                        }
                } while (arg < 6);
        }
        printf("gen_seccomp: %zu instructions, %zu rows, %zu comparisons\n", b->len, row_count, checks);
}

#define CAY_MUST_PASS(call, ...) { true, #call, { __VA_ARGS__ } },
#define CAY_MUST_FAIL(call, ...) { false, #call, { __VA_ARGS__ } },
struct must {
        bool passes;
        const char *call;
        uint64_t args[6];
};

static const struct must musts[] = {
#include MUSTS
};

static const struct row *row_named(const char *name)
{
        for (size_t i = 0; i < row_count; i++)
                if (strcmp(rows[i].name, name) == 0)
                        return &rows[i];
        return NULL;
}

static void check_musts(const struct block *b)
{
        for (size_t i = 0; i < sizeof(musts) / sizeof(musts[0]); i++) {
                struct seccomp_data d = { .arch = OUR_ARCH };
                const struct row *row = row_named(musts[i].call);
                uint32_t got;

                if (!row)
                        give_up("self-test: no row", musts[i].call);
                d.nr = (int)row->nr;
                memcpy(d.args, musts[i].args, sizeof(d.args));
                got = interpret(b, &d);
                if ((got == SECCOMP_RET_ALLOW) != (musts[i].passes))
                        complain(row->name, &d, got, musts[i].passes ? SECCOMP_RET_ALLOW : 0);
        }
}

/* Architecture and x32 come first, whatever the number; a number skipped by a tracer is nobody's call. */
static void check_foreign(const struct block *b)
{
        static const uint32_t archs[] = { 0, AUDIT_ARCH_I386, AUDIT_ARCH_ARM,
                                          OUR_ARCH == AUDIT_ARCH_X86_64 ? AUDIT_ARCH_AARCH64
                                                                        : AUDIT_ARCH_X86_64 };
        struct seccomp_data d;

        for (uint32_t nr = 0; nr <= HIGHEST_NR; nr++) {
                for (size_t i = 0; i < sizeof(archs) / sizeof(archs[0]); i++) {
                        d = (struct seccomp_data){ .nr = (int)nr, .arch = archs[i] };
                        if (interpret(b, &d) != SECCOMP_RET_KILL_PROCESS)
                                complain("foreign architecture", &d, interpret(b, &d),
                                         SECCOMP_RET_KILL_PROCESS);
                }
                d = (struct seccomp_data){ .nr = (int)(nr | X32_BIT), .arch = OUR_ARCH };
                if (X32_BIT && interpret(b, &d) != SECCOMP_RET_KILL_PROCESS)
                        complain("x32", &d, interpret(b, &d), SECCOMP_RET_KILL_PROCESS);
        }
        d = (struct seccomp_data){ .nr = -1, .arch = OUR_ARCH };
        if (interpret(b, &d) != SECCOMP_RET_ALLOW)
                complain("skipped call", &d, interpret(b, &d), SECCOMP_RET_ALLOW);
        d = (struct seccomp_data){ .nr = 100000, .arch = OUR_ARCH };
        if (interpret(b, &d) != (SECCOMP_RET_ERRNO | ENOSYS))
                complain("number of the future", &d, interpret(b, &d), SECCOMP_RET_ERRNO | ENOSYS);
}

/* What the policy says with all additions but one; NULL: with none. */
static uint32_t verdict_without(const struct added *without, const struct seccomp_data *d)
{
        static struct row saved[ROWS_MAX];
        uint32_t verdict;

        memcpy(saved, rows, sizeof(rows));
        memcpy(rows, plain_rows, sizeof(rows));
        if (without)
                rows_extend(without);
        verdict = expected(d);
        memcpy(rows, saved, sizeof(rows));
        return verdict;
}

/* Every addition is needed by something that must pass, and by nothing else: taken away, that is refused. */
static void check_additions(void)
{
        for (const struct added *more = added; more->name; more++) {
                bool needed = false;

                for (size_t i = 0; i < sizeof(musts) / sizeof(musts[0]); i++) {
                        struct seccomp_data d = { .arch = OUR_ARCH };

                        if (!musts[i].passes || strcmp(musts[i].call, more->name) != 0)
                                continue;
                        d.nr = (int)row_named(more->name)->nr;
                        memcpy(d.args, musts[i].args, sizeof(d.args));
                        needed = needed || verdict_without(more, &d) != SECCOMP_RET_ALLOW;
                }
                if (!needed)
                        give_up("self-test: nothing that must pass needs this addition", more->name);
        }
}

static int self_test(const struct block *b)
{
        compare_all(b);
        check_musts(b);
        check_additions();
        check_foreign(b);
        if (failures)
                fprintf(stderr, "gen_seccomp: %u comparisons failed\n", failures);
        else
                printf("gen_seccomp: self-test passed\n");
        return failures ? 1 : 0;
}

int main(int argc, char **argv)
{
        static struct block program;

        rows_prepare();
        memcpy(plain_rows, rows, sizeof(rows));
        rows_extend(NULL);
        spans_make();
        program_make(&program);
        share_returns(&program);
        if (argc == 2 && strcmp(argv[1], "--self-test") == 0)
                return self_test(&program);
        if (argc != 1)
                give_up("usage", "gen_seccomp [--self-test]");
        header_write(&program);
        return fflush(stdout) == 0 ? 0 : 1;
}
