/**
 * Names as the next run will write them: without memory addresses, the folder of the checkout, and the
 * suite's own time stamp. Everything else is unchanged.
 */

import type { TestIdentity } from "../base/identity.ts";
import { withPrefix } from "./path_prefix.ts";
import { variantOf } from "./variant.ts";

/**
 * Only what languages write for objects counts as an address: a bare number such as `0xdeadbeef` may be
 * what the test is about. What precedes an address is bounded, as hostile names are long.
 */
const ADDRESS = new RegExp(
  "(?=0x|@)(?:" + [
    // Python: <shop.Coupon object at 0x7f3c1d20>
    /(?<=<[^<]{0,128} at )0x[\da-fA-F]{6,16}(?=>)/,
    // Ruby, Objective-C, Swift: #<Shop::Order:0x00007f3c @total=1>, <Order: 0x600001c0>
    /(?<=<[\w:.$]{1,128}: ?)0x[\da-fA-F]{6,16}(?=[> ;,])/,
    // Perl: HASH(0x55d0c0de)
    /(?<=(?<![A-Z])(?:ARRAY|CODE|GLOB|HASH|REF|SCALAR)\()0x[\da-fA-F]{6,16}(?=\))/,
    // Java: a lambda, shop.Order$$Lambda$14/0x0000000800c03000
    /(?<=\$\$Lambda(?:\$\d{1,9})?\/)0x[\da-fA-F]{6,16}(?![\w.-])/,
    // Java: arrays, [I@1b6d3586 and [Lshop.Order;@1b6d3586
    /(?<=\[(?:[BCDFIJSZ]|L[\w.$/]{1,128};))@[\da-f]{1,8}(?![\w.-])/,
    // Java: packages in lower case and a class, shop.Order$Item@1b6d3586
    /(?<=(?<![\w.$])(?=[\w.$/]{1,128}@)[a-z]\w*(?:\.[a-z]\w*)*\.[A-Z]\w*(?:\$[\w$]*)?(?:\/0x[\da-f]+)?)@[\da-f]{6,8}(?![\w.-])/,
  ].map(({ source }) => source).join("|") + ")",
  "g",
);

// Where CI services put a checkout below a name that changes from run to run: the number of a build,
// an executor or a sandbox, the name of a machine. Each takes time linear in the path's length.
const CHANGING_FOLDERS: readonly [pattern: RegExp, replacement: string][] = [
  // AWS CodeBuild numbers the folder; below it comes the repository, by its address if it has one.
  [/^\/codebuild\/output\/src\d+\/src\/(?:[\w-]+\.[\w.-]+\/[^/]+\/[^/]+\/)?/, ""],
  // Buildkite: the agent's name, mostly the host's and a number.
  [/^.*?\/buildkite-agent\/builds\/[^/]+\/[^/]+\/[^/]+\//s, ""],
  // Self-hosted runners of Azure Pipelines and of GitHub Actions.
  [/^.*?\/_work\/(?:\d+\/s|([^/]+)\/\1)\//s, ""],
  // Bazel numbers its sandboxes.
  [/^.*?\/sandbox\/[\w-]+\/\d+\/execroot\/[^/]+\//s, ""],
  // GitLab's shell executor: the runner's token and the number of a concurrent job.
  [/^\/home\/gitlab-runner\/builds\/[\w-]+\/\d+\//, "/builds/"],
  // Jenkins: a second build of the same job at the same time.
  [/^((?:(?!\/workspace\/).)*\/workspace\/(?:(?!@\d+\/).)*)@\d+\//s, "$1/"],
];

// Not a namespace of PHP.
const WINDOWS_FILE =
  /^(?:[A-Za-z]:)?[\w.@ -]{0,200}(?:\\[\w.@() [\]-]{1,200}){1,50}\.(?:[cm]?[jt]sx?|py|rb|vue|dart)$/;

const ABSOLUTE = /^(?:[\\/]|.:)/s;

// unittest-xml-reporting appends the time at which it began to the name of every suite.
const TIME_SUFFIX = /^(.+)-(\d{4})(\d\d)(\d\d)(\d\d)(\d\d)(\d\d)$/s;
const DAY_MILLISECONDS = 24 * 60 * 60 * 1_000;

/** A test with normalized names. */
export interface NamedTest {
  identity: TestIdentity;
  /** A number for the addresses in its names; 0 without any. */
  variant: number;
}

export class NameNormalizer {
  readonly #checkoutFolder: string;
  readonly #pathPrefix: string;

  /**
   * @param checkoutFolder where the repository was checked out, `""` if unknown
   * @param pathPrefix the folder in it that relative paths of files begin at, `""` for its root
   */
  constructor(checkoutFolder = "", pathPrefix = "") {
    this.#checkoutFolder = checkoutFolder.replace(/[\\/]+$/, "");
    this.#pathPrefix = pathPrefix;
  }

  /** The path of a test's file, from the top of the repository as far as that is known. */
  path(file: string): string {
    const isRelative = !ABSOLUTE.test(file);
    const path = this.#plainPath(file);
    return isRelative ? withPrefix(path, this.#pathPrefix) : path;
  }

  /** A path as every system writes it: with `/`, and without `./` in front. */
  #plainPath(file: string): string {
    const path = this.file(file);
    if (!path.includes("\\") && !path.startsWith("./")) return path;
    return path.replaceAll("\\", "/").replace(/^(?:\.\/+)+/, "");
  }

  /** A suite's name, given the `timestamp` of the suite itself. */
  suite(name: string, timestamp: string | undefined): string {
    return withoutAddresses(this.#fileOrName(withoutTime(name, timestamp)));
  }

  class(name: string): string {
    return withoutAddresses(this.#fileOrName(name));
  }

  name(name: string): string {
    return withoutAddresses(this.file(name));
  }

  /** A test, from its names as they are written and the path of its file. */
  test({ suite, class: className, name, file }: TestIdentity): NamedTest {
    return {
      identity: {
        suite: this.suite(suite, undefined),
        class: this.class(className),
        name: this.name(name),
        file,
      },
      variant: variantOf(addressesIn(suite, className, name)),
    };
  }

  /** A name that may be the path of a file: only then it has other slashes on Windows. */
  #fileOrName(name: string): string {
    return name.includes("\\") && WINDOWS_FILE.test(name) ? this.#plainPath(name) : this.file(name);
  }

  /**
   * The path of a file, or a name that may begin with one: inside the repository when it is below a
   * checkout. Relative paths and paths elsewhere stay as they are.
   */
  file(path: string): string {
    if (!ABSOLUTE.test(path)) return path;
    const folder = this.#checkoutFolder;
    const inside = path.slice(folder.length + 1);
    const isBelow = folder !== "" && inside !== "" && path.startsWith(folder) &&
      /[\\/]/.test(path.charAt(folder.length));
    if (isBelow) return inside;
    for (const [pattern, replacement] of CHANGING_FOLDERS) {
      const shortened = path.replace(pattern, replacement);
      if (shortened !== path && shortened !== "") return shortened;
    }
    return path;
  }
}

// Not numbered by their order: in a rerun of what failed, an address would take the number of another test's.
function withoutAddresses(name: string): string {
  if (!mayHaveAddress(name)) return name;
  return name.replace(ADDRESS, (address) => address.startsWith("@") ? "@1" : "0x1");
}

/** The addresses in some names: tests of one report that differ only in them are different tests. */
export function addressesIn(...names: (string | undefined)[]): string[] {
  return names.flatMap((name) => name && mayHaveAddress(name) ? name.match(ADDRESS) ?? [] : []);
}

function mayHaveAddress(name: string): boolean {
  return name.includes("0x") || name.includes("@");
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
