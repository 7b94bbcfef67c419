/**
 * `node:test` under the names of the standard library's testing package. With `TEST_NAME` only tests
 * whose names contain it run: `deno test --filter` knows the outermost `describe` alone.
 */
import process from "node:process";
import { it as test } from "node:test";

export { after, afterEach, before, beforeEach, describe } from "node:test";

const wanted = process.env.TEST_NAME ?? "";

/** Defines a test. */
export const it = ((name: string, ...rest: []) => {
  if (name.includes(wanted)) return test(name, ...rest);
}) as typeof test;
