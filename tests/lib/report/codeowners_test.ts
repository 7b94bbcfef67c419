import { describe, it } from "@std/testing/bdd";
import assert from "node:assert/strict";
import { parseCodeowners } from "../../../lib/report/codeowners.ts";

/** Checks which of the paths a single pattern matches. */
function matching(pattern: string, paths: string[]): string[] {
  const owners = parseCodeowners(`${pattern} @x`);
  return paths.filter((path) => owners.ownersOf(path).length > 0);
}

describe("a pattern of CODEOWNERS", () => {
  it("without a slash matches at any depth, files and folders", () => {
    assert.deepEqual(matching("*.js", ["a.js", "src/b.js", "a.ts", "x.js/inside.ts", "a.js.map"]), [
      "a.js",
      "src/b.js",
      "x.js/inside.ts",
    ]);
    assert.deepEqual(matching("*", ["a", "b/c/d.test.ts"]), ["a", "b/c/d.test.ts"]);
    assert.deepEqual(matching("web", ["web", "packages/web/a.ts", "webby/a.ts"]), [
      "web",
      "packages/web/a.ts",
    ]);
  });

  it("with a slash before or inside starts at the root", () => {
    assert.deepEqual(matching("/src", ["src", "src/a.ts", "lib/src/a.ts"]), ["src", "src/a.ts"]);
    assert.deepEqual(matching("src/web", ["src/web/a.ts", "lib/src/web/a.ts"]), ["src/web/a.ts"]);
    assert.deepEqual(matching("/src/web/a.ts", ["src/web/a.ts", "src/web/a.tsx"]), [
      "src/web/a.ts",
    ]);
  });

  it("with a trailing slash matches everything below a folder", () => {
    assert.deepEqual(matching("docs/", ["docs", "docs/a.md", "x/docs/b/c.md"]), [
      "docs/a.md",
      "x/docs/b/c.md",
    ]);
    assert.deepEqual(matching("/docs/", ["docs/a.md", "x/docs/a.md"]), ["docs/a.md"]);
  });

  it("with a star at its end matches one level", () => {
    assert.deepEqual(matching("docs/*", ["docs/a.md", "docs/deep/b.md"]), ["docs/a.md"]);
    assert.deepEqual(matching("docs/*.md", ["docs/a.md", "docs/a.txt", "docs/x/a.md"]), [
      "docs/a.md",
    ]);
  });

  it("with a star in a folder's name owns all below the folders that match", () => {
    const paths = ["packages/x/y.ts", "packages/x/deep/z.ts", "packages/readme.md"];
    assert.deepEqual(matching("/packages/*/", paths), paths.slice(0, 2));
    assert.deepEqual(matching("packages/*/", paths), paths.slice(0, 2));
    assert.deepEqual(matching("/apps/*-ui/", ["apps/web-ui/x.ts", "apps/web/x.ts"]), [
      "apps/web-ui/x.ts",
    ]);
    assert.deepEqual(matching("/apps/web*", ["apps/web-ui/x.ts", "apps/webs.md", "apps/api/x"]), [
      "apps/web-ui/x.ts",
      "apps/webs.md",
    ]);
  });

  it("with two stars matches any number of segments", () => {
    assert.deepEqual(matching("**/logs", ["logs/a", "build/x/logs/a", "blogs/a"]), [
      "logs/a",
      "build/x/logs/a",
    ]);
    assert.deepEqual(matching("/a/**/z", ["a/z", "a/b/c/z", "a/b/c/z/file", "a/b"]), [
      "a/z",
      "a/b/c/z",
      "a/b/c/z/file",
    ]);
    assert.deepEqual(matching("/a/**", ["a/b", "a/b/c", "a", "b/a/c"]), ["a/b", "a/b/c"]);
    assert.deepEqual(matching("**", ["a", "a/b"]), ["a", "a/b"]);
    assert.deepEqual(matching("**/*.ts", ["a.ts", "x/y/a.ts", "a.js"]), ["a.ts", "x/y/a.ts"]);
  });

  it("may escape, and takes brackets for themselves", () => {
    assert.deepEqual(matching("a\\ b.ts", ["a b.ts", "a", "b.ts"]), ["a b.ts"]);
    assert.deepEqual(matching("\\*.ts", ["*.ts", "a.ts"]), ["*.ts"]);
    assert.deepEqual(matching("src/[id].ts", ["src/[id].ts", "src/i.ts"]), ["src/[id].ts"]);
    assert.deepEqual(matching("?.ts", ["a.ts", "ab.ts", "x/b.ts"]), ["a.ts", "x/b.ts"]);
  });

  it("is compared with case", () => {
    assert.deepEqual(matching("/Src/", ["Src/a", "src/a"]), ["Src/a"]);
  });

  it("with two stars after others matches below a folder, not the folder itself", () => {
    assert.deepEqual(matching("**/a/**", ["b/a", "b/a/c", "a/a"]), ["b/a/c", "a/a"]);
  });
});

describe("the owners of a file", () => {
  it("are those of the last pattern that matches", () => {
    const { ownersOf } = parseCodeowners(`
# everything
*            @acme/all     # inline
/web/        @acme/web dev@acme.example
/web/legacy/
`);
    assert.deepEqual(ownersOf("a.ts"), ["@acme/all"]);
    assert.deepEqual(ownersOf("web/a.ts"), ["@acme/web", "dev@acme.example"]);
    assert.deepEqual(ownersOf("./web/a.ts"), ["@acme/web", "dev@acme.example"]);
    assert.deepEqual(ownersOf("web\\a.ts"), ["@acme/web", "dev@acme.example"]);
    assert.deepEqual(ownersOf("web/legacy/a.ts"), []);
    assert.deepEqual(ownersOf(""), []);
  });

  it("are those of all sections, as GitLab has them", () => {
    const { ownersOf } = parseCodeowners(`* @all
[Docs] @writers
*.md
[Code][2] @coders
/src/
/src/db/ @data
!/src/generated/
^[docs]
README.md @boss
`);
    assert.deepEqual(ownersOf("a.txt"), ["@all"]);
    assert.deepEqual(ownersOf("a.md"), ["@all", "@writers"]);
    assert.deepEqual(ownersOf("README.md"), ["@all", "@boss"]);
    assert.deepEqual(ownersOf("src/a.md"), ["@all", "@writers", "@coders"]);
    assert.deepEqual(ownersOf("src/db/a.ts"), ["@all", "@data"]);
    assert.deepEqual(ownersOf("src/generated/a.ts"), ["@all"]);
  });

  it("are not looked for by patterns that are longer than a name can be", () => {
    const notes: string[] = [];
    const text = `/a${"b".repeat(255)} @acme/web\n/a @acme/web\n`;
    const owners = parseCodeowners(text, (note) => notes.push(note));
    assert.deepEqual(owners.ownersOf("a/x.ts"), ["@acme/web"]);
    assert.deepEqual(notes, [
      `CODEOWNERS:1: found "/a${
        "b".repeat(38)
      }...", expected a pattern of 1 to 255 characters: skipped`,
    ]);
  });

  it("are at most 100, and so are the notes", () => {
    const notes: string[] = [];
    const owners = Array.from({ length: 200 }, (_, n) => `@o${n}`).join(" ");
    const text = `* ${owners}\n[b]\n* ${owners}x\n* ${"word ".repeat(500)}\n`;
    const { ownersOf } = parseCodeowners(text, (note) => notes.push(note));
    assert.equal(ownersOf("a").length, 100);
    assert.equal(notes.length, 100);
    assert.match(notes.at(-1)!, /; further notes are omitted$/);
  });

  it("are no longer looked up if it takes too long, with one note", () => {
    const notes: string[] = [];
    const pattern = `*${"?".repeat(120)}b`;
    const { ownersOf } = parseCodeowners(
      `* @acme/all\n${`${pattern} @acme/web\n`.repeat(2_000)}`,
      (note) => notes.push(note),
      5_000_000,
    );
    assert.deepEqual(ownersOf("a.ts"), ["@acme/all"]);
    for (let n = 0; n < 1_000; n++) ownersOf(`${"a/".repeat(n)}${"a".repeat(2_000)}`);
    assert.equal(notes.length, 1);
    assert.match(
      notes[0]!,
      /^CODEOWNERS: more than 5000000 comparisons of patterns and paths: no owners from "a/,
    );
    assert.deepEqual(ownersOf("a.ts"), []);
  });

  it("can be tags: other words are skipped with a note", () => {
    const notes: string[] = [];
    const { ownersOf } = parseCodeowners("* @a,@b team @ok\n", (note) => notes.push(note));
    assert.deepEqual(ownersOf("x"), ["@ok"]);
    assert.deepEqual(notes, [
      'CODEOWNERS:1: found "@a,@b", expected an owner: skipped',
      'CODEOWNERS:1: found "team", expected an owner: skipped',
    ]);
  });

  it("are found quickly among many patterns", () => {
    const text = Array.from({ length: 5_000 }, (_, i) => `/packages/p${i}/ @acme/t${i}`).join("\n");
    // A few comparisons for each pattern and path: beyond them there are no owners.
    const { ownersOf } = parseCodeowners(text, assert.fail, 2_000 * 5_000 * 4);
    for (let i = 0; i < 2_000; i++) {
      assert.deepEqual(ownersOf(`packages/p${i}/a.ts`), [`@acme/t${i}`]);
    }
  });
});
