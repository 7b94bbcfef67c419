/**
 * Memory addresses in the names of tests: a parametrized test whose argument has no text of its own
 * is named after the argument's address, `test_pay[<Coupon object at 0x7f3c>]`.
 */

/** Distinct addresses numbered in one report; further ones stay as they are. */
const MAX_ADDRESSES = 10_000;

// Longer class names before an address are not recognized, and a name with more possible addresses
// stays as it is: both bound the time that a hostile name takes.
const MAX_CLASS_CHARACTERS = 128;
const MAX_ADDRESSES_OF_NAME = 16;

const HEXADECIMAL = /(0x[0-9a-f]{6,16}|@[0-9a-f]{1,8})(?![0-9a-z_.-])/gi;
const NAME_CHARACTER = /[\w:.$]/;
const JAVA_LAMBDA = /\$\$Lambda(?:\$\d+)?\/$/;
const PERL_REFERENCE = /(?:^|[^A-Z])(?:ARRAY|CODE|GLOB|HASH|REF|SCALAR)\($/;
const JAVA_ARRAY = /\[(?:[BCDFIJSZ]|L[\w.$/]+;)$/;
const JAVA_CLASS =
  /(?:^|[^\w.$])[a-z]\w*(?:\.[a-z]\w*)*\.(?:[A-Z]\w*)(?:\$[\w$]*)?(?:\/0x[0-9a-f]+)?$/;

/**
 * Numbers the memory addresses in the names of one report: the first address that the rest of a name
 * occurs with becomes `0x1`, the second `0x2`. A test keeps its name from run to run as long as tests
 * come in the same order, and two tests of one report never become one.
 *
 * Only what languages write for objects counts as an address: Python's `<… at 0x7f3c1d20>`,
 * `#<Order:0x00007f3c …>` of Ruby, `<Order: 0x600001c0>` of Objective-C and Swift, `HASH(0x55d0c0de)`
 * of Perl, `shop.Order@1b6d3586` and `[I@1b6d3586` of Java. A bare number such as `0xdeadbeef` may be
 * what the test is about.
 */
export class Addresses {
  readonly #ordinals = new Map<string, Map<string, number>>();
  #count = 0;

  /** The name with numbers for addresses; `suite` and `className` are the rest of its identity. */
  take(name: string, kind: string, suite = "", className = ""): string {
    if (!name.includes("0x") && !name.includes("@")) return name;
    const found = addressesIn(name);
    if (found.length === 0) return name;
    let rest = "";
    let end = 0;
    for (const { start, text } of found) {
      rest += `${name.slice(end, start)}\0`;
      end = start + text.length;
    }
    rest += name.slice(end);
    const key = `${kind}\0${suite}\0${className}\0${rest}`;
    const ordinal = this.#ordinalOf(key, found.map(({ text }) => text).join());
    if (ordinal === 0) return name;
    const at = found.map(({ text }) => text.startsWith("@") ? `@${ordinal}` : `0x${ordinal}`);
    return rest.replace(/\0/g, () => at.shift()!);
  }

  // 0 when there are too many of them.
  #ordinalOf(key: string, addresses: string): number {
    const known = this.#ordinals.get(key) ?? new Map<string, number>();
    const ordinal = known.get(addresses);
    if (ordinal !== undefined) return ordinal;
    if (++this.#count > MAX_ADDRESSES) return 0;
    known.set(addresses, known.size + 1);
    this.#ordinals.set(key, known);
    return known.size;
  }
}

function addressesIn(name: string): { start: number; text: string }[] {
  const found: { start: number; text: string }[] = [];
  let seen = 0;
  for (const { index: start, 0: text } of name.matchAll(HEXADECIMAL)) {
    if (++seen > MAX_ADDRESSES_OF_NAME) return [];
    const before = name.slice(Math.max(0, start - MAX_CLASS_CHARACTERS), start);
    const after = name.charAt(start + text.length);
    const isAddress = text.startsWith("@")
      ? JAVA_ARRAY.test(before) || (text.length > 6 && JAVA_CLASS.test(before))
      : isOfPython(before, after) || isOfClass(before, after) || JAVA_LAMBDA.test(before) ||
        (after === ")" && PERL_REFERENCE.test(before));
    if (isAddress) found.push({ start, text });
  }
  return found;
}

function isOfPython(before: string, after: string): boolean {
  return after === ">" && before.endsWith(" at ") && before.includes("<");
}

// `<Order: 0x…>` and `#<Shop::Order:0x… @total=1>`.
function isOfClass(before: string, after: string): boolean {
  if (after !== ">" && after !== " " && after !== ";" && after !== ",") return false;
  const trimmed = before.endsWith(": ") ? before.slice(0, -1) : before;
  if (!trimmed.endsWith(":")) return false;
  let at = trimmed.length - 1;
  while (at >= 0 && NAME_CHARACTER.test(trimmed[at]!)) at--;
  return trimmed[at] === "<" && at < trimmed.length - 2;
}
