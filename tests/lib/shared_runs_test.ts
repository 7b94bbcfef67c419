import assert from "node:assert/strict";
import { describe, it } from "@std/testing/bdd";
import { SharedRuns } from "../../lib/shared_runs.ts";

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
  return { ask, begun, end };
}

describe("shared runs", () => {
  it("begin at once when nothing runs", () => {
    const { ask, begun } = controlledRuns();
    void ask("one");
    void ask("other");
    assert.equal(begun.length, 2);
  });

  it("give nobody an outcome from before the own question", async () => {
    const { ask, end } = controlledRuns();
    const first = ask();
    const second = ask();
    end(0);
    assert.equal(await first, 0);
    await Promise.resolve();
    end(1);
    assert.equal(await second, 1);
  });

  it("are shared by all who wait for the same one", async () => {
    const { ask, begun, end } = controlledRuns();
    const all = [ask(), ask(), ask(), ask()];
    end(0);
    await all[0];
    await Promise.resolve();
    end(1);
    assert.deepEqual(await Promise.all(all), [0, 1, 1, 1]);
    assert.equal(begun.length, 2);
  });

  it("begin anew when all is over", async () => {
    const { ask, end } = controlledRuns();
    const first = ask();
    end(0);
    await first;
    const second = ask();
    end(1);
    assert.equal(await second, 1);
  });

  it("fail for those who share them, and not for the next", async () => {
    const { ask, begun, end } = controlledRuns();
    const first = ask();
    const second = ask();
    begun[0]!.reject(new Error("no luck"));
    await assert.rejects(first, /no luck/);
    await Promise.resolve();
    end(1);
    assert.equal(await second, 1);
  });

  it("begin before the one under way has ended when it is late, but not without end", async () => {
    const { ask, begun, end } = controlledRuns({ lateMs: 1 });
    const late = () => new Promise((resolve) => setTimeout(resolve, 5));
    const all = [ask()];
    for (let count = 0; count < 5; count++) {
      await late();
      all.push(ask());
    }
    assert.equal(begun.length, 3);
    for (const index of [2, 1]) end(index);
    assert.deepEqual(await Promise.all(all.slice(1, 3)), [1, 2]);
    assert.equal(begun.length, 3, "the first may still be the one that others wait for");
    end(0);
    await all[0];
    await Promise.resolve();
    end(3);
    assert.deepEqual(await Promise.all(all.slice(3)), [3, 3, 3]);
  });

  it("are shared however many others come and go meanwhile", async () => {
    const { ask, begun, end } = controlledRuns();
    const first = ask();
    for (let index = 1; index <= 1_000; index++) {
      const run = ask(`key ${index}`);
      end(index);
      await run;
    }
    const next = ask();
    end(0);
    await first;
    await Promise.resolve();
    end(1_001);
    assert.equal(await next, 1_001);
    assert.equal(begun.length, 1_002);
  });
});
