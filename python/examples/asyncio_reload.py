"""A service that answers queries and reloads its filter while it does.

`save` replaces a file in one step: a program that opens the path gets the old filter or the new
one, never a part.  A process that has the old file mapped keeps it until it opens the path again.
"""

from __future__ import annotations

import asyncio
import os
import tempfile

import tamis


class Service:
    """Answers each line of a connection with "maybe" or "no"."""

    def __init__(self, path: str) -> None:
        self.path, self.reloads = path, 0
        self.version = self.file_version()
        self.blocked = tamis.open(path)

    def file_version(self) -> tuple[int, int]:
        status = os.stat(self.path)
        return status.st_ino, status.st_mtime_ns

    async def watch(self, seconds: float) -> None:
        while True:
            await asyncio.sleep(seconds)
            # The version before the file: if it is replaced in between, the next round sees that.
            version = self.file_version()
            if version != self.version:
                # Verifying the whole file first takes a while if it is large, and releases the GIL:
                # in a thread, while this one answers with the old filter.
                try:
                    blocked = await asyncio.to_thread(tamis.open, self.path, verify="all")
                except (tamis.Error, OSError) as error:
                    print(f"{self.path} is not loaded: {error}")
                    self.version = version  # the old filter stays until the file changes again
                    continue
                # One assignment, between two queries.  The old filter is freed with its last
                # reference: no close(), which a query in another thread would notice.
                self.blocked, self.version = blocked, version
                self.reloads += 1

    async def answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        # A query takes less than a microsecond, so it needs no thread.
        while line := await reader.readline():
            writer.write(b"maybe\n" if line.rstrip(b"\n") in self.blocked else b"no\n")
            await writer.drain()
        writer.close()


async def query_until_reloaded(service: Service, port: int) -> tuple[int, list[str]]:
    """Queries a key that only the second filter has; returns the number of replies, and changes."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    count, changes = 0, [""]
    while service.reloads == 0 or changes[-1] != "maybe":
        writer.write(b"mallory\n")
        reply = (await reader.readline()).decode().strip()
        count += 1
        if reply != changes[-1]:
            changes.append(reply)
        assert reply, "the connection was lost"
    writer.close()
    return count, changes[1:]


async def main() -> None:
    with tempfile.TemporaryDirectory() as directory:
        path = os.path.join(directory, "blocked.tamis")
        tamis.build(["eve"], fpr=1e-6).save(path)
        service = Service(path)
        server = await asyncio.start_server(service.answer, "127.0.0.1", 0)
        port = server.sockets[0].getsockname()[1]
        watcher = asyncio.create_task(service.watch(0.02))
        client = asyncio.create_task(query_until_reloaded(service, port))
        await asyncio.sleep(0.1)
        tamis.build(["eve", "mallory"], fpr=1e-6).save(path)
        count, changes = await asyncio.wait_for(client, 30)
        watcher.cancel()
        server.close()
        await server.wait_closed()
        print(f"{'many' if count > 10 else count} queries, all answered")
        print(f"mallory: {', then '.join(changes)}; reloads: {service.reloads}")


if __name__ == "__main__":
    asyncio.run(main())
