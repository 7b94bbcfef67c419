/** Opens the server of `TEST_DATABASE_URL`, and prints the name it gave, and a variable that is left alone. */
import process from "node:process";
import { openDatabase } from "../../../db/connection/connect.ts";

const databaseUrl = process.env.TEST_DATABASE_URL ?? "";
const { sql, close } = await openDatabase({ databaseUrl, dataDir: "" });
const [row] = await sql<{ name: string }[]>`select current_setting('application_name') as name`;
await close();
const text = JSON.stringify([row?.name, process.env.PGAPPNAME]);
Deno.stdout.writeSync(new TextEncoder().encode(text));
