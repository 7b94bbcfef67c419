import assert from "node:assert/strict";
import { describe, it } from "@std/testing/bdd";
import { rerunCommands } from "../../../lib/html/commands.ts";

const commands = (file: string, className: string, name: string) =>
  rerunCommands({ suite: "", file, class: className, name });

describe("the commands that run a test again", () => {
  it("match its name alone where the runner reads a pattern", () => {
    assert.deepEqual(commands("a.test.ts", "", "Cart > adds (1) to $5"), [
      "npx vitest run a.test.ts -t 'Cart adds \\(1\\) to \\$5'",
      "npx jest a.test.ts -t 'Cart adds \\(1\\) to \\$5'",
      "npx playwright test a.test.ts -g 'Cart adds \\(1\\) to \\$5'",
    ]);
    assert.deepEqual(commands("pkg/cart_test.go", "", "TestCart/adds_(1)"), [
      "go test ./pkg/ -run '^TestCart$/^adds_\\(1\\)$' -count 1",
    ]);
  });

  it("take the package of a test of Go from its class, where the report has no file", () => {
    assert.deepEqual(commands("", "example.com/shop/cart", "TestCart/adds_(1)"), [
      "go test example.com/shop/cart -run '^TestCart$/^adds_\\(1\\)$' -count 1",
    ]);
    assert.deepEqual(commands("", "Cart", "Testing the cart"), []);
  });

  it("name a test of pytest by its id", () => {
    assert.deepEqual(commands("tests/test_cart.py", "tests.test_cart.TestCart", "test_adds[a b]"), [
      "python -m pytest 'tests/test_cart.py::TestCart::test_adds[a b]'",
    ]);
    assert.deepEqual(commands("tests/test_cart.py", "tests.test_cart", "test_adds"), [
      "python -m pytest tests/test_cart.py::test_adds",
    ]);
  });

  it("quote special characters of a shell", () => {
    assert.deepEqual(commands("-it's.rb", "", "$(rm -rf x)"), [
      "bundle exec rspec './-it'\\''s.rb' -e '$(rm -rf x)'",
    ]);
  });

  it("are none for a language that is not known", () => {
    assert.deepEqual(commands("", "Cart", "adds"), []);
  });
});
