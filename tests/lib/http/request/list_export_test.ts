import assert from "node:assert/strict";
import { describe, it } from "@std/testing/bdd";
import { createExporter } from "../../../../lib/http/request/list_export.ts";
import { createLines } from "../../../../lib/http/request/list_format.ts";
import { silentLog } from "../../../silent_log.ts";
import { waitUntil } from "../../../wait_until.ts";
import { pause } from "../../../../lib/base/delay.ts";

const lines = createLines("ndjson", []);

const context = {
  requestId: "1",
  format: "ndjson" as const,
  fileName: "tests",
  key: () => ({ organizationId: 1 }),
  isNegotiated: false,
};

const get = (method = "GET") => new Request("http://x/tests.ndjson", { method });

/** Batches of 100 kB each, without an end; counts those that were read. */
function endless() {
  const state = { read: 0, isClosed: false };
  const batches = async function* () {
    try {
      for (;; state.read++) yield Array.from({ length: 100 }, () => "x".repeat(1_000));
    } finally {
      state.isClosed = true;
    }
  };
  return { state, batches: batches() };
}

describe("a whole list", () => {
  it("is read as fast as the client takes it, and no further when the client leaves", async () => {
    const exportList = createExporter({ log: silentLog });
    const { state, batches } = endless();
    const response = await exportList(get(), context, { lines, batches });
    const reader = response.body!.getReader();
    for (let chunk = 0; chunk < 10; chunk++) await reader.read();
    assert.ok(state.read <= 11, `${state.read} batches for 10 chunks`);
    await reader.cancel();
    assert.equal(state.isClosed, true);
  });

  it("is compressed on the way, as fast as the client takes it", async () => {
    const exportList = createExporter({ log: silentLog });
    const { state, batches } = endless();
    const request = new Request("http://x/", { headers: { "accept-encoding": "gzip" } });
    const response = await exportList(request, context, { lines, batches });
    await pause(50);
    assert.ok(state.read <= 3, `${state.read} batches that were not consumed`);
    await response.body!.cancel();
  });

  it("is sent to a few clients at a time, and cut off for one that does not read", async () => {
    const entries: unknown[] = [];
    const log = { ...silentLog, error: (...entry: unknown[]) => entries.push(entry) };
    const exportList = createExporter({ log }, { idleMs: 1_000 });
    const send = (organizationId: number, method = "GET") =>
      exportList(get(method), { ...context, key: () => ({ organizationId }) }, {
        lines,
        batches: endless().batches,
      });
    const running = await Promise.all(Array.from({ length: 16 }, () => send(1)));
    const refused = await send(1);
    assert.equal(refused.status, 500);
    assert.equal(refused.headers.get("retry-after"), "1");
    assert.equal((await send(1, "HEAD")).status, 200);
    const others = await Promise.all(Array.from({ length: 16 }, () => send(2)));
    assert.equal((await send(3)).status, 500);
    for (const { body } of others) await body!.cancel();
    const free = await send(3);
    assert.equal(free.status, 200);
    await free.body!.cancel();

    await waitUntil("16 lists have ended", () => entries.length >= 16);
    await assert.rejects(running[0]!.text(), /took nothing/);
    assert.equal(entries.length, 16);
    const again = await send(1);
    assert.equal(again.status, 200);
    await again.body!.cancel();
  });

  it("frees its place if its first batch fails", async () => {
    const exportList = createExporter({ log: silentLog });
    const failing = () => ({
      [Symbol.asyncIterator]: () => ({
        next: () => Promise.reject(new Error("the disk is on fire")),
      }),
    });
    for (let attempt = 0; attempt < 40; attempt++) {
      await assert.rejects(exportList(get(), context, { lines, batches: failing() }), /on fire/);
    }
  });
});
