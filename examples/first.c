#include <stdio.h>
#include <tamis.h>

int main(void) {
    tamis_options options = TAMIS_OPTIONS_INIT;
    options.capacity = 1000000; /* expected number of keys */
    options.fpr = 0.01;         /* false positive rate */
    tamis_filter *seen;
    if (tamis_create(&options, &seen) != TAMIS_OK) return 1;

    tamis_add(seen, "apple", 5, NULL);
    printf("apple: %s\n", tamis_contains(seen, "apple", 5) ? "maybe" : "no");
    printf("pear: %s\n", tamis_contains(seen, "pear", 4) ? "maybe" : "no");
    tamis_free(seen);
}
