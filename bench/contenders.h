/* contenders.h - the sources of contenders */
#ifndef TAMIS_BENCH_CONTENDERS_H
#define TAMIS_BENCH_CONTENDERS_H

#include "contender.h"

#ifdef __cplusplus
extern "C" {
#endif

#define BENCH_CONTENDERS_MAX 64

/* Each writes its contenders to `out` and returns how many. */
size_t bench_ours(const struct bench_contender **out);
size_t bench_libbloom(const struct bench_contender **out);
size_t bench_leveldb(const struct bench_contender **out);
size_t bench_rocksdb(const struct bench_contender **out);

/* The instruction set that `filter`, one of ours, uses. */
const char *bench_path(const void *filter);
/* Hashes texts as `filter`, one of ours, does. */
void bench_hash_texts(const void *filter, const struct bench_keys *keys, uint64_t *hashes);

#ifdef __cplusplus
}
#endif
#endif
