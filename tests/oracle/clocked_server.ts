/**
 * A process that serves the API of a database at a given time: one server for each
 * window. Takes the time in seconds since 1970 as lines, and repeats each when it holds; ends when
 * its standard input does. Arguments: the database's URL, or `""`; its data folder, or `""`; the windows in
 * seconds, with commas.
 */
import process from "node:process";
import { createInterface } from "node:readline";
import { openDatabase } from "../../db/connection/connect.ts";
import { silentLog } from "../silent_log.ts";
import { serve } from "../../routes/mod.ts";

const [databaseUrl = "", dataDir = "", windows = ""] = process.argv.slice(2);
const database = await openDatabase({ databaseUrl, dataDir });
let clock = 0;
const servers = windows.split(",").map((seconds) =>
  serve({
    sql: database.sql,
    log: silentLog,
    host: "127.0.0.1",
    port: 0,
    now: () => clock,
    windowSeconds: Number(seconds),
  })
);
process.stdout.write(`${servers.map(({ url }) => url).join(" ")}\n`);
for await (const line of createInterface({ input: process.stdin })) {
  clock = Number(line);
  process.stdout.write(`${clock}\n`);
}
await Promise.all(servers.map((server) => server.shutdown()));
await database.close();
