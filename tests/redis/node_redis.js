// node_redis.js MODULES PORT PROTOCOL - the bf and cf commands of node-redis
const assert = require('node:assert/strict');
const path = require('node:path');

const [modules, port, protocol] = process.argv.slice(2);
const { createClient } = require(path.join(modules, 'redis'));

// Replies are booleans whatever the protocol; maps become objects with the names of the fields.
const field = (info, name) => info instanceof Map ? info.get(name) : info[name];

async function bloom(client) {
    assert.equal(await client.bf.reserve('b', 0.01, 1000), 'OK');
    assert.equal(await client.bf.add('b', 'x'), true);
    assert.equal(await client.bf.add('b', 'x'), false);
    assert.deepEqual(await client.bf.mAdd('b', ['x', 'y', 'z']), [false, true, true]);
    assert.equal(await client.bf.exists('b', 'y'), true);
    assert.equal(await client.bf.exists('b', 'nope'), false);
    assert.deepEqual(await client.bf.mExists('b', ['x', 'nope']), [true, false]);
    assert.equal(await client.bf.card('b'), 3);
    const info = await client.bf.info('b');
    assert.equal(field(info, 'Capacity'), 1000);
    assert.equal(field(info, 'Number of items inserted'), 3);
    assert.equal(field(info, 'Expansion rate'), 2);
    assert.deepEqual(await client.bf.insert('made', ['a', 'b'], { CAPACITY: 50, ERROR: 0.001 }),
        [true, true]);
    await assert.rejects(client.bf.insert('none', 'a', { NOCREATE: true }), /not found/);
    // At a rate of 1e-9, at which 'b' and 'c' are no false positives.
    assert.equal(await client.bf.reserve('fixed', 1e-9, 2, { NONSCALING: true }), 'OK');
    await client.bf.mAdd('fixed', ['a', 'b']);
    await assert.rejects(client.bf.add('fixed', 'c'), /non scaling filter is full/);
}

async function cuckoo(client) {
    assert.equal(await client.cf.reserve('c', 1000, { BUCKETSIZE: 4, EXPANSION: 2 }), 'OK');
    assert.equal(await client.cf.add('c', 'x'), true);
    assert.equal(await client.cf.addNX('c', 'x'), false);
    assert.deepEqual(await client.cf.insert('c', ['x', 'y']), [true, true]);
    await client.cf.insertNX('c', ['x', 'z']);
    assert.equal(await client.cf.count('c', 'x'), 2);
    assert.equal(await client.cf.exists('c', 'y'), true);
    assert.equal(await client.cf.exists('c', 'nope'), false);
    assert.equal(await client.cf.del('c', 'y'), true);
    assert.equal(await client.cf.exists('c', 'y'), false);
    const info = await client.cf.info('c');
    assert.equal(field(info, 'Number of items inserted'), 3);
    assert.equal(field(info, 'Number of items deleted'), 1);
    assert.equal(field(info, 'Bucket size'), 4);
}

async function main() {
    const client = createClient({ socket: { port: Number(port) }, RESP: Number(protocol) });
    client.on('error', (error) => { throw error; });
    await client.connect();
    await bloom(client);
    await cuckoo(client);
    await client.close();
}

main().catch((error) => {
    console.error(error);
    process.exit(1);
});
