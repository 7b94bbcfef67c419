/** Values of random histories: few of each, chosen to be confused with each other. */
import type { TestIdentity } from "../../lib/base/identity.ts";

/** Two share a bare name, one has an owner of two parts. */
export const REPOSITORIES = [
  { owner: "acme", name: "Web" },
  { owner: "other", name: "web" },
  { owner: "Group/sub", name: "größe_50%" },
];

/** Differ by case, by the borders between fields, and by characters that SQL could misread. */
export const TESTS: TestIdentity[] = [
  { suite: "Checkout", class: "CartTest", name: "adds: an item", file: "tests/cart.ts" },
  { suite: "Straße ΟΔΟΣ", class: "İstanbul", name: "überträgt 🚀 e\u0301", file: "a\tb\nc" },
  { suite: "", class: "", name: "100%_sure\\", file: "" },
  { suite: "checkout", class: "CartTest", name: "adds: an item", file: "tests/cart.ts" },
  { suite: "CheckoutC", class: "artTest", name: "adds: an item", file: "tests/cart.ts" },
  { suite: "CartTest", class: "Checkout", name: "tests/cart.ts", file: "adds: an item" },
  { suite: 'it\'s "quoted" {a,b}', class: "null", name: "tags:smoke", file: "C:\\tests\\a.cs" },
  { suite: "checkout", class: "carttest", name: "Adds: an item", file: "tests/cart.ts" },
  { suite: "loose", class: "com.acme.Loose", name: "adds", file: "" },
  // Set-ups: of a file, of a class, and of the suite of the additional tests.
  {
    suite: "Checkout",
    class: "CartTest",
    name: '"before each" hook for "adds: an item"',
    file: "tests/cart.ts",
  },
  { suite: "checkout", class: "", name: "tests/cart.ts", file: "tests/cart.ts" },
  { suite: "loose", class: "com.acme.Loose", name: "com.acme.Loose", file: "" },
  { suite: "crowd", class: "", name: '"before all" hook', file: "" },
];

/** Of `TESTS`, where the set-ups begin. */
export const FIRST_SET_UP = 9;

export const COMMITS = ["c1".repeat(20), "c2".repeat(20), "ab".repeat(20), "HEAD"];

/** They identify no code: names, and hex of six and of 66 digits. */
export const SYMBOLIC_COMMITS = ["HEAD", "main", "c1c1c1", "c1".repeat(33)];

/** One equals a commit. */
export const TREES = ["ab".repeat(20), "77".repeat(20)];

/** Some match `release/*`, `%` and `_` are not wildcards. */
export const BRANCHES = ["main", "Main", "release/1", "release/1_%", "größe"];

/** Patterns for `branch`. */
export const BRANCH_PATTERNS = ["main", "release/*", "*", "*1*", "release/1", "m%", "none", "*e"];

/** Most often unknown. */
export const ENVIRONMENTS = ["", "", "", "Linux-X64", "linux-x64", "win 1_%"];

/** Patterns for `environment`. */
export const ENVIRONMENT_PATTERNS = ["Linux*", "*", "win 1_%", "none"];

export const BUILD_URLS = [
  "",
  "https://ci.example/1",
  "https://ci.example/2",
  "https://CI.example/1?a=b&c=%20",
];

/** Pages of repositories. */
export const REPOSITORY_URLS = ["https://git.example/acme/web", "https://git.example/größe_50%"];

export const TAGS = ["smoke", "Smoke", "größe", 'a"b\\{}', "nightly"];

export const MESSAGES = [
  "",
  "expected 1, got 2",
  'Zeitüberschreitung 🚀 "quoted" \\ \u2028 end',
  "x".repeat(1000),
];

/** Bare text for `q`. */
export const TEXTS = [
  "cart",
  "CARTTEST",
  "%",
  "_",
  "\\",
  ":",
  "ADDS:",
  "an",
  "οδος",
  "οδοσ",
  "Σ",
  "ΟΔΟ",
  "straSSe",
  "STRAßE",
  "i\u0307stan",
  "🚀",
  "a,b",
  "nothing",
];
