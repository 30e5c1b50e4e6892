/* attacker.h - what the attacks with chosen keys share: modes, keys and bounds
 *
 * An attack runs against two filters of the same options.  In public mode the attacker knows the
 * hash and its seed and may compute with a copy of the filter: the attack must succeed, which
 * shows that the program can detect success.  In keyed mode the attacker lacks the secret and
 * learns from results alone: the filter must keep its promise. */
#ifndef TESTS_SUPPORT_ATTACKER_H
#define TESTS_SUPPORT_ATTACKER_H

#include "filters.h"

/* A normal distribution exceeds this many standard deviations in one of 10^10 cases. */
#define ATTACK_SIGMAS 6.4

extern const uint8_t attack_secret[TAMIS_SECRET_BYTES];
extern const uint8_t attack_other_secret[TAMIS_SECRET_BYTES];

/* Keys of 8 bytes.  Keys of two streams differ, as do two keys of a stream. */
enum attack_stream { ATTACK_MEMBERS = 1, ATTACK_CANDIDATES, ATTACK_PROBES };
uint64_t attack_key(enum attack_stream stream, uint64_t index);

bool attack_contains(const tamis_filter *f, uint64_t key);
tamis_status attack_add(tamis_filter *f, uint64_t key, bool *fresh);

/* Builds a filter of `count` keys of a stream; a failure is a failed check and gives NULL. */
tamis_filter *attack_build(const tamis_options *o, enum attack_stream stream, size_t count);

/* The filter as it is in the attacker's memory: decoded from the victim's bytes. */
tamis_filter *attack_copy(const tamis_filter *victim, const char *format);

/* Searches candidates, from `*next` on, that the filter reports as members, until `wanted` are
 * found or `limit` candidates are tried.  Returns how many are in `found`. */
size_t attack_search(const tamis_filter *f, uint64_t *next, uint64_t limit, uint64_t *found,
                     size_t wanted);

/* The share of `count` keys of ATTACK_PROBES that the filter reports as members. */
double attack_fpr(const tamis_filter *f, uint64_t count);

/* Checks that `hits` of `trials` are explained by a true rate of `fpr`. */
bool attack_holds(const char *attack, const char *name, uint64_t hits, uint64_t trials, double fpr);

#endif
