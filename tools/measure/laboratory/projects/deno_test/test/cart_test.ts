import assert from "node:assert/strict";

let attempts = 0;
let calls = 0;

Deno.test("passes", () => {});
Deno.test("always fails", () => assert.equal(1, 2));
Deno.test("fails then passes", () => assert(++attempts > 1));
Deno.test("passes then fails", () => assert.equal(++calls, 1));
Deno.test("same name", () => {});
Deno.test("same name", () => assert.equal(1, 2));
Deno.test("same name, fails first", () => assert.equal(1, 2));
Deno.test("same name, fails first", () => {});
Deno.test("steps", async (t) => {
  await t.step("same name", () => {});
  await t.step("same name", () => assert.equal(1, 2));
});
let steps = 0;
Deno.test("a step that fails then passes", async (t) => {
  await t.step("first", () => assert(++steps > 1));
});
Deno.test.ignore("is skipped", () => {});
