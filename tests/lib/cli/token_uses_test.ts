import { before, it } from "@std/testing/bdd";
import assert from "node:assert/strict";
import { createLog } from "../../../lib/base/log.ts";
import { hashToken } from "../../../lib/base/token.ts";
import { recordTokenUsesLater } from "../../../lib/cli/token_uses.ts";
import { describeWithDatabase, type TestDatabase } from "../../database.ts";
import { commandLine } from "./run_in_process.ts";
import { waitUntil } from "../../wait_until.ts";
import { pause } from "../../../lib/base/delay.ts";

/** 2026-02-01T12:00:00Z, in the past of every machine that runs this. */
const HOUR = 1_769_947_200;
const NEVER = 3_600_000;
/** Nothing listens there. */
const UNAVAILABLE = { databaseUrl: "postgres://user@127.0.0.1:1/none" };

describeWithDatabase("the last use of tokens", (database) => {
  const cli = commandLine(() => ({ ...database(), kind: "embedded" }));
  let hash = "";

  before(async () => {
    await cli("org create acme");
    hash = hashToken((await cli("token create --org acme")).stdout.trim(), "api_token");
  });

  function collectLog() {
    const lines: string[] = [];
    return { lines, log: createLog({ write: (line) => lines.push(line.slice(21)), now: () => 0 }) };
  }

  function locationOf({ place }: TestDatabase) {
    return { databaseUrl: undefined, ...place };
  }

  async function lastUse(): Promise<string | null> {
    const [token] = JSON.parse((await cli("token list --org acme --json")).stdout);
    return token.last_used_at;
  }

  it("is recorded to the hour, soon", async () => {
    const { lines, log } = collectLog();
    const uses = recordTokenUsesLater(locationOf(database()), log, { delayMs: 1 });
    uses.record({ hash, hour: HOUR });
    await waitUntil("it is there", async () => await lastUse() === "2026-02-01T12:00:00Z");
    await uses.close();
    assert.deepEqual(lines, []);
  });

  it("is written at the end, however soon that is", async () => {
    const { lines, log } = collectLog();
    const uses = recordTokenUsesLater(locationOf(database()), log, { delayMs: NEVER });
    uses.record({ hash, hour: HOUR + 7200 });
    uses.record({ hash, hour: HOUR + 3600 });
    await uses.close();
    assert.equal(await lastUse(), "2026-02-01T14:00:00Z");
    uses.record({ hash, hour: HOUR + 10_800 });
    await uses.close();
    assert.equal(await lastUse(), "2026-02-01T14:00:00Z", "nothing is recorded afterwards");
    assert.deepEqual(lines, []);
  });

  it("is kept while the database is unavailable, and recorded when it is back", async () => {
    const { lines, log } = collectLog();
    const location = { ...locationOf(database()), ...UNAVAILABLE };
    const uses = recordTokenUsesLater(location, log, { delayMs: 1, retryMs: 20 });
    uses.record({ hash, hour: HOUR + 14_400 });
    await waitUntil("there is a line", () => lines.length > 0);
    // Tried again meanwhile, and logged once.
    await pause(100);
    Object.assign(location, locationOf(database()));
    await waitUntil("it is there", async () => await lastUse() === "2026-02-01T16:00:00Z");
    await uses.close();
    assert.equal(lines.length, 1, lines.join("\n"));
    assert.match(
      lines[0] ?? "",
      /^warn token uses will be recorded later error=".* nothing listens there; /,
    );
  });

  it("is given up at the end while the database is unavailable, with a line in the log", async () => {
    const { lines, log } = collectLog();
    const uses = recordTokenUsesLater({ dataDir: "", ...UNAVAILABLE }, log, { delayMs: NEVER });
    uses.record({ hash, hour: HOUR });
    await uses.close();
    assert.equal(lines.length, 1);
    assert.match(lines[0] ?? "", /^info token uses are not recorded error=/);
  });

  it("is not recorded where the database cannot be written, which is logged once", async () => {
    const { databaseUrl } = database().place;
    // The embedded database has one session for all clients, which cannot be read-only.
    if (!databaseUrl) return;
    const url = new URL(databaseUrl);
    url.searchParams.set("options", "-c default_transaction_read_only=on");
    const { lines, log } = collectLog();
    const uses = recordTokenUsesLater({ databaseUrl: url.href, dataDir: "" }, log, { delayMs: 1 });
    uses.record({ hash, hour: HOUR + 18_000 });
    await waitUntil("there is a line", () => lines.length > 0);
    uses.record({ hash, hour: HOUR + 18_000 });
    await uses.close();
    assert.match(
      lines.join(),
      /^info token uses are not recorded error="[^"]*read-only[^"]*"$/,
    );
  });
});
