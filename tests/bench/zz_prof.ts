import process from "node:process";
import { openDatabase } from "../../db/connection/connect.ts";
import { loadFailures } from "../../db/read/failures.ts";
const url = "postgres://postgres:postgres@127.0.0.1:55432/evidence2";
const filled = JSON.parse(Deno.readTextFileSync("/tmp/evidence2.json"));
const { sql, close } = await openDatabase({ databaseUrl: url, dataDir: "" });
const windowStart = Math.floor(Date.now() / 1000) - 14 * 86400;
for (let i = 0; i < 15; i++) {
  const c = process.cpuUsage(), t = performance.now();
  await loadFailures(sql, {
    repositoryId: filled.repositoryId,
    testNo: null,
    windowStart,
    branches: null,
  });
  const d = process.cpuUsage(c);
  console.log(
    (performance.now() - t).toFixed(1),
    "ms wall; own cpu",
    ((d.user + d.system) / 1000).toFixed(1),
  );
}
await close();
