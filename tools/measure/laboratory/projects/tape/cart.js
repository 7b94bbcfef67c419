const test = require("tape");

test("passes", (t) => (t.ok(true), t.end()));
test("always fails", (t) => (t.equal(1, 2), t.end()));
test("same name", (t) => (t.ok(true), t.end()));
test("same name", (t) => (t.ok(false), t.end()));
test("same name, fails first", (t) => (t.ok(false), t.end()));
test("same name, fails first", (t) => (t.ok(true), t.end()));
test("is skipped", { skip: true }, (t) => t.end());
