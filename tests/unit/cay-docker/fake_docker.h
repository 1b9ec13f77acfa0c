/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A Docker for tests: a child of the test that listens in a folder of its own, reads one whole request after
 * the other and leaves what is said to it to the test. It keeps the stream of events open itself, where
 * nothing ever happens.
 *
 * The test's function runs in the child: the only ways back are the log, into which it writes what it wants
 * to be known, and files. The test in turn speaks to it by words in place of requests (fake_docker_tell).
 * "NUDGE" is known to every one: the stream of events ends, and the program looks at everything anew.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#define WAIT_MS 50000 /* at most, for anything */
#define TURNS 2500    /* of 20 ms: as long */

#if defined(__x86_64__)
#define FAKE_DOCKER_ARCH "amd64"
#else
#define FAKE_DOCKER_ARCH "arm64"
#endif

struct fake_docker_row {
        const char *request; /* what its first line begins with */
        const char *answer;  /* all that follows "HTTP/1.1 " */
};

#define FAKE_DOCKER_OK "200 OK\r\nA: b\r\n\r\n" /* without a length: up to the end */
#define FAKE_DOCKER_VERSION                                                                                  \
        {                                                                                                    \
                "GET /version", "200 OK\r\nContent-Type: application/json\r\n\r\n{\"ApiVersion\":"           \
                                "\"1.41\",\"MinAPIVersion\":\"1.12\",\"Arch\":\"" FAKE_DOCKER_ARCH "\"}"     \
        }
#define FAKE_DOCKER_IMAGE                                                                                    \
        {                                                                                                    \
                "GET /v1.41/images/img/json", FAKE_DOCKER_OK "{\"Architecture\":\"" FAKE_DOCKER_ARCH "\"}"   \
        }

struct fake_docker {
        char folder[40], socket[64], log[64];
        pid_t pid; /* 0: it does not run */
};

/* bytes end with a NUL beyond len. fd is the function's own: it answers and closes it, or keeps it. */
typedef void fake_docker_answer_fn(int fd, const char *bytes, size_t len, int log);

/* Its folder, /tmp/docker-NAME-…; nobody listens yet. */
void fake_docker_open(struct fake_docker *d, const char *name);
void fake_docker_start(struct fake_docker *d, fake_docker_answer_fn *answer);
void fake_docker_stop(struct fake_docker *d); /* its folder stays */
int fake_docker_close(struct fake_docker *d); /* and its folder, in which is nothing else; 0: it is gone */

/* In the child. */
void fake_docker_say_take(int fd, const char *answer);
/* By the first row that fits, up to an empty one; 404: there is none. */
void fake_docker_look_up_take(int fd, const char *bytes, const struct fake_docker_row *rows);

/* In the test. The word is obeyed when this returns. */
void fake_docker_tell(const struct fake_docker *d, const char *word);
const char *fake_docker_log(const struct fake_docker *d); /* up to a NUL; until the next call */
/* How often the word is in all of the log. */
unsigned fake_docker_times(const struct fake_docker *d, const char *word);
void fake_docker_wait_for(const struct fake_docker *d, const char *word, unsigned times);
/* Nudged again and again: the program may be at the end of a round that began before. */
void fake_docker_nudge_until(const struct fake_docker *d, const char *word, unsigned times);
