import { describe, it } from "@std/testing/bdd";
import assert from "node:assert/strict";
import { OutputQueue } from "../../../lib/system/output_queue.ts";
import { pause } from "../../../lib/base/delay.ts";

/** A stream that takes what `take` returns of each write, all of it unless given. */
function openQueue(
  take: (bytes: Uint8Array) => Promise<number> = ({ length }) => Promise.resolve(length),
) {
  const written: string[] = [];
  const counts = { dropped: 0, reported: [] as number[] };
  const queue: OutputQueue = new OutputQueue({
    async write(bytes) {
      const count = await take(bytes);
      written.push(new TextDecoder().decode(bytes.subarray(0, count)));
      return count;
    },
    onDrop: (count) => counts.dropped += count,
    onRoom(count) {
      counts.reported.push(count);
      queue.add(`${count} dropped\n`, true);
    },
  });
  return { queue, written, counts };
}

describe("an output queue", () => {
  it("writes lines together, soon", async () => {
    const { queue, written } = openQueue();
    queue.add("a\n", false);
    queue.add("b\n", false);
    assert.deepEqual(written, []);
    await pause(100);
    assert.deepEqual(written, ["a\nb\n"]);
  });

  it("writes urgent lines immediately, with those before them", async () => {
    const { queue, written } = openQueue();
    queue.add("a\n", false);
    queue.add("b\n", true);
    await pause(0);
    assert.deepEqual(written, ["a\nb\n"]);
  });

  it("keeps the order through partial writes and a full non-blocking pipe", async () => {
    let count = 0;
    const { queue, written } = openQueue(({ length }) => {
      if (++count % 3 === 0) return Promise.reject(new Deno.errors.WouldBlock());
      return Promise.resolve(Math.min(length, 7));
    });
    const lines = Array.from({ length: 20 }, (_, no) => `line ${no}\n`);
    for (const line of lines) queue.add(line, false);
    await queue.flush(5_000);
    assert.equal(written.join(""), lines.join(""));
  });

  it("has one bounded write in flight, drops what does not fit, and says how much", async () => {
    const gate = Promise.withResolvers<void>();
    const sizes: number[] = [];
    const { queue, written, counts } = openQueue(async ({ length }) => {
      sizes.push(length);
      await gate.promise;
      return length;
    });
    const line = `${"x".repeat(999)}\n`;
    for (let no = 0; no < 2_000; no++) queue.add(line, false);
    assert.equal(sizes.length, 1);
    assert.ok(counts.dropped > 800 && counts.dropped < 1_000, String(counts.dropped));
    const before = performance.now();
    await queue.flush(20);
    assert.ok(performance.now() - before < 4_000, "flush gives up");
    assert.ok(queue.writingMs >= 19);
    gate.resolve();
    await queue.flush(5_000);
    assert.ok(Math.max(...sizes) <= 64 * 1024);
    assert.deepEqual(counts.reported, [counts.dropped]);
    const text = written.join("");
    assert.equal(text.split(line).length - 1, 2_000 - counts.dropped);
    assert.equal(text.split(`${counts.dropped} dropped\n`).length, 2);
    assert.equal(queue.writingMs, 0);
  });

  it("counts what a broken stream refuses, and goes on when it works again", async () => {
    let isBroken = true;
    const { queue, written, counts } = openQueue(({ length }) =>
      isBroken ? Promise.reject(new Error("no space left")) : Promise.resolve(length)
    );
    queue.add("a\n", true);
    await queue.flush(100);
    assert.deepEqual([counts.dropped, counts.reported], [1, []]);
    isBroken = false;
    queue.add("b\n", true);
    await queue.flush(100);
    assert.deepEqual([written, counts.reported], [["b\n", "1 dropped\n"], [1]]);
  });
});
