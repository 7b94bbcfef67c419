import assert from "node:assert/strict";
import { describe, it } from "@std/testing/bdd";
import { setImmediate } from "node:timers/promises";
import { createBatches } from "../../../../lib/http/request/batches.ts";

/** Batches that finish on demand; the result of a call is the number of its batch and what it wanted. */
function controlledBatches() {
  const started: (PromiseWithResolvers<void> & { wanted: readonly string[] })[] = [];
  const load = createBatches<string, string>(async (wanted) => {
    const batch = { ...Promise.withResolvers<void>(), wanted };
    const number = started.push(batch) - 1;
    await batch.promise;
    return wanted.map((one) => `${number} ${one}`);
  });
  return { started, load: (one: string) => load(one, one) };
}

describe("batches", () => {
  it("load the keys requested in one turn of the event loop together, equal keys once", async () => {
    const { started, load } = controlledBatches();
    const calls = [load("a"), load("b"), load("a")];
    await setImmediate();
    assert.deepEqual(started.map(({ wanted }) => wanted), [["a", "b"]]);
    started[0]!.resolve();
    assert.deepEqual(await Promise.all(calls), ["0 a", "0 b", "0 a"]);
  });

  it("never return a result that started before the call", async () => {
    const { started, load } = controlledBatches();
    const first = load("a");
    await setImmediate();
    const second = load("a");
    await setImmediate();
    started[1]!.resolve();
    assert.equal(await second, "1 a", "a slow batch delays no later call");
    started[0]!.resolve();
    assert.equal(await first, "0 a");
  });

  it("fail for all callers of the batch, and not for later ones", async () => {
    const { started, load } = controlledBatches();
    const calls = [load("a"), load("b")];
    await setImmediate();
    started[0]!.reject(new Error("no luck"));
    for (const call of calls) await assert.rejects(call, /no luck/);
    const later = load("a");
    await setImmediate();
    started[1]!.resolve();
    assert.equal(await later, "1 a");
  });

  it("load one that is alone in its batch only once", async () => {
    let count = 0;
    const fail = () => Promise.reject(new Error(`away ${++count}`));
    const loadOne = createBatches<string, string>(fail, { mayDiffer: () => true });
    await assert.rejects(loadOne("a", "a"), /away 1/);
    assert.equal(count, 1);
  });

  it("load each alone after an error that may concern one of them", async () => {
    const load = (wanted: readonly string[]) =>
      wanted.includes("bad") ? Promise.reject(new Error("away")) : Promise.resolve([...wanted]);
    const loadOne = createBatches<string, string>(load, {
      mayDiffer: (error) => error instanceof Error && error.message === "away",
    });
    const calls = ["a", "bad", "b"].map((one) => loadOne(one, one));
    assert.deepEqual(
      (await Promise.allSettled(calls)).map((it) => it.status === "fulfilled" ? it.value : "error"),
      ["a", "error", "b"],
    );
  });
});
