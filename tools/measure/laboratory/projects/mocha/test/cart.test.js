const assert = require("node:assert");

let attempts = 0;
let calls = 0;

it("same name in two files", () => {});

describe("cart", () => {
  it("passes", () => {});
  it("always fails", () => assert.equal(1, 2));
  it("fails then passes", () => assert(++attempts > 1));
  it("passes then fails", () => assert.equal(++calls, 1));
  it("same name", () => {});
  it("same name", () => assert.equal(1, 2));
  it("same name, fails first", () => assert.equal(1, 2));
  it("same name, fails first", () => {});
  it.skip("is skipped", () => {});
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
