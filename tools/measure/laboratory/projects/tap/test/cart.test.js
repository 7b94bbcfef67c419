import t from "tap";

t.test("passes", async (t) => t.ok(true));
t.test("always fails", async (t) => t.equal(1, 2));
t.test("same name", async (t) => t.ok(true));
t.test("same name", async (t) => t.equal(1, 2));
t.test("same name, fails first", async (t) => t.equal(1, 2));
t.test("same name, fails first", async (t) => t.ok(true));
t.test("is skipped", { skip: true }, async () => {});
