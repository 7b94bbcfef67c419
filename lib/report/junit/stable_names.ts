/** Names of one report as they will be in the next: without what belongs to this one run. */
import { Addresses, mayHoldAddress } from "./addresses.ts";
import { insideCheckout } from "./checkout.ts";

const DAY_MILLISECONDS = 24 * 60 * 60 * 1_000;

// unittest-xml-reporting appends the time at which it began to the name of every suite.
const TIME_SUFFIX = /^(.+)-(\d{4})(\d\d)(\d\d)(\d\d)(\d\d)(\d\d)$/s;

/**
 * Takes out of the names of one report what can never be the same in the next run: memory addresses,
 * the place of the checkout, the suite's own time stamp. Everything else stays to the letter.
 */
export class StableNames {
  readonly #checkoutFolder: string | undefined;
  readonly #addresses = new Addresses();

  /** @param checkoutFolder where the repository was checked out, if that is known */
  constructor(checkoutFolder: string | undefined) {
    this.#checkoutFolder = checkoutFolder;
  }

  /** A suite's name, by the `timestamp` that the suite itself has. */
  suite(name: string, timestamp: string | undefined): string {
    return this.#named(withoutTime(name, timestamp), "suite");
  }

  /** The name of a class. */
  class(name: string): string {
    return this.#named(name, "class");
  }

  /** The name of a test in that suite and class. */
  name(name: string, suite: string, className: string): string {
    const inside = insideCheckout(name, this.#checkoutFolder);
    // Before the names are put together, which is for nothing with nearly every test.
    if (!mayHoldAddress(inside)) return inside;
    return this.#addresses.take(inside, `name\0${suite}\0${className}`);
  }

  /** The path of a file. */
  file(path: string): string {
    return insideCheckout(path, this.#checkoutFolder);
  }

  #named(name: string, scope: string): string {
    return this.#addresses.take(insideCheckout(name, this.#checkoutFolder), scope);
  }
}

// Both are in local time or UTC, each as it pleases: a day is as near as they must come.
function withoutTime(name: string, timestamp: string | undefined): string {
  if (!timestamp) return name;
  const match = TIME_SUFFIX.exec(name);
  if (!match) return name;
  const [, rest, year, month, day, hour, minute, second] = match;
  const ofName = Date.parse(`${year}-${month}-${day}T${hour}:${minute}:${second}Z`);
  const ofSuite = Date.parse(`${timestamp.slice(0, 19)}Z`);
  return Math.abs(ofName - ofSuite) <= DAY_MILLISECONDS ? rest! : name;
}
