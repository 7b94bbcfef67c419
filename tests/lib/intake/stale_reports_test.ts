import { after, before, describe, it } from "@std/testing/bdd";
import assert from "node:assert/strict";
import { join } from "node:path";
import { type JobStart, withoutStale } from "../../../lib/intake/stale_reports.ts";

/** 2026-11-28T09:00:00Z. */
const START = 1_795_856_400;
const NONE: JobStart = { startedAt: null, checkout: null };

describe("a report that is older than the job", () => {
  let folder: string;

  before(async () => {
    folder = await Deno.makeTempDir({ prefix: "test-analytics-stale-" });
  });
  after(() => Deno.remove(folder, { recursive: true }));

  /** Whether a report with this time stamp, written then, is read; and the notes. */
  async function isRead(start: JobStart, timestamp: string, writtenAt: number) {
    const path = join(folder, "junit.xml");
    const attribute = timestamp && ` timestamp="${timestamp}"`;
    await Deno.writeTextFile(path, `<testsuite name="a"${attribute}/>`);
    await Deno.utime(path, writtenAt, writtenAt);
    const notes: string[] = [];
    const report = { path, isNamed: true };
    const fresh = await withoutStale([report], start, (note) => notes.push(note));
    assert.equal(notes.length, 1 - fresh.length);
    if (notes.length > 0) assert.match(notes[0]!, /before the job began .*: left out$/);
    return fresh.length === 1;
  }

  it("is left out by its time stamp, or by the time of the file", async () => {
    const start = { ...NONE, startedAt: START };
    assert.equal(await isRead(start, "2026-11-28T08:50:00Z", START + 10), false);
    assert.equal(await isRead(start, "2026-11-28T10:05:00+01:00", START + 10), true);
    assert.equal(await isRead(start, "2026-11-28T09:50:00+0100", START + 10), false);
    assert.equal(await isRead(start, "2026-11-28T09:05:00.123456", START + 10), true);
    assert.equal(await isRead(start, "2026-11-27T09:05:00", START + 10), false);
    assert.equal(await isRead(start, "", START - 600), false);
    assert.equal(await isRead(start, "", START + 10), true);
    // A clock that the tests set says nothing.
    assert.equal(await isRead(start, "1970-01-01T00:00:00Z", START + 10), true);
    // Clocks differ by seconds.
    assert.equal(await isRead(start, "2026-11-28T08:59:30Z", START + 10), true);
  });

  it("is one that lay there before the checkout, not an artifact of an earlier job", async () => {
    const start = { ...NONE, checkout: { folder, at: START } };
    assert.equal(await isRead(start, "2026-11-28T08:50:00Z", START + 10), true);
    assert.equal(await isRead(start, "2026-11-28T08:50:00Z", START - 600), false);
    assert.equal(await isRead(start, "", START - 600), false);
    const other = { folder: await Deno.makeTempDir({ dir: folder }), at: START };
    assert.equal(await isRead({ ...NONE, checkout: other }, "", START - 600), true);
    assert.equal(await isRead(NONE, "2026-11-27T08:50:00Z", START - 600), true);
  });
});
