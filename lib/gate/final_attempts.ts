import { testHash, type TestIdentity } from "../base/identity.ts";
import { isNegative, type TestResult } from "../report/result.ts";
import { detach } from "../base/text.ts";
import { identityKey } from "./rule.ts";

/**
 * The outcome of each test's final attempt: results of the same identity are attempts in order.
 * Skips are ignored, and an unknown outcome does not replace a failure.
 */
export class FinalAttempts {
  readonly #open = new Map<string, { test: TestIdentity; isFailed: boolean }>();
  // Hashes instead of identities save memory: nearly all tests pass.
  readonly #passed = new Set<number>();

  /** Adds the next attempt of a test. Its strings may be slices of a larger text. */
  add(result: TestResult): void {
    if (result.conclusion === "skipped") return;
    if (result.conclusion === "passing") {
      this.#passed.add(testHash(result));
      if (this.#open.size > 0) this.#open.delete(identityKey(result));
      return;
    }
    const key = identityKey(result);
    const isFailed = isNegative(result.conclusion) || this.#open.get(key)?.isFailed === true;
    const test = {
      suite: detach(result.suite),
      class: detach(result.class),
      name: detach(result.name),
      file: detach(result.file),
    };
    this.#open.set(key, { test, isFailed });
  }

  /** Tests whose final attempt failed. */
  get failed(): TestIdentity[] {
    return this.#tests(true);
  }

  /** Tests whose final attempt has no known outcome. */
  get unclear(): TestIdentity[] {
    return this.#tests(false);
  }

  /** Whether the final attempt of a test passed. */
  hasPassed(test: TestIdentity): boolean {
    return this.#passed.has(testHash(test)) && !this.#open.has(identityKey(test));
  }

  #tests(isFailed: boolean): TestIdentity[] {
    return [...this.#open.values()].filter((one) => one.isFailed === isFailed)
      .map(({ test }) => test);
  }
}
