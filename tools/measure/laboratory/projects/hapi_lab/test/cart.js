const assert = require("node:assert");
const Lab = require("@hapi/lab");

const lab = exports.lab = Lab.script();
const { describe, it, beforeEach, afterEach } = lab;

let attempts = 0;
let calls = 0;

describe("cart", () => {
  it("passes", () => {});
  it("always fails", () => assert.equal(1, 2));
  it("fails then passes", { retry: 3 }, () => assert(++attempts > 1));
  it("passes then fails", { retry: 3 }, () => assert.equal(++calls, 1));
  it("same name", () => {});
  it("same name", () => assert.equal(1, 2));
  it("same name, fails first", () => assert.equal(1, 2));
  it("same name, fails first", () => {});
  it("is skipped", { skip: true }, () => {});
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
