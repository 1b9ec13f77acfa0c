/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The attacker: one program with many subcommands, run inside a box by test_attacks. Each tries one thing and
 * prints one line: "HELD why" (exit 0), "BROKE what" (exit 1), or "LACKS what this kernel does not have"
 * (exit 2). A probe that is killed prints nothing; then the cause that cay reports is the verdict.
 */
#ifndef CAY_ATTACK_PROBE_H
#define CAY_ATTACK_PROBE_H

#include <stdbool.h>
#include <stddef.h>

enum { PROBE_HELD = 0, PROBE_BROKE = 1, PROBE_LACKS = 2, PROBE_USAGE = 3 };

/* argv[0] is the probe's own name, then its arguments; NULL at the end. */
struct probe {
        const char *name;
        int (*run)(char **argv);
};

/* Each ends with a row without a name. */
extern const struct probe probes_calls[];
extern const struct probe probes_control[];
extern const struct probe probes_files[];
extern const struct probe probes_info[];
extern const struct probe probes_init[];
extern const struct probe probes_lifecycle[];
extern const struct probe probes_memory[];
extern const struct probe probes_namespace[];
extern const struct probe probes_resource[];
extern const struct probe probes_socket[];

__attribute__((format(printf, 1, 2))) int held(const char *fmt, ...);
__attribute__((format(printf, 1, 2))) int broke(const char *fmt, ...);
__attribute__((format(printf, 1, 2))) int lacks(const char *fmt, ...);

long probe_number(char **argv, int index, long otherwise); /* argument as a number */
const char *probe_text(char **argv, int index);            /* argument, or the end of the program */
bool probe_is_filtered(void);                              /* a seccomp filter is on this process */
size_t probe_read(const char *path, char *buf,
                  size_t size); /* NUL-terminated; 0 bytes when it can't be read */
bool probe_is_watched(void);    /* limits may be held by watching: between two looks there can be more */
bool probe_is_open(void);       /* layers are off: the attack should succeed */
bool probe_was_killed(int status, int signal);
void probe_nap_ms(long ms);

/*
 * The verdict on a call that must not get through. ENOSYS is the filter's answer where there is one, else the
 * kernel's lack; EPERM and EACCES are refusals; any other error means that somebody looked at the arguments.
 */
int probe_refused(const char *what, long result);

#endif
