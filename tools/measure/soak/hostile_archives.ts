/** Archives that try to stop a watcher. They belong to a repository of their own. */
import { gzipSync } from "node:zlib";
import { tarOf } from "../../../tests/lib/report/archive/make_archive.ts";

/** Repository of the archives whose metadata can be read. */
const HOSTILE_REPOSITORY = "acme/hostile";

/** One archive. */
interface HostileArchive {
  /** What is wrong with it, in words that fit a file name. */
  kind: string;
  /** What has to become of it; `null`: either, within its deadline. */
  outcome: "processed" | "failed" | null;
  bytes: Uint8Array<ArrayBuffer>;
}

type Entries = [path: string, text: string][];

const KINDS: {
  kind: string;
  outcome: HostileArchive["outcome"];
  entries(no: number): Entries;
  /** Keeps that part of the tar. */
  share?: number;
}[] = [
  {
    // 2^40 values once the aliases are resolved.
    kind: "yaml-aliases",
    outcome: "failed",
    entries: (no) => {
      const aliases = range(40, (n) => `a${n + 1}: &a${n + 1} [*a${n}, *a${n}]\n`);
      return [metadata(no, `a0: &a0 [x]\n${aliases}`), report(testcases(no, 10))];
    },
  },
  {
    // The limit of comparisons is reached, which takes seconds: on a busy machine it exceeds its deadline.
    kind: "codeowners-backtracking",
    outcome: null,
    entries: (no) => {
      const patterns = `${"*a".repeat(120)}b @acme/team\n`.repeat(10_000);
      const file = (n: number) => `${"a".repeat(200)}${n}`;
      const tests = range(1_000, (n) => `<testcase name="test ${n}" file="${file(n)}"/>`);
      return [metadata(no), ["CODEOWNERS", patterns], report(tests)];
    },
  },
  {
    kind: "character-references",
    outcome: "processed",
    entries: (no) => {
      const text = "&#0;&lt;&#x10FFFF;".repeat(200_000);
      const test = `<testcase name="references"><failure message="${text}">${text}</failure>`;
      return [metadata(no), report(`${test}</testcase>`)];
    },
  },
  {
    // Those beyond the limit are left out, with a note.
    kind: "too-many-tags",
    outcome: "processed",
    entries: (no) => [
      metadata(no, `:tags: [${range(2_000, (n) => `tag-${no}-${n}, `)}]\n`),
      report(testcases(no, 1_000)),
    ],
  },
  {
    // As many as are allowed, none of which was there before.
    kind: "new-tags",
    outcome: "processed",
    entries: (no) => [
      metadata(no, `:tags: [${range(100, (n) => `tag-${no}-${n}, `)}]\n`),
      report(testcases(no, 1_000)),
    ],
  },
  {
    kind: "truncated-tar",
    outcome: "failed",
    entries: (no) => [metadata(no), report(testcases(no, 5_000))],
    share: 2 / 3,
  },
];

/** Archive number `no`: the kinds take turns. */
export async function makeHostileArchive(no: number): Promise<HostileArchive> {
  const { kind, outcome, entries, share = 1 } = KINDS[no % KINDS.length]!;
  const tar = await tarOf(entries(no));
  const bytes = new Uint8Array(gzipSync(tar.subarray(0, tar.length * share)));
  return { kind, outcome, bytes };
}

function metadata(no: number, more = ""): Entries[number] {
  const commit = (0xb0000000 + no).toString(16).padStart(40, "0");
  return [
    "buildpulse.yml",
    `:repo_name_with_owner: ${HOSTILE_REPOSITORY}\n:commit: "${commit}"\n` +
    `:build_url: https://ci.example.com/hostile/${no}\n${more}`,
  ];
}

function report(tests: string): Entries[number] {
  return ["test_results/a.xml", `<testsuite name="hostile">${tests}</testsuite>`];
}

function testcases(no: number, count: number): string {
  return range(count, (n) => `<testcase classname="c" name="test ${n}" time="0.${no % 10}"/>`);
}

function range(count: number, text: (n: number) => string): string {
  return Array.from({ length: count }, (_, n) => text(n)).join("");
}
