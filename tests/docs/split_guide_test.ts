/** The lines of shell in the guide to `split`, run by real shells on names that are patterns. */
import { after, before, describe, it } from "@std/testing/bdd";
import assert from "node:assert/strict";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";

const GUIDE = new URL("../../docs/guides/split.md", import.meta.url);

/** As in a folder of Next.js: as patterns, the first two match the third, or the fourth. */
const NAMES = ["[id].test.ts", "tests/*.test.ts", "i.test.ts", "tests/a.test.ts"];
const SHARE = NAMES.slice(0, 2);

/** Stand-ins: `split` prints the share, runners print their arguments, one per line. */
const STAND_INS = `
split_share() { for name in "$@"; do printf '%s\\n' "$name"; done; }
runner() { for argument in "$@"; do case $argument in -*|junit_family=*) ;; *) printf '%s\\n' "$argument" ;; esac; done; }
pytest() { runner "$@"; }
npx() { shift; runner "$@"; }
`;

/** The lines of each block that calls `split` and a runner. */
function snippets(guide: string): string[][] {
  const blocks = [...guide.matchAll(/```(?:yaml|sh elsewhere)\n([^]*?)```/g)].map(([, text]) =>
    text!.split("\n")
  );
  return blocks.flatMap((lines) => {
    const start = lines.findIndex((line) => /files=\$\(test-analytics|> share\.txt/.test(line));
    if (start < 0) return [];
    const end = lines.findIndex((line) => /\bpytest --junitxml|npx jest/.test(line));
    return [lines.slice(start, end + 1)];
  });
}

/** A line of a script, without the marks of YAML. */
function scriptLine(line: string): string {
  const item = line.trim().replace(/^- /, "");
  const text = /^'(.*)'$/.exec(item)?.[1] ?? item;
  return text.replaceAll("${{ matrix.node }}", "0")
    .replace(/test-analytics split [^|>)]*/, `split_share "$@" `)
    .replace(/test-analytics split(?= *>)/, `split_share "$@"`)
    .replace(/^find [^|]*\|/, "");
}

describe("the guide to split", () => {
  let folder: string;
  let scripts: string[][];

  before(async () => {
    folder = await mkdtemp(join(tmpdir(), "split-guide-"));
    await Deno.mkdir(join(folder, "tests"));
    for (const name of NAMES) await writeFile(join(folder, name), "");
    scripts = snippets(await readFile(GUIDE, "utf8"));
  });
  after(() => rm(folder, { recursive: true }));

  async function run(shell: string, lines: readonly string[], share: readonly string[]) {
    const script = [STAND_INS, ...lines.map(scriptLine)].join("\n");
    const { code, stdout, stderr } = await new Deno.Command(shell, {
      args: ["-e", "-c", script, shell, ...share],
      cwd: folder,
    }).output();
    assert.equal(code, 0, new TextDecoder().decode(stderr));
    return new TextDecoder().decode(stdout).split("\n").filter((line) => line !== "");
  }

  it("runs each file of a share once, and does nothing for an empty share", async () => {
    assert.equal(scripts.length, 4);
    for (const lines of scripts) {
      const isBash = lines.some((line) => line.includes("mapfile"));
      for (const shell of isBash ? ["bash"] : ["bash", "sh"]) {
        assert.deepEqual(await run(shell, lines, SHARE), SHARE, lines.join("\n"));
        assert.deepEqual(await run(shell, lines, []), []);
      }
    }
  });

  it("would run other files without its precautions", async () => {
    const [first] = scripts;
    const careless = first!.filter((line) => line.trim() !== "set -f");
    assert.deepEqual(await run("bash", careless, SHARE), [
      "i.test.ts",
      "tests/*.test.ts",
      "tests/a.test.ts",
    ]);
  });

  it("passes names with white space on", async () => {
    const lines = scripts.find((lines) => lines.some((line) => line.includes("mapfile")))!;
    assert.deepEqual(await run("bash", lines, ["tests/a b.test.ts"]), ["tests/a b.test.ts"]);
  });
});
