/** Words and phrases that this project writes another way, wherever people read them. */
import { describe, it } from "@std/testing/bdd";
import assert from "node:assert/strict";

const ROOT = new URL("../../", import.meta.url);

/** What is written by hand: the rest is generated from it, or quotes others. */
const WRITTEN =
  /^(README|CONTRIBUTING|SECURITY)\.md$|^(db|deploy|docs|lib|routes|tests|tools)\/.*\.(ts|md|sh|yml)$/;

/** Of a test, its titles and comments: its data may be anything. */
const READ_OF_A_TEST = /^\s*(\/\/|\/?\*|(it|describe\w*)\()/;

/** Each with what stands in its place. */
const INSTEAD: readonly (readonly [phrase: RegExp, instead: string])[] = [
  [/\bwhoever\b/i, "the one who, anyone"],
  [/\bnobody\b/i, "no one, none"],
  [/\bsomebody\b/i, "a person, another person"],
  [/\bbeside\b/i, "next to"],
  [/\btold apart\b/i, "distinguished"],
  [/\banew\b/i, "again"],
  [/\b(is|are) told\b/i, "learns, receives"],
  [/\bwhat was asked\b/i, "the request, the question"],
  [/\bas good as none\b/i, "hardly any"],
  [/\bunasked\b/i, "by itself"],
  [/\bis as if absent\b/i, "is ignored"],
  [/\bhalf a character\b/i, "an unpaired surrogate"],
  [/\bgets (4|5)\d\d\b/i, "the response is"],
  [/\bis no page size\b/i, "invalid limit"],
  [/\bis not a day of the calendar\b/i, "invalid date, expected YYYY-MM-DD"],
  [/\bleft for a retry\b/i, "will be retried"],
  [/\bnone needed: `/i, "built in"],
  [/\bfor nothing but\b/i, "only by, only for"],
  [/\b(make|makes|have) another plan\b/i, "compute a different plan"],
  [/\b(a|one) second more\b/i, "by 20 % and 1 s"],
  [/\blines of JSON\b/i, "newline-delimited JSON"],
  [/\bnot rerun\b/i, "was never run again"],
  [/\bis it mine\b/i, "whether its change is the cause"],
  [/\b(at least|for|in|of) so (long|many)\b/i, "at least this many, for this long"],
  [/\balso (if|when)\b/i, "even if"],
  [/\bbegins? so\b/i, "with this beginning"],
  [/\b(is|are) none of\b/i, "is not one of"],
  [/\bso now\b/i, "currently"],
  [/\bneither CI nor readers\b/i, "CI jobs keep working"],
  [/(\/\*\*|\/\/|"|^\|) (That|Those) of\b|(?<=[."] )Those of\b/, "the noun that it stands for"],
];

async function* writtenFiles(folder: string): AsyncGenerator<string> {
  for await (const { name, isDirectory } of Deno.readDir(new URL(folder || ".", ROOT))) {
    const path = `${folder}${name}`;
    if (isDirectory && !name.startsWith(".") && name !== "node_modules") {
      yield* writtenFiles(`${path}/`);
    } else if (WRITTEN.test(path) && path !== "tests/docs/language_test.ts") yield path;
  }
}

/** The text of a file, with empty lines for what is data of a test. */
function readBy(path: string, text: string): string {
  if (!path.startsWith("tests/")) return text;
  return text.split("\n").map((line) => READ_OF_A_TEST.test(line) ? line : "").join("\n");
}

describe("what people read", () => {
  it("has none of the phrases that have a plainer one", async () => {
    const found: string[] = [];
    let count = 0;
    for await (const path of writtenFiles("")) {
      const text = readBy(path, await Deno.readTextFile(new URL(path, ROOT)));
      count++;
      for (const [phrase, instead] of INSTEAD) {
        const match = phrase.exec(text);
        if (!match) continue;
        const line = text.slice(0, match.index).split("\n").length;
        found.push(`${path}:${line}: "${match[0]}", instead: ${instead}`);
      }
    }
    assert.deepEqual(found, []);
    assert.ok(count > 500, `${count} files were read`);
  });
});
