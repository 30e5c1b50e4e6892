// unordered.cc - unordered N...: the memory of a std::unordered_set of N keys
//
// Prints lines "NAME N BYTES".  The bytes are those that malloc took, its own overhead included.
#include <malloc.h>

#include <cstdio>
#include <cstdlib>
#include <string>
#include <unordered_set>

static size_t in_use() {
    struct mallinfo2 memory = mallinfo2();
    return memory.uordblks + memory.hblkhd;
}

int main(int argc, char **argv) {
    for (int i = 1; i < argc; i++) {
        unsigned keys = (unsigned)strtoul(argv[i], nullptr, 10);
        size_t before = in_use();
        std::unordered_set<std::string> users;
        for (unsigned k = 0; k < keys; k++) {
            char key[16];
            snprintf(key, sizeof key, "user:%010u", k);
            users.insert(key);
        }
        printf("unordered_set %zu %zu\n", users.size(), in_use() - before);
    }
}
