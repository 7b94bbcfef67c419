import { SERVICES } from "../lib/ci/services.ts";

/**
 * Empties what CI jobs are recognized by, to lay over the tester's own environment: our tests run
 * in CI too.
 */
export const NO_CI: Readonly<Record<string, string>> = Object.fromEntries(
  SERVICES.flatMap(({ presence }) => presence).map((text) => [text.replace(/=.*/, ""), ""]),
);
