/* What a user of an installed tamis writes: its header, its version, a filter. */
#include <stdio.h>
#include <tamis.h>

int main(void) {
    tamis_options want = TAMIS_OPTIONS_INIT;
    tamis_filter *filter;

    want.capacity = 100;
    if (tamis_create(&want, &filter) != TAMIS_OK) return 1;
    if (tamis_add(filter, "apple", 5, NULL) != TAMIS_OK) return 1;
    const bool right = tamis_contains(filter, "apple", 5) && !tamis_contains(filter, "", 0);
    tamis_free(filter);
    printf("%s\n", tamis_version());
    return right ? 0 : 1;
}
