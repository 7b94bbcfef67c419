import assert from "node:assert/strict";
import { describe, it } from "@std/testing/bdd";
import { createTokenThrottle } from "../../../../lib/http/request/token_throttle.ts";
import { silentLog } from "../../../silent_log.ts";

const ADDRESS = "203.0.113.9";

describe("the throttle of an address", () => {
  /** A throttle whose clock stands, and whether it looks an unknown token up before it is accepted. */
  function start() {
    const clock = { ms: 1, now: () => clock.ms };
    let count = 0;
    const throttle = createTokenThrottle({
      log: silentLog,
      clock,
      loadExisting: (hashes) => {
        count++;
        return Promise.resolve(new Set(hashes));
      },
    });
    return {
      wrong(times: number) {
        for (let time = 0; time < times; time++) throttle.recordWrong(ADDRESS);
      },
      pass: (seconds: number) => clock.ms += seconds * 1000,
      async isThrottled(): Promise<boolean> {
        const before = count;
        assert.equal(await throttle.mayBeValid(ADDRESS, `token ${before}`), true);
        return count > before;
      },
    };
  }

  it("begins with 20 wrong tokens within a minute of the first", async () => {
    const { wrong, pass, isThrottled } = start();
    wrong(19);
    pass(59);
    assert.equal(await isThrottled(), false);
    wrong(1);
    assert.equal(await isThrottled(), true);
  });

  it("does not begin with 20 in more than a minute", async () => {
    const { wrong, pass, isThrottled } = start();
    wrong(1);
    pass(40);
    wrong(18);
    pass(21);
    wrong(1);
    assert.equal(await isThrottled(), false);
  });

  it("ends after a minute without a wrong token, and not before", async () => {
    const { wrong, pass, isThrottled } = start();
    wrong(20);
    pass(59);
    assert.equal(await isThrottled(), true);
    wrong(1);
    pass(59);
    assert.equal(await isThrottled(), true);
    pass(2);
    assert.equal(await isThrottled(), false);
  });
});
