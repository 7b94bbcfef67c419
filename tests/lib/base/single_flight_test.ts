import assert from "node:assert/strict";
import { describe, it } from "@std/testing/bdd";
import { setImmediate } from "node:timers";
import { SharedRuns } from "../../../lib/base/single_flight.ts";

/** Runs that end when they are told to; the outcome is the number of the run. */
function controlledRuns({ lateMs = Infinity } = {}) {
  const runs = new SharedRuns<number>({ lateMs });
  const begun: PromiseWithResolvers<number>[] = [];
  const ask = (key = "key") =>
    runs.get(key, () => {
      const run = Promise.withResolvers<number>();
      begun.push(run);
      return run.promise;
    });
  const end = (index: number) => begun[index]!.resolve(index);
  return { runs, ask, begun, end };
}

/** When what was asked for in one turn of the event loop has begun. */
function turn(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}

describe("shared runs", () => {
  it("begin when all have asked who come in the same turn", async () => {
    const { ask, begun, end } = controlledRuns();
    const all = [ask("one"), ask("other"), ask("one")];
    assert.equal(begun.length, 0);
    await turn();
    assert.equal(begun.length, 2);
    for (const index of [0, 1]) end(index);
    assert.deepEqual(await Promise.all(all), [0, 1, 0]);
  });

  it("give nobody an outcome from before the own question", async () => {
    const { ask, end } = controlledRuns();
    const first = ask();
    await turn();
    const second = ask();
    end(0);
    assert.equal(await first, 0);
    await turn();
    end(1);
    assert.equal(await second, 1);
  });

  it("are shared by all who wait for the same one", async () => {
    const { ask, begun, end } = controlledRuns();
    const first = ask();
    await turn();
    const others = [ask(), ask(), ask()];
    await turn();
    assert.equal(begun.length, 1);
    end(0);
    await first;
    await turn();
    end(1);
    assert.deepEqual(await Promise.all(others), [1, 1, 1]);
    assert.equal(begun.length, 2);
  });

  it("begin anew when all is over", async () => {
    const { ask, end } = controlledRuns();
    for (const number of [0, 1, 2]) {
      const run = ask();
      await turn();
      end(number);
      assert.equal(await run, number);
    }
  });

  it("fail for those who share them, and not for the next", async () => {
    const { ask, begun, end } = controlledRuns();
    const both = [ask(), ask()];
    await turn();
    const next = ask();
    begun[0]!.reject(new Error("no luck"));
    for (const run of both) await assert.rejects(run, /no luck/);
    await turn();
    end(1);
    assert.equal(await next, 1);
  });

  it("fail as well when they cannot even begin", async () => {
    const runs = new SharedRuns<number>();
    const fail = () => {
      throw new Error("no way");
    };
    await assert.rejects(runs.get("key", fail), /no way/);
    assert.equal(await runs.get("key", () => Promise.resolve(1)), 1);
  });

  it("begin before the one under way has ended when it is late, but not without end", async () => {
    const { ask, begun, end } = controlledRuns({ lateMs: 1 });
    const all = [ask()];
    for (let count = 0; count < 5; count++) {
      await new Promise((resolve) => setTimeout(resolve, 5));
      all.push(ask());
    }
    assert.equal(begun.length, 3);
    for (const index of [2, 1]) end(index);
    assert.deepEqual(await Promise.all(all.slice(1, 3)), [1, 2]);
    assert.equal(begun.length, 3, "the first may still be the one that others wait for");
    end(0);
    await all[0];
    await turn();
    end(3);
    assert.deepEqual(await Promise.all(all.slice(3)), [3, 3, 3]);
  });

  it("are shared however many others come and go meanwhile", async () => {
    const { ask, begun, end } = controlledRuns();
    const first = ask();
    await turn();
    for (let index = 1; index <= 1_000; index++) {
      const run = ask(`key ${index}`);
      await turn();
      end(index);
      await run;
    }
    const next = ask();
    await turn();
    assert.equal(begun.length, 1_001);
    end(0);
    await first;
    await turn();
    end(1_001);
    assert.equal(await next, 1_001);
  });

  it("do not remember who asked long ago", async () => {
    const { runs, ask, end } = controlledRuns();
    for (let index = 0; index < 1_000; index++) {
      const run = ask(`key ${index}`);
      await turn();
      end(index);
      await run;
    }
    assert.ok(runs.size <= 256, `${runs.size} keys`);
  });

  it("remember all who wait, however many", async () => {
    const { runs, ask, begun } = controlledRuns();
    for (let index = 0; index < 1_000; index++) void ask(`key ${index}`);
    await turn();
    assert.equal(begun.length, 1_000);
    assert.equal(runs.size, 1_000);
  });
});
