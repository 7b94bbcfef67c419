import { openDatabase } from "./db/connection/connect.ts";
import { createApp } from "./routes/mod.ts";
import { createLog } from "./lib/base/log.ts";
import { createToken } from "./tests/bench/callers.ts";
const m = JSON.parse(Deno.readTextFileSync("/work/bench-data/measured.json"));
const databaseUrl = "postgres://postgres@127.0.0.1:55433/measured";
const db = await openDatabase({ databaseUrl, dataDir: "" });
const { sql } = db;
const tokens: string[] = [];
for (let i = 0; i < 64; i++) tokens.push(await createToken(sql, m.organization, m.filledAt));
const logFile = Deno.openSync("/tmp/prof.log", { write: true, create: true, truncate: true });
const enc = new TextEncoder();
const app = createApp({ sql, now: () => m.filledAt, windowSeconds: 14*86400, log: createLog({ write: (l: string) => logFile.writeSync(enc.encode(l + "\n")), now: () => m.filledAt }), cache: { maxCachedBytes: 32e6, maxCachedTests: 25000 } } as any);
const paths: string[] = [];
for (let i = 0; i < 200; i++) for (const p of ["submissions", "tests", "submissions?limit=2","tests?limit=2"]) paths.push(`/api/repos/acme/service-${i}/${p}`);
async function run(n: number) {
  let left = n;
  let seed = 1;
  const rnd = (k: number) => { seed = (seed * 1103515245 + 12345) & 0x7fffffff; return seed % k; };
  await Promise.all(Array.from({ length: 16 }, async () => {
    while (left-- > 0) {
      const r = await app(new Request("http://127.0.0.1:8000" + paths[rnd(paths.length)], { headers: { authorization: "Bearer " + tokens[rnd(64)], accept: "*/*", host: "127.0.0.1:8000" } }), "127.0.0.1");
      if (r.status !== 200) throw new Error(String(r.status));
      await r.text();
    }
  }));
}
await run(5000);
import { Session } from "node:inspector/promises";
const ss = new Session(); ss.connect();
await ss.post("Profiler.enable"); await ss.post("Profiler.setSamplingInterval", { interval: 200 }); await ss.post("Profiler.start");
await run(2000);
const { profile } = await ss.post("Profiler.stop") as any;
{
 const nodes = new Map(profile.nodes.map((n: any) => [n.id, n]));
 const self = new Map<string, number>(); const total = profile.samples.length;
 const dt = profile.timeDeltas; 
 const parent = new Map<number, number>(); for (const n of profile.nodes) for (const c of n.children ?? []) parent.set(c, n.id);
 const incl = new Map<string, number>();
 profile.samples.forEach((id: number, i: number) => { const t = dt[i]; const n: any = nodes.get(id); const nm = (n: any) => n.callFrame.functionName + " " + n.callFrame.url.split("/").slice(-2).join("/") + ":" + n.callFrame.lineNumber; self.set(nm(n), (self.get(nm(n)) ?? 0) + t); const seen = new Set<string>(); let x: number | undefined = id; while (x !== undefined) { const k = nm(nodes.get(x)); if (!seen.has(k)) { seen.add(k); incl.set(k, (incl.get(k) ?? 0) + t); } x = parent.get(x); } });
 console.log("SELF us/req"); for (const [k, v] of [...self].sort((a, b) => b[1] - a[1]).slice(0, 45)) console.log((v / 20000).toFixed(2), k);
 console.log("INCL us/req"); for (const [k, v] of [...incl].sort((a, b) => b[1] - a[1]).slice(0, 70)) console.log((v / 20000).toFixed(2), k);
}
for (let k = 0; k < 6; k++) {
  const c0 = Deno.cpuUsage ? (Deno as any).cpuUsage() : null;
  const u0 = process.cpuUsage(); const t0 = performance.now();
  await run(10000);
  const u = process.cpuUsage(u0);
  console.log(`${((performance.now() - t0) / 10).toFixed(1)} us wall/req, cpu user ${(u.user / 10000).toFixed(1)} sys ${(u.system / 10000).toFixed(1)} us/req`);
}
// bare statement for comparison
const h = m.token;
{
  const u0 = process.cpuUsage();
  let left = 10000;
  await Promise.all(Array.from({ length: 16 }, async () => { while (left-- > 0) await sql`select created_at::text as body from repository where repository_id = ${1}`; }));
  const u = process.cpuUsage(u0);
  console.log(`bare stmt cpu user ${(u.user / 10000).toFixed(1)} sys ${(u.system / 10000).toFixed(1)} us/req`);
}
await db.close();
import process from "node:process";
