import assert from "node:assert/strict";
import { describe, it } from "@std/testing/bdd";
import { setImmediate } from "node:timers/promises";
import { SingleFlight } from "../../../../lib/http/request/authentication.ts";

/** Runs that finish on demand; the result is the number of the run. */
function controlledRuns() {
  const flights = new SingleFlight<number>();
  const started: PromiseWithResolvers<number>[] = [];
  const call = (key = "key") =>
    flights.run(key, () => {
      const run = Promise.withResolvers<number>();
      started.push(run);
      return run.promise;
    });
  return { call, started, finish: (index: number) => started[index]!.resolve(index) };
}

describe("a single-flight", () => {
  it("runs once for all calls of one turn of the event loop with the same key", async () => {
    const { call, started, finish } = controlledRuns();
    const calls = [call("one"), call("other"), call("one")];
    await setImmediate();
    assert.equal(started.length, 2);
    finish(0);
    finish(1);
    assert.deepEqual(await Promise.all(calls), [0, 1, 0]);
  });

  it("never returns a result that started before the call", async () => {
    const { call, started, finish } = controlledRuns();
    const first = call();
    await setImmediate();
    const second = call();
    await setImmediate();
    assert.equal(started.length, 2);
    finish(1);
    assert.equal(await second, 1, "a slow run delays no later call");
    finish(0);
    assert.equal(await first, 0);
  });

  it("fails for all callers of the run, and not for later ones", async () => {
    const { call, started, finish } = controlledRuns();
    const calls = [call(), call()];
    await setImmediate();
    started[0]!.reject(new Error("no luck"));
    for (const one of calls) await assert.rejects(one, /no luck/);
    const later = call();
    await setImmediate();
    finish(1);
    assert.equal(await later, 1);
  });

  it("fails for its callers when a run throws at once", async () => {
    const flights = new SingleFlight<number>();
    const fail = () => {
      throw new Error("no way");
    };
    await assert.rejects(flights.run("key", fail), /no way/);
    assert.equal(await flights.run("key", () => Promise.resolve(1)), 1);
  });
});
