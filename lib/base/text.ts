/** Texts that commands and pages share. */
import type { TestIdentity } from "./identity.ts";

/** `1,284`. */
export function formatCount(count: number): string {
  return String(count).replace(/\B(?=(\d{3})+$)/g, ",");
}

/** `1 test`, `1,284 tests`. */
export function plural(count: number, noun: string): string {
  return `${formatCount(count)} ${noun}${count === 1 ? "" : "s"}`;
}

/** Suite, class and name of a test, and its file: `shop > CartTest > adds (cart_test.ts)`. */
export function fullTestName({ suite, class: className, name, file }: TestIdentity): string {
  // Many reporters repeat the suite as the class.
  const parts = [suite, className, name].filter((part, index, all) =>
    part !== "" && part !== all[index - 1]
  );
  const path = parts.join(" > ");
  return file === "" ? path : `${path} (${file})`;
}
