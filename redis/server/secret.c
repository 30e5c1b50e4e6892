/* secret.c - see secret.h */
#include "server/secret.h"

#include "persist/byte_io.h"
#include "server/redis_module.h"

uint64_t secret_number(void) {
    static uint8_t of_server[TAMIS_SECRET_BYTES];
    static uint64_t count;
    if (count == 0) RedisModule_GetRandomBytes(of_server, sizeof of_server);
    uint8_t counter[8];
    byte_store(counter, ++count, sizeof counter);
    return tamis_hash_secret(of_server, counter, sizeof counter);
}

void secret_new(uint8_t secret[TAMIS_SECRET_BYTES]) {
    for (unsigned i = 0; i < TAMIS_SECRET_BYTES; i += 8) byte_store(secret + i, secret_number(), 8);
}
