// peer_leveldb.cc - LevelDB's filter policy: a Bloom filter of all keys of a block
#include <leveldb/filter_policy.h>
#include <leveldb/slice.h>

#include <memory>
#include <string>
#include <vector>

#include "contenders.h"

namespace {

struct Filter {
    std::unique_ptr<const leveldb::FilterPolicy> policy;
    std::string bytes;
};

leveldb::Slice slice(const bench_keys *keys, size_t i) {
    if (keys->words != nullptr) {
        return {reinterpret_cast<const char *>(&keys->words[i]), sizeof keys->words[i]};
    }
    return {static_cast<const char *>(keys->texts[i]), keys->lengths[i]};
}

// LevelDB itself has to make the list of slices, so it is part of the build.
void *build(const bench_contender *self, const bench_keys *keys, unsigned) {
    auto *filter = new Filter;
    filter->policy.reset(leveldb::NewBloomFilterPolicy(static_cast<int>(self->setting)));
    std::vector<leveldb::Slice> slices(keys->count);
    for (size_t i = 0; i < keys->count; i++) slices[i] = slice(keys, i);
    filter->policy->CreateFilter(slices.data(), static_cast<int>(keys->count), &filter->bytes);
    return filter;
}

void destroy(void *filter) { delete static_cast<Filter *>(filter); }

size_t bytes(const void *filter) { return static_cast<const Filter *>(filter)->bytes.size(); }

size_t query(const void *filter, const bench_keys *keys, size_t from, size_t to) {
    const auto *f = static_cast<const Filter *>(filter);
    size_t found = 0;
    for (size_t i = from; i < to; i++) found += f->policy->KeyMayMatch(slice(keys, i), f->bytes);
    return found;
}

bench_contender leveldb_contender() {
    bench_contender c = {};
    c.name = "leveldb";
    c.what = "LevelDB, built-in Bloom filter policy, 11 bits per key";
    c.fpr = 0.01;
    c.build = build;
    c.destroy = destroy;
    c.query = query;
    c.bytes = bytes;
    c.setting = 11;
    return c;
}

}  // namespace

size_t bench_leveldb(const bench_contender **out) {
    static const bench_contender contender = leveldb_contender();
    out[0] = &contender;
    return 1;
}
