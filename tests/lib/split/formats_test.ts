import { describe, it } from "@std/testing/bdd";
import assert from "node:assert/strict";
import { formatShare, SPLIT_FORMATS } from "../../../lib/split/formats.ts";

describe("a share", () => {
  const FILES = ["src/test/java/com/acme/CartTest.java", "ListTest.kt"];
  const cases: [string, Parameters<typeof formatShare>[1], string[], string][] = [
    ["a line for each", { format: "lines", by: "file" }, ["a b.ts", "c.ts"], "a b.ts\nc.ts\n"],
    ["files for pytest", { format: "pytest", by: "file" }, ["a.py", "b.py"], "a.py b.py\n"],
    ["files for jest", { format: "jest", by: "file" }, ["a.ts"], "--runTestsByPath a.ts\n"],
    ["files for vitest", { format: "vitest", by: "file" }, ["a.ts", "b.ts"], "a.ts b.ts\n"],
    ["files for rspec", { format: "rspec", by: "file" }, ["a_spec.rb"], "a_spec.rb\n"],
    ["packages for go", { format: "go", by: "file" }, ["./cart", "./list"], "./cart ./list\n"],
    [
      "the packages of files for go",
      { format: "go", by: "file" },
      [
        "cart/a_test.go",
        "./cart/b_test.go",
        "main_test.go",
        "./main_test.go",
        "github.com/acme/list",
      ],
      "./cart . github.com/acme/list\n",
    ],
    [
      "tests for go",
      { format: "go", by: "test" },
      ["TestA", "Test.B"],
      "-run ^(TestA|Test\\.B)$\n",
    ],
    [
      "the tests of subtests for go",
      { format: "go", by: "test" },
      ["TestA/adds", "TestB", "TestA/pays_(twice)"],
      "-run ^(TestA|TestB)$\n",
    ],
    [
      "files for gradle",
      { format: "gradle", by: "file" },
      FILES,
      "--tests com.acme.CartTest --tests *.ListTest\n",
    ],
    ["classes for gradle", { format: "gradle", by: "class" }, ["a.B"], "--tests a.B\n"],
    [
      "files for maven",
      { format: "maven", by: "file" },
      FILES,
      "-Dtest=com.acme.CartTest,ListTest\n",
    ],
    [
      "each selector once for maven",
      {
        format: "maven",
        by: "file",
      },
      ["a/ATest.java", "b/ATest.java"],
      "-Dtest=ATest\n",
    ],
    [
      "each selector once for gradle",
      {
        format: "gradle",
        by: "file",
      },
      ["app/kotlin/a/B.kt", "lib/kotlin/a/B.kt"],
      "--tests a.B\n",
    ],
    ["paths, never options", { format: "pytest", by: "file" }, ["-x.py", "b.py"], "./-x.py b.py\n"],
    ["paths for jest", { format: "jest", by: "file" }, ["-x.ts"], "--runTestsByPath ./-x.ts\n"],
    ["paths for vitest", { format: "vitest", by: "file" }, ["--x.ts"], "./--x.ts\n"],
    ["paths for rspec", { format: "rspec", by: "test" }, ["-x.rb[1:1]"], "./-x.rb[1:1]\n"],
    ["paths for go", { format: "go", by: "file" }, ["-x"], "./-x\n"],
    ["classes for maven", { format: "maven", by: "class" }, ["a.B", "a.C"], "-Dtest=a.B,a.C\n"],
  ];
  for (const [title, options, names, expected] of cases) {
    it(`is ${title}`, () => assert.equal(formatShare(names, options), expected));
  }

  it("is nothing at all when it is empty", () => {
    for (const format of SPLIT_FORMATS) {
      const by = ["gradle", "maven"].includes(format) ? "class" : "file";
      assert.equal(formatShare([], { format, by }), "");
    }
  });

  it("is refused where the runner or a shell would run something else", () => {
    assert.throws(
      () => formatShare(["a"], { format: "jest", by: "class" }),
      /--format jest cannot select by class: expected --by file/,
    );
    assert.throws(
      () => formatShare(["a.py", "b c.py"], { format: "pytest", by: "file" }),
      /"b c\.py" has white space.*--format lines/s,
    );
  });
});
