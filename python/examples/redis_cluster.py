"""One Bloom filter over all nodes of a Redis Cluster, or on one server.

TAMIS_REDIS is the address of a node (default 127.0.0.1:6379).  The servers need the tamis module or
RedisBloom.  The command sees the same filter: tamis redis info crawled
"""

from __future__ import annotations

import os
import sys

import redis

from tamis.redis import ExistsError, ShardedFilter


def connect(address: str) -> redis.Redis | redis.RedisCluster:
    host, _, port = address.rpartition(":")
    client = redis.Redis(host or "127.0.0.1", int(port))
    if client.info("cluster")["cluster_enabled"]:
        return redis.RedisCluster(host or "127.0.0.1", int(port))
    return client


def main() -> None:
    try:
        client = connect(os.environ.get("TAMIS_REDIS", "127.0.0.1:6379"))
    except redis.ConnectionError as error:
        print(f"skipped: {error}")
        sys.exit(77)

    # A filter of one Redis key would use the memory and CPU of one node.  This one has 16 keys,
    # crawled:{0} to crawled:{15}, on all nodes; an item is in one of them.
    try:
        crawled = ShardedFilter.create(client, "crawled", capacity=1_000_000, shards=16)
    except ExistsError:
        crawled = ShardedFilter.open(client, "crawled")

    # Ten thousand URLs per call: one pipeline to each node instead of a round trip for each URL.
    urls = [f"https://example.org/{i}" for i in range(10_000)]
    new = sum(crawled.add_many(urls))
    print(f"added: {new // 100 * 100} or more of {len(urls)}")
    links = urls[:100] + [f"https://example.org/new/{i}" for i in range(100)]
    todo = [url for url, known in zip(links, crawled.contains_many(links)) if not known]
    print(f"links: {len(links)}, definitely not crawled: {len(todo)}")

    # A shard that was lost (evicted, deleted) raises ShardError: without it, the answer would be
    # "definitely not" for keys that were added.
    info = crawled.info()
    print(f"shards: {info.shards}, of {info.items_min} to {info.items_max} items")
    crawled.delete()


if __name__ == "__main__":
    main()
