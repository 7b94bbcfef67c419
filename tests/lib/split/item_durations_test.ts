import { describe, it } from "@std/testing/bdd";
import assert from "node:assert/strict";
import {
  durationsOfClasses,
  durationsOfFiles,
  durationsOfTests,
  type KnownDuration,
} from "../../../lib/split/item_durations.ts";

function known(durations: Record<string, number>): KnownDuration[] {
  return Object.entries(durations).map(([key, microseconds]) => ({
    key,
    microseconds,
    test: null,
  }));
}

/** The durations of files, with those that reports name and the classes in them. */
function ofFiles(
  names: string[],
  files: Record<string, number>,
  classes: Record<string, number> = {},
): Record<string, number> {
  return Object.fromEntries(
    durationsOfFiles(names, { files: known(files), classes: known(classes) }),
  );
}

describe("the duration of a file", () => {
  it("is that of its path, however it is written", () => {
    assert.deepEqual(
      ofFiles(["./src/a.test.ts", "src\\b.test.ts"], {
        "src/a.test.ts": 1,
        "./src/b.test.ts": 2,
      }),
      { "./src/a.test.ts": 1, "src\\b.test.ts": 2 },
    );
  });

  it("is that of a path with the same end", () => {
    assert.deepEqual(
      ofFiles(["packages/web/src/a.test.ts", "tests/b.py"], {
        "src/a.test.ts": 1,
        "/home/ci/work/shop/tests/b.py": 2,
        "other/src/a.test.tsx": 3,
      }),
      { "packages/web/src/a.test.ts": 1, "tests/b.py": 2 },
    );
  });

  it("is that of the whole path when others end like it", () => {
    assert.deepEqual(ofFiles(["src/a.ts", "a.ts"], { "a.ts": 1, "src/a.ts": 2 }), {
      "src/a.ts": 2,
      "a.ts": 1,
    });
  });

  it("is the sum of the classes of pytest in it", () => {
    assert.deepEqual(
      ofFiles(["tests/test_cart.py", "tests/test_cart_items.py"], {}, {
        "tests.test_cart": 1,
        "tests.test_cart.TestCart": 2,
        "tests.test_cart_items": 10,
        "tests.unknown": 100,
      }),
      { "tests/test_cart.py": 3, "tests/test_cart_items.py": 10 },
    );
  });

  it("is the sum of the classes of the JVM in it", () => {
    assert.deepEqual(
      ofFiles(["app/src/test/java/com/acme/CartTest.java"], {}, {
        "com.acme.CartTest": 1,
        "com.acme.CartTest$WhenEmpty": 2,
        "com.acme.Other": 10,
      }),
      { "app/src/test/java/com/acme/CartTest.java": 3 },
    );
  });

  it("is that of a class which is a path or package", () => {
    assert.deepEqual(
      ofFiles(["src/a.test.ts", "./cart"], {}, {
        "src/a.test.ts": 1,
        "example.com/acme/shop/cart": 2,
      }),
      { "src/a.test.ts": 1, "./cart": 2 },
    );
  });

  it("is unknown when its class may be in two files", () => {
    const classes = { "test_cart.TestCart": 1 };
    assert.deepEqual(ofFiles(["a/test_cart.py", "b/test_cart.py"], {}, classes), {});
    assert.deepEqual(ofFiles(["test_cart.py", "b/test_cart.py"], {}, classes), {
      "test_cart.py": 1,
    });
  });

  it("is unknown for strange names", () => {
    assert.deepEqual(ofFiles([".", "/", "", "__proto__"], { "a.ts": 1 }, { "": 1, "..": 2 }), {});
  });
});

describe("the duration of a class", () => {
  it("is that of its exact name", () => {
    const found = durationsOfClasses(["a.B", "B"], known({ "a.B": 1 }));
    assert.deepEqual([...found], [["a.B", 1]]);
  });

  it("has the time of the classes nested in it, unless they are items themselves", () => {
    const classes = known({
      "com.acme.OrderTest": 1,
      "com.acme.OrderTest$WhenPaid": 200,
      "com.acme.OrderTest$WhenOpen$ByCard": 100,
      "com.acme.OrderTestBase": 7,
      "com.acme.Other$WhenPaid": 50,
    });
    const found = durationsOfClasses(["com.acme.OrderTest", "com.acme.Other"], classes);
    assert.deepEqual([...found], [["com.acme.OrderTest", 301], ["com.acme.Other", 50]]);
    const names = ["com.acme.OrderTest", "com.acme.OrderTest$WhenPaid"];
    assert.deepEqual([...durationsOfClasses(names, classes).values()], [101, 200]);
  });
});

describe("the duration of a test", () => {
  const tests = [
    { class: "tests.test_cart.TestCart", name: "test_adds[1]" },
    { class: "tests.test_cart", name: "test_total" },
    { class: "com.acme.CartTest", name: "adds" },
    { class: "com.acme.ListTest", name: "adds" },
  ].map((test, index) => (
    { key: "", microseconds: index + 1, test: { suite: "", file: "", ...test } }
  ));

  it("is found by class and name, node id, or a name of its own", () => {
    const names = [
      "tests/test_cart.py::TestCart::test_adds[1]",
      "tests/test_cart.py::test_total",
      "com.acme.CartTest.adds",
      "com.acme.ListTest#adds",
      "test_total",
      "adds",
    ];
    assert.deepEqual(
      names.map((name) => durationsOfTests(names, tests).get(name)),
      [1, 2, 3, 4, 2, undefined],
    );
  });
});
