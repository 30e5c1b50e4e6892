// peer_rocksdb.cc - RocksDB's filters: blocked Bloom (FastLocalBloom) and ribbon
//
// The policies are public, but the public headers only name the classes of builder and reader.
// The declarations below match the virtual tables of the shared library of 7.x;
// bench/CMakeLists.txt omits this file for other versions.
#include <rocksdb/filter_policy.h>
#include <rocksdb/slice.h>
#include <rocksdb/status.h>
#include <rocksdb/table.h>

#include <memory>
#include <string>

#include "contenders.h"

namespace rocksdb {

class FilterBitsBuilder {
   public:
    virtual ~FilterBitsBuilder() = default;
    virtual void AddKey(const Slice &key) = 0;
    virtual size_t EstimateEntriesAdded() = 0;
    virtual Slice Finish(std::unique_ptr<const char[]> *buffer) = 0;
    virtual Slice Finish(std::unique_ptr<const char[]> *buffer, Status *status) = 0;
    virtual Status MaybePostVerify(const Slice &filter) = 0;
    virtual size_t ApproximateNumEntries(size_t bytes) = 0;
};

class FilterBitsReader {
   public:
    virtual ~FilterBitsReader() = default;
    virtual bool MayMatch(const Slice &key) = 0;
    virtual void MayMatch(int count, Slice **keys, bool *answers) = 0;
};

}  // namespace rocksdb

namespace {

constexpr size_t kBatch = 32;  // as MultiGet: MultiGetContext::MAX_BATCH_SIZE
enum { kBloom, kRibbon };
constexpr double kBitsPerKey = 9.9;  // about 1 % for both; the ribbon is given the same rate

struct Filter {
    std::unique_ptr<const rocksdb::FilterPolicy> policy;
    std::unique_ptr<const char[]> buffer;
    rocksdb::Slice bytes;
    std::unique_ptr<rocksdb::FilterBitsReader> reader;
};

rocksdb::Slice slice(const bench_keys *keys, size_t i) {
    if (keys->words != nullptr) {
        return {reinterpret_cast<const char *>(&keys->words[i]), sizeof keys->words[i]};
    }
    return {static_cast<const char *>(keys->texts[i]), keys->lengths[i]};
}

void *build(const bench_contender *self, const bench_keys *keys, unsigned) {
    auto *filter = new Filter;
    filter->policy.reset(self->setting == kBloom ? rocksdb::NewBloomFilterPolicy(kBitsPerKey)
                                                 : rocksdb::NewRibbonFilterPolicy(kBitsPerKey));
    const rocksdb::BlockBasedTableOptions options;
    const rocksdb::FilterBuildingContext context(options);
    std::unique_ptr<rocksdb::FilterBitsBuilder> builder(
        filter->policy->GetBuilderWithContext(context));
    for (size_t i = 0; i < keys->count; i++) builder->AddKey(slice(keys, i));
    filter->bytes = builder->Finish(&filter->buffer);
    filter->reader.reset(filter->policy->GetFilterBitsReader(filter->bytes));
    return filter;
}

void destroy(void *filter) { delete static_cast<Filter *>(filter); }

size_t bytes(const void *filter) { return static_cast<const Filter *>(filter)->bytes.size(); }

size_t query(const void *filter, const bench_keys *keys, size_t from, size_t to) {
    auto &reader = *static_cast<const Filter *>(filter)->reader;
    size_t found = 0;
    for (size_t i = from; i < to; i++) found += reader.MayMatch(slice(keys, i));
    return found;
}

size_t query_batch(const void *filter, const bench_keys *keys, size_t from, size_t to) {
    auto &reader = *static_cast<const Filter *>(filter)->reader;
    rocksdb::Slice slices[kBatch];
    rocksdb::Slice *pointers[kBatch];
    bool answers[kBatch];
    for (size_t j = 0; j < kBatch; j++) pointers[j] = &slices[j];
    size_t found = 0;
    for (size_t i = from; i < to; i += kBatch) {
        const size_t count = to - i < kBatch ? to - i : kBatch;
        for (size_t j = 0; j < count; j++) slices[j] = slice(keys, i + j);
        reader.MayMatch(static_cast<int>(count), pointers, answers);
        for (size_t j = 0; j < count; j++) found += answers[j];
    }
    return found;
}

bench_contender rocksdb_contender(const char *name, const char *what, uint32_t setting) {
    bench_contender c = {};
    c.name = name;
    c.what = what;
    c.fpr = 0.01;
    c.build = build;
    c.destroy = destroy;
    c.query = query;
    c.query_batch = query_batch;
    c.bytes = bytes;
    c.setting = setting;
    return c;
}

}  // namespace

size_t bench_rocksdb(const bench_contender **out) {
    static const bench_contender contenders[] = {
        rocksdb_contender("rocksdb-bloom", "RocksDB, FastLocalBloom, 9.9 bits per key", kBloom),
        rocksdb_contender("rocksdb-ribbon", "RocksDB, ribbon in place of 9.9 Bloom bits per key",
                          kRibbon)};
    out[0] = &contenders[0];
    out[1] = &contenders[1];
    return 2;
}
