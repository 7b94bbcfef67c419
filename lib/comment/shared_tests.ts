/**
 * A test that failed in several jobs, such as the jobs of a matrix, is one test in the headline of the comment
 * and one line in it, with the names of the other jobs.
 */
import { testHash, type TestIdentity } from "../base/identity.ts";
import type { Blame } from "../evidence/shares.ts";
import { decodeHidden, encodeHidden } from "./hidden_json.ts";
import { safeCode } from "./safe_markdown.ts";

/** The lists of failed tests in a section, in their order. */
export const FAILED_LISTS: readonly [title: string, blame: Blame | null][] = [
  ["Probably yours", "yours"],
  ["Unclear", "unclear"],
  ["Failed", null],
  ["Not yours", "not_yours"],
];

/** What a job counts; a test that several jobs count differently is the first of these. */
const COUNTS = ["yours", "unclear", "unknown", "notYours", "flaky"] as const;

type TestCount = typeof COUNTS[number];

// The end of its hash in base 36, and a letter for what it counts as.
const LETTERS = "yu?nf";
const HASH_CHARACTERS = 6;
const KEY_CHARACTERS = HASH_CHARACTERS + 1;

/** Keys of one job: the comment has room for a hundred. */
export const MAX_KEYS = 60;

/** How many keys each section keeps, so that all sections fit. */
export function maxKeys(sectionCount: number): number {
  return Math.min(MAX_KEYS, Math.floor(2_000 / Math.max(sectionCount, 1)));
}

/** Keys of the tests that a job counts: other jobs recognize the same tests by them. */
export function keysOf(
  failed: readonly (TestIdentity & { blame: Blame | null })[],
  flaky: readonly TestIdentity[],
): string {
  const letterOf = (blame: Blame | null) =>
    blame === null ? "?" : LETTERS[COUNTS.indexOf(blame === "not_yours" ? "notYours" : blame)]!;
  const keys = [
    ...failed.map((test) => shortHash(testHash(test)) + letterOf(test.blame)),
    ...flaky.map((test) => `${shortHash(testHash(test))}f`),
  ];
  // Sorted by hash: jobs with too many tests keep the same ones.
  return cutKeys(keys.sort().join(""), MAX_KEYS);
}

function shortHash(hash: number): string {
  return hash.toString(36).padStart(HASH_CHARACTERS, "0").slice(-HASH_CHARACTERS);
}

/** The keys of the tests that failed, one for each test. */
export function failedKeys(keys: string): string[] {
  const all = keys.match(/.{7}/g) ?? [];
  return all.filter((key) => !key.endsWith("f")).map((key) => `${key.slice(0, HASH_CHARACTERS)}?`);
}

/** Whether one of some tests has a key. */
export function hasKey(testHashes: Iterable<number>): (key: string) => boolean {
  const keys = new Set(Iterator.from(testHashes).map((hash) => `${shortHash(hash)}?`));
  return (key) => keys.has(key);
}

/** The first of the keys. */
export function cutKeys(keys: string, count: number): string {
  return keys.slice(0, count * KEY_CHARACTERS);
}

interface CountedJob {
  counts: Readonly<Record<TestCount, number>>;
  /** From {@linkcode keysOf}; `undefined` of a job that wrote its section with an earlier version. */
  tests: string | undefined;
}

/**
 * The tests of all jobs, each once. Of those without a key, which are too many, the tests of one job are
 * taken to be those of the others.
 */
export function countTests(jobs: readonly CountedJob[]): Record<TestCount, number> {
  const total = { yours: 0, unclear: 0, unknown: 0, notYours: 0, flaky: 0 };
  const most = { ...total };
  const strongest = new Map<string, number>();
  for (const { counts, tests } of jobs) {
    const rest = { ...counts };
    for (const [key] of (tests ?? "").matchAll(/.{7}/g)) {
      const hash = key.slice(0, HASH_CHARACTERS);
      const rank = LETTERS.indexOf(key[HASH_CHARACTERS]!);
      if (rank === -1) continue;
      rest[COUNTS[rank]!]--;
      strongest.set(hash, Math.min(strongest.get(hash) ?? rank, rank));
    }
    for (const count of COUNTS) {
      if (tests === undefined) total[count] += counts[count];
      else most[count] = Math.max(most[count], rest[count]);
    }
  }
  for (const rank of strongest.values()) total[COUNTS[rank]!]++;
  for (const count of COUNTS) total[count] += most[count];
  return total;
}

const LIST_HEAD = new RegExp(
  `^\\*\\*(?:${FAILED_LISTS.map(([title]) => title).join("|")})\\*\\* \\(\\d+\\)$`,
);
const REST = /^- and \d+ more$/;
const LISTED = /\n?- \d+ more, listed under another job <!-- test-analytics listed ([\w-]+) -->$/;
// No text of a test ends with the end of an HTML comment.
const ALSO = "<!-- test-analytics also -->";
const ALSO_END = "<!-- -->";
const ALSO_IN = new RegExp(` · ${ALSO}(?:(?!${ALSO})[^\\n])*${ALSO_END}$`);

/** A section of a job, before or after its lines are shared. */
interface JobText {
  job: string;
  text: string;
}

/** The texts of sections in which each failed test is listed once, with the names of the other jobs. */
export function shareLines(sections: readonly JobText[]): string[] {
  const sectionsOf = new Map<string, Set<number>>();
  sections.forEach(({ text }, sectionNo) => {
    changeLists(text, (items) => {
      for (const item of items) {
        const name = nameOf(item);
        sectionsOf.set(name, (sectionsOf.get(name) ?? new Set()).add(sectionNo));
      }
      return items;
    });
  });
  return sections.map(({ text }, sectionNo) =>
    changeLists(text, (items) => {
      const hidden: [index: number, item: string][] = [];
      const kept: string[] = [];
      items.forEach((item, index) => {
        const [first, ...others] = REST.test(item) ? [sectionNo] : sectionsOf.get(nameOf(item))!;
        if (first !== sectionNo) hidden.push([index, item]);
        else kept.push(others.length === 0 ? item : item + alsoIn(others, sections));
      });
      if (hidden.length === 0) return kept;
      const mark = `<!-- test-analytics listed ${encodeHidden(hidden)} -->`;
      return [...kept, `- ${hidden.length} more, listed under another job ${mark}`];
    })
  );
}

/** The text of a section as its job wrote it. */
export function ownLines(text: string): string {
  return changeLists(text, (items) => {
    const last = items.at(-1) ?? "";
    const [mark, encoded] = LISTED.exec(last) ?? [];
    const kept = mark === undefined ? items : items.slice(0, -1);
    const own = kept.map((item) => item.replace(ALSO_IN, ""));
    for (const [index, item] of encoded === undefined ? [] : hiddenItems(encoded)) {
      own.splice(index, 0, item);
    }
    return own;
  });
}

function alsoIn(sectionNos: readonly number[], sections: readonly JobText[]): string {
  const counts = new Map<string, number>();
  for (const sectionNo of sectionNos) {
    const { job } = sections[sectionNo]!;
    counts.set(job, (counts.get(job) ?? 0) + 1);
  }
  const names = Array.from(
    counts,
    ([job, count]) =>
      safeCode(job, 100).replaceAll("<!--", "<!- -") + (count === 1 ? "" : ` (${count} times)`),
  );
  return ` · ${ALSO}also in ${names.join(", ")}${ALSO_END}`;
}

function changeLists(text: string, change: (items: string[]) => string[]): string {
  const blocks = text.split("\n\n");
  return blocks.map((block, index) =>
    index > 0 && LIST_HEAD.test(blocks[index - 1]!)
      ? change(block.split(/\n(?=- )/)).join("\n")
      : block
  ).join("\n\n");
}

function nameOf(item: string): string {
  return item.split("\n", 1)[0]!;
}

/** The items that are listed under another job, with their places. */
function hiddenItems(encoded: string): [number, string][] {
  const found = decodeHidden(encoded);
  return !Array.isArray(found)
    ? []
    : found.filter((one): one is [number, string] =>
      Array.isArray(one) && typeof one[0] === "number" && typeof one[1] === "string"
    );
}
