import assert from "node:assert/strict";
import { afterEach, beforeEach, describe, it, test } from "node:test";

let calls = 0;

test("same name in two files", () => {});

describe("cart", () => {
  it("passes", () => {});
  it("always fails", () => assert.equal(1, 2));
  it("passes then fails", () => assert.equal(++calls, 1));
  it("same name", () => {});
  it("same name", () => assert.equal(1, 2));
  it("same name, fails first", () => assert.equal(1, 2));
  it("same name, fails first", () => {});
  it.skip("is skipped", () => {});
  describe("total", () => it("is the same in two suites", () => {}));
});

describe("order", () => {
  describe("total", () => it("is the same in two suites", () => assert.equal(1, 2)));
});

describe("errors in set-up", () => {
  beforeEach(() => {
    throw new Error("no storage");
  });
  it("of a test", () => {});
});

describe("errors in tear-down", () => {
  afterEach(() => {
    throw new Error("storage is still open");
  });
  it("of a test", () => {});
});
