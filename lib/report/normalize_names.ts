/**
 * Names as the next run will write them: without memory addresses, the folder of the checkout, and the
 * suite's own time stamp. Everything else is unchanged.
 */

import { withPrefix } from "./path_prefix.ts";

// Distinct addresses numbered in one report; further ones stay as they are.
const MAX_ADDRESSES = 10_000;

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

export class NameNormalizer {
  readonly #checkoutFolder: string;
  readonly #pathPrefix: string;
  /** By the rest of the name and its test, the numbers of addresses. */
  readonly #ordinals = new Map<string, Map<string, number>>();
  #addressCount = 0;

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
    return this.#numberAddresses(this.#fileOrName(withoutTime(name, timestamp)), "suite");
  }

  class(name: string): string {
    return this.#numberAddresses(this.#fileOrName(name), "class");
  }

  /** The name of a test in that suite and class. */
  name(name: string, suite: string, className: string): string {
    return this.#numberAddresses(this.file(name), `name\0${suite}\0${className}`);
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

  /**
   * The first address that the rest of a name occurs with becomes `0x1`, the second `0x2`. A test keeps
   * its name from run to run as long as tests come in the same order, and two tests of one report never
   * become one.
   */
  #numberAddresses(name: string, scope: string): string {
    if (!name.includes("0x") && !name.includes("@")) return name;
    const addresses: string[] = [];
    const rest = name.replace(ADDRESS, (address) => {
      addresses.push(address);
      return address.startsWith("@") ? "@\0" : "0x\0";
    });
    if (addresses.length === 0) return name;
    const ordinal = this.#ordinalOf(`${scope}\0${rest}`, addresses.join());
    return ordinal === undefined ? name : rest.replaceAll("\0", String(ordinal));
  }

  #ordinalOf(key: string, addresses: string): number | undefined {
    const known = this.#ordinals.get(key) ?? new Map<string, number>();
    const ordinal = known.get(addresses);
    if (ordinal !== undefined || this.#addressCount === MAX_ADDRESSES) return ordinal;
    this.#addressCount++;
    known.set(addresses, known.size + 1);
    this.#ordinals.set(key, known);
    return known.size;
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
