QUnit.module("cart", () => {
  QUnit.test("passes", (assert) => assert.ok(true));
  QUnit.test("always fails", (assert) => assert.equal(1, 2));
  QUnit.test("is the same in two files", (assert) => assert.equal(1, 2));
  QUnit.skip("is skipped", (assert) => assert.ok(true));
});
