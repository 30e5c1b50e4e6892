/* picture.c - draws the rows of `run`, "NAME KEYS BYTES", as SVG: bytes per key by number of keys
 */
#include <stdio.h>
#include <string.h>

#include "plot.h"

static const struct {
    const char *name, *label;
    bool exact;
} sets[] = {{"ribbon", "tamis ribbon", false},     {"fuse", "tamis fuse", false},
            {"bloom", "tamis bloom", false},       {"growing", "tamis growing", false},
            {"C-set", "C, open addressing", true}, {"unordered_set", "C++ unordered_set", true},
            {"HashSet", "Java HashSet", true}};
#define SETS (sizeof sets / sizeof sets[0])

int main(void) {
    static struct plot plot = {
        .title = "Memory of a set of 15-byte keys (filters: 1 % false positives)",
        .x = {"keys in the set", true, 0, 0},
        .y = {"bytes per key", true, 0, 0}};
    char name[32];
    double keys, bytes;
    for (size_t i = 0; i < SETS; i++) plot_series(&plot, sets[i].label, sets[i].exact);
    while (scanf("%31s %lf %lf", name, &keys, &bytes) == 3) {
        for (size_t i = 0; i < SETS; i++) {
            if (strcmp(name, sets[i].name) == 0) {
                plot_point(&plot, &plot.series[i], keys, bytes / keys);
            }
        }
    }
    plot_svg(&plot, 1, stdout);
    return ferror(stdout) != 0 || fflush(stdout) != 0;
}
