import assert from "node:assert/strict";
import { describe, it } from "@std/testing/bdd";
import { SharedRuns } from "../../lib/shared_runs.ts";

/** Runs that end when they are told to; the outcome is the number of the run. */
function controlledRuns() {
  const runs = new SharedRuns<number>();
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
});
