/* secret.c - see secret.h */
#include "secret.h"

#include "redis_module.h"
#include "wire.h"

uint64_t secret_number(void) {
    static uint8_t of_server[TAMIS_SECRET_BYTES];
    static uint64_t count;
    if (count == 0) RedisModule_GetRandomBytes(of_server, sizeof of_server);
    uint8_t counter[8];
    wire_store(counter, ++count, sizeof counter);
    return tamis_hash_secret(of_server, counter, sizeof counter);
}

void secret_new(uint8_t secret[TAMIS_SECRET_BYTES]) {
    for (unsigned i = 0; i < TAMIS_SECRET_BYTES; i += 8) wire_store(secret + i, secret_number(), 8);
}
