import assert from "node:assert/strict";
import { before, it } from "@std/testing/bdd";
import { organizationUuid } from "../../../../lib/base/identity.ts";
import { BUILD } from "../../../../lib/system/build.ts";
import { describeWithDatabase } from "../../../database.ts";
import { createFullOrganization } from "../../../full_organization.ts";
import { createFixture, type Fixture, NOW } from "../../../routes/fixture.ts";
import { commandLine, type Ending } from "../run_in_process.ts";

const NAME = "Acme & Söhne";
const UNKNOWN =
  /written by 0\.0\.1 \(cafe\), and this is .*: import it with that version or a later/;

describeWithDatabase("import", (database) => {
  let fixture: Fixture;
  let lines: string[];

  const run = (argv: string[], input = ""): Promise<Ending> => {
    const run = commandLine(database, { now: () => NOW });
    return run(argv, { stdin: new Blob([input]).stream() });
  };

  /** Imports lines as "copy", with an end that does not check them. */
  const importLines = (changed: string[], ...argv: string[]): Promise<Ending> => {
    const end = JSON.stringify({ type: "end", records: changed.length });
    return run(["import", "--org", "copy", ...argv], [...changed, end, ""].join("\n"));
  };

  /** Asserts that an import fails with a message, and leaves nothing. */
  const assertRefused = async (ending: Promise<Ending>, message: RegExp): Promise<void> => {
    const { code, stdout, stderr } = await ending;
    assert.match(stderr, message);
    assert.equal(code, 1);
    assert.equal(stdout, "");
    assert.deepEqual(await counts(), initial);
  };

  let initial: unknown;
  /** How many rows each table has. */
  const counts = async () => {
    const tables = await database().sql<{ name: string }[]>`
      select relname as name from pg_class
      where relnamespace = 'public'::regnamespace and relkind = 'r' order by 1`;
    return await Promise.all(tables.map(async ({ name }) => {
      const [row] = await database().sql`select count(*)::int as count from ${
        database().sql(name)
      }`;
      return [name, row!.count];
    }));
  };

  /** The number of the first line with a text. */
  const lineOf = (text: string | RegExp): number => {
    const index = lines.findIndex((line) => new RegExp(text).test(line));
    assert.notEqual(index, -1, `a line with ${text}`);
    return index + 1;
  };
  const changed = (line: number, change: (text: string) => string): string[] => {
    const text = lines[line - 1]!;
    const other = change(text);
    assert.notEqual(other, text, text);
    return lines.with(line - 1, other);
  };

  before(async () => {
    await createFixture(database(), { name: "other" });
    fixture = await createFullOrganization(database());
    const { stdout } = await run(["export", "--org", NAME]);
    lines = stdout.trim().split("\n").slice(0, -1);
    initial = await counts();
  });

  it("refuses a name that is taken, with the next step", async () => {
    await assertRefused(
      importLines(lines, "--org", NAME.toUpperCase()),
      /organization "ACME & SÖHNE" already exists: import it into .* --org NAME/,
    );
  });

  it("refuses a file that is cut, at any line", async () => {
    for (const count of [0, 1, 2, 3, 40, lines.length - 7, lines.length]) {
      const text = lines.slice(0, count).map((line) => `${line}\n`).join("");
      await assertRefused(
        run(["import", "--org", "copy"], text),
        new RegExp(`line ${count + 1}: missing: the file is cut off`),
      );
      const half = text + (lines[count] ?? '{"type":"end"').slice(0, 9);
      await assertRefused(
        run(["import", "--org", "copy"], half),
        new RegExp(`line ${count + 1}: found ".*, expected a JSON object on a line of its own`),
      );
    }
  });

  it("refuses lines that are missing, added or changed", async () => {
    const end = (await run(["export", "--org", NAME])).stdout.trim().split("\n").at(-1)!;
    const text = (changed: string[]) => [...changed, end, ""].join("\n");
    const last = lines.length + 1;
    await assertRefused(
      run(["import", "--org", "copy"], text(lines.filter((_, index) => index !== 5))),
      new RegExp(`line ${last - 1}: it counts ${lines.length} lines before it, found`),
    );
    const other = changed(lineOf('"suite"'), (line) => line.replace('"tags":', '"tags" :'));
    await assertRefused(
      run(["import", "--org", "copy"], text(other)),
      new RegExp(`line ${last}: .*SHA-256.*; if you changed them, remove sha256 here`),
    );
    await assertRefused(
      run(["import", "--org", "copy"], `${text(lines)}${lines[0]}\n`),
      new RegExp(`line ${last + 1}: found a line after the end on line ${last}`),
    );
  });

  it("refuses another header, a later format, and unknown types and fields", async () => {
    await assertRefused(importLines([...lines, lines[0]!]), /line \d+: found a second header/);
    await assertRefused(importLines(lines.slice(1)), /line 1: .*expected the header "export"/);
    const header = (more: object) => JSON.stringify({ ...JSON.parse(lines[0]!), ...more });
    const written = header({ program: "0.0.1 (cafe)" });
    await assertRefused(
      importLines([header({ program: "9.9.9", format: 2 }), ...lines.slice(1)]),
      new RegExp(`line 1: format 2 was written by 9.9.9, expected at most 1, which this is`),
    );
    for (const line of ['{"type":"webhook"}', '{"type":"change","weight":1}']) {
      const { stderr } = await importLines([written, lines[1]!, line]);
      assert.match(stderr, /line 3: (unknown record type "webhook"|change: field "\w+" is)/);
    }
    const unknown = lines.map((line) =>
      line.replace('"submission_id"', '"weight":1,"submission_id"')
    );
    await assertRefused(importLines([written, ...unknown.slice(1)]), UNKNOWN);
    assert.match(BUILD, /^\d/);
  });

  it("refuses wrong types and values, naming line, field and value", async () => {
    const wrong: [string | RegExp, (line: string) => string, RegExp][] = [
      ['"organization"', (line) => line.replace('"number":2', '"number":"2"'), /number" is "2": e/],
      ['"organization"', (line) => line.replace(/"name":"[^"]+"/, '"name":"\\u0000"'), /NUL/],
      ['"repository"', (line) => line.replace('"repository_id":1', '"repository_id":0'), /1 to/],
      ['"repository"', (line) => line.replace(/Z"}/, '"}'), /"created_at": invalid timestamp/],
      ['"repository"', () => "[]", /found "\[\]", expected a JSON object/],
      [
        '"suite"',
        (line) => line.replace('"suite":"suite"', '"suite":"x"'),
        /id \w+ does not belong to/,
      ],
      ['"suite"', (line) => line.replace(/"id":"./, '"id":"z'), /field "id" is "z.*hex digits/],
      ['"processed"', (line) => line.replace("processed", "done"), /expected one of processed/],
      ['"processed"', (line) => line.replace(/"id":"6ab0/, '"id":"6ab1'), /seconds of recorded_at/],
      ['"processed"', (line) => line.replace(/"upload_digest":"\w+",/, ""), /without "upload_d/],
      ['"result"', (line) => line.replace("passing", "fine"), /"conclusion" is "fine": expected/],
      ['"result"', (line) => line.replace(/us":\d+/, 'us":-1'), /"duration_us" is -1: expected/],
      ['"result"', (line) => line.replace(/us":\d+/, 'us":1e400'), /is null: expected an integer/],
      [
        '"result"',
        (line) => line.replace(/test_id":"\w{11}/, 'test_id":"00000000000'),
        /to no test/,
      ],
      ['"result"', (line) => line.replace("passing", "failure"), /failure without "result_no"/],
      [
        '"result".*"attempt"',
        (line) => line.replace('attempt":2', 'attempt":3'),
        /attempt 3 of te/,
      ],
      [
        '"result".*"result_no"',
        (line) => line.replace(/no":\d+/, 'no":99999'),
        /result_no 99999 of \d+ re/,
      ],
      [
        '"result".*"other_fingerprints"',
        (line) => line.replace(/fingerprints":\["./, 'fingerprints":["z'),
        /"other_fingerprints.*hex digits/,
      ],
      [
        '"result".*"passing"',
        (line) => line.replace("}", ',"other_fingerprints":["0123456789abcdef"]}'),
        /"passing" with fields of a failure/,
      ],
      ['"coverage"', (line) => line.replace(/d_line_count":\d+/, 'd_line_count":99'), /99 covered/],
      ['"token"', (line) => line.replace(/"hash":"\w+"/, '"hash":"secret"'), /expected a SHA-256/],
      [
        '"badge"',
        (line) => line.replace(/"repository_id":\d+/, '"repository_id":77'),
        /repository_id 77: expected the id of a repository before this line/,
      ],
      [
        '"quarantine":"added"',
        (line) => line.replace(/"expires_at":\d+/, '"expires_at":"x"'),
        /det/,
      ],
    ];
    for (const [text, change, message] of wrong) {
      const line = lineOf(text);
      const { code, stderr } = await importLines(changed(line, change));
      // A submission is complete, or not, when the line after its results is read.
      assert.match(stderr, /^error: line \d+: /, `${text} ${stderr}`);
      assert.match(stderr, message, stderr);
      assert.equal(code, 1);
      assert.ok(!stderr.includes("secret"), "the hash of a token is not shown");
    }
    assert.deepEqual(await counts(), initial);
  });

  it("refuses what occurs twice", async () => {
    for (
      const [text, message] of [
        ['"repository"', /second repository with|found "repository"/],
        ['"suite"', /a second test with the id/],
        ['"processed"', /id \w+ after \w+, expected ascending ids|0 results follow/],
        ['"result"', /attempt 1 of test|twice/],
        ['"coverage"', /second coverage of submission/],
        ['"token"', /a second token/],
      ] as const
    ) {
      const line = lineOf(text);
      const { stderr } = await importLines(lines.toSpliced(line, 0, lines[line - 1]!));
      assert.match(stderr, message, stderr);
    }
    assert.deepEqual(await counts(), initial);
  });

  it("refuses lines in another order, and results that are missing", async () => {
    const result = lineOf('"result"');
    const submission = lineOf('"processed"');
    await assertRefused(
      importLines(lines.toSpliced(result - 1, 1)),
      new RegExp(`line ${submission}: \\d+ results follow, expected \\d+`),
    );
    await assertRefused(
      importLines([...lines.slice(0, 2), lines[result - 1]!]),
      /line 3: found "result" after "organization", expected repository, token, change/,
    );
    await assertRefused(
      importLines([...lines.slice(0, submission), lines[submission - 2]!]),
      new RegExp(`line ${submission + 1}: found "test" after "submission", expected result, subm`),
    );
  });

  it("refuses bytes that are not UTF-8, and a line without end", async () => {
    const bytes = new Uint8Array([...new TextEncoder().encode(`${lines[0]}\n"`), 0xff, 0x0a]);
    const run = commandLine(database, { now: () => NOW });
    const stream = (parts: BlobPart[]) => ({ stdin: new Blob(parts).stream() });
    await assertRefused(run(["import"], stream([bytes])), /line 2: found bytes that are not UTF-8/);
    const long = `${lines[0]}\n"${"x".repeat(5 << 20)}`;
    await assertRefused(run(["import"], stream([long])), /line 2: more than 4194304 bytes/);
  });

  it("refuses a file that is not there, before the database is opened", async () => {
    const { code, stderr } = await run(["import", "no/such/file"]);
    assert.equal(code, 1);
    assert.match(stderr, /cannot read "no\/such\/file": /);
  });

  it("makes a copy next to the original, with other ids where they are taken", async () => {
    const { code, stdout, stderr } = await importLines(lines, "--json");
    assert.equal(code, 0, stderr);
    const copy = JSON.parse(stdout);
    const { organizationId } = fixture.organization;
    assert.match(
      stderr,
      new RegExp(`another organization has ${organizationUuid(organizationId)}`),
    );
    assert.match(stderr, /the ids of the tests of acme\/shop begin with \w{11} here: another/);
    assert.match(stderr, /the token tk_\w{8} stays with another organization/);
    assert.deepEqual({ ...copy, organization_id: 0 }, {
      organization_id: 0,
      name: "copy",
      repository_count: 4,
      test_count: lines.filter((line) => line.includes('"type":"test"')).length,
      submission_count: lines.filter((line) => line.includes('"type":"submission"')).length,
      result_count: lines.filter((line) => line.includes('"type":"result"')).length,
      token_count: 0,
    });
    // The log is that of the copied tests.
    const log = async (name: string) =>
      JSON.parse((await run(["quarantine", "log", "--org", name, "--json"])).stdout);
    const [own, others] = [await log("copy"), await log(NAME)];
    assert.equal(own.length, others.length);
    const { stdout: listed } = await run(["quarantine", "list", "--org", "copy", "--json"]);
    for (const { id } of JSON.parse(listed)) {
      assert.ok(own.some((entry: { id: string }) => entry.id === id), id);
    }
    initial = await counts();
  });
});
