/** Names as the next run will write them: without what belongs to this one run. */
import { Addresses } from "./addresses.ts";
import { insideCheckout } from "./checkout.ts";

const DAY_MILLISECONDS = 24 * 60 * 60 * 1_000;

// unittest-xml-reporting appends the time at which it began to the name of every suite.
const TIME_SUFFIX = /^(.+)-(\d{4})(\d\d)(\d\d)(\d\d)(\d\d)(\d\d)$/s;

/**
 * Removes from the names of one report what cannot be the same in the next run: memory addresses,
 * the folder of the checkout, the suite's own time stamp. Everything else is kept to the letter.
 */
export class NameNormalizer {
  readonly #checkoutFolder: string | undefined;
  readonly #addresses = new Addresses();

  /** @param checkoutFolder where the repository was checked out, if known */
  constructor(checkoutFolder: string | undefined) {
    this.#checkoutFolder = checkoutFolder;
  }

  /** A suite's name, given the `timestamp` of the suite itself. */
  suite(name: string, timestamp: string | undefined): string {
    return this.#addresses.take(this.file(withoutTime(name, timestamp)), "suite");
  }

  class(name: string): string {
    return this.#addresses.take(this.file(name), "class");
  }

  /** The name of a test in that suite and class. */
  name(name: string, suite: string, className: string): string {
    return this.#addresses.take(this.file(name), "name", suite, className);
  }

  /** The path of a file, or a name that may begin with one. */
  file(path: string): string {
    return insideCheckout(path, this.#checkoutFolder);
  }
}

// Each of the two is in local time or UTC, so they may differ by up to a day.
function withoutTime(name: string, timestamp: string | undefined): string {
  if (!timestamp) return name;
  const match = TIME_SUFFIX.exec(name);
  if (!match) return name;
  const [, rest, year, month, day, hour, minute, second] = match;
  const ofName = Date.parse(`${year}-${month}-${day}T${hour}:${minute}:${second}Z`);
  const ofSuite = Date.parse(`${timestamp.slice(0, 19)}Z`);
  return Math.abs(ofName - ofSuite) <= DAY_MILLISECONDS ? rest! : name;
}
