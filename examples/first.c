#include <stdio.h>
#include <tamis.h>

int main(void) {
    tamis_options want = TAMIS_OPTIONS_INIT;
    want.capacity = 1000000; /* keys that you expect */
    want.rate = 0.01;        /* wrong "maybe"s that you accept */
    tamis_filter *seen;
    if (tamis_create(&want, &seen) != TAMIS_OK) return 1;

    tamis_add(seen, "apple", 5, NULL);
    printf("apple: %s\n", tamis_contains(seen, "apple", 5) ? "maybe" : "no");
    printf("pear: %s\n", tamis_contains(seen, "pear", 4) ? "maybe" : "no");
    tamis_free(seen);
}
