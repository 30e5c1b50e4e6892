/* test_parallel.c - every job runs once, whatever the number of threads; errors stop the rest
 *
 * tests: threads
 * wraps: pthread_create */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>

#include "core/parallel.h"

#define JOBS 1000

struct record {
    atomic_uint runs[JOBS];
    uint64_t fails_at;
    atomic_uint started;
};

static tamis_status job(void *context, uint64_t i) {
    struct record *record = (struct record *)context;
    atomic_fetch_add(&record->runs[i], 1);
    atomic_fetch_add(&record->started, 1);
    return i == record->fails_at ? TAMIS_E_NOMEM : TAMIS_OK;
}

static void test_every_job_once(void **state) {
    (void)state;
    for (unsigned threads = 0; threads < 9; threads++) {
        for (uint64_t count = 0; count <= JOBS; count += 1 + count) {
            struct record record = {.fails_at = UINT64_MAX};
            assert_int_equal(tamis__parallel(threads, count, job, &record), TAMIS_OK);
            for (uint64_t i = 0; i < JOBS; i++) {
                assert_int_equal(atomic_load(&record.runs[i]), i < count);
            }
        }
    }
}

/* The system's function, until `threads_left` threads were created. */
static unsigned threads_left = UINT32_MAX;
int __real_pthread_create(pthread_t *thread, const pthread_attr_t *attributes,
                          void *(*start)(void *), void *argument);
int __wrap_pthread_create(pthread_t *thread, const pthread_attr_t *attributes,
                          void *(*start)(void *), void *argument);
int __wrap_pthread_create(pthread_t *thread, const pthread_attr_t *attributes,
                          void *(*start)(void *), void *argument) {
    if (threads_left == 0) return EAGAIN;
    threads_left--;
    return __real_pthread_create(thread, attributes, start, argument);
}

/* Without more threads, the existing ones do the work. */
static void test_no_more_threads(void **state) {
    (void)state;
    for (unsigned most = 0; most < 4; most++) {
        struct record record = {.fails_at = UINT64_MAX};
        threads_left = most;
        assert_int_equal(tamis__parallel(8, JOBS, job, &record), TAMIS_OK);
        for (uint64_t i = 0; i < JOBS; i++) assert_int_equal(atomic_load(&record.runs[i]), 1);
        assert_int_equal(threads_left, 0);
    }
    threads_left = UINT32_MAX;
}

static void test_failure_stops(void **state) {
    (void)state;
    for (unsigned threads = 1; threads < 5; threads++) {
        struct record record = {.fails_at = 10};
        assert_int_equal(tamis__parallel(threads, JOBS, job, &record), TAMIS_E_NOMEM);
        if (threads == 1) assert_int_equal(atomic_load(&record.started), 11);
    }
}

static void test_absurd_number_of_threads(void **state) {
    struct record record = {.fails_at = UINT64_MAX};
    (void)state;
    assert_int_equal(tamis__parallel(UINT32_MAX, JOBS, job, &record), TAMIS_OK);
    assert_int_equal(atomic_load(&record.started), JOBS);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_job_once),
        cmocka_unit_test(test_no_more_threads),
        cmocka_unit_test(test_failure_stops),
        cmocka_unit_test(test_absurd_number_of_threads),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
