const { expect, test } = require("@playwright/test");

test.describe("cart", () => {
  test("passes", () => {});
  test("always fails", () => expect(1).toBe(2));
  test("fails then passes", () => expect(test.info().retry).toBe(1));
  test("passes then fails", () => expect(test.info().repeatEachIndex).toBe(0));
  test("passes in one project", () => expect(test.info().project.name).toBe("one"));
  test.skip("is skipped", () => {});
});

test.describe("errors in set-up", () => {
  test.beforeEach(() => {
    throw new Error("no storage");
  });
  test("of a test", () => {});
});

test.describe("errors in tear-down", () => {
  test.afterEach(() => {
    throw new Error("storage is still open");
  });
  test("of a test", () => {});
});
