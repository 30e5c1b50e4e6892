/* secret.c - see secret.h */
#include "server/secret.h"

#include <string.h>

#include "server/redis_module.h"

uint64_t secret_number(void) {
    static uint8_t of_server[TAMIS_SECRET_BYTES];
    static uint64_t count;
    if (count == 0) RedisModule_GetRandomBytes(of_server, sizeof of_server);
    count++;
    return tamis_hash_secret(of_server, &count, sizeof count);
}

void secret_new(uint8_t secret[TAMIS_SECRET_BYTES]) {
    for (unsigned i = 0; i < TAMIS_SECRET_BYTES; i += 8) {
        const uint64_t number = secret_number();
        memcpy(secret + i, &number, sizeof number);
    }
}
