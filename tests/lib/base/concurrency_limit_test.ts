import { describe, it } from "@std/testing/bdd";
import assert from "node:assert/strict";
import { ConcurrencyLimit } from "../../../lib/base/concurrency_limit.ts";

describe("a concurrency limit", () => {
  it("limits how many of an organization run at once, whatever others do", () => {
    const limit = new ConcurrencyLimit({ ofOrganization: 4 });
    const [end] = Array.from({ length: 4 }, () => limit.begin(1));
    assert.equal(limit.begin(1), null);
    limit.begin(2)!();
    assert.equal(limit.begin(1), null);
    end!();
    assert.notEqual(limit.begin(1), null);
  });

  it("limits how many run in total", () => {
    const limit = new ConcurrencyLimit({ ofOrganization: 2, inAll: 3 });
    const [end] = [limit.begin(1), limit.begin(1), limit.begin(null)];
    assert.equal(limit.begin(2), null);
    end!();
    assert.notEqual(limit.begin(2), null);
  });

  it("counts an end once, however often it is called", () => {
    const limit = new ConcurrencyLimit({ ofOrganization: 2, inAll: 2 });
    const end = limit.begin(1)!;
    limit.begin(1);
    end();
    end();
    assert.notEqual(limit.begin(1), null);
    assert.equal(limit.begin(1), null);
  });
});
