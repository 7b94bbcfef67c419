import assert from "node:assert/strict";
import { describe, it } from "@std/testing/bdd";
import type { TestIdentity } from "../../../lib/base/identity.ts";
import { rerunCommand } from "../../../lib/html/commands.ts";
import { readReport } from "../../../lib/report/read_report.ts";

const command = (file: string, className: string, name: string, suite = "") =>
  rerunCommand({ suite, file, class: className, name });

/** The first test in a report of a real tool. */
async function firstTest(file: string): Promise<TestIdentity> {
  const bytes = await Deno.readFile(
    new URL(`../../../fixtures/laboratory/${file}`, import.meta.url),
  );
  const tests: TestIdentity[] = [];
  await readReport(new Response(bytes).body!, {
    file,
    onResult: (result) => void tests.push(result),
    onNote: () => {},
  });
  return tests[0]!;
}

describe("the command that runs a test again", () => {
  it("is of the tool that wrote the report", async () => {
    const expected: Record<string, RegExp> = {
      "jest/files.xml": /^while npx jest src\/\w+.test.js -t 'cart \w.*'; do :; done$/,
      "vitest/retries.xml": /^while npx vitest run src\/cart.test.js -t 'cart passes'; do/,
      "playwright/retries.xml":
        /^npx playwright test cart.spec.js -g 'cart \w.*' --project=one --repeat-each 100$/,
      "pytest/plain.xml": /^while python -m pytest test_\w+.py::\w+; do/,
      "rspec/retries.xml": /^while bundle exec rspec cart_spec.rb -e 'Cart passes'; do/,
      "surefire/rerun_TEST-CartTest.xml": /^while mvn test '-Dtest=CartTest#\w+'; do/,
      "gradle/test_retry.xml": /^while .\/gradlew test --rerun --tests shop.CartTest.passes; do/,
      "go_test_json/once.json": /^go test example.com\/shop\/\w+ -run '\^Test\w+\$' -count=100$/,
      "deno_test/retries.xml": /^while deno test -A .\/test\/cart_test.ts --filter passes; do/,
    };
    for (const [file, line] of Object.entries(expected)) {
      const test = await firstTest(file);
      assert.match(String(rerunCommand(test)), line, `${file}: ${rerunCommand(test)}`);
    }
  });

  it("matches the name alone where the runner reads a pattern", () => {
    assert.equal(
      command("a.test.ts", "", "Cart > adds (1) to $5"),
      "while npx vitest run a.test.ts -t 'Cart adds \\(1\\) to \\$5'; do :; done",
    );
    assert.equal(
      command("a.test.ts", "", "Cart › adds (1) to $5"),
      "npx playwright test a.test.ts -g 'Cart adds \\(1\\) to \\$5' --repeat-each 100",
    );
    assert.equal(
      command("a.test.ts", "", "Cart adds (1) to $5"),
      "while npx jest a.test.ts -t 'Cart adds \\(1\\) to \\$5'; do :; done",
    );
    assert.equal(
      command("pkg/cart_test.go", "", "TestCart/adds_(1)"),
      "go test ./pkg/ -run '^TestCart$/^adds_\\(1\\)$' -count=100",
    );
  });

  it("runs with Deno what Jest would not find", () => {
    assert.equal(
      command("browser/checkout_test.ts", "shop.browser.Checkout", "pays"),
      "while deno test -A browser/checkout_test.ts --filter pays; do :; done",
    );
    assert.match(command("src/__tests__/cart_test.ts", "", "adds up")!, /npx jest/);
  });

  it("matches the path alone where the runner reads a pattern", () => {
    assert.equal(
      command("app/(group)/[id].test.ts", "", "a"),
      "while npx jest 'app/\\(group\\)/\\[id\\].test.ts' -t a; do :; done",
    );
    assert.match(
      command("a+b.spec.ts", "", "Cart › adds")!,
      /^npx playwright test 'a\\\+b\.spec\.ts' -g /,
    );
    assert.match(command("[id].test.ts", "", "Cart > adds")!, /vitest run '\[id\]\.test\.ts' -t /);
  });

  it("takes the package of a test of Go from its class, where the report has no file", () => {
    assert.equal(
      command("", "example.com/shop/cart", "TestCart/adds_(1)"),
      "go test example.com/shop/cart -run '^TestCart$/^adds_\\(1\\)$' -count=100",
    );
    assert.equal(command("", "Cart", "Testing the cart"), null);
  });

  it("names a test of pytest by its id", () => {
    assert.equal(
      command("tests/test_cart.py", "tests.test_cart.TestCart", "test_adds[a b]"),
      "while python -m pytest 'tests/test_cart.py::TestCart::test_adds[a b]'; do :; done",
    );
    assert.equal(
      command("", "tests.test_cart.TestCart", "test_adds", "pytest"),
      "while python -m pytest tests/test_cart.py::TestCart::test_adds; do :; done",
    );
  });

  it("tells Maven, Gradle and .NET from each other, and leaves out parameters", () => {
    const java = "com.acme.CartTest";
    assert.match(
      command("", java, "adds(int)[2]", java)!,
      /mvn test '-Dtest=com.acme.CartTest#adds'/,
    );
    assert.match(
      command("", java, "adds()", java)!,
      /gradlew test --rerun --tests com.acme.CartTest.adds;/,
    );
    assert.match(
      command("", java, "Adds", java)!,
      /dotnet test --filter 'FullyQualifiedName~com.acme.CartTest.Adds'/,
    );
  });

  it("quotes special characters of a shell", () => {
    assert.equal(
      command("-it's.rb", "", "$(rm -rf x)"),
      "while bundle exec rspec './-it'\\''s.rb' -e '$(rm -rf x)'; do :; done",
    );
  });

  it("does not exist for an unknown language", () => {
    assert.equal(command("", "Cart", "adds"), null);
  });
});
