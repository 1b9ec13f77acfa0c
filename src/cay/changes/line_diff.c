/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Compares texts line by line.
 *
 * Theory of operation. Equal lines get equal numbers, and from then on numbers are compared. Equal lines at
 * both ends are set aside, and so are lines that only one text has: those are changed in any case. The rest
 * is compared by Myers' algorithm in linear space: edit paths grow from both corners at once, and where they
 * meet the problem is split in two. A search that has cost EFFORT edits on each side without meeting is split
 * where one side has come furthest. So the time is at most about lines × EFFORT, at the price of a longer
 * list for texts with little in common.
 */
#include "cay/changes/line_diff.h"

#include <errno.h>
#include <stdbool.h>

enum { EFFORT = 512, V_SIZE = 2 * EFFORT + 3 };

/* --- Lines and their numbers --- */

int cay_text_init(struct cay_text *t, const void *bytes, size_t len)
{
        const char *p = bytes, *end = p + len;
        uint32_t lines = 0, i = 0;

        *t = (struct cay_text){ .bytes = bytes, .len = len };
        if (len > INT32_MAX)
                return -E2BIG;
        for (const char *at = p; at < end; lines++) {
                const char *newline = memchr(at, '\n', (size_t)(end - at));

                if (lines == CAY_LINES_MAX)
                        return -E2BIG;
                at = newline != NULL ? newline + 1 : end;
        }
        t->starts = malloc(((size_t)lines + 1) * sizeof(*t->starts));
        if (t->starts == NULL)
                return -ENOMEM;
        t->lines = lines;
        for (const char *at = p; i < lines; i++) {
                const char *newline = memchr(at, '\n', (size_t)(end - at));

                t->starts[i] = (uint32_t)(at - p);
                at = newline != NULL ? newline + 1 : end;
        }
        t->starts[lines] = (uint32_t)len;
        return 0;
}

void cay_text_done(struct cay_text *t)
{
        free(t->starts);
        *t = (struct cay_text){ 0 };
}

struct kind { /* all lines with one content */
        const char *bytes;
        uint32_t len;
        uint32_t next; /* with the same hash; 0: none */
        bool in[2];    /* which texts have it */
        uint32_t hash;
};

struct kinds {
        struct kind *list; /* the first is unused */
        uint32_t count;
        uint32_t *heads;
        uint32_t mask;
};

static uint32_t hash_of(const char *p, uint32_t len)
{
        uint64_t h = 1469598103934665603u;

        for (uint32_t i = 0; i < len; i++)
                h = (h ^ (unsigned char)p[i]) * 1099511628211u;
        return (uint32_t)(h ^ h >> 32);
}

static uint32_t kind_of(struct kinds *k, const struct cay_text *t, uint32_t line, unsigned side)
{
        const char *bytes = t->bytes + t->starts[line];
        uint32_t len = t->starts[line + 1] - t->starts[line], hash = hash_of(bytes, len);
        uint32_t *head = &k->heads[hash & k->mask], nr;

        for (nr = *head; nr != 0; nr = k->list[nr].next)
                if (k->list[nr].hash == hash && k->list[nr].len == len &&
                    memcmp(k->list[nr].bytes, bytes, len) == 0)
                        break;
        if (nr == 0) {
                nr = k->count++;
                k->list[nr] = (struct kind){ .bytes = bytes, .len = len, .next = *head, .hash = hash };
                *head = nr;
        }
        k->list[nr].in[side] = true;
        return nr;
}

static int kinds_init(struct kinds *k, size_t lines)
{
        uint32_t size = 64;

        while (size < lines)
                size *= 2;
        k->list = calloc(lines + 1, sizeof(*k->list));
        k->heads = calloc(size, sizeof(*k->heads));
        k->mask = size - 1;
        k->count = 1;
        return k->list != NULL && k->heads != NULL ? 0 : -ENOMEM;
}

static void kinds_done(struct kinds *k)
{
        free(k->list);
        free(k->heads);
}

/* --- The search --- */

struct side {
        uint32_t *kinds;  /* number of each line */
        uint32_t *places; /* of those that are compared: which line it is */
        uint32_t *ids;    /* and its number */
        bool *changed;    /* of each line */
        uint32_t lines, count;
};

struct search {
        struct side a, b;
        int32_t forward[V_SIZE], backward[V_SIZE]; /* furthest x per diagonal; -1: none */
};

/* A part of the problem: ids[a_at…], ids[b_at…]. */
struct box {
        uint32_t a_at, n, b_at, m;
};

/*
 * One more edit for every diagonal of one direction. `step` is +1 from the first corner, -1 from the last,
 * with distances counted from that corner.
 */
static void extend(const struct search *s, const struct box *x, int32_t *v, int32_t d, bool backward)
{
        const uint32_t *a = s->a.ids + x->a_at, *b = s->b.ids + x->b_at;
        int32_t n = (int32_t)x->n, m = (int32_t)x->m;

        for (int32_t k = -d; k <= d; k += 2) {
                int32_t at = -1, y;

                if (d == 0) {
                        at = 0;
                } else {
                        if (k < d && v[EFFORT + 1 + k + 1] >= 0 && v[EFFORT + 1 + k + 1] - k <= m)
                                at = v[EFFORT + 1 + k + 1]; /* a line of b added */
                        if (k > -d && v[EFFORT + 1 + k - 1] >= 0 && v[EFFORT + 1 + k - 1] < n &&
                            v[EFFORT + 1 + k - 1] + 1 > at)
                                at = v[EFFORT + 1 + k - 1] + 1; /* a line of a removed */
                }
                if (at >= 0) {
                        y = at - k;
                        while (at < n && y < m && (backward ? a[n - 1 - at] == b[m - 1 - y] : a[at] == b[y]))
                                at++, y++;
                }
                v[EFFORT + 1 + k] = at;
        }
}

/* Whether a diagonal of the direction just extended has met the other one. */
static bool meets(const struct box *x, const int32_t *v, const int32_t *other, int32_t d, int32_t other_d,
                  int32_t *ret_k)
{
        int32_t delta = (int32_t)x->n - (int32_t)x->m;

        for (int32_t k = -d; k <= d; k += 2) {
                int32_t back = delta - k;

                if (back < -other_d || back > other_d || ((back - other_d) & 1) != 0)
                        continue;
                if (v[EFFORT + 1 + k] >= 0 && other[EFFORT + 1 + back] >= 0 &&
                    v[EFFORT + 1 + k] + other[EFFORT + 1 + back] >= (int32_t)x->n) {
                        *ret_k = k;
                        return true;
                }
        }
        return false;
}

static int32_t furthest(const int32_t *v, int32_t d, int32_t *ret_k)
{
        int32_t best = -1;

        for (int32_t k = -d; k <= d; k += 2) {
                if (v[EFFORT + 1 + k] >= 0 && 2 * v[EFFORT + 1 + k] - k > best) {
                        best = 2 * v[EFFORT + 1 + k] - k;
                        *ret_k = k;
                }
        }
        return best;
}

/* Where to split. The first lines differ and so do the last; both sides have lines. */
static void find_cut(struct search *s, const struct box *x, uint32_t *ret_x, uint32_t *ret_y)
{
        int32_t k = 0, back_k = 0;
        bool is_back = false;

        for (int32_t d = 0;; d++) {
                extend(s, x, s->forward, d, false);
                if (d > 0 && meets(x, s->forward, s->backward, d, d - 1, &k))
                        break;
                extend(s, x, s->backward, d, true);
                if (meets(x, s->backward, s->forward, d, d, &back_k)) {
                        is_back = true;
                        break;
                }
                if (d == EFFORT) {
                        is_back = furthest(s->backward, d, &back_k) > furthest(s->forward, d, &k);
                        break;
                }
        }
        if (is_back) {
                int32_t at = s->backward[EFFORT + 1 + back_k];

                *ret_x = x->n - (uint32_t)at;
                *ret_y = x->m - (uint32_t)(at - back_k);
        } else {
                *ret_x = (uint32_t)s->forward[EFFORT + 1 + k];
                *ret_y = (uint32_t)(s->forward[EFFORT + 1 + k] - k);
        }
}

static void mark(struct side *s, uint32_t at, uint32_t count)
{
        for (uint32_t i = 0; i < count; i++)
                s->changed[s->places[at + i]] = true;
}

/* The smaller part is solved by recursion, the larger one by the loop: the stack depth stays logarithmic. */
static void compare(struct search *s, struct box x)
{
        for (;;) {
                const uint32_t *a = s->a.ids, *b = s->b.ids;
                struct box left, right;
                uint32_t cut_x, cut_y;

                while (x.n > 0 && x.m > 0 && a[x.a_at] == b[x.b_at])
                        x.a_at++, x.b_at++, x.n--, x.m--;
                while (x.n > 0 && x.m > 0 && a[x.a_at + x.n - 1] == b[x.b_at + x.m - 1])
                        x.n--, x.m--;
                if (x.n == 0 || x.m == 0) {
                        mark(&s->a, x.a_at, x.n);
                        mark(&s->b, x.b_at, x.m);
                        return;
                }
                find_cut(s, &x, &cut_x, &cut_y);
                left = (struct box){ x.a_at, cut_x, x.b_at, cut_y };
                right = (struct box){ x.a_at + cut_x, x.n - cut_x, x.b_at + cut_y, x.m - cut_y };
                if (left.n + left.m < right.n + right.m) {
                        compare(s, left);
                        x = right;
                } else {
                        compare(s, right);
                        x = left;
                }
        }
}

/* --- Around it --- */

static int side_init(struct side *s, uint32_t lines)
{
        size_t size = lines > 0 ? lines : 1;

        s->lines = lines;
        s->kinds = calloc(size, sizeof(*s->kinds));
        s->places = calloc(size, sizeof(*s->places));
        s->ids = calloc(size, sizeof(*s->ids));
        s->changed = calloc(size + 1, sizeof(*s->changed));
        return s->kinds != NULL && s->places != NULL && s->ids != NULL && s->changed != NULL ? 0 : -ENOMEM;
}

static void side_done(struct side *s)
{
        free(s->kinds);
        free(s->places);
        free(s->ids);
        free(s->changed);
}

/* Lines that only one text has are changed; the others are compared. */
static void choose(struct side *s, const struct kinds *k, unsigned other)
{
        for (uint32_t i = 0; i < s->lines; i++) {
                if (!k->list[s->kinds[i]].in[other]) {
                        s->changed[i] = true;
                        continue;
                }
                s->places[s->count] = i;
                s->ids[s->count++] = s->kinds[i];
        }
}

/* Unchanged lines pair off in order; lines between two pairs are an edit. */
static int collect(const struct side *a, const struct side *b, struct cay_edits *ret)
{
        size_t cap = 0;

        for (uint32_t i = 0, j = 0; i < a->lines || j < b->lines;) {
                struct cay_edit e = { .a_at = i, .b_at = j };

                while (i < a->lines && a->changed[i])
                        i++;
                while (j < b->lines && b->changed[j])
                        j++;
                e.a_count = i - e.a_at;
                e.b_count = j - e.b_at;
                if (e.a_count == 0 && e.b_count == 0) {
                        i++, j++;
                        continue;
                }
                if (ret->count == cap) {
                        struct cay_edit *list;

                        cap = cap > 0 ? 2 * cap : 16;
                        list = reallocarray(ret->list, cap, sizeof(*list));
                        if (list == NULL)
                                return -ENOMEM;
                        ret->list = list;
                }
                ret->list[ret->count++] = e;
                ret->removed += e.a_count;
                ret->added += e.b_count;
        }
        return 0;
}

/*
 * An edit that only adds (or removes) lines can move down if the line it leaves equals the line it takes. The
 * result looks natural: a new function after another, not inside its end.
 */
static void slide(const struct side *a, const struct side *b, struct cay_edits *edits)
{
        for (size_t i = 0; i < edits->count; i++) {
                struct cay_edit *e = &edits->list[i];
                const struct side *s = e->a_count > 0 ? a : b;
                uint32_t *at = e->a_count > 0 ? &e->a_at : &e->b_at;
                uint32_t count = e->a_count + e->b_count;
                uint32_t end = i + 1 < edits->count ? e[1].a_at : a->lines; /* of the equal lines behind it */

                if (e->a_count > 0 && e->b_count > 0)
                        continue;
                while (e->a_at + e->a_count < end && s->kinds[*at] == s->kinds[*at + count]) {
                        e->a_at++;
                        e->b_at++;
                }
        }
}

static int run_search(struct search *s, struct kinds *k, const struct cay_text *a, const struct cay_text *b,
                      struct cay_edits *ret)
{
        if (side_init(&s->a, a->lines) < 0 || side_init(&s->b, b->lines) < 0 ||
            kinds_init(k, (size_t)a->lines + b->lines) < 0)
                return -ENOMEM;
        for (uint32_t i = 0; i < a->lines; i++)
                s->a.kinds[i] = kind_of(k, a, i, 0);
        for (uint32_t i = 0; i < b->lines; i++)
                s->b.kinds[i] = kind_of(k, b, i, 1);
        choose(&s->a, k, 1);
        choose(&s->b, k, 0);
        compare(s, (struct box){ 0, s->a.count, 0, s->b.count });
        if (collect(&s->a, &s->b, ret) < 0)
                return -ENOMEM;
        slide(&s->a, &s->b, ret);
        return 0;
}

int cay_line_diff(const struct cay_text *a, const struct cay_text *b, struct cay_edits *ret)
{
        struct search *s = calloc(1, sizeof(*s));
        struct cay_edits edits = { 0 };
        struct kinds k = { 0 };
        int r = -ENOMEM;

        if (s != NULL) {
                r = run_search(s, &k, a, b, &edits);
                side_done(&s->a);
                side_done(&s->b);
                free(s);
        }
        kinds_done(&k);
        if (r < 0)
                cay_edits_done(&edits);
        else
                *ret = edits;
        return r;
}

void cay_edits_done(struct cay_edits *e)
{
        free(e->list);
        *e = (struct cay_edits){ 0 };
}
