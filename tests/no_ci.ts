import { PROVIDERS } from "../lib/cli/intake/ci/providers.ts";

const names: string[] = [];
for (const provider of PROVIDERS) provider.isPresent((name) => (names.push(name), ""));

/**
 * Empties what CI jobs are recognized by, to lay over the tester's own environment: our tests run
 * in CI too.
 */
export const NO_CI: Readonly<Record<string, string>> = Object.fromEntries(
  names.map((name) => [name, ""]),
);
