// duckdb.js - DuckDB's half of the live test: write FILE | probe FILE KEYS | count FILE WORD
const { DuckDBInstance } = require('@duckdb/node-api');
const fs = require('fs');

async function main([what, file, more]) {
  const db = await (await DuckDBInstance.create(':memory:')).connect();
  const rows = async (sql) => (await db.runAndReadAll(sql)).getRows();
  if (what === 'write') {
    await db.run(`COPY (SELECT 'word-' || (i % 3000) AS w, (i % 3000)::BIGINT AS i FROM range(6000) t(i))
                  TO '${file}' (FORMAT parquet, DICTIONARY_SIZE_LIMIT 100000, BLOOM_FILTER_FALSE_POSITIVE_RATIO 0.01)`);
  } else if (what === 'probe') {
    for (const key of fs.readFileSync(more, 'utf8').split('\n').slice(0, -1)) {
      const excluded = (await rows(`SELECT bloom_filter_excludes FROM parquet_bloom_probe('${file}', 'w', '${key}')`))[0][0];
      if (!excluded) console.log(key);
    }
  } else {
    console.log(String((await rows(`SELECT count(*) FROM read_parquet('${file}') WHERE w = '${more}'`))[0][0]));
  }
}
main(process.argv.slice(2)).catch((error) => { console.error(error); process.exit(1); });
