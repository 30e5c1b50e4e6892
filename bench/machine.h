/* machine.h - clocks, cores, memory, and the limit that the machine's memory sets */
#ifndef TAMIS_BENCH_MACHINE_H
#define TAMIS_BENCH_MACHINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* CPU time of the calling thread and of the whole process, and wall-clock time, in
 * nanoseconds.  CPU time does not run while another program has the core. */
double bench_thread_time(void);
double bench_process_time(void);
double bench_wall_time(void);

/* The cores that this process may use; at least 1. */
unsigned bench_cores(void);
/* Keeps the calling thread on one of them: the index-th.  unpin: on any of them. */
void bench_pin(unsigned index);
void bench_unpin(void);

/* The peak memory of job(context) in bytes, beyond what the process already has: the job runs in
 * a child process.  0 if it cannot be measured. */
size_t bench_peak(void (*job)(void *context), void *context);

/* How many instructions job(context) takes, and a constant number besides; 0 if a process cannot be
 * traced.  Counted step by step in a child process: 10 to 60 microseconds each. */
double bench_steps(void (*job)(void *context), void *context);

/* The limit: reads (or reads and writes) one word of a random 64-byte line for each key, 64 of
 * them in flight.  `lines` is aligned to 64 bytes.  Returns a sum, so that the compiler omits
 * nothing. */
uint64_t bench_limit_read(const uint64_t *lines, size_t count, const uint64_t *keys, size_t from,
                          size_t to);
void bench_limit_write(uint64_t *lines, size_t count, const uint64_t *keys, size_t from, size_t to);

/* The processor with its family, caches and instruction sets; the compiler of this program with
 * its options. */
void bench_processor(char text[256]);
const char *bench_compiler(void);

void *bench_allocate(size_t bytes); /* or ends the program */
_Noreturn void bench_die(const char *why);

#endif
