import { afterEach, beforeEach, describe, expect, test } from "vitest";

let attempts = 0;
let calls = 0;

describe("cart", () => {
  test("passes", () => {});
  test("always fails", () => expect(1).toBe(2));
  test("fails then passes", () => expect(++attempts).toBeGreaterThan(1));
  test("passes then fails", () => expect(++calls).toBe(1));
  test("same name", () => {});
  test("same name", () => expect(1).toBe(2));
  test("same name, fails first", () => expect(1).toBe(2));
  test("same name, fails first", () => {});
  test.skip("is skipped", () => {});
  test.todo("is to do");
});

describe("errors in set-up", () => {
  beforeEach(() => {
    throw new Error("no storage");
  });
  test("of a test", () => {});
});

describe("errors in tear-down", () => {
  afterEach(() => {
    throw new Error("storage is still open");
  });
  test("of a test", () => {});
});
